// SPDX-License-Identifier: Apache-2.0
#include "common/codec/liveness.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/codec/table.h"

#define SUBSET_VERTEX_INPUT      VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT
#define SUBSET_PRE_RASTERIZATION VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT
#define SUBSET_FRAGMENT          VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT
#define SUBSET_OUTPUT            VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT
#define SUBSET_ALL                                                                                 \
    (SUBSET_VERTEX_INPUT | SUBSET_PRE_RASTERIZATION | SUBSET_FRAGMENT | SUBSET_OUTPUT)

/* VK_EXT_depth_clamp_control is newer than the oldest headers. */
#define DEPTH_CLAMP_MODE_USER_DEFINED_RANGE   1
#define DYNAMIC_STATE_DEPTH_CLAMP_RANGE_VALUE 1000582000u

static enum dynamic_state dynamic_from_value(uint32_t value)
{
    switch (value) {
    case VK_DYNAMIC_STATE_VIEWPORT:
    case VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT:
        return DYNAMIC_VIEWPORT;
    case VK_DYNAMIC_STATE_SCISSOR:
    case VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT:
        return DYNAMIC_SCISSOR;
    case VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE:
        return DYNAMIC_RASTERIZER_DISCARD;
    case VK_DYNAMIC_STATE_VERTEX_INPUT_EXT:
        return DYNAMIC_VERTEX_INPUT;
    case VK_DYNAMIC_STATE_SAMPLE_MASK_EXT:
        return DYNAMIC_SAMPLE_MASK;
    case VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT:
        return DYNAMIC_COLOR_BLEND_ENABLE;
    case VK_DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT:
        return DYNAMIC_COLOR_BLEND_EQUATION;
    case VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT:
        return DYNAMIC_COLOR_WRITE_MASK;
    case VK_DYNAMIC_STATE_COLOR_BLEND_ADVANCED_EXT:
        return DYNAMIC_COLOR_BLEND_ADVANCED;
    case VK_DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT:
        return DYNAMIC_COLOR_WRITE_ENABLE;
    case VK_DYNAMIC_STATE_DISCARD_RECTANGLE_EXT:
        return DYNAMIC_DISCARD_RECTANGLE;
    case VK_DYNAMIC_STATE_VIEWPORT_W_SCALING_NV:
        return DYNAMIC_W_SCALING;
    case VK_DYNAMIC_STATE_VIEWPORT_W_SCALING_ENABLE_NV:
        return DYNAMIC_W_SCALING_ENABLE;
    case VK_DYNAMIC_STATE_VIEWPORT_SWIZZLE_NV:
        return DYNAMIC_SWIZZLE;
    case VK_DYNAMIC_STATE_EXCLUSIVE_SCISSOR_NV:
        return DYNAMIC_EXCLUSIVE_SCISSOR;
    case VK_DYNAMIC_STATE_VIEWPORT_SHADING_RATE_PALETTE_NV:
        return DYNAMIC_SHADING_RATE_PALETTE;
    case VK_DYNAMIC_STATE_VIEWPORT_COARSE_SAMPLE_ORDER_NV:
        return DYNAMIC_COARSE_SAMPLE_ORDER;
    case VK_DYNAMIC_STATE_SAMPLE_LOCATIONS_EXT:
        return DYNAMIC_SAMPLE_LOCATIONS;
    case VK_DYNAMIC_STATE_SAMPLE_LOCATIONS_ENABLE_EXT:
        return DYNAMIC_SAMPLE_LOCATIONS_ENABLE;
    case VK_DYNAMIC_STATE_COVERAGE_MODULATION_TABLE_NV:
        return DYNAMIC_COVERAGE_TABLE;
    case VK_DYNAMIC_STATE_COVERAGE_MODULATION_TABLE_ENABLE_NV:
        return DYNAMIC_COVERAGE_TABLE_ENABLE;
    case DYNAMIC_STATE_DEPTH_CLAMP_RANGE_VALUE:
        return DYNAMIC_DEPTH_CLAMP_RANGE;
    default:
        return DYNAMIC_NONE;
    }
}

static bool dynamic_is_known(uint32_t value)
{
    return bsearch(&value, codec_dynamic_states, codec_dynamic_state_count, sizeof value,
                   array_order_u32);
}

static void state_collect_dynamic(const VkPipelineDynamicStateCreateInfo *info,
                                  struct graphics_state *state)
{
    const VkDynamicState *states = info ? info->pDynamicStates : NULL;
    state->dynamic_known = true;
    for (uint32_t i = 0; states && i < info->dynamicStateCount; i++) {
        uint32_t value = (uint32_t)states[i];
        if (value > VK_DYNAMIC_STATE_SCISSOR && value <= VK_DYNAMIC_STATE_STENCIL_REFERENCE) {
            continue; /* those of Vulkan 1.0 that decide nothing */
        }
        enum dynamic_state dynamic = dynamic_from_value(value);
        if (dynamic != DYNAMIC_NONE) {
            state->dynamic |= 1u << dynamic;
        } else if (!dynamic_is_known(value)) {
            state->dynamic_known = false;
        }
    }
}

/* The subsets that this create-info itself specifies (VkGraphicsPipelineLibraryCreateInfoEXT). */
static VkFlags state_own_subsets(uint64_t flags, const struct graphics_chain *chain)
{
    if (chain->subsets) {
        return chain->subsets->flags;
    }
    bool linked = chain->libraries && chain->libraries->libraryCount > 0;
    return linked || (flags & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR) ? 0 : SUBSET_ALL;
}

static VkShaderStageFlags state_stage_mask(const VkGraphicsPipelineCreateInfo *info)
{
    VkShaderStageFlags stages = 0;
    for (uint32_t i = 0; info->pStages && i < info->stageCount; i++) {
        stages |= info->pStages[i].stage;
    }
    return stages;
}

static bool state_has_color_format(const VkPipelineRenderingCreateInfo *rendering)
{
    const VkFormat *formats = rendering ? rendering->pColorAttachmentFormats : NULL;
    for (uint32_t i = 0; formats && i < rendering->colorAttachmentCount; i++) {
        if (formats[i] != VK_FORMAT_UNDEFINED) {
            return true;
        }
    }
    return false;
}

static bool state_has_depth_stencil_format(const VkPipelineRenderingCreateInfo *rendering)
{
    return rendering && (rendering->depthAttachmentFormat != VK_FORMAT_UNDEFINED ||
                         rendering->stencilAttachmentFormat != VK_FORMAT_UNDEFINED);
}

static enum liveness live_if(bool live)
{
    return live ? STATE_LIVE : STATE_DEAD;
}

/* States of the fragment shader and fragment output subsets, once rasterization is not off. */
static void state_compute_fragment(const VkGraphicsPipelineCreateInfo *info, VkFlags subsets,
                                   const struct graphics_chain *chain, struct graphics_state *state)
{
    bool fragment = subsets & SUBSET_FRAGMENT;
    bool output = subsets & SUBSET_OUTPUT;
    state->of[LIVE_MULTISAMPLE] = live_if(fragment || output);
    state->of[LIVE_COLOR_LOCATIONS] = live_if(output);
    if (info->renderPass != VK_NULL_HANDLE) {
        state->of[LIVE_DEPTH_STENCIL] = fragment ? STATE_DOUBTFUL : STATE_DEAD;
        state->of[LIVE_COLOR_BLEND] = output ? STATE_DOUBTFUL : STATE_DEAD;
        state->by_subpass = true;
        return;
    }
    /* VUID-VkGraphicsPipelineCreateInfo-renderPass-09033 and -09035 */
    state->of[LIVE_DEPTH_STENCIL] =
        live_if(fragment && (!output || chain->custom_resolve ||
                             state_has_depth_stencil_format(chain->rendering)));
    /* VUID-VkGraphicsPipelineCreateInfo-renderPass-06579 and -09037 */
    state->of[LIVE_COLOR_FORMATS] = live_if(output);
    state->of[LIVE_COLOR_BLEND] =
        live_if(output && (chain->custom_resolve || state_has_color_format(chain->rendering)));
}

/* What depends on a state of a linked library is unclear. */
static __attribute__((cold)) void state_doubt_fragment(VkFlags subsets,
                                                       struct graphics_state *state)
{
    bool fragment = subsets & SUBSET_FRAGMENT;
    bool output = subsets & SUBSET_OUTPUT;
    state->of[LIVE_MULTISAMPLE] = fragment || output ? STATE_DOUBTFUL : STATE_DEAD;
    state->of[LIVE_DEPTH_STENCIL] = fragment ? STATE_DOUBTFUL : STATE_DEAD;
    state->of[LIVE_COLOR_BLEND] = output ? STATE_DOUBTFUL : STATE_DEAD;
    state->of[LIVE_COLOR_LOCATIONS] = output ? STATE_DOUBTFUL : STATE_DEAD;
    state->of[LIVE_COLOR_FORMATS] = output ? STATE_DOUBTFUL : STATE_DEAD;
}

static void state_compute_vertex_input(VkShaderStageFlags stages, bool linked_shaders,
                                       struct graphics_state *state)
{
    if (linked_shaders) {
        state->of[LIVE_VERTEX_INPUT] = state->of[LIVE_INPUT_ASSEMBLY] = STATE_DOUBTFUL;
    } else if (!(stages & VK_SHADER_STAGE_MESH_BIT_EXT)) {
        state->of[LIVE_VERTEX_INPUT] =
            live_if(!graphics_state_is_dynamic(state, DYNAMIC_VERTEX_INPUT));
        state->of[LIVE_INPUT_ASSEMBLY] = STATE_LIVE;
    }
}

/* A state whose pointer is NULL is not there, nor is a doubt about it. The pointer of a dead one is
 * not even read: it may be uninitialized. */
static void state_clear_null(const VkGraphicsPipelineCreateInfo *info, struct graphics_state *state)
{
#define MEMBER(name) offsetof(VkGraphicsPipelineCreateInfo, name)
    static const size_t members[] = {
        [LIVE_VERTEX_INPUT] = MEMBER(pVertexInputState),
        [LIVE_INPUT_ASSEMBLY] = MEMBER(pInputAssemblyState),
        [LIVE_TESSELLATION] = MEMBER(pTessellationState),
        [LIVE_VIEWPORT] = MEMBER(pViewportState),
        [LIVE_RASTERIZATION] = MEMBER(pRasterizationState),
        [LIVE_MULTISAMPLE] = MEMBER(pMultisampleState),
        [LIVE_DEPTH_STENCIL] = MEMBER(pDepthStencilState),
        [LIVE_COLOR_BLEND] = MEMBER(pColorBlendState),
    };
    for (int i = LIVE_VERTEX_INPUT; i <= LIVE_COLOR_BLEND; i++) {
        const void *pointer;
        if (state->of[i] != STATE_DEAD) {
            memcpy(&pointer, (const uint8_t *)info + members[i], sizeof pointer);
            state->of[i] = pointer ? state->of[i] : STATE_DEAD;
        }
    }
}

void graphics_state_compute(const VkGraphicsPipelineCreateInfo *info, uint64_t flags,
                            const struct graphics_chain *chain, struct graphics_state *ret_state)
{
    struct graphics_state state = {0};
    const VkShaderStageFlags tessellation =
        VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT | VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT;
    state_collect_dynamic(info->pDynamicState, &state);
    VkFlags subsets = state_own_subsets(flags, chain);
    bool shaders = subsets & SUBSET_PRE_RASTERIZATION;
    bool linked = chain->libraries && chain->libraries->libraryCount > 0;
    bool linked_shaders = linked && !shaders;
    state.of[LIVE_STAGES] = live_if(subsets & (SUBSET_PRE_RASTERIZATION | SUBSET_FRAGMENT));
    /* Without shaders it is ignored, and may dangle; drivers hash it all the same (decision 0130).
     */
    state.of[LIVE_LAYOUT] =
        linked || state.of[LIVE_STAGES] == STATE_LIVE ? STATE_LIVE : STATE_DOUBTFUL;
    state.of[LIVE_RENDER_PASS] = live_if(linked || (subsets & ~(VkFlags)SUBSET_VERTEX_INPUT));
    VkShaderStageFlags stages = state.of[LIVE_STAGES] == STATE_LIVE ? state_stage_mask(info) : 0;
    bool discard = shaders && info->pRasterizationState &&
                   info->pRasterizationState->rasterizerDiscardEnable &&
                   !graphics_state_is_dynamic(&state, DYNAMIC_RASTERIZER_DISCARD);
    if (subsets & SUBSET_VERTEX_INPUT) {
        state_compute_vertex_input(stages, linked_shaders, &state);
    }
    /* VUID-VkGraphicsPipelineCreateInfo-renderPass-06583 and -06584; also of one that discards. */
    state.has_formats = (subsets & SUBSET_OUTPUT) && info->renderPass == VK_NULL_HANDLE;
    state.pre_rasterization = shaders;
    state.of[LIVE_RASTERIZATION] = live_if(shaders);
    state.of[LIVE_TESSELLATION] = live_if(shaders && (stages & tessellation) == tessellation);
    state.of[LIVE_VIEWPORT] = live_if(shaders && !discard);
    /* Mesa looks at the states of a library that discards, whose shaders are its own. */
    if (linked_shaders || (discard && chain->subsets)) {
        state_doubt_fragment(subsets, &state);
    } else if (!discard) {
        state_compute_fragment(info, subsets, chain, &state);
    } else if (info->renderPass == VK_NULL_HANDLE && (subsets & SUBSET_OUTPUT)) {
        /* They may dangle (VUID-VkGraphicsPipelineCreateInfo-renderPass-06579), and yet attachments
         * must match them (VUID-vkCmdDraw-dynamicRenderingUnusedAttachments-08910). */
        state.is_apart = chain->rendering && chain->rendering->colorAttachmentCount > 0;
    }
    state_clear_null(info, &state);
    state.by_subpass = state.by_subpass && (state.of[LIVE_DEPTH_STENCIL] == STATE_DOUBTFUL ||
                                            state.of[LIVE_COLOR_BLEND] == STATE_DOUBTFUL);
    *ret_state = state;
}

void graphics_state_settle(struct graphics_state *state, const struct subpass_use *use)
{
    if (state->by_subpass && state->of[LIVE_DEPTH_STENCIL] == STATE_DOUBTFUL) {
        state->of[LIVE_DEPTH_STENCIL] = live_if(use->depth_stencil);
    }
    if (state->by_subpass && state->of[LIVE_COLOR_BLEND] == STATE_DOUBTFUL) {
        state->of[LIVE_COLOR_BLEND] = live_if(use->color);
    }
}

struct depth_clamp_control {
    VkStructureType stype;
    const void *next;
    uint32_t mode;
    const void *range;
};

static enum liveness live_unless_dynamic(const struct graphics_state *state,
                                         enum dynamic_state dynamic)
{
    return graphics_state_is_dynamic(state, dynamic) ? STATE_DEAD : STATE_LIVE;
}

/* Live where an enable that stands beside it, or is dynamic, lets it be used. */
static enum liveness live_if_enabled(const struct graphics_state *state, VkBool32 enable,
                                     enum dynamic_state dynamic_enable, enum dynamic_state dynamic)
{
    bool enabled = enable || graphics_state_is_dynamic(state, dynamic_enable);
    return enabled ? live_unless_dynamic(state, dynamic) : STATE_DEAD;
}

/* VUID-VkPipelineColorBlendStateCreateInfo-pAttachments-07353 and the member's description: ignored
 * where enable, equation and mask are dynamic, and the advanced state too or its feature is off. */
static enum liveness live_blend_attachments(const struct live_context *context)
{
    const struct graphics_state *state = &context->graphics;
    const uint32_t all = 1u << DYNAMIC_COLOR_BLEND_ENABLE | 1u << DYNAMIC_COLOR_BLEND_EQUATION |
                         1u << DYNAMIC_COLOR_WRITE_MASK;
    if ((state->dynamic & all) != all) {
        return STATE_LIVE;
    }
    bool advanced = context->blend_advanced_coherent &&
                    !graphics_state_is_dynamic(state, DYNAMIC_COLOR_BLEND_ADVANCED);
    return advanced ? STATE_LIVE : STATE_DEAD;
}

static __attribute__((cold)) enum liveness
live_depth_clamp_range(const struct depth_clamp_control *control,
                       const struct graphics_state *state)
{
    return control->mode == DEPTH_CLAMP_MODE_USER_DEFINED_RANGE
               ? live_unless_dynamic(state, DYNAMIC_DEPTH_CLAMP_RANGE)
               : STATE_DEAD;
}

/* Types newer than the oldest headers. */
#define TYPE_TENSOR_ARM                            1000460000u
#define TYPE_PARTITIONED_ACCELERATION_STRUCTURE_NV 1000570000u

static enum liveness live_immutable_samplers(const VkDescriptorSetLayoutBinding *binding)
{
    switch ((uint32_t)binding->descriptorType) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
        return STATE_LIVE;
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
    case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
    case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
    case VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK:
    case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR:
    case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_NV:
    case VK_DESCRIPTOR_TYPE_SAMPLE_WEIGHT_IMAGE_QCOM:
    case VK_DESCRIPTOR_TYPE_BLOCK_MATCH_IMAGE_QCOM:
    case VK_DESCRIPTOR_TYPE_MUTABLE_EXT:
    case TYPE_TENSOR_ARM:
    case TYPE_PARTITIONED_ACCELERATION_STRUCTURE_NV:
        return STATE_DEAD;
    default:
        return binding->pImmutableSamplers ? STATE_UNKNOWN : STATE_DEAD;
    }
}

static __attribute__((cold)) enum liveness
live_template(const VkDescriptorUpdateTemplateCreateInfo *info, VkDescriptorUpdateTemplateType type)
{
    switch (info->templateType) {
    case VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET:
    case VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR:
        return info->templateType == type ? STATE_LIVE : STATE_DEAD;
    default:
        return STATE_UNKNOWN;
    }
}

static enum liveness live_by_members(enum live_condition condition, const void *structure,
                                     const struct live_context *context)
{
    const struct graphics_state *state = &context->graphics;
    const VkPipelineViewportWScalingStateCreateInfoNV *w_scaling = structure;
    const VkPipelineSampleLocationsStateCreateInfoEXT *locations = structure;
    const VkPipelineCoverageModulationStateCreateInfoNV *coverage = structure;
    switch (condition) {
    case LIVE_W_SCALINGS:
        return live_if_enabled(state, w_scaling->viewportWScalingEnable, DYNAMIC_W_SCALING_ENABLE,
                               DYNAMIC_W_SCALING);
    case LIVE_DEPTH_CLAMP_RANGE:
        return live_depth_clamp_range(structure, state);
    case LIVE_SAMPLE_LOCATIONS:
        return live_if_enabled(state, locations->sampleLocationsEnable,
                               DYNAMIC_SAMPLE_LOCATIONS_ENABLE, DYNAMIC_SAMPLE_LOCATIONS);
    case LIVE_COVERAGE_TABLE:
        return live_if_enabled(state, coverage->coverageModulationTableEnable,
                               DYNAMIC_COVERAGE_TABLE_ENABLE, DYNAMIC_COVERAGE_TABLE);
    case LIVE_BLEND_ATTACHMENTS:
        return live_blend_attachments(context);
    case LIVE_DISCARD_RECTANGLES:
        return state->pre_rasterization ? live_unless_dynamic(state, DYNAMIC_DISCARD_RECTANGLE)
                                        : STATE_DEAD;
    case LIVE_IMMUTABLE_SAMPLERS:
        return live_immutable_samplers(structure);
    case LIVE_TEMPLATE_SET_LAYOUT:
        return live_template(structure, VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET);
    case LIVE_TEMPLATE_PIPELINE_LAYOUT:
        return live_template(structure, VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR);
    default:
        return STATE_LIVE;
    }
}

bool liveness_covers_count(enum live_condition condition)
{
    return condition == LIVE_STAGES || condition == LIVE_COLOR_FORMATS ||
           condition == LIVE_BLEND_ATTACHMENTS;
}

enum liveness liveness_of_member(enum live_condition condition, const void *structure,
                                 const struct live_context *context)
{
    static const uint8_t dynamics[] = {
        [LIVE_VIEWPORTS] = DYNAMIC_VIEWPORT,
        [LIVE_SCISSORS] = DYNAMIC_SCISSOR,
        [LIVE_SWIZZLES] = DYNAMIC_SWIZZLE,
        [LIVE_EXCLUSIVE_SCISSORS] = DYNAMIC_EXCLUSIVE_SCISSOR,
        [LIVE_SHADING_PALETTES] = DYNAMIC_SHADING_RATE_PALETTE,
        [LIVE_SAMPLE_ORDERS] = DYNAMIC_COARSE_SAMPLE_ORDER,
        [LIVE_SAMPLE_MASK] = DYNAMIC_SAMPLE_MASK,
        [LIVE_COLOR_WRITE_ENABLES] = DYNAMIC_COLOR_WRITE_ENABLE,
    };
    if (condition <= LIVE_COLOR_WRITE_ENABLES) {
        return live_unless_dynamic(&context->graphics, (enum dynamic_state)dynamics[condition]);
    }
    return live_by_members(condition, structure, context);
}
