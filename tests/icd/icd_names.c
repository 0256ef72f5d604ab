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

static void record_name(const char *command, uint64_t handle, const char *name)
{
    struct icd_event event;
    icd_event_begin(&event, command);
    icd_event_handle(&event, "handle", handle);
    icd_event_text(&event, "name", name == NULL ? "" : name);
    icd_event_end(&event);
}

VkResult icd_SetDebugUtilsObjectNameEXT(VkDevice device, const VkDebugUtilsObjectNameInfoEXT *info)
{
    (void)device;
    icd_count(ICD_SetDebugUtilsObjectNameEXT);
    record_name("vkSetDebugUtilsObjectNameEXT", info->objectHandle, info->pObjectName);
    return VK_SUCCESS;
}

VkResult icd_SetDebugUtilsObjectTagEXT(VkDevice device, const VkDebugUtilsObjectTagInfoEXT *info)
{
    (void)device;
    icd_count(ICD_SetDebugUtilsObjectTagEXT);
    record_name("vkSetDebugUtilsObjectTagEXT", info->objectHandle, NULL);
    return VK_SUCCESS;
}

VkResult icd_DebugMarkerSetObjectNameEXT(VkDevice device,
                                         const VkDebugMarkerObjectNameInfoEXT *info)
{
    (void)device;
    icd_count(ICD_DebugMarkerSetObjectNameEXT);
    record_name("vkDebugMarkerSetObjectNameEXT", info->object, info->pObjectName);
    return VK_SUCCESS;
}

VkResult icd_DebugMarkerSetObjectTagEXT(VkDevice device, const VkDebugMarkerObjectTagInfoEXT *info)
{
    (void)device;
    icd_count(ICD_DebugMarkerSetObjectTagEXT);
    record_name("vkDebugMarkerSetObjectTagEXT", info->object, NULL);
    return VK_SUCCESS;
}
