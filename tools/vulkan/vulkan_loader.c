// SPDX-License-Identifier: Apache-2.0
#include "tools/vulkan/vulkan_loader.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/output.h"

const char *vulkan_loader_open(struct vulkan_loader *ret_loader)
{
    struct vulkan_loader loader = {.library = dlopen(VULKAN_LOADER_NAME, RTLD_NOW | RTLD_LOCAL)};
    void *symbol = loader.library ? dlsym(loader.library, "vkGetInstanceProcAddr") : NULL;
    if (!symbol) {
        return dlerror();
    }
    /* ISO C has no conversion from an object pointer to a function pointer; POSIX has. */
    memcpy(&loader.get, &symbol, sizeof loader.get);
    *ret_loader = loader;
    return NULL;
}

uint32_t vulkan_loader_version(const struct vulkan_loader *loader)
{
    uint32_t version = VK_API_VERSION_1_0;
    PFN_vkEnumerateInstanceVersion enumerate =
        (PFN_vkEnumerateInstanceVersion)loader->get(NULL, "vkEnumerateInstanceVersion");
    if (enumerate) {
        enumerate(&version);
    }
    return version;
}

VkResult vulkan_loader_create_instance(struct vulkan_loader *loader, uint32_t api_version)
{
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)loader->get(NULL, "vkCreateInstance");
    /* A loader of 1.0 refuses any later version. */
    const bool is_first = !loader->get(NULL, "vkEnumerateInstanceVersion");
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "warmpipe",
        .apiVersion = is_first ? VK_API_VERSION_1_0 : api_version,
    };
    const VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &application,
    };
    return create(&info, NULL, &loader->instance);
}

void vulkan_loader_destroy_instance(struct vulkan_loader *loader)
{
    if (loader->instance) {
        VULKAN_GET(loader, vkDestroyInstance)(loader->instance, NULL);
        loader->instance = VK_NULL_HANDLE;
    }
}

VkResult vulkan_loader_devices(const struct vulkan_loader *loader, VkPhysicalDevice **ret_devices,
                               uint32_t *ret_count)
{
    PFN_vkEnumeratePhysicalDevices list = VULKAN_GET(loader, vkEnumeratePhysicalDevices);
    uint32_t count = 0;
    VkResult result = list(loader->instance, &count, NULL);
    if (result != VK_SUCCESS || count == 0) {
        return result;
    }
    AUTO_FREE VkPhysicalDevice *handles = calloc(count, sizeof *handles);
    result = handles ? list(loader->instance, &count, handles) : VK_ERROR_OUT_OF_HOST_MEMORY;
    if (result < 0) {
        return result;
    }
    *ret_devices = handles;
    *ret_count = count;
    handles = NULL;
    return VK_SUCCESS;
}

static VkResult vulkan_loader_identify(const struct vulkan_loader *loader,
                                       struct vulkan_devices *devices)
{
    const struct identity_commands commands = {
        .get_properties = VULKAN_GET(loader, vkGetPhysicalDeviceProperties),
        .get_properties2 = VULKAN_GET(loader, vkGetPhysicalDeviceProperties2),
        .enumerate_extensions = VULKAN_GET(loader, vkEnumerateDeviceExtensionProperties),
    };
    AUTO_FREE VkPhysicalDevice *handles = NULL;
    uint32_t count = 0;
    VkResult result = vulkan_loader_devices(loader, &handles, &count);
    if (result == VK_ERROR_INITIALIZATION_FAILED) {
        result = VK_SUCCESS; /* so the loader says that no driver has found a device */
    }
    if (result == VK_SUCCESS && count > 0) {
        devices->identities = calloc(count, sizeof *devices->identities);
        result = devices->identities ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++) {
        identity_query(&commands, handles[i], &devices->identities[i]);
        devices->count = i + 1;
    }
    return result;
}

bool vulkan_devices_ask(struct vulkan_loader *ret_loader, struct vulkan_devices *ret_devices)
{
    struct vulkan_loader loader;
    struct vulkan_devices devices = {0};
    const char *problem = vulkan_loader_open(&loader);
    if (problem) {
        output_message("cannot load the Vulkan loader, " VULKAN_LOADER_NAME ": %s", problem);
        return false;
    }
    /* 1.1, for vkGetPhysicalDeviceProperties2. */
    VkResult result = vulkan_loader_create_instance(&loader, VK_API_VERSION_1_1);
    if (result == VK_SUCCESS) {
        result = vulkan_loader_identify(&loader, &devices);
    } else {
        loader.instance = VK_NULL_HANDLE;
        /* No driver is no error: there are no devices. */
        result = result == VK_ERROR_INCOMPATIBLE_DRIVER ? VK_SUCCESS : result;
    }
    if (result != VK_SUCCESS) {
        output_message("cannot ask the Vulkan loader for devices (VkResult %d)", result);
        vulkan_devices_free(&devices);
        vulkan_loader_destroy_instance(&loader);
        return false;
    }
    *ret_loader = loader;
    *ret_devices = devices;
    return true;
}

bool vulkan_devices_list(struct vulkan_devices *ret_devices)
{
    struct vulkan_loader loader;
    bool asked = vulkan_devices_ask(&loader, ret_devices);
    if (asked) {
        vulkan_loader_destroy_instance(&loader);
    }
    return asked;
}

void vulkan_devices_free(struct vulkan_devices *devices)
{
    free(devices->identities);
    *devices = (struct vulkan_devices){0};
}
