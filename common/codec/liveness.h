/* Whether a member of a struct is live, by the conditions that rules.def names (hazard 16).
 * Internal to the codec; pure, thread-safe. */
#ifndef WARMPIPE_CODEC_LIVENESS_H
#define WARMPIPE_CODEC_LIVENESS_H

#include <stdbool.h>

#include "codec/graphics_state.h"

enum live_condition {
    LIVE_ALWAYS,
    /* as a state of the graphics pipeline is */
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
    /* unless a state is dynamic */
    LIVE_VIEWPORTS,
    LIVE_SCISSORS,
    LIVE_SWIZZLES,
    LIVE_EXCLUSIVE_SCISSORS,
    LIVE_SHADING_PALETTES,
    LIVE_SAMPLE_ORDERS,
    LIVE_SAMPLE_MASK,
    LIVE_COLOR_WRITE_ENABLES,
    /* as other members, or more than one state, say */
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

struct live_context {
    struct graphics_state graphics; /* of the graphics pipeline that is looked at, if one is */
    bool blend_advanced_coherent;   /* the feature advancedBlendCoherentOperations is enabled */
};

/* `structure` is the struct that holds the member. */
enum liveness liveness_of(enum live_condition condition, const void *structure,
                          const struct live_context *context);

#endif
