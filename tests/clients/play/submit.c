// SPDX-License-Identifier: Apache-2.0
/* Descriptor sets, command buffers, synchronization: nothing is executed, and whatever was
 * submitted is done. */
#include <stdlib.h>
#include <unistd.h>

#include "play.h"

/* Dispatchable: the loader writes into the first word. */
struct played_command_buffer {
    VK_LOADER_DATA loader_data;
};

static VkResult VKAPI_CALL submit_allocate_descriptor_sets(VkDevice device,
                                                           const VkDescriptorSetAllocateInfo *info,
                                                           VkDescriptorSet *sets)
{
    static _Atomic uintptr_t last;
    for (uint32_t i = 0; i < info->descriptorSetCount; i++) {
        sets[i] = (VkDescriptorSet)++last;
    }
    return VK_SUCCESS;
}

static VkResult VKAPI_CALL submit_allocate_command_buffers(VkDevice device,
                                                           const VkCommandBufferAllocateInfo *info,
                                                           VkCommandBuffer *command_buffers)
{
    for (uint32_t i = 0; i < info->commandBufferCount; i++) {
        struct played_command_buffer *object = calloc(1, sizeof(*object));
        if (!object) {
            abort();
        }
        set_loader_magic_value(object);
        command_buffers[i] = (VkCommandBuffer)object;
    }
    return VK_SUCCESS;
}

static void VKAPI_CALL submit_free_command_buffers(VkDevice device, VkCommandPool pool,
                                                   uint32_t count,
                                                   const VkCommandBuffer *command_buffers)
{
    for (uint32_t i = 0; i < count; i++) {
        free(command_buffers[i]);
    }
}

/* Synchronization: whatever was submitted is done. */

static VkResult VKAPI_CALL submit_create_fence(VkDevice device, const VkFenceCreateInfo *info,
                                               const VkAllocationCallbacks *allocator,
                                               VkFence *fence)
{
    struct played *object = play_new();
    object->value = info->flags & VK_FENCE_CREATE_SIGNALED_BIT;
    *fence = (VkFence)object;
    return VK_SUCCESS;
}

static VkResult VKAPI_CALL submit_reset_fences(VkDevice device, uint32_t count,
                                               const VkFence *fences)
{
    for (uint32_t i = 0; i < count; i++) {
        PLAYED(fences[i])->value = 0;
    }
    return VK_SUCCESS;
}

static VkResult VKAPI_CALL submit_get_fence_status(VkDevice device, VkFence fence)
{
    return PLAYED(fence)->value ? VK_SUCCESS : VK_NOT_READY;
}

static VkResult VKAPI_CALL submit_create_semaphore(VkDevice device,
                                                   const VkSemaphoreCreateInfo *info,
                                                   const VkAllocationCallbacks *allocator,
                                                   VkSemaphore *semaphore)
{
    struct played *object = play_new();
    const VkSemaphoreTypeCreateInfo *type =
        play_find_struct(info->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    object->value = type ? type->initialValue : 0;
    *semaphore = (VkSemaphore)object;
    return VK_SUCCESS;
}

static VkResult VKAPI_CALL submit_get_semaphore_value(VkDevice device, VkSemaphore semaphore,
                                                      uint64_t *value)
{
    *value = PLAYED(semaphore)->value;
    return VK_SUCCESS;
}

static VkResult VKAPI_CALL submit_signal_semaphore(VkDevice device,
                                                   const VkSemaphoreSignalInfo *info)
{
    PLAYED(info->semaphore)->value = info->value;
    return VK_SUCCESS;
}

void play_signal_fence(VkFence fence)
{
    if (fence) {
        PLAYED(fence)->value = 1;
    }
}

static VkResult VKAPI_CALL submit_queue_submit(VkQueue queue, uint32_t count,
                                               const VkSubmitInfo *submits, VkFence fence)
{
    for (uint32_t i = 0; i < count; i++) {
        const VkTimelineSemaphoreSubmitInfo *values =
            play_find_struct(submits[i].pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
        for (uint32_t k = 0; values && k < values->signalSemaphoreValueCount; k++) {
            PLAYED(submits[i].pSignalSemaphores[k])->value = values->pSignalSemaphoreValues[k];
        }
    }
    play_signal_fence(fence);
    return VK_SUCCESS;
}

static VkResult VKAPI_CALL submit_queue_submit2(VkQueue queue, uint32_t count,
                                                const VkSubmitInfo2 *submits, VkFence fence)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < submits[i].signalSemaphoreInfoCount; k++) {
            const VkSemaphoreSubmitInfo *signal = &submits[i].pSignalSemaphoreInfos[k];
            PLAYED(signal->semaphore)->value = signal->value;
        }
    }
    play_signal_fence(fence);
    return VK_SUCCESS;
}

static VkResult VKAPI_CALL submit_queue_bind_sparse(VkQueue queue, uint32_t count,
                                                    const VkBindSparseInfo *binds, VkFence fence)
{
    play_signal_fence(fence);
    return VK_SUCCESS;
}

static VkResult VKAPI_CALL submit_get_event_status(VkDevice device, VkEvent event)
{
    return VK_EVENT_SET;
}

/* Every counter and every availability is 1. */
static VkResult VKAPI_CALL submit_get_query_results(VkDevice device, VkQueryPool pool,
                                                    uint32_t first, uint32_t count, size_t size,
                                                    void *data, VkDeviceSize stride,
                                                    VkQueryResultFlags flags)
{
    if (flags & VK_QUERY_RESULT_64_BIT) {
        for (size_t i = 0; i < size / sizeof(uint64_t); i++) {
            ((uint64_t *)data)[i] = 1;
        }
    } else {
        for (size_t i = 0; i < size / sizeof(uint32_t); i++) {
            ((uint32_t *)data)[i] = 1;
        }
    }
    return VK_SUCCESS;
}

/* A submit has ended when it returns, so that there is never anything to wait for. */
static VkResult VKAPI_CALL submit_import_semaphore_fd(VkDevice device,
                                                      const VkImportSemaphoreFdInfoKHR *info)
{
    if (info->fd >= 0) {
        close(info->fd);
    }
    return VK_SUCCESS;
}

static VkResult VKAPI_CALL submit_get_semaphore_fd(VkDevice device,
                                                   const VkSemaphoreGetFdInfoKHR *info, int *fd)
{
    *fd = -1; /* a fence that is signalled */
    return VK_SUCCESS;
}

const struct played_command play_submit[] = {
    {"vkCreateDescriptorPool", PLAY(play_create)},
    {"vkDestroyDescriptorPool", PLAY(play_destroy)},
    {"vkResetDescriptorPool", PLAY(play_succeed)},
    {"vkAllocateDescriptorSets", PLAY(submit_allocate_descriptor_sets)},
    {"vkFreeDescriptorSets", PLAY(play_succeed)},
    {"vkUpdateDescriptorSets", PLAY(play_succeed)},
    {"vkUpdateDescriptorSetWithTemplate", PLAY(play_succeed)},
    {"vkCreateCommandPool", PLAY(play_create)},
    {"vkDestroyCommandPool", PLAY(play_destroy)},
    {"vkResetCommandPool", PLAY(play_succeed)},
    {"vkTrimCommandPool", PLAY(play_succeed)},
    {"vkAllocateCommandBuffers", PLAY(submit_allocate_command_buffers)},
    {"vkFreeCommandBuffers", PLAY(submit_free_command_buffers)},
    {"vkBeginCommandBuffer", PLAY(play_succeed)},
    {"vkEndCommandBuffer", PLAY(play_succeed)},
    {"vkResetCommandBuffer", PLAY(play_succeed)},
    {"vkCreateFence", PLAY(submit_create_fence)},
    {"vkDestroyFence", PLAY(play_destroy)},
    {"vkResetFences", PLAY(submit_reset_fences)},
    {"vkGetFenceStatus", PLAY(submit_get_fence_status)},
    {"vkWaitForFences", PLAY(play_succeed)},
    {"vkCreateSemaphore", PLAY(submit_create_semaphore)},
    {"vkDestroySemaphore", PLAY(play_destroy)},
    {"vkImportSemaphoreFd", PLAY(submit_import_semaphore_fd)},
    {"vkGetSemaphoreFd", PLAY(submit_get_semaphore_fd)},
    {"vkGetSemaphoreCounterValue", PLAY(submit_get_semaphore_value)},
    {"vkWaitSemaphores", PLAY(play_succeed)},
    {"vkSignalSemaphore", PLAY(submit_signal_semaphore)},
    {"vkCreateEvent", PLAY(play_create)},
    {"vkDestroyEvent", PLAY(play_destroy)},
    {"vkGetEventStatus", PLAY(submit_get_event_status)},
    {"vkSetEvent", PLAY(play_succeed)},
    {"vkResetEvent", PLAY(play_succeed)},
    {"vkCreateQueryPool", PLAY(play_create)},
    {"vkDestroyQueryPool", PLAY(play_destroy)},
    {"vkResetQueryPool", PLAY(play_succeed)},
    {"vkGetQueryPoolResults", PLAY(submit_get_query_results)},
    {"vkQueueSubmit", PLAY(submit_queue_submit)},
    {"vkQueueSubmit2", PLAY(submit_queue_submit2)},
    {"vkQueueBindSparse", PLAY(submit_queue_bind_sparse)},
    {"vkQueueWaitIdle", PLAY(play_succeed)},
    {"vkDeviceWaitIdle", PLAY(play_succeed)},
    /* RADV would look behind the made-up handles. */
    {"vkSetDebugUtilsObjectName", PLAY(play_succeed)},
    {"vkSetDebugUtilsObjectTag", PLAY(play_succeed)},
    {"vkSetPrivateData", PLAY(play_succeed)},
    {NULL, NULL},
};
