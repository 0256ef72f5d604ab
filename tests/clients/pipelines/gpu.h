// SPDX-License-Identifier: Apache-2.0
/* The instance, and one logical device. */
#ifndef PIPELINES_GPU_H
#define PIPELINES_GPU_H

#include <stdbool.h>

#include <vulkan/vulkan.h>

#include "options.h"

struct gpu {
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t queue_family;
    const VkAllocationCallbacks *allocator; /* NULL unless --allocator */
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    char driver[VK_MAX_DRIVER_NAME_SIZE]; /* "" below Vulkan 1.2 */
    bool is_cpu;
    uint32_t api_version; /* of instance and device, the lower */
    bool dynamic_rendering;
    bool libraries; /* VK_EXT_graphics_pipeline_library is enabled, and to be used */
    PFN_vkCreateRayTracingPipelinesKHR create_raytracing; /* NULL unless --raytracing */
};

VkInstance gpu_create_instance(const struct options *options);

/* Prints a line for each physical device: index, type, name. */
void gpu_list(VkInstance instance);

/* Opens the physical device with this index; ends the program where what the options ask for is not
 * to be had. */
struct gpu gpu_open(VkInstance instance, const struct options *options, uint32_t index);

void gpu_close(struct gpu *gpu);

#endif
