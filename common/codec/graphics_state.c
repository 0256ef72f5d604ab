#include "codec/graphics_state.h"

#include <stddef.h>
#include <string.h>

#include "codec/rules.h"
#include "codec/table.h"

#define SUBSET_VERTEX_INPUT      VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT
#define SUBSET_PRE_RASTERIZATION VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT
#define SUBSET_FRAGMENT          VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT
#define SUBSET_OUTPUT            VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT
#define SUBSET_ALL                                                                                 \
    (SUBSET_VERTEX_INPUT | SUBSET_PRE_RASTERIZATION | SUBSET_FRAGMENT | SUBSET_OUTPUT)

/* VK_EXT_depth_clamp_control is newer than the oldest headers. */
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
    size_t low = 0;
    size_t high = codec_dynamic_state_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (codec_dynamic_states[middle] < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < codec_dynamic_state_count && codec_dynamic_states[low] == value;
}

static void collect_dynamic(const VkPipelineDynamicStateCreateInfo *info,
                            struct graphics_state *state)
{
    const VkDynamicState *states = info ? info->pDynamicStates : NULL;
    state->dynamic_known = true;
    for (uint32_t i = 0; states && i < info->dynamicStateCount; i++) {
        uint32_t value = (uint32_t)states[i];
        enum dynamic_state dynamic = dynamic_from_value(value);
        if (dynamic != DYNAMIC_NONE) {
            state->dynamic |= 1u << dynamic;
        } else if (!dynamic_is_known(value)) {
            state->dynamic_known = false;
        }
    }
}

/* The subsets that this create-info itself specifies (VkGraphicsPipelineLibraryCreateInfoEXT). */
static VkFlags own_subsets(uint64_t flags, const struct graphics_chain *chain)
{
    if (chain->subsets) {
        return chain->subsets->flags;
    }
    bool linked = chain->libraries && chain->libraries->libraryCount > 0;
    return linked || (flags & RULES_PIPELINE_LIBRARY) ? 0 : SUBSET_ALL;
}

static VkShaderStageFlags stage_mask(const VkGraphicsPipelineCreateInfo *info)
{
    VkShaderStageFlags stages = 0;
    for (uint32_t i = 0; info->pStages && i < info->stageCount; i++) {
        stages |= info->pStages[i].stage;
    }
    return stages;
}

static bool any_format(const VkPipelineRenderingCreateInfo *rendering)
{
    const VkFormat *formats = rendering ? rendering->pColorAttachmentFormats : NULL;
    for (uint32_t i = 0; formats && i < rendering->colorAttachmentCount; i++) {
        if (formats[i] != VK_FORMAT_UNDEFINED) {
            return true;
        }
    }
    return false;
}

static bool any_depth_stencil_format(const VkPipelineRenderingCreateInfo *rendering)
{
    return rendering && (rendering->depthAttachmentFormat != VK_FORMAT_UNDEFINED ||
                         rendering->stencilAttachmentFormat != VK_FORMAT_UNDEFINED);
}

static enum liveness live_if(bool live)
{
    return live ? STATE_LIVE : STATE_DEAD;
}

/* States of the fragment shader and fragment output subsets, once rasterization is not off. */
static void compute_fragment(const VkGraphicsPipelineCreateInfo *info, VkFlags subsets,
                             const struct graphics_chain *chain, struct graphics_state *state)
{
    bool fragment = subsets & SUBSET_FRAGMENT;
    bool output = subsets & SUBSET_OUTPUT;
    state->multisample = live_if(fragment || output);
    state->color_locations = live_if(output);
    if (info->renderPass != VK_NULL_HANDLE) {
        state->depth_stencil = fragment ? STATE_DOUBTFUL : STATE_DEAD;
        state->color_blend = output ? STATE_DOUBTFUL : STATE_DEAD;
        state->by_subpass = true;
        return;
    }
    /* VUID-VkGraphicsPipelineCreateInfo-renderPass-09033 and -09035 */
    state->depth_stencil =
        live_if(fragment && (!output || any_depth_stencil_format(chain->rendering)));
    /* VUID-VkGraphicsPipelineCreateInfo-renderPass-06579 and -09037 */
    state->color_formats = live_if(output);
    state->color_blend = live_if(output && any_format(chain->rendering));
}

/* What hangs on a state of a linked library cannot be told. */
static void doubt_fragment(VkFlags subsets, struct graphics_state *state)
{
    bool fragment = subsets & SUBSET_FRAGMENT;
    bool output = subsets & SUBSET_OUTPUT;
    state->multisample = fragment || output ? STATE_DOUBTFUL : STATE_DEAD;
    state->depth_stencil = fragment ? STATE_DOUBTFUL : STATE_DEAD;
    state->color_blend = output ? STATE_DOUBTFUL : STATE_DEAD;
    state->color_locations = output ? STATE_DOUBTFUL : STATE_DEAD;
    state->color_formats = output ? STATE_DOUBTFUL : STATE_DEAD;
}

static void compute_vertex_input(VkShaderStageFlags stages, bool linked_shaders,
                                 struct graphics_state *state)
{
    if (linked_shaders) {
        state->vertex_input = state->input_assembly = STATE_DOUBTFUL;
    } else if (!(stages & VK_SHADER_STAGE_MESH_BIT_EXT)) {
        state->vertex_input = live_if(!graphics_state_is_dynamic(state, DYNAMIC_VERTEX_INPUT));
        state->input_assembly = STATE_LIVE;
    }
}

/* A state whose pointer, at `member`, is NULL is not there; nor is a doubt about it. A dead one is
 * not even looked at: it may be uninitialized. */
static void clear_null(enum liveness *liveness, const void *member)
{
    const void *pointer;
    if (*liveness != STATE_DEAD) {
        memcpy(&pointer, member, sizeof(pointer));
        *liveness = pointer ? *liveness : STATE_DEAD;
    }
}

void graphics_state_compute(const VkGraphicsPipelineCreateInfo *info, uint64_t flags,
                            const struct graphics_chain *chain, struct graphics_state *ret_state)
{
    struct graphics_state state = {0};
    const VkShaderStageFlags tessellation =
        VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT | VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT;
    collect_dynamic(info->pDynamicState, &state);
    VkFlags subsets = own_subsets(flags, chain);
    bool shaders = subsets & SUBSET_PRE_RASTERIZATION;
    bool linked = chain->libraries && chain->libraries->libraryCount > 0;
    bool linked_shaders = linked && !shaders;
    state.stages = live_if(subsets & (SUBSET_PRE_RASTERIZATION | SUBSET_FRAGMENT));
    state.layout = live_if(linked || state.stages == STATE_LIVE);
    state.render_pass = live_if(linked || (subsets & ~(VkFlags)SUBSET_VERTEX_INPUT));
    VkShaderStageFlags stages = state.stages == STATE_LIVE ? stage_mask(info) : 0;
    bool discard = shaders && info->pRasterizationState &&
                   info->pRasterizationState->rasterizerDiscardEnable &&
                   !graphics_state_is_dynamic(&state, DYNAMIC_RASTERIZER_DISCARD);
    if (subsets & SUBSET_VERTEX_INPUT) {
        compute_vertex_input(stages, linked_shaders, &state);
    }
    state.pre_rasterization = shaders;
    state.rasterization = live_if(shaders);
    state.tessellation = live_if(shaders && (stages & tessellation) == tessellation);
    state.viewport = live_if(shaders && !discard);
    if (linked_shaders) {
        doubt_fragment(subsets, &state);
    } else if (!discard) {
        compute_fragment(info, subsets, chain, &state);
    } else if (info->renderPass == VK_NULL_HANDLE && (subsets & SUBSET_OUTPUT)) {
        /* They may dangle (VUID-VkGraphicsPipelineCreateInfo-renderPass-06579), and yet attachments
         * must match them (VUID-vkCmdDraw-dynamicRenderingUnusedAttachments-08910). */
        state.color_formats = STATE_DOUBTFUL;
    }
    clear_null(&state.vertex_input, &info->pVertexInputState);
    clear_null(&state.input_assembly, &info->pInputAssemblyState);
    clear_null(&state.tessellation, &info->pTessellationState);
    clear_null(&state.viewport, &info->pViewportState);
    clear_null(&state.rasterization, &info->pRasterizationState);
    clear_null(&state.multisample, &info->pMultisampleState);
    clear_null(&state.depth_stencil, &info->pDepthStencilState);
    clear_null(&state.color_blend, &info->pColorBlendState);
    state.by_subpass = state.by_subpass && (state.depth_stencil == STATE_DOUBTFUL ||
                                            state.color_blend == STATE_DOUBTFUL);
    *ret_state = state;
}

void graphics_state_settle(struct graphics_state *state, const struct subpass_use *use)
{
    if (state->by_subpass && state->depth_stencil == STATE_DOUBTFUL) {
        state->depth_stencil = live_if(use->depth_stencil);
    }
    if (state->by_subpass && state->color_blend == STATE_DOUBTFUL) {
        state->color_blend = live_if(use->color);
    }
}
