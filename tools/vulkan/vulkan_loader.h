// SPDX-License-Identifier: Apache-2.0
/* The Vulkan loader, and this machine's devices as it lists them. It is opened with dlopen when it
 * is needed, so that the tool also runs where there is none. Not thread-safe. */
#ifndef WARMPIPE_TOOLS_VULKAN_VULKAN_LOADER_H
#define WARMPIPE_TOOLS_VULKAN_VULKAN_LOADER_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/driver/identity.h"

#define VULKAN_LOADER_NAME "libvulkan.so.1"

struct vulkan_loader {
    void *library;
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance; /* VK_NULL_HANDLE: none yet */
};

/* NULL, or the error text of dlopen. The library stays loaded: layers and drivers often do not
 * survive being unloaded. */
const char *vulkan_loader_open(struct vulkan_loader *ret_loader);

/* A command by its name; NULL: unknown. */
#define VULKAN_GET(loader, name) ((PFN_##name)(loader)->get((loader)->instance, #name))

/* The loader's own version. */
uint32_t vulkan_loader_version(const struct vulkan_loader *loader);

/* An instance of this Vulkan version, or 1.0 where the loader knows no other. */
VkResult vulkan_loader_create_instance(struct vulkan_loader *loader, uint32_t api_version);

/* Without an instance a no-op. */
void vulkan_loader_destroy_instance(struct vulkan_loader *loader);

/* All physical devices of the instance. *ret_devices is to be freed; where there are none, it and
 * *ret_count stay as they are: NULL and 0. */
VkResult vulkan_loader_devices(const struct vulkan_loader *loader, VkPhysicalDevice **ret_devices,
                               uint32_t *ret_count);

struct vulkan_devices {
    struct driver_identity *identities; /* in the loader's order, the one that programs see */
    uint32_t count;
};

/* Opens the loader, creates an instance and lists the devices; the instance is destroyed again. No
 * device: true, and a count of 0. False after a message. Freed
 * with vulkan_devices_free. */
bool vulkan_devices_list(struct vulkan_devices *ret_devices);

/* The same, but the instance stays; it is NULL where there is no driver. */
bool vulkan_devices_ask(struct vulkan_loader *ret_loader, struct vulkan_devices *ret_devices);

void vulkan_devices_free(struct vulkan_devices *devices);

#endif
