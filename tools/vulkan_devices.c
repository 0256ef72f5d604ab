#include "vulkan_devices.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#include "output.h"

struct loader {
    void *library;
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance;
};

static PFN_vkVoidFunction look_up(const struct loader *loader, const char *name)
{
    return loader->get(loader->instance, name);
}

static bool open_library(const char *verb, struct loader *loader)
{
    static const char name[] = "libvulkan.so.1";
    loader->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    void *symbol = loader->library ? dlsym(loader->library, "vkGetInstanceProcAddr") : NULL;
    if (!symbol) {
        output_message("%s: cannot load the Vulkan loader, %s: %s", verb, name, dlerror());
        return false;
    }
    /* ISO C knows no way from an object's pointer to a function's; POSIX promises this one. */
    memcpy(&loader->get, &symbol, sizeof loader->get);
    return true;
}

/* Vulkan 1.1, for vkGetPhysicalDeviceProperties2; a loader of 1.0 refuses any later version. */
static VkResult create_instance(struct loader *loader)
{
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)look_up(loader, "vkCreateInstance");
    VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "warmpipe",
        .apiVersion =
            look_up(loader, "vkEnumerateInstanceVersion") ? VK_API_VERSION_1_1 : VK_API_VERSION_1_0,
    };
    const VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &application,
    };
    return create(&info, NULL, &loader->instance);
}

static VkResult enumerate(const struct loader *loader, VkPhysicalDevice **ret_handles,
                          uint32_t *ret_count)
{
    PFN_vkEnumeratePhysicalDevices list =
        (PFN_vkEnumeratePhysicalDevices)look_up(loader, "vkEnumeratePhysicalDevices");
    uint32_t count = 0;
    VkResult result = list(loader->instance, &count, NULL);
    if (result != VK_SUCCESS || count == 0) {
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
    *ret_handles = handles;
    *ret_count = count;
    return VK_SUCCESS;
}

static VkResult identify(const struct loader *loader, struct vulkan_devices *devices)
{
    const struct identity_commands commands = {
        .get_properties =
            (PFN_vkGetPhysicalDeviceProperties)look_up(loader, "vkGetPhysicalDeviceProperties"),
        .get_properties2 =
            (PFN_vkGetPhysicalDeviceProperties2)look_up(loader, "vkGetPhysicalDeviceProperties2"),
        .enumerate_extensions = (PFN_vkEnumerateDeviceExtensionProperties)look_up(
            loader, "vkEnumerateDeviceExtensionProperties"),
    };
    VkPhysicalDevice *handles = NULL;
    uint32_t count = 0;
    VkResult result = enumerate(loader, &handles, &count);
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

bool vulkan_devices_list(const char *verb, struct vulkan_devices *ret_devices)
{
    struct loader loader = {0};
    struct vulkan_devices devices = {0};
    if (!open_library(verb, &loader)) {
        return false;
    }
    VkResult result = create_instance(&loader);
    if (result == VK_SUCCESS) {
        result = identify(&loader, &devices);
        ((PFN_vkDestroyInstance)look_up(&loader, "vkDestroyInstance"))(loader.instance, NULL);
    } else if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
        result = VK_SUCCESS; /* no driver, so no device */
    }
    if (result != VK_SUCCESS) {
        output_message("%s: cannot ask the Vulkan loader for devices (VkResult %d)", verb, result);
        vulkan_devices_free(&devices);
        return false;
    }
    *ret_devices = devices;
    return true;
}

void vulkan_devices_free(struct vulkan_devices *devices)
{
    free(devices->identities);
    *devices = (struct vulkan_devices){0};
}
