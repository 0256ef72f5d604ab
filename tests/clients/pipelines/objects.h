// SPDX-License-Identifier: Apache-2.0
/* What pipelines are made of on one device: modules, layouts, render passes. */
#ifndef PIPELINES_OBJECTS_H
#define PIPELINES_OBJECTS_H

#include "gpu.h"
#include "shaders.h"

enum { COLOUR_FORMAT_COUNT = 3, DEPTH_FORMAT_COUNT = 2 };

extern const VkFormat objects_colour_formats[COLOUR_FORMAT_COUNT];
extern const VkFormat objects_depth_formats[DEPTH_FORMAT_COUNT]; /* the first: none */

struct kind_objects {
    const struct shader_kind *kind;
    VkShaderModule modules[MAX_STAGES];
    uint32_t stage_count;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
};

struct objects;

/* Creates all of it; raytracing and render passes only where they are asked for. Ends the program
 * on failure. */
struct objects *objects_create(const struct gpu *gpu, const struct options *options);

/* The objects of one kind of shaders. Borrowed. */
const struct kind_objects *objects_of(const struct objects *objects,
                                      const struct shader_kind *kind);

/* VK_NULL_HANDLE under dynamic rendering. */
VkRenderPass objects_render_pass(const struct objects *objects, uint32_t colour, uint32_t depth);

void objects_destroy(struct objects *objects);

#endif
