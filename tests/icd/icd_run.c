// SPDX-License-Identifier: Apache-2.0
/* Memory, command buffers, queues: enough for a program to go through its motions. Nothing runs;
 * every submission is done at once. */
#include <stdlib.h>

#include "icd_objects.h"

struct memory {
    struct icd_object object;
    void *bytes;
};

struct command_buffer {
    VK_LOADER_DATA loader;
};

VkResult icd_AllocateMemory(VkDevice vk_device, const VkMemoryAllocateInfo *info,
                            const VkAllocationCallbacks *allocator, VkDeviceMemory *ret_memory)
{
    const struct icd_device *device = icd_device_from(vk_device);
    VkResult result = icd_call(device->settings, ICD_AllocateMemory);
    if (result != VK_SUCCESS) {
        return result;
    }
    bool is_new;
    struct memory *memory = icd_object_create(device, VK_OBJECT_TYPE_DEVICE_MEMORY, sizeof *memory,
                                              0, allocator, &is_new);
    if (memory == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    memory->bytes = calloc(1, info->allocationSize);
    *ret_memory = ICD_FROM_HANDLE(VkDeviceMemory, memory->object.handle);
    return memory->bytes == NULL ? VK_ERROR_OUT_OF_DEVICE_MEMORY : VK_SUCCESS;
}

void icd_FreeMemory(VkDevice device, VkDeviceMemory handle, const VkAllocationCallbacks *allocator)
{
    icd_count(ICD_FreeMemory);
    struct memory *memory;
    if (icd_object_destroy(icd_device_from(device), ICD_HANDLE(handle),
                           VK_OBJECT_TYPE_DEVICE_MEMORY, allocator, ICD_FreeMemory, &memory)) {
        free(memory->bytes);
        icd_object_free(&memory->object, allocator);
    }
}

VkResult icd_MapMemory(VkDevice device, VkDeviceMemory handle, VkDeviceSize offset,
                       VkDeviceSize size, VkMemoryMapFlags flags, void **ret_data)
{
    (void)size;
    (void)flags;
    icd_count(ICD_MapMemory);
    const struct memory *memory = icd_object_find(icd_device_from(device), ICD_HANDLE(handle),
                                                  VK_OBJECT_TYPE_DEVICE_MEMORY, ICD_MapMemory);
    if (memory == NULL) {
        return VK_ERROR_MEMORY_MAP_FAILED;
    }
    *ret_data = (char *)memory->bytes + offset;
    return VK_SUCCESS;
}

void icd_UnmapMemory(VkDevice device, VkDeviceMemory memory)
{
    (void)device;
    (void)memory;
    icd_count(ICD_UnmapMemory);
}

PLAIN_OBJECT(Buffer, BUFFER, 0)
PLAIN_OBJECT(Image, IMAGE, 0)
PLAIN_OBJECT(Fence, FENCE, 0)
PLAIN_OBJECT(DescriptorPool, DESCRIPTOR_POOL, 0)
PLAIN_OBJECT(CommandPool, COMMAND_POOL, 0)

void icd_GetBufferMemoryRequirements(VkDevice device, VkBuffer buffer,
                                     VkMemoryRequirements *ret_requirements)
{
    (void)device;
    (void)buffer;
    icd_count(ICD_GetBufferMemoryRequirements);
    *ret_requirements = (VkMemoryRequirements){1u << 20, 64, 1};
}

void icd_GetBufferMemoryRequirements2(VkDevice device, const VkBufferMemoryRequirementsInfo2 *info,
                                      VkMemoryRequirements2 *ret_requirements)
{
    icd_GetBufferMemoryRequirements(device, info->buffer, &ret_requirements->memoryRequirements);
}

void icd_GetImageMemoryRequirements(VkDevice device, VkImage image,
                                    VkMemoryRequirements *ret_requirements)
{
    (void)device;
    (void)image;
    icd_count(ICD_GetImageMemoryRequirements);
    *ret_requirements = (VkMemoryRequirements){1u << 20, 64, 1};
}

VkResult icd_BindBufferMemory(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                              VkDeviceSize offset)
{
    (void)device;
    (void)buffer;
    (void)memory;
    (void)offset;
    icd_count(ICD_BindBufferMemory);
    return VK_SUCCESS;
}

VkResult icd_BindBufferMemory2(VkDevice device, uint32_t count, const VkBindBufferMemoryInfo *infos)
{
    (void)device;
    (void)count;
    (void)infos;
    icd_count(ICD_BindBufferMemory2);
    return VK_SUCCESS;
}

VkResult icd_ResetFences(VkDevice device, uint32_t count, const VkFence *fences)
{
    (void)device;
    (void)count;
    (void)fences;
    return VK_SUCCESS;
}

VkResult icd_GetFenceStatus(VkDevice device, VkFence fence)
{
    (void)device;
    (void)fence;
    return VK_SUCCESS;
}

VkResult icd_WaitForFences(VkDevice device, uint32_t count, const VkFence *fences, VkBool32 all,
                           uint64_t timeout)
{
    (void)device;
    (void)count;
    (void)fences;
    (void)all;
    (void)timeout;
    return VK_SUCCESS;
}

VkResult icd_AllocateDescriptorSets(VkDevice vk_device, const VkDescriptorSetAllocateInfo *info,
                                    VkDescriptorSet *ret_sets)
{
    const struct icd_device *device = icd_device_from(vk_device);
    icd_count(ICD_AllocateDescriptorSets);
    for (uint32_t i = 0; i < info->descriptorSetCount; ++i) {
        icd_object_content(device, ICD_HANDLE(info->pSetLayouts[i]),
                           VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT, ICD_AllocateDescriptorSets);
        /* The handle stands for no object: nothing reads a set. */
        ret_sets[i] = ICD_FROM_HANDLE(VkDescriptorSet, UINT64_C(1) << 32 | (i + 1));
    }
    return VK_SUCCESS;
}

VkResult icd_FreeDescriptorSets(VkDevice device, VkDescriptorPool pool, uint32_t count,
                                const VkDescriptorSet *sets)
{
    (void)device;
    (void)pool;
    (void)count;
    (void)sets;
    return VK_SUCCESS;
}

void icd_UpdateDescriptorSets(VkDevice device, uint32_t write_count,
                              const VkWriteDescriptorSet *writes, uint32_t copy_count,
                              const VkCopyDescriptorSet *copies)
{
    (void)device;
    (void)write_count;
    (void)writes;
    (void)copy_count;
    (void)copies;
    icd_count(ICD_UpdateDescriptorSets);
}

void icd_UpdateDescriptorSetWithTemplate(VkDevice device, VkDescriptorSet set,
                                         VkDescriptorUpdateTemplate handle, const void *data)
{
    (void)set;
    (void)data;
    icd_count(ICD_UpdateDescriptorSetWithTemplate);
    icd_object_find(icd_device_from(device), ICD_HANDLE(handle),
                    VK_OBJECT_TYPE_DESCRIPTOR_UPDATE_TEMPLATE, ICD_UpdateDescriptorSetWithTemplate);
}

VkResult icd_AllocateCommandBuffers(VkDevice device, const VkCommandBufferAllocateInfo *info,
                                    VkCommandBuffer *ret_buffers)
{
    icd_count(ICD_AllocateCommandBuffers);
    (void)device;
    for (uint32_t i = 0; i < info->commandBufferCount; ++i) {
        struct command_buffer *buffer = calloc(1, sizeof *buffer);
        if (buffer == NULL) {
            abort();
        }
        set_loader_magic_value(buffer);
        ret_buffers[i] = (VkCommandBuffer)(void *)buffer;
    }
    return VK_SUCCESS;
}

void icd_FreeCommandBuffers(VkDevice device, VkCommandPool pool, uint32_t count,
                            const VkCommandBuffer *buffers)
{
    (void)device;
    (void)pool;
    icd_count(ICD_FreeCommandBuffers);
    for (uint32_t i = 0; i < count; ++i) {
        free(buffers[i]);
    }
}

VkResult icd_BeginCommandBuffer(VkCommandBuffer buffer, const VkCommandBufferBeginInfo *info)
{
    (void)buffer;
    (void)info;
    return VK_SUCCESS;
}

VkResult icd_EndCommandBuffer(VkCommandBuffer buffer)
{
    (void)buffer;
    return VK_SUCCESS;
}

void icd_CmdBindPipeline(VkCommandBuffer buffer, VkPipelineBindPoint point, VkPipeline pipeline)
{
    (void)buffer;
    (void)point;
    (void)pipeline;
    icd_count(ICD_CmdBindPipeline);
}

void icd_CmdBindDescriptorSets(VkCommandBuffer buffer, VkPipelineBindPoint point,
                               VkPipelineLayout layout, uint32_t first, uint32_t count,
                               const VkDescriptorSet *sets, uint32_t offset_count,
                               const uint32_t *offsets)
{
    (void)buffer;
    (void)point;
    (void)layout;
    (void)first;
    (void)count;
    (void)sets;
    (void)offset_count;
    (void)offsets;
    icd_count(ICD_CmdBindDescriptorSets);
}

void icd_CmdPushConstants(VkCommandBuffer buffer, VkPipelineLayout layout,
                          VkShaderStageFlags stages, uint32_t offset, uint32_t size,
                          const void *values)
{
    (void)buffer;
    (void)layout;
    (void)stages;
    (void)offset;
    (void)size;
    (void)values;
    icd_count(ICD_CmdPushConstants);
}

void icd_CmdPipelineBarrier(VkCommandBuffer buffer, VkPipelineStageFlags source,
                            VkPipelineStageFlags destination, VkDependencyFlags flags,
                            uint32_t memory_count, const VkMemoryBarrier *memory,
                            uint32_t buffer_count, const VkBufferMemoryBarrier *buffers,
                            uint32_t image_count, const VkImageMemoryBarrier *images)
{
    (void)buffer;
    (void)source;
    (void)destination;
    (void)flags;
    (void)memory_count;
    (void)memory;
    (void)buffer_count;
    (void)buffers;
    (void)image_count;
    (void)images;
    icd_count(ICD_CmdPipelineBarrier);
}

void icd_CmdDispatch(VkCommandBuffer buffer, uint32_t x, uint32_t y, uint32_t z)
{
    (void)buffer;
    (void)x;
    (void)y;
    (void)z;
    icd_count(ICD_CmdDispatch);
}

void icd_CmdDraw(VkCommandBuffer buffer, uint32_t vertices, uint32_t instances,
                 uint32_t first_vertex, uint32_t first_instance)
{
    (void)buffer;
    (void)vertices;
    (void)instances;
    (void)first_vertex;
    (void)first_instance;
    icd_count(ICD_CmdDraw);
}

VkResult icd_QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo *submits, VkFence fence)
{
    (void)queue;
    (void)count;
    (void)submits;
    (void)fence;
    icd_count(ICD_QueueSubmit);
    return VK_SUCCESS;
}

VkResult icd_QueueSubmit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *submits,
                          VkFence fence)
{
    (void)queue;
    (void)count;
    (void)submits;
    (void)fence;
    icd_count(ICD_QueueSubmit2);
    return VK_SUCCESS;
}

VkResult icd_QueueWaitIdle(VkQueue queue)
{
    (void)queue;
    icd_count(ICD_QueueWaitIdle);
    return VK_SUCCESS;
}
