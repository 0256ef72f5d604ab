// SPDX-License-Identifier: Apache-2.0
#include "icd_deferred.h"

enum state { IDLE, PENDING, RUNNING, DONE };

struct deferred_operation {
    struct icd_object object;
    pthread_mutex_t mutex;
    enum state state;
    struct icd_batch batch;
    VkResult result;
};

VkResult icd_CreateDeferredOperationKHR(VkDevice vk_device, const VkAllocationCallbacks *allocator,
                                        VkDeferredOperationKHR *ret_operation)
{
    const struct icd_device *device = icd_device_from(vk_device);
    VkResult result = icd_call(device->settings, ICD_CreateDeferredOperationKHR);
    if (result != VK_SUCCESS) {
        return result;
    }
    bool is_new;
    struct deferred_operation *operation = icd_object_create(
        device, VK_OBJECT_TYPE_DEFERRED_OPERATION_KHR, sizeof *operation, 0, allocator, &is_new);
    if (operation == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    pthread_mutex_init(&operation->mutex, NULL);
    *ret_operation = ICD_FROM_HANDLE(VkDeferredOperationKHR, operation->object.handle);
    return VK_SUCCESS;
}

void icd_DestroyDeferredOperationKHR(VkDevice device, VkDeferredOperationKHR handle,
                                     const VkAllocationCallbacks *allocator)
{
    icd_count(ICD_DestroyDeferredOperationKHR);
    struct deferred_operation *operation;
    if (icd_object_destroy(icd_device_from(device), ICD_HANDLE(handle),
                           VK_OBJECT_TYPE_DEFERRED_OPERATION_KHR, allocator,
                           ICD_DestroyDeferredOperationKHR, &operation)) {
        pthread_mutex_destroy(&operation->mutex);
        icd_object_free(&operation->object, allocator);
    }
}

static struct deferred_operation *find(const struct icd_device *device,
                                       VkDeferredOperationKHR handle, enum icd_command command)
{
    return icd_object_find(device, ICD_HANDLE(handle), VK_OBJECT_TYPE_DEFERRED_OPERATION_KHR,
                           command);
}

VkResult icd_deferred_begin(VkDeferredOperationKHR handle, const struct icd_batch *batch)
{
    struct deferred_operation *operation = find(batch->device, handle, batch->command);
    if (operation == NULL) {
        icd_cache_release(batch->cache);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    pthread_mutex_lock(&operation->mutex);
    operation->batch = *batch;
    operation->state = PENDING;
    pthread_mutex_unlock(&operation->mutex);
    return VK_OPERATION_DEFERRED_KHR;
}

uint32_t icd_GetDeferredOperationMaxConcurrencyKHR(VkDevice device, VkDeferredOperationKHR handle)
{
    icd_count(ICD_GetDeferredOperationMaxConcurrencyKHR);
    find(icd_device_from(device), handle, ICD_GetDeferredOperationMaxConcurrencyKHR);
    return 1;
}

VkResult icd_GetDeferredOperationResultKHR(VkDevice device, VkDeferredOperationKHR handle)
{
    icd_count(ICD_GetDeferredOperationResultKHR);
    struct deferred_operation *operation =
        find(icd_device_from(device), handle, ICD_GetDeferredOperationResultKHR);
    if (operation == NULL) {
        return VK_SUCCESS;
    }
    pthread_mutex_lock(&operation->mutex);
    bool pending = operation->state == PENDING || operation->state == RUNNING;
    VkResult result = pending ? VK_NOT_READY : operation->result;
    pthread_mutex_unlock(&operation->mutex);
    return result;
}

VkResult icd_DeferredOperationJoinKHR(VkDevice device, VkDeferredOperationKHR handle)
{
    icd_count(ICD_DeferredOperationJoinKHR);
    struct deferred_operation *operation =
        find(icd_device_from(device), handle, ICD_DeferredOperationJoinKHR);
    if (operation == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    pthread_mutex_lock(&operation->mutex);
    enum state state = operation->state;
    if (state == PENDING) {
        operation->state = RUNNING;
    }
    pthread_mutex_unlock(&operation->mutex);
    if (state != PENDING) {
        return state == RUNNING ? VK_THREAD_DONE_KHR : VK_SUCCESS;
    }

    VkResult result = icd_batch_run(&operation->batch);

    pthread_mutex_lock(&operation->mutex);
    operation->result = result;
    operation->state = DONE;
    pthread_mutex_unlock(&operation->mutex);
    return VK_SUCCESS;
}
