// SPDX-License-Identifier: Apache-2.0
/* A compute or a graphics pipeline of shaders that do nothing: Vulkan 1.0, a render pass without
 * attachments. Drivers may crash: call it in a child process. */
#ifndef WARMPIPE_TOOLS_VULKAN_SMALL_PIPELINE_H
#define WARMPIPE_TOOLS_VULKAN_SMALL_PIPELINE_H

#include <stdbool.h>
#include <vulkan/vulkan.h>

struct small_pipeline {
    VkDevice device;
    PFN_vkGetDeviceProcAddr get;
    bool is_graphics;
    VkShaderModule modules[2]; /* of the compute stage; or of vertex and fragment */
    VkPipelineLayout layout;
    VkRenderPass render_pass; /* of a graphics pipeline */
};

/* Creates what the pipeline is made of. Closed with small_pipeline_close, also on failure. */
VkResult small_pipeline_open(struct small_pipeline *ret_small, VkDevice device,
                             PFN_vkGetDeviceProcAddr get, bool is_graphics);

void small_pipeline_close(const struct small_pipeline *small);

/* Creates the pipeline; `next` is the chain of its create-info. The caller destroys it. */
VkResult small_pipeline_create(const struct small_pipeline *small, VkPipelineCache cache,
                               const void *next, VkPipeline *ret_pipeline);

#endif
