// SPDX-License-Identifier: Apache-2.0
/* The limits of a device that pipelines made on another one may exceed. Such pipelines must not
 * reach the driver, which need not refuse them. Thread-safe. */
#ifndef WARMPIPE_REPLAY_REPLAY_LIMITS_H
#define WARMPIPE_REPLAY_REPLAY_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

/* VkPhysicalDeviceLimits, and VkPhysicalDevice*Properties of subgroups, of the control of their
 * size, of custom border colors and of descriptor buffers (embedded samplers). 0: not known, not
 * checked. */
struct replay_limits {
    uint32_t max_push_constants_size;
    uint32_t max_workgroup_invocations;
    uint32_t max_workgroup_size[3];
    uint32_t subgroup_size;
    uint32_t min_subgroup_size;
    uint32_t max_subgroup_size;
    uint32_t max_workgroup_subgroups;
    VkShaderStageFlags required_subgroup_size_stages;
    uint32_t max_bound_descriptor_sets;
    uint32_t max_samplers;              /* that may live at once; of them, */
    uint32_t max_border_color_samplers; /* those with a custom border color */
};

/* Queries a device; get_properties2 may be NULL below Vulkan 1.1. Calls Vulkan. */
void replay_limits_query(PFN_vkGetPhysicalDeviceProperties get_properties,
                         PFN_vkGetPhysicalDeviceProperties2 get_properties2,
                         VkPhysicalDevice device, struct replay_limits *ret_limits);

/* The limits of one of `replays` that share a device, less what may live at once: of that all of
 * them together take a quarter, for the program needs the rest; each at least one. */
struct replay_limits replay_limits_share(const struct replay_limits *limits, unsigned replays);

/* The functions below give the name of a limit that is exceeded, as Vulkan calls it (static
 * storage), or NULL.
 *
 * Sets and push constants (VUID-VkPipelineLayoutCreateInfo-setLayoutCount-00286,
 * VUID-VkPushConstantRange-offset-00294, -size-00298). */
const char *replay_limits_exceeded_by_layout(const struct replay_limits *limits,
                                             const VkPipelineLayoutCreateInfo *info);

/* Required subgroup sizes (VUID-VkPipelineShaderStageRequiredSubgroupSizeCreateInfo-*,
 * VUID-VkPipelineShaderStageCreateInfo-pNext-02755) and, if the code of a compute stage is given
 * (else NULL), the workgroup's size ("Built-In Variables", WorkgroupSize;
 * VUID-VkPipelineShaderStageCreateInfo-pNext-02756, -02757, -flags-02758, -02759). */
const char *replay_limits_exceeded_by_stage(const struct replay_limits *limits,
                                            const VkPipelineShaderStageCreateInfo *stage,
                                            const void *code, size_t code_size);

/* Whether one sampler more may be made beside these (VUID-vkCreateSampler-
 * maxSamplerAllocationCount-04110, VUID-VkSamplerCreateInfo-borderColor-04012). */
bool replay_limits_allow_sampler(const struct replay_limits *limits,
                                 const VkSamplerCreateInfo *info, size_t samplers,
                                 size_t border_color_samplers);

/* Whether the sampler has a custom border color. */
bool sampler_has_border_color(const VkSamplerCreateInfo *info);

#endif
