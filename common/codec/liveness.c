#include "codec/liveness.h"

#include <stddef.h>
#include <string.h>

/* VK_EXT_depth_clamp_control is newer than the oldest headers. */
#define DEPTH_CLAMP_MODE_USER_DEFINED_RANGE 1

struct depth_clamp_control {
    VkStructureType stype;
    const void *next;
    uint32_t mode;
    const void *range;
};

static enum liveness unless(const struct graphics_state *state, enum dynamic_state dynamic)
{
    return graphics_state_is_dynamic(state, dynamic) ? STATE_DEAD : STATE_LIVE;
}

/* Live where an enable that stands beside it, or is dynamic, lets it be used. */
static enum liveness if_enabled(const struct graphics_state *state, VkBool32 enable,
                                enum dynamic_state dynamic_enable, enum dynamic_state dynamic)
{
    bool enabled = enable || graphics_state_is_dynamic(state, dynamic_enable);
    return enabled ? unless(state, dynamic) : STATE_DEAD;
}

/* VUID-VkPipelineColorBlendStateCreateInfo-pAttachments-07353 and the member's description: ignored
 * where enable, equation and mask are dynamic, and the advanced state too or its feature is off. */
static enum liveness blend_attachments(const struct live_context *context)
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

static enum liveness depth_clamp_range(const struct depth_clamp_control *control,
                                       const struct graphics_state *state)
{
    return control->mode == DEPTH_CLAMP_MODE_USER_DEFINED_RANGE
               ? unless(state, DYNAMIC_DEPTH_CLAMP_RANGE)
               : STATE_DEAD;
}

static enum liveness immutable_samplers(const VkDescriptorSetLayoutBinding *binding)
{
    return binding->descriptorType == VK_DESCRIPTOR_TYPE_SAMPLER ||
                   binding->descriptorType == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER
               ? STATE_LIVE
               : STATE_DEAD;
}

static enum liveness template_of(const VkDescriptorUpdateTemplateCreateInfo *info,
                                 VkDescriptorUpdateTemplateType type)
{
    return info->templateType == type ? STATE_LIVE : STATE_DEAD;
}

static enum liveness by_members(enum live_condition condition, const void *structure,
                                const struct live_context *context)
{
    const struct graphics_state *state = &context->graphics;
    const VkPipelineViewportWScalingStateCreateInfoNV *w_scaling = structure;
    const VkPipelineSampleLocationsStateCreateInfoEXT *locations = structure;
    const VkPipelineCoverageModulationStateCreateInfoNV *coverage = structure;
    switch (condition) {
    case LIVE_W_SCALINGS:
        return if_enabled(state, w_scaling->viewportWScalingEnable, DYNAMIC_W_SCALING_ENABLE,
                          DYNAMIC_W_SCALING);
    case LIVE_DEPTH_CLAMP_RANGE:
        return depth_clamp_range(structure, state);
    case LIVE_SAMPLE_LOCATIONS:
        return if_enabled(state, locations->sampleLocationsEnable, DYNAMIC_SAMPLE_LOCATIONS_ENABLE,
                          DYNAMIC_SAMPLE_LOCATIONS);
    case LIVE_COVERAGE_TABLE:
        return if_enabled(state, coverage->coverageModulationTableEnable,
                          DYNAMIC_COVERAGE_TABLE_ENABLE, DYNAMIC_COVERAGE_TABLE);
    case LIVE_BLEND_ATTACHMENTS:
        return blend_attachments(context);
    case LIVE_DISCARD_RECTANGLES:
        return state->pre_rasterization ? unless(state, DYNAMIC_DISCARD_RECTANGLE) : STATE_DEAD;
    case LIVE_IMMUTABLE_SAMPLERS:
        return immutable_samplers(structure);
    case LIVE_TEMPLATE_SET_LAYOUT:
        return template_of(structure, VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET);
    case LIVE_TEMPLATE_PIPELINE_LAYOUT:
        return template_of(structure, VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR);
    default:
        return STATE_LIVE;
    }
}

#define STATE(name) offsetof(struct graphics_state, name)

enum liveness liveness_of(enum live_condition condition, const void *structure,
                          const struct live_context *context)
{
    static const uint16_t states[] = {
        [LIVE_STAGES] = STATE(stages),
        [LIVE_VERTEX_INPUT] = STATE(vertex_input),
        [LIVE_INPUT_ASSEMBLY] = STATE(input_assembly),
        [LIVE_TESSELLATION] = STATE(tessellation),
        [LIVE_VIEWPORT] = STATE(viewport),
        [LIVE_RASTERIZATION] = STATE(rasterization),
        [LIVE_MULTISAMPLE] = STATE(multisample),
        [LIVE_DEPTH_STENCIL] = STATE(depth_stencil),
        [LIVE_COLOR_BLEND] = STATE(color_blend),
        [LIVE_LAYOUT] = STATE(layout),
        [LIVE_RENDER_PASS] = STATE(render_pass),
        [LIVE_COLOR_LOCATIONS] = STATE(color_locations),
        [LIVE_COLOR_FORMATS] = STATE(color_formats),
    };
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
    const struct graphics_state *state = &context->graphics;
    enum liveness liveness = STATE_LIVE;
    if (condition == LIVE_ALWAYS) {
        return STATE_LIVE;
    }
    if (condition <= LIVE_COLOR_FORMATS) {
        memcpy(&liveness, (const uint8_t *)state + states[condition], sizeof(liveness));
        return liveness;
    }
    if (condition <= LIVE_COLOR_WRITE_ENABLES) {
        return unless(state, (enum dynamic_state)dynamics[condition]);
    }
    return by_members(condition, structure, context);
}
