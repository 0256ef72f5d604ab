// SPDX-License-Identifier: Apache-2.0
/* Graphics pipelines by way of VK_EXT_graphics_pipeline_library: four libraries each, then a link.
 */
#ifndef PIPELINES_LIBRARIES_H
#define PIPELINES_LIBRARIES_H

#include "gpu.h"

/* Creates what vkCreateGraphicsPipelines would have made of these create-infos, by libraries that
 * do not outlive the call. The result of the first call that fails, else VK_SUCCESS. */
VkResult libraries_create(const struct gpu *gpu, VkPipelineCache cache, uint32_t count,
                          const VkGraphicsPipelineCreateInfo *infos, VkPipeline *pipelines);

#endif
