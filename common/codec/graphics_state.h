/* Which states of a graphics pipeline's create-info are live, and which a program may leave
 * dangling (hazard 16). Sources: chapter "Pipelines", VkGraphicsPipelineCreateInfo ("Vertex Input
 * State" to "Complete Graphics Pipelines") and VkDynamicState. Pure, allocates nothing,
 * thread-safe. */
#ifndef WARMPIPE_CODEC_GRAPHICS_STATE_H
#define WARMPIPE_CODEC_GRAPHICS_STATE_H

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

/* DOUBTFUL: it cannot be told from the create-info alone; the pointer is not NULL and not followed.
 */
enum liveness { STATE_DEAD, STATE_LIVE, STATE_DOUBTFUL };

/* What the create-info's own chain holds of interest; NULL where it is not there. */
struct graphics_chain {
    const VkPipelineLibraryCreateInfoKHR *libraries;
    const VkGraphicsPipelineLibraryCreateInfoEXT *subsets;
    const VkPipelineRenderingCreateInfo *rendering;
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
    bool by_subpass;        /* what the subpass uses would clear a doubt */
    enum liveness stages;
    enum liveness layout;
    enum liveness render_pass;
    enum liveness vertex_input;
    enum liveness input_assembly;
    enum liveness tessellation;
    enum liveness viewport;
    enum liveness rasterization;
    enum liveness multisample;
    enum liveness depth_stencil;
    enum liveness color_blend;
    /* Arrays chained for dynamic rendering: attachments' locations; their formats and samples. */
    enum liveness color_locations;
    enum liveness color_formats;
};

static inline bool graphics_state_is_dynamic(const struct graphics_state *state,
                                             enum dynamic_state dynamic)
{
    return (state->dynamic >> dynamic & 1) != 0;
}

/* flags: the effective ones. What hangs on the subpass of a render pass is DOUBTFUL at first. */
void graphics_state_compute(const VkGraphicsPipelineCreateInfo *info, uint64_t flags,
                            const struct graphics_chain *chain, struct graphics_state *ret_state);

/* Clears the doubts that by_subpass tells of. */
void graphics_state_settle(struct graphics_state *state, const struct subpass_use *use);

#endif
