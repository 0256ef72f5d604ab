// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "icd_objects.h"
#include "icd_properties.h"

static const char *const extensions[] = {
    "VK_EXT_pipeline_creation_feedback",
    "VK_EXT_pipeline_creation_cache_control",
    "VK_EXT_private_data",
    "VK_EXT_debug_marker",
    "VK_EXT_graphics_pipeline_library",
    "VK_EXT_shader_module_identifier",
    "VK_EXT_descriptor_indexing",
    "VK_KHR_acceleration_structure",
    "VK_KHR_bind_memory2",
    "VK_KHR_buffer_device_address",
    "VK_KHR_create_renderpass2",
    "VK_KHR_deferred_host_operations",
    "VK_KHR_depth_stencil_resolve",
    "VK_KHR_descriptor_update_template",
    "VK_KHR_device_group",
    "VK_KHR_driver_properties",
    "VK_KHR_dynamic_rendering",
    "VK_KHR_get_memory_requirements2",
    "VK_KHR_maintenance1",
    "VK_KHR_maintenance2",
    "VK_KHR_maintenance3",
    "VK_KHR_maintenance4",
    "VK_KHR_multiview",
    "VK_KHR_pipeline_binary",
    "VK_KHR_pipeline_library",
    "VK_KHR_ray_tracing_pipeline",
    "VK_KHR_sampler_ycbcr_conversion",
    "VK_KHR_shader_float_controls",
    "VK_KHR_spirv_1_4",
    "VK_NV_ray_tracing",
};

VkResult icd_list_extensions(const struct icd_settings *settings, const char *const names[],
                             uint32_t name_count, uint32_t *count,
                             VkExtensionProperties *ret_properties)
{
    uint32_t available = 0;
    uint32_t written = 0;
    for (uint32_t i = 0; i < name_count; ++i) {
        if (icd_settings_lacks(settings, names[i])) {
            continue;
        }
        if (ret_properties != NULL && written < *count) {
            VkExtensionProperties *property = &ret_properties[written++];
            memset(property, 0, sizeof *property);
            memcpy(property->extensionName, names[i], strlen(names[i]));
            property->specVersion = 1;
        }
        ++available;
    }
    *count = ret_properties == NULL ? available : written;
    return ret_properties != NULL && written < available ? VK_INCOMPLETE : VK_SUCCESS;
}

VkResult icd_EnumerateDeviceExtensionProperties(VkPhysicalDevice device, const char *layer,
                                                uint32_t *count,
                                                VkExtensionProperties *ret_properties)
{
    (void)layer;
    return icd_list_extensions(&icd_physical_from(device)->instance->settings, extensions,
                               sizeof extensions / sizeof extensions[0], count, ret_properties);
}

static bool offers(const struct icd_settings *settings, const char *name)
{
    for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; ++i) {
        if (strcmp(extensions[i], name) == 0) {
            return !icd_settings_lacks(settings, name);
        }
    }
    return false;
}

static VkResult enable_extensions(struct icd_device *device, const VkDeviceCreateInfo *info)
{
    device->extensions = calloc(info->enabledExtensionCount + 1, sizeof *device->extensions);
    if (device->extensions == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    for (uint32_t i = 0; i < info->enabledExtensionCount; ++i) {
        const char *name = info->ppEnabledExtensionNames[i];
        if (!offers(device->settings, name)) {
            return VK_ERROR_EXTENSION_NOT_PRESENT;
        }
        memcpy(device->extensions[i], name, strlen(name) + 1);
        ++device->extension_count;
    }
    return VK_SUCCESS;
}

bool icd_device_enabled(const struct icd_device *device, const char *extension)
{
    for (uint32_t i = 0; i < device->extension_count; ++i) {
        if (strcmp(device->extensions[i], extension) == 0) {
            return true;
        }
    }
    return false;
}

static void record_creation(const struct icd_device *device, const VkDeviceCreateInfo *info)
{
    struct icd_event event;
    icd_event_begin(&event, "vkCreateDevice");
    icd_event_number(&event, "index", device->physical->index);
    for (uint32_t i = 0; i < device->extension_count; ++i) {
        icd_event_bool(&event, device->extensions[i], true);
    }
    icd_event_chain(&event, info->pNext);
    icd_event_end(&event);
}

/* WPTEST_ICD_DEVICE_AFTER. */
static bool await_file(const char *path)
{
    const struct timespec pause = {0, 1000000};
    bool found = path[0] == '\0';
    for (int i = 0; i < 10000 && !found; ++i) {
        nanosleep(&pause, NULL);
        found = access(path, F_OK) == 0;
    }
    return found;
}

VkResult icd_CreateDevice(VkPhysicalDevice vk_physical, const VkDeviceCreateInfo *info,
                          const VkAllocationCallbacks *allocator, VkDevice *ret_device)
{
    const struct icd_physical_device *physical = icd_physical_from(vk_physical);
    const struct icd_settings *settings = &physical->instance->settings;
    VkResult result = icd_call(settings, ICD_CreateDevice);
    if (result == VK_SUCCESS && !await_file(settings->device_after)) {
        result = VK_ERROR_INITIALIZATION_FAILED;
    }
    if (result != VK_SUCCESS) {
        return result;
    }
    struct icd_device *device = calloc(1, sizeof *device);
    if (device == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    set_loader_magic_value(device);
    set_loader_magic_value(&device->queue);
    device->settings = settings;
    device->physical = physical;
    if (allocator != NULL) {
        device->callbacks = *allocator;
        device->allocator = &device->callbacks;
    }
    result = enable_extensions(device, info);
    if (result != VK_SUCCESS) {
        free(device->extensions);
        free(device);
        return result;
    }
    ++physical->instance->devices;
    record_creation(device, info);
    *ret_device = (VkDevice)(void *)device;
    return VK_SUCCESS;
}

void icd_DestroyDevice(VkDevice vk_device, const VkAllocationCallbacks *allocator)
{
    (void)allocator;
    icd_count(ICD_DestroyDevice);
    struct icd_device *device = icd_device_from(vk_device);
    if (device == NULL) {
        return;
    }
    icd_objects_drop(device);
    icd_record_counts();
    --device->physical->instance->devices;
    free(device->extensions);
    free(device);
}

/* The key of every pipeline is that of the device. */
VkResult icd_GetPipelineKeyKHR(VkDevice vk_device, const VkPipelineCreateInfoKHR *info,
                               VkPipelineBinaryKeyKHR *ret_key)
{
    (void)info;
    const struct icd_device *device = icd_device_from(vk_device);
    const VkResult result = icd_call(device->settings, ICD_GetPipelineKeyKHR);
    if (result == VK_SUCCESS) {
        ret_key->keySize = sizeof device->settings->key;
        memcpy(ret_key->key, &device->settings->key, sizeof device->settings->key);
    }
    return result;
}

VkResult icd_DeviceWaitIdle(VkDevice device)
{
    (void)device;
    icd_count(ICD_DeviceWaitIdle);
    return VK_SUCCESS;
}

void icd_GetDeviceQueue(VkDevice device, uint32_t family, uint32_t index, VkQueue *ret_queue)
{
    (void)family;
    (void)index;
    *ret_queue = (VkQueue)(void *)&icd_device_from(device)->queue;
}

void icd_GetDeviceQueue2(VkDevice device, const VkDeviceQueueInfo2 *info, VkQueue *ret_queue)
{
    icd_GetDeviceQueue(device, info->queueFamilyIndex, info->queueIndex, ret_queue);
}

void icd_busy_wait(uint64_t microseconds)
{
    struct timespec now;
    if (microseconds == 0) {
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t end = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000 + microseconds;
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000 < end);
}
