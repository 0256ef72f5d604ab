// SPDX-License-Identifier: Apache-2.0
/* Which parts of a create-info are live, and which a program may leave dangling (hazard 16): the
 * states of a graphics pipeline, and the members of structs, by the conditions that rules.def
 * names. Sources: chapter "Pipelines", VkGraphicsPipelineCreateInfo ("Vertex Input State" to
 * "Complete Graphics Pipelines") and VkDynamicState. Internal to the codec; pure, allocates
 * nothing, thread-safe. */
#ifndef WARMPIPE_CODEC_LIVENESS_H
#define WARMPIPE_CODEC_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

/* Dynamic states that decide whether a pointer is followed. */
enum dynamic_state {
    DYNAMIC_VIEWPORT,
    DYNAMIC_SCISSOR,
    DYNAMIC_RASTERIZER_DISCARD,
    DYNAMIC_VERTEX_INPUT,
    DYNAMIC_SAMPLE_MASK,
    DYNAMIC_COLOR_BLEND_ENABLE,
    DYNAMIC_COLOR_BLEND_EQUATION,
    DYNAMIC_COLOR_WRITE_MASK,
    DYNAMIC_COLOR_BLEND_ADVANCED,
    DYNAMIC_COLOR_WRITE_ENABLE,
    DYNAMIC_DISCARD_RECTANGLE,
    DYNAMIC_W_SCALING,
    DYNAMIC_W_SCALING_ENABLE,
    DYNAMIC_SWIZZLE,
    DYNAMIC_EXCLUSIVE_SCISSOR,
    DYNAMIC_SHADING_RATE_PALETTE,
    DYNAMIC_COARSE_SAMPLE_ORDER,
    DYNAMIC_SAMPLE_LOCATIONS,
    DYNAMIC_SAMPLE_LOCATIONS_ENABLE,
    DYNAMIC_COVERAGE_TABLE,
    DYNAMIC_COVERAGE_TABLE_ENABLE,
    DYNAMIC_DEPTH_CLAMP_RANGE,
    DYNAMIC_NONE
};

/* DOUBTFUL: the create-info alone does not say; the pointer is not NULL and not followed. UNKNOWN:
 * it depends on an unknown value, so the create-info is not known. */
enum liveness { STATE_DEAD, STATE_LIVE, STATE_DOUBTFUL, STATE_UNKNOWN };

enum live_condition {
    LIVE_ALWAYS,
    /* If a state of the graphics pipeline is live. The last two are arrays chained for dynamic
     * rendering: the attachments' locations, and their formats and samples. */
    LIVE_STAGES,
    LIVE_VERTEX_INPUT,
    LIVE_INPUT_ASSEMBLY,
    LIVE_TESSELLATION,
    LIVE_VIEWPORT,
    LIVE_RASTERIZATION,
    LIVE_MULTISAMPLE,
    LIVE_DEPTH_STENCIL,
    LIVE_COLOR_BLEND,
    LIVE_LAYOUT,
    LIVE_RENDER_PASS,
    LIVE_COLOR_LOCATIONS,
    LIVE_COLOR_FORMATS,
    /* Unless a state is dynamic. */
    LIVE_VIEWPORTS,
    LIVE_SCISSORS,
    LIVE_SWIZZLES,
    LIVE_EXCLUSIVE_SCISSORS,
    LIVE_SHADING_PALETTES,
    LIVE_SAMPLE_ORDERS,
    LIVE_SAMPLE_MASK,
    LIVE_COLOR_WRITE_ENABLES,
    /* Depends on other members, or on more than one state. */
    LIVE_W_SCALINGS,
    LIVE_DEPTH_CLAMP_RANGE,
    LIVE_SAMPLE_LOCATIONS,
    LIVE_COVERAGE_TABLE,
    LIVE_BLEND_ATTACHMENTS,
    LIVE_DISCARD_RECTANGLES,
    LIVE_IMMUTABLE_SAMPLERS,
    LIVE_TEMPLATE_SET_LAYOUT,
    LIVE_TEMPLATE_PIPELINE_LAYOUT
};

/* Structs in the create-info's own chain; NULL where one is not there. */
struct graphics_chain {
    const VkPipelineLibraryCreateInfoKHR *libraries;
    const VkGraphicsPipelineLibraryCreateInfoEXT *subsets;
    const VkPipelineRenderingCreateInfo *rendering;
    bool custom_resolve; /* VkCustomResolveCreateInfoEXT: it may draw to attachments of its own */
};

/* Whether the subpass that a pipeline is made for uses attachments of each sort. */
struct subpass_use {
    bool color;
    bool depth_stencil;
};

struct graphics_state {
    bool dynamic_known;     /* every dynamic state is one that we know */
    uint32_t dynamic;       /* bits 1 << enum dynamic_state */
    bool pre_rasterization; /* this create-info itself specifies that subset */
    bool has_formats;       /* of depth and stencil, for dynamic rendering */
    bool by_subpass;        /* the subpass's attachments would clear a doubt */
    bool is_apart;          /* what is ignored when it is created, the pipeline is used by */
    enum liveness of[LIVE_COLOR_FORMATS + 1]; /* by enum live_condition, from LIVE_STAGES on */
};

static inline bool graphics_state_is_dynamic(const struct graphics_state *state,
                                             enum dynamic_state dynamic)
{
    return (state->dynamic >> dynamic & 1) != 0;
}

/* flags: the effective ones. What depends on the subpass of a render pass is DOUBTFUL at first. */
void graphics_state_compute(const VkGraphicsPipelineCreateInfo *info, uint64_t flags,
                            const struct graphics_chain *chain, struct graphics_state *ret_state);

/* Clears the doubts of a state whose by_subpass is set. */
void graphics_state_settle(struct graphics_state *state, const struct subpass_use *use);

struct live_context {
    struct graphics_state graphics; /* of the graphics pipeline that is looked at, if one is */
    bool blend_advanced_coherent;   /* the feature advancedBlendCoherentOperations is enabled */
};

/* Whether an array's count is ignored wherever the array is: a form that leaves the array out is
 * decoded with a count of 0. Other counts mean something without their array (as many viewports as
 * will be set dynamically). */
bool liveness_covers_count(enum live_condition condition);

/* What no state of the graphics pipeline says by itself. */
enum liveness liveness_of_member(enum live_condition condition, const void *structure,
                                 const struct live_context *context);

/* `structure` is the struct that holds the member. */
static inline enum liveness liveness_of(enum live_condition condition, const void *structure,
                                        const struct live_context *context)
{
    if (condition == LIVE_ALWAYS) {
        return STATE_LIVE;
    }
    return condition <= LIVE_COLOR_FORMATS ? context->graphics.of[condition]
                                           : liveness_of_member(condition, structure, context);
}

#endif
