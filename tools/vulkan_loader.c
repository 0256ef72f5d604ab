#include "vulkan_loader.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

const char *vulkan_loader_open(struct vulkan_loader *ret_loader)
{
    struct vulkan_loader loader = {.library = dlopen(VULKAN_LOADER_NAME, RTLD_NOW | RTLD_LOCAL)};
    void *symbol = loader.library ? dlsym(loader.library, "vkGetInstanceProcAddr") : NULL;
    if (!symbol) {
        return dlerror();
    }
    /* ISO C knows no way from an object's pointer to a function's; POSIX promises this one. */
    memcpy(&loader.get, &symbol, sizeof loader.get);
    *ret_loader = loader;
    return NULL;
}

PFN_vkVoidFunction vulkan_loader_get(const struct vulkan_loader *loader, const char *name)
{
    return loader->get(loader->instance, name);
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
    ((PFN_vkDestroyInstance)vulkan_loader_get(loader, "vkDestroyInstance"))(loader->instance, NULL);
    loader->instance = VK_NULL_HANDLE;
}

VkResult vulkan_loader_devices(const struct vulkan_loader *loader, VkPhysicalDevice **ret_devices,
                               uint32_t *ret_count)
{
    PFN_vkEnumeratePhysicalDevices list =
        (PFN_vkEnumeratePhysicalDevices)vulkan_loader_get(loader, "vkEnumeratePhysicalDevices");
    uint32_t count = 0;
    VkResult result = list(loader->instance, &count, NULL);
    if (result != VK_SUCCESS || count == 0) {
        *ret_devices = NULL;
        *ret_count = 0;
        return result;
    }
    VkPhysicalDevice *handles = calloc(count, sizeof *handles);
    if (!handles) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    result = list(loader->instance, &count, handles);
    if (result < 0) {
        free(handles);
        return result;
    }
    *ret_devices = handles;
    *ret_count = count;
    return VK_SUCCESS;
}
