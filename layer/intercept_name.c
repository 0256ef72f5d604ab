/* Names and tags on handles that may be shared, and the callbacks by which a program can hear of
 * its objects while they are created. */
#include <stdatomic.h>

#include "device.h"
#include "instance.h"
#include "intercept.h"

/* The program synchronizes access to each handle that it names (vk.xml: externsync of the object),
 * but cannot know that two of its handles are one: naming is serialized here, and the last name
 * wins (hazard 3). */

VKAPI_ATTR VkResult VKAPI_CALL intercept_set_object_name(VkDevice device,
                                                         const VkDebugUtilsObjectNameInfoEXT *info)
{
    struct device *state = device_of(device);
    pthread_mutex_lock(&state->name_lock);
    VkResult result = state->table.SetDebugUtilsObjectNameEXT(device, info);
    pthread_mutex_unlock(&state->name_lock);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL intercept_set_object_tag(VkDevice device,
                                                        const VkDebugUtilsObjectTagInfoEXT *info)
{
    struct device *state = device_of(device);
    pthread_mutex_lock(&state->name_lock);
    VkResult result = state->table.SetDebugUtilsObjectTagEXT(device, info);
    pthread_mutex_unlock(&state->name_lock);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL intercept_marker_set_name(VkDevice device,
                                                         const VkDebugMarkerObjectNameInfoEXT *info)
{
    struct device *state = device_of(device);
    pthread_mutex_lock(&state->name_lock);
    VkResult result = state->table.DebugMarkerSetObjectNameEXT(device, info);
    pthread_mutex_unlock(&state->name_lock);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL intercept_marker_set_tag(VkDevice device,
                                                        const VkDebugMarkerObjectTagInfoEXT *info)
{
    struct device *state = device_of(device);
    pthread_mutex_lock(&state->name_lock);
    VkResult result = state->table.DebugMarkerSetObjectTagEXT(device, info);
    pthread_mutex_unlock(&state->name_lock);
    return result;
}

/* A callback may take a lock of the program's that a thread holds which waits for another's
 * creation: from now on no thread of this instance waits (hazard 50). */

VKAPI_ATTR VkResult VKAPI_CALL intercept_create_messenger(
    VkInstance instance, const VkDebugUtilsMessengerCreateInfoEXT *create_info,
    const VkAllocationCallbacks *allocator, VkDebugUtilsMessengerEXT *ret_messenger)
{
    struct instance *state = instance_of(instance);
    atomic_store(&state->has_callback, true);
    return state->next_create_messenger(instance, create_info, allocator, ret_messenger);
}

VKAPI_ATTR VkResult VKAPI_CALL intercept_create_report_callback(
    VkInstance instance, const VkDebugReportCallbackCreateInfoEXT *create_info,
    const VkAllocationCallbacks *allocator, VkDebugReportCallbackEXT *ret_callback)
{
    struct instance *state = instance_of(instance);
    atomic_store(&state->has_callback, true);
    return state->next_create_report_callback(instance, create_info, allocator, ret_callback);
}
