// SPDX-License-Identifier: Apache-2.0
/* A program that creates pipelines as DXVK 3 does where the driver has VK_EXT_descriptor_heap:
 * libraries of each part, by module identifier first and by code where that is not enough, linked
 * and then compiled whole; effective flags in a struct of their own, dynamic rendering, mappings
 * chained behind each stage's code, no layouts and no cache. */
#ifndef HEAPS_H
#define HEAPS_H

#include <stdint.h>
#include <vulkan/vulkan.h>

struct heaps_device {
    VkInstance instance;
    VkDevice device;
    VkPhysicalDevice physical;
    PFN_vkGetShaderModuleCreateInfoIdentifierEXT get_identifier;
};

/* Ends the program where the driver lacks what is needed, after a line that begins with "skipped"
 * and says what; with status 1 where something fails. */
struct heaps_device heaps_open(void);
void heaps_close(const struct heaps_device *device);

/* What was asked for, and how long the calls took. */
struct heaps_count {
    uint32_t calls;
    uint32_t compile_required; /* libraries by identifier that were not to be had so */
    uint32_t without_stages;   /* libraries and links: no driver compiles anything for them */
    uint32_t failures;
    uint64_t ns; /* inside vkCreate*Pipelines */
};

/* One compute pipeline; one graphics pipeline in four libraries, linked, and whole. Another variant
 * is other constants. All is destroyed again. */
void heaps_create(const struct heaps_device *device, uint32_t variant, struct heaps_count *count);

#endif
