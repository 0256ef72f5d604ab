#include "vulkan_devices.h"

#include <stdlib.h>

#include "output.h"

static VkResult identify(const struct vulkan_loader *loader, struct vulkan_devices *devices)
{
    const struct identity_commands commands = {
        .get_properties = (PFN_vkGetPhysicalDeviceProperties)vulkan_loader_get(
            loader, "vkGetPhysicalDeviceProperties"),
        .get_properties2 = (PFN_vkGetPhysicalDeviceProperties2)vulkan_loader_get(
            loader, "vkGetPhysicalDeviceProperties2"),
        .enumerate_extensions = (PFN_vkEnumerateDeviceExtensionProperties)vulkan_loader_get(
            loader, "vkEnumerateDeviceExtensionProperties"),
    };
    VkPhysicalDevice *handles = NULL;
    uint32_t count = 0;
    VkResult result = vulkan_loader_devices(loader, &handles, &count);
    if (result == VK_SUCCESS && count > 0) {
        devices->identities = calloc(count, sizeof *devices->identities);
        result = devices->identities ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++) {
        identity_query(&commands, handles[i], &devices->identities[i]);
        devices->count = i + 1;
    }
    free(handles);
    return result;
}

static void close_instance(struct vulkan_loader *loader)
{
    if (loader->instance) {
        vulkan_loader_destroy_instance(loader);
    }
}

bool vulkan_devices_ask(const char *verb, struct vulkan_loader *ret_loader,
                        struct vulkan_devices *ret_devices)
{
    struct vulkan_loader loader;
    struct vulkan_devices devices = {0};
    const char *problem = vulkan_loader_open(&loader);
    if (problem) {
        output_message("%s: cannot load the Vulkan loader, " VULKAN_LOADER_NAME ": %s", verb,
                       problem);
        return false;
    }
    /* 1.1, for vkGetPhysicalDeviceProperties2. */
    VkResult result = vulkan_loader_create_instance(&loader, VK_API_VERSION_1_1);
    if (result == VK_SUCCESS) {
        result = identify(&loader, &devices);
    } else {
        loader.instance = VK_NULL_HANDLE;
        /* no driver, so no device */
        result = result == VK_ERROR_INCOMPATIBLE_DRIVER ? VK_SUCCESS : result;
    }
    if (result != VK_SUCCESS) {
        output_message("%s: cannot ask the Vulkan loader for devices (VkResult %d)", verb, result);
        vulkan_devices_free(&devices);
        close_instance(&loader);
        return false;
    }
    *ret_loader = loader;
    *ret_devices = devices;
    return true;
}

bool vulkan_devices_list(const char *verb, struct vulkan_devices *ret_devices)
{
    struct vulkan_loader loader;
    bool asked = vulkan_devices_ask(verb, &loader, ret_devices);
    if (asked) {
        close_instance(&loader);
    }
    return asked;
}

void vulkan_devices_free(struct vulkan_devices *devices)
{
    free(devices->identities);
    *devices = (struct vulkan_devices){0};
}
