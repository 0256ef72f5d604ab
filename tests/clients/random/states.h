// SPDX-License-Identifier: Apache-2.0
/* The states of a graphics pipeline. */
#ifndef RANDOM_STATES_H
#define RANDOM_STATES_H

#include "random.h"

enum { MAX_DYNAMIC = 64, MAX_VERTEX_STAGES = 4 };

/* All states of a pipeline, of which its parts take theirs. In an item's memory: nothing moves. */
struct graphics {
    VkDynamicState dynamic[MAX_DYNAMIC];
    uint32_t dynamic_count;
    VkFormat colors[2], depth;
    uint32_t color_count, view_mask, subpass;
    bool reads_input, has_discard;
    VkRenderPass pass; /* NULL: dynamic rendering */
    VkSampleCountFlagBits samples;
    VkPipelineShaderStageCreateInfo vertex_stages[MAX_VERTEX_STAGES], fragment;
    uint32_t vertex_stage_count;
    bool has_fragment, tessellates;
    VkPipelineVertexInputStateCreateInfo input;
    VkPipelineInputAssemblyStateCreateInfo assembly;
    VkPipelineTessellationStateCreateInfo tessellation;
    VkPipelineViewportStateCreateInfo viewport;
    VkPipelineRasterizationStateCreateInfo rasterization;
    VkPipelineMultisampleStateCreateInfo multisample;
    VkPipelineDepthStencilStateCreateInfo depth_stencil;
    VkPipelineColorBlendStateCreateInfo blend;
    VkPipelineDynamicStateCreateInfo dynamic_state;
};

bool is_dynamic(const struct graphics *g, VkDynamicState state);

/* A pointer that Vulkan ignores. */
const void *ignored(struct item *item, const void *valid);

/* With its stages and render pass. */
struct graphics *draw_states(struct item *item, bool may_discard);

#endif
