// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "icd_objects.h"
#include "icd_properties.h"

VkResult icd_EnumerateInstanceVersion(uint32_t *ret_version)
{
    struct icd_settings settings;
    icd_settings_read(&settings);
    *ret_version = settings.api_version;
    return VK_SUCCESS;
}

VkResult icd_EnumerateInstanceExtensionProperties(const char *layer, uint32_t *count,
                                                  VkExtensionProperties *properties)
{
    static const char *const names[] = {
        "VK_KHR_get_physical_device_properties2",
        "VK_KHR_device_group_creation",
        "VK_EXT_debug_utils",
    };
    (void)layer;
    struct icd_settings settings;
    icd_settings_read(&settings);
    return icd_list_extensions(&settings, names, sizeof names / sizeof names[0], count, properties);
}

VkResult icd_CreateInstance(const VkInstanceCreateInfo *info,
                            const VkAllocationCallbacks *allocator, VkInstance *ret_instance)
{
    (void)info;
    (void)allocator;
    struct icd_instance *instance = calloc(1, sizeof *instance);
    if (instance == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    icd_settings_read(&instance->settings);
    VkResult result = icd_call(&instance->settings, ICD_CreateInstance);
    if (result != VK_SUCCESS) {
        free(instance);
        return result;
    }
    set_loader_magic_value(instance);
    for (uint32_t i = 0; i < ICD_MAX_DEVICES; ++i) {
        set_loader_magic_value(&instance->physical[i]);
        instance->physical[i].instance = instance;
        instance->physical[i].index = i;
    }
    struct icd_event event;
    icd_event_begin(&event, "vkCreateInstance");
    icd_event_end(&event);
    *ret_instance = (VkInstance)(void *)instance;
    return VK_SUCCESS;
}

void icd_DestroyInstance(VkInstance instance, const VkAllocationCallbacks *allocator)
{
    (void)allocator;
    icd_count(ICD_DestroyInstance);
    if (icd_instance_from(instance)->devices > 0) {
        /* Devices refer to it: it stays, to tell who still calls them. */
        icd_instance_from(instance)->settings.instance_gone = true;
        return;
    }
    free(instance);
}

VkResult icd_EnumeratePhysicalDevices(VkInstance vk_instance, uint32_t *count,
                                      VkPhysicalDevice *ret_devices)
{
    struct icd_instance *instance = icd_instance_from(vk_instance);
    uint32_t available = instance->settings.device_count;
    if (ret_devices == NULL) {
        *count = available;
        return VK_SUCCESS;
    }
    uint32_t written = *count < available ? *count : available;
    for (uint32_t i = 0; i < written; ++i) {
        ret_devices[i] = (VkPhysicalDevice)(void *)&instance->physical[i];
    }
    *count = written;
    return written < available ? VK_INCOMPLETE : VK_SUCCESS;
}

static void fill_group(struct icd_instance *instance, uint32_t first, uint32_t count,
                       VkPhysicalDeviceGroupProperties *group)
{
    group->physicalDeviceCount = count;
    for (uint32_t i = 0; i < count; ++i) {
        group->physicalDevices[i] = (VkPhysicalDevice)(void *)&instance->physical[first + i];
    }
    group->subsetAllocation = VK_FALSE;
}

VkResult icd_EnumeratePhysicalDeviceGroups(VkInstance vk_instance, uint32_t *count,
                                           VkPhysicalDeviceGroupProperties *ret_groups)
{
    struct icd_instance *instance = icd_instance_from(vk_instance);
    uint32_t per_group = instance->settings.group ? instance->settings.device_count : 1;
    uint32_t available = instance->settings.device_count / per_group;
    if (ret_groups == NULL) {
        *count = available;
        return VK_SUCCESS;
    }
    uint32_t written = *count < available ? *count : available;
    for (uint32_t i = 0; i < written; ++i) {
        fill_group(instance, i * per_group, per_group, &ret_groups[i]);
    }
    *count = written;
    return written < available ? VK_INCOMPLETE : VK_SUCCESS;
}

VkResult icd_CreateDebugUtilsMessengerEXT(VkInstance instance,
                                          const VkDebugUtilsMessengerCreateInfoEXT *info,
                                          const VkAllocationCallbacks *allocator,
                                          VkDebugUtilsMessengerEXT *ret_messenger)
{
    /* It has nothing to say: the handle stands for no object. */
    (void)instance;
    (void)info;
    (void)allocator;
    icd_count(ICD_CreateDebugUtilsMessengerEXT);
    *ret_messenger = ICD_FROM_HANDLE(VkDebugUtilsMessengerEXT, 1);
    return VK_SUCCESS;
}

void icd_DestroyDebugUtilsMessengerEXT(VkInstance instance, VkDebugUtilsMessengerEXT messenger,
                                       const VkAllocationCallbacks *allocator)
{
    (void)instance;
    (void)messenger;
    (void)allocator;
    icd_count(ICD_DestroyDebugUtilsMessengerEXT);
}

const void *icd_chain_find(const void *chain, VkStructureType type)
{
    const VkBaseInStructure *next = chain;
    while (next != NULL && next->sType != type) {
        next = next->pNext;
    }
    return next;
}
