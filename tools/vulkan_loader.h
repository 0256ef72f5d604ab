/* The Vulkan loader, opened when it is asked for, so that the tool runs where there is none, and an
 * instance made by it. */
#ifndef WARMPIPE_TOOLS_VULKAN_LOADER_H
#define WARMPIPE_TOOLS_VULKAN_LOADER_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#define VULKAN_LOADER_NAME "libvulkan.so.1"

struct vulkan_loader {
    void *library;
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance; /* VK_NULL_HANDLE: none yet */
};

/* NULL, or what dlopen says. The library stays loaded: layers and drivers do not like to go. */
const char *vulkan_loader_open(struct vulkan_loader *ret_loader);

/* A command by its name, NULL if it is not known. */
PFN_vkVoidFunction vulkan_loader_get(const struct vulkan_loader *loader, const char *name);

/* The loader's own version. */
uint32_t vulkan_loader_version(const struct vulkan_loader *loader);

/* An instance of this Vulkan version, 1.0 where the loader knows no other. */
VkResult vulkan_loader_create_instance(struct vulkan_loader *loader, uint32_t api_version);
void vulkan_loader_destroy_instance(struct vulkan_loader *loader);

/* All physical devices; *ret_devices is to be freed, and NULL where there are none. */
VkResult vulkan_loader_devices(const struct vulkan_loader *loader, VkPhysicalDevice **ret_devices,
                               uint32_t *ret_count);

#endif
