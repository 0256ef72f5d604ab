// SPDX-License-Identifier: Apache-2.0
/* What can be said of layouts and stages without their code. Pure functions; thread-safe. */
#ifndef WARMPIPE_SPIRV_PIPELINE_H
#define WARMPIPE_SPIRV_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/base/status.h"

/* Whether each binding has a number of its own
 * (VUID-VkDescriptorSetLayoutCreateInfo-binding-00279), and none is larger, or has more
 * descriptors, than a driver can be asked for. STATUS_ok, bad_binding, out_of_memory. */
enum status pipeline_check_set_layout(const VkDescriptorSetLayoutCreateInfo *info);

/* The number of sets, and the push constant ranges (VUID-VkPushConstantRange-offset-00295,
 * -size-00296, -size-00297, VUID-VkPipelineLayoutCreateInfo-pPushConstantRanges-00292). STATUS_ok,
 * bad_binding, bad_push_constants. */
enum status pipeline_check_layout(const VkPipelineLayoutCreateInfo *info);

/* A pipeline of any bind point. Borrowed. */
struct pipeline_parts {
    const VkPipelineShaderStageCreateInfo *stages;
    uint32_t stage_count;
    VkShaderStageFlags allowed; /* stages of its bind point */
    bool repeats;               /* several stages may be of one kind */
    bool is_whole;              /* it must have a stage that makes primitives */
    VkPipelineLayout layout;
    bool by_heap; /* the code's bindings are those of a descriptor heap, not of the layout */
};

/* Of a create-info of compute, graphics or ray tracing pipelines. */
struct pipeline_parts pipeline_parts_of(const VkBaseInStructure *info);

/* VUID-VkComputePipelineCreateInfo-stage-00701, VUID-VkGraphicsPipelineCreateInfo-stage-06897,
 * -stage-02096, -pStages-02095, -pStages-00729, -pStages-00730,
 * VUID-VkRayTracingPipelineCreateInfoKHR-stage-06899 */
bool pipeline_has_valid_stages(const struct pipeline_parts *pipeline);

#endif
