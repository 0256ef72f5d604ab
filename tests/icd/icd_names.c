// SPDX-License-Identifier: Apache-2.0
/* What programs hang on objects: private data, names, tags. */
#include <stdlib.h>

#include "icd_objects.h"

struct datum {
    struct datum *next;
    uint64_t handle;
    uint64_t value;
    VkObjectType type;
};

struct private_data_slot {
    struct icd_object object;
    pthread_mutex_t mutex;
    struct datum *data;
};

VkResult icd_CreatePrivateDataSlot(VkDevice vk_device, const VkPrivateDataSlotCreateInfo *info,
                                   const VkAllocationCallbacks *allocator,
                                   VkPrivateDataSlot *ret_slot)
{
    (void)info;
    const struct icd_device *device = icd_device_from(vk_device);
    VkResult result = icd_call(device->settings, ICD_CreatePrivateDataSlot);
    if (result != VK_SUCCESS) {
        return result;
    }
    bool is_new;
    struct private_data_slot *slot = icd_object_create(device, VK_OBJECT_TYPE_PRIVATE_DATA_SLOT,
                                                       sizeof *slot, 0, allocator, &is_new);
    if (slot == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    pthread_mutex_init(&slot->mutex, NULL);
    *ret_slot = ICD_FROM_HANDLE(VkPrivateDataSlot, slot->object.handle);
    return VK_SUCCESS;
}

void icd_DestroyPrivateDataSlot(VkDevice device, VkPrivateDataSlot handle,
                                const VkAllocationCallbacks *allocator)
{
    icd_count(ICD_DestroyPrivateDataSlot);
    struct private_data_slot *slot;
    if (!icd_object_destroy(icd_device_from(device), ICD_HANDLE(handle),
                            VK_OBJECT_TYPE_PRIVATE_DATA_SLOT, allocator, ICD_DestroyPrivateDataSlot,
                            &slot)) {
        return;
    }
    while (slot->data != NULL) {
        struct datum *datum = slot->data;
        slot->data = datum->next;
        free(datum);
    }
    pthread_mutex_destroy(&slot->mutex);
    icd_object_free(&slot->object, allocator);
}

/* Under the slot's lock. */
static struct datum *find_datum(const struct private_data_slot *slot, VkObjectType type,
                                uint64_t handle)
{
    struct datum *datum = slot->data;
    while (datum != NULL && (datum->type != type || datum->handle != handle)) {
        datum = datum->next;
    }
    return datum;
}

VkResult icd_SetPrivateData(VkDevice device, VkObjectType type, uint64_t handle,
                            VkPrivateDataSlot vk_slot, uint64_t value)
{
    icd_count(ICD_SetPrivateData);
    struct private_data_slot *slot =
        icd_object_find(icd_device_from(device), ICD_HANDLE(vk_slot),
                        VK_OBJECT_TYPE_PRIVATE_DATA_SLOT, ICD_SetPrivateData);
    if (slot == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    pthread_mutex_lock(&slot->mutex);
    struct datum *datum = find_datum(slot, type, handle);
    if (datum == NULL && (datum = malloc(sizeof *datum)) != NULL) {
        *datum = (struct datum){slot->data, handle, 0, type};
        slot->data = datum;
    }
    if (datum != NULL) {
        datum->value = value;
    }
    pthread_mutex_unlock(&slot->mutex);
    return datum == NULL ? VK_ERROR_OUT_OF_HOST_MEMORY : VK_SUCCESS;
}

void icd_GetPrivateData(VkDevice device, VkObjectType type, uint64_t handle,
                        VkPrivateDataSlot vk_slot, uint64_t *ret_value)
{
    icd_count(ICD_GetPrivateData);
    struct private_data_slot *slot =
        icd_object_find(icd_device_from(device), ICD_HANDLE(vk_slot),
                        VK_OBJECT_TYPE_PRIVATE_DATA_SLOT, ICD_GetPrivateData);
    *ret_value = 0;
    if (slot != NULL) {
        pthread_mutex_lock(&slot->mutex);
        const struct datum *datum = find_datum(slot, type, handle);
        *ret_value = datum == NULL ? 0 : datum->value;
        pthread_mutex_unlock(&slot->mutex);
    }
}

/* Objects whose handles a layer may share between creations of the program. */
static bool may_be_shared(VkObjectType type)
{
    return type == VK_OBJECT_TYPE_SHADER_MODULE || type == VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT ||
           type == VK_OBJECT_TYPE_PIPELINE_LAYOUT || type == VK_OBJECT_TYPE_PIPELINE ||
           type == VK_OBJECT_TYPE_DESCRIPTOR_UPDATE_TEMPLATE;
}

/* vk.xml: host access to the object that is named is externally synchronized. The two enumerations
 * of object types agree on those above. */
static VkResult take_name(VkDevice vk_device, enum icd_command command, VkObjectType type,
                          uint64_t handle, const char *name)
{
    icd_count(command);
    bool conflict = false;
    struct icd_object *object = NULL;
    if (may_be_shared(type)) {
        object =
            icd_object_acquire(icd_device_from(vk_device), handle, type, true, command, &conflict);
    }
    if (conflict) {
        icd_violation("named_at_once", "%s: somebody else names object %llx",
                      icd_command_name(command), (unsigned long long)handle);
    }
    struct icd_event event;
    icd_event_begin(&event, icd_command_name(command));
    icd_event_handle(&event, "handle", handle);
    icd_event_text(&event, "name", name == NULL ? "" : name);
    icd_event_end(&event);
    if (object != NULL) {
        icd_object_release(object, true);
    }
    return VK_SUCCESS;
}

VkResult icd_SetDebugUtilsObjectNameEXT(VkDevice device, const VkDebugUtilsObjectNameInfoEXT *info)
{
    return take_name(device, ICD_SetDebugUtilsObjectNameEXT, info->objectType, info->objectHandle,
                     info->pObjectName);
}

VkResult icd_SetDebugUtilsObjectTagEXT(VkDevice device, const VkDebugUtilsObjectTagInfoEXT *info)
{
    return take_name(device, ICD_SetDebugUtilsObjectTagEXT, info->objectType, info->objectHandle,
                     NULL);
}

VkResult icd_DebugMarkerSetObjectNameEXT(VkDevice device,
                                         const VkDebugMarkerObjectNameInfoEXT *info)
{
    return take_name(device, ICD_DebugMarkerSetObjectNameEXT, (VkObjectType)info->objectType,
                     info->object, info->pObjectName);
}

VkResult icd_DebugMarkerSetObjectTagEXT(VkDevice device, const VkDebugMarkerObjectTagInfoEXT *info)
{
    return take_name(device, ICD_DebugMarkerSetObjectTagEXT, (VkObjectType)info->objectType,
                     info->object, NULL);
}
