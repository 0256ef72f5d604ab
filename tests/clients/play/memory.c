// SPDX-License-Identifier: Apache-2.0
/* Memory, buffers and images: memory of the process, made-up handles. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "play.h"

#define MEMORY_TYPES    2
#define HEAP_BYTES      (4ULL << 30)
#define BYTES_PER_TEXEL 16 /* of any format */
#define PLANES          4

static void memory_fill_properties(VkPhysicalDeviceMemoryProperties *properties)
{
    *properties = (VkPhysicalDeviceMemoryProperties){
        .memoryTypeCount = MEMORY_TYPES,
        .memoryTypes = {{VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0},
                        {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                             VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                             VK_MEMORY_PROPERTY_HOST_CACHED_BIT |
                             VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                         0}},
        .memoryHeapCount = 1,
        .memoryHeaps = {{HEAP_BYTES, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}},
    };
}

static void VKAPI_CALL memory_get_properties(VkPhysicalDevice physical_device,
                                             VkPhysicalDeviceMemoryProperties *properties)
{
    memory_fill_properties(properties);
}

static void VKAPI_CALL memory_get_properties2(VkPhysicalDevice physical_device,
                                              VkPhysicalDeviceMemoryProperties2 *properties)
{
    memory_fill_properties(&properties->memoryProperties);
    VkPhysicalDeviceMemoryBudgetPropertiesEXT *budget =
        (VkPhysicalDeviceMemoryBudgetPropertiesEXT *)(uintptr_t)play_find_struct(
            properties->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
    if (budget) {
        memset(budget->heapUsage, 0, sizeof(budget->heapUsage));
        memset(budget->heapBudget, 0, sizeof(budget->heapBudget));
        budget->heapBudget[0] = HEAP_BYTES;
    }
}

/* Nothing can be imported or exported. RADV's null device offers no such extension, but says here
 * that it could, and libplacebo believes that. */
static void VKAPI_CALL memory_get_external_properties(
    VkPhysicalDevice physical_device, const VkPhysicalDeviceExternalBufferInfo *info,
    VkExternalBufferProperties *properties)
{
    properties->externalMemoryProperties =
        (VkExternalMemoryProperties){.externalMemoryFeatures = 0};
}

static VkResult VKAPI_CALL memory_allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                           const VkAllocationCallbacks *allocator,
                                           VkDeviceMemory *memory)
{
    struct played *object = play_new();
    object->size = info->allocationSize;
    object->data = mmap(NULL, object->size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (object->data == MAP_FAILED) {
        free(object);
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    *memory = (VkDeviceMemory)object;
    return VK_SUCCESS;
}

/* What may be imported may go anywhere. */
static VkResult VKAPI_CALL memory_get_fd_properties(VkDevice device,
                                                    VkExternalMemoryHandleTypeFlagBits type, int fd,
                                                    VkMemoryFdPropertiesKHR *properties)
{
    properties->memoryTypeBits = (1U << MEMORY_TYPES) - 1;
    return VK_SUCCESS;
}

static void VKAPI_CALL memory_free(VkDevice device, VkDeviceMemory memory,
                                   const VkAllocationCallbacks *allocator)
{
    if (memory) {
        munmap(PLAYED(memory)->data, PLAYED(memory)->size);
    }
    free(PLAYED(memory));
}

static VkResult VKAPI_CALL memory_map(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                      VkDeviceSize size, VkMemoryMapFlags flags, void **data)
{
    *data = (char *)PLAYED(memory)->data + offset;
    return VK_SUCCESS;
}

static VkMemoryRequirements memory_requirements_of(VkDeviceSize size)
{
    const VkDeviceSize alignment = 4096;
    return (VkMemoryRequirements){
        .size = (size + alignment - 1) / alignment * alignment,
        .alignment = alignment,
        .memoryTypeBits = (1U << MEMORY_TYPES) - 1,
    };
}

/* Of a buffer or an image. */
static void VKAPI_CALL memory_get_requirements(VkDevice device, struct played *object,
                                               VkMemoryRequirements *requirements)
{
    *requirements = memory_requirements_of(object->size);
}

/* The info of a buffer and the info of an image have the handle at the same place. */
static void VKAPI_CALL memory_get_requirements2(VkDevice device,
                                                const VkBufferMemoryRequirementsInfo2 *info,
                                                VkMemoryRequirements2 *requirements)
{
    requirements->memoryRequirements = memory_requirements_of(PLAYED(info->buffer)->size);
    VkMemoryDedicatedRequirements *dedicated =
        (VkMemoryDedicatedRequirements *)(uintptr_t)play_find_struct(
            requirements->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS);
    if (dedicated) {
        dedicated->prefersDedicatedAllocation = dedicated->requiresDedicatedAllocation = VK_FALSE;
    }
}

static VkResult VKAPI_CALL memory_create_buffer(VkDevice device, const VkBufferCreateInfo *info,
                                                const VkAllocationCallbacks *allocator,
                                                VkBuffer *buffer)
{
    struct played *object = play_new();
    object->size = info->size;
    *buffer = (VkBuffer)object;
    return VK_SUCCESS;
}

static void VKAPI_CALL
memory_get_device_buffer_requirements(VkDevice device, const VkDeviceBufferMemoryRequirements *info,
                                      VkMemoryRequirements2 *requirements)
{
    requirements->memoryRequirements = memory_requirements_of(info->pCreateInfo->size);
}

static VkDeviceAddress VKAPI_CALL memory_get_buffer_address(VkDevice device,
                                                            const VkBufferDeviceAddressInfo *info)
{
    return (VkDeviceAddress)info->buffer;
}

static void memory_lay_image_out(const VkImageCreateInfo *info, struct played *object)
{
    object->row_pitch = (VkDeviceSize)info->extent.width * BYTES_PER_TEXEL;
    object->layer_pitch = object->row_pitch * info->extent.height * info->extent.depth *
                          (VkDeviceSize)info->samples * 2 /* its levels */ * PLANES;
    object->size = object->layer_pitch * info->arrayLayers;
}

static VkResult VKAPI_CALL memory_create_image(VkDevice device, const VkImageCreateInfo *info,
                                               const VkAllocationCallbacks *allocator,
                                               VkImage *image)
{
    struct played *object = play_new();
    memory_lay_image_out(info, object);
    *image = (VkImage)object;
    return VK_SUCCESS;
}

static void VKAPI_CALL
memory_get_device_image_requirements(VkDevice device, const VkDeviceImageMemoryRequirements *info,
                                     VkMemoryRequirements2 *requirements)
{
    struct played image = {.size = 0};
    memory_lay_image_out(info->pCreateInfo, &image);
    requirements->memoryRequirements = memory_requirements_of(image.size);
}

static void VKAPI_CALL memory_get_no_sparse_requirements(VkDevice device, VkImage image,
                                                         uint32_t *count)
{
    *count = 0;
}

static void VKAPI_CALL memory_get_subresource_layout(VkDevice device, VkImage image,
                                                     const VkImageSubresource *subresource,
                                                     VkSubresourceLayout *layout)
{
    const struct played *object = PLAYED(image);
    const VkDeviceSize plane = subresource->aspectMask & VK_IMAGE_ASPECT_PLANE_1_BIT   ? 1
                               : subresource->aspectMask & VK_IMAGE_ASPECT_PLANE_2_BIT ? 2
                                                                                       : 0;
    *layout = (VkSubresourceLayout){
        .offset =
            object->layer_pitch * subresource->arrayLayer + object->layer_pitch / PLANES * plane,
        .size = object->layer_pitch / PLANES,
        .rowPitch = object->row_pitch,
        .arrayPitch = object->layer_pitch,
        .depthPitch = object->layer_pitch,
    };
}

const struct played_command play_memory[] = {
    {"vkGetPhysicalDeviceMemoryProperties", PLAY(memory_get_properties)},
    {"vkGetPhysicalDeviceMemoryProperties2", PLAY(memory_get_properties2)},
    {"vkGetPhysicalDeviceExternalBufferProperties", PLAY(memory_get_external_properties)},
    {"vkAllocateMemory", PLAY(memory_allocate)},
    {"vkGetMemoryFdProperties", PLAY(memory_get_fd_properties)},
    {"vkFreeMemory", PLAY(memory_free)},
    {"vkMapMemory", PLAY(memory_map)},
    {"vkUnmapMemory", PLAY(play_succeed)},
    {"vkFlushMappedMemoryRanges", PLAY(play_succeed)},
    {"vkInvalidateMappedMemoryRanges", PLAY(play_succeed)},
    {"vkSetDeviceMemoryPriority", PLAY(play_succeed)},
    {"vkCreateBuffer", PLAY(memory_create_buffer)},
    {"vkDestroyBuffer", PLAY(play_destroy)},
    {"vkCreateBufferView", PLAY(play_create)},
    {"vkDestroyBufferView", PLAY(play_destroy)},
    {"vkGetBufferMemoryRequirements", PLAY(memory_get_requirements)},
    {"vkGetBufferMemoryRequirements2", PLAY(memory_get_requirements2)},
    {"vkGetDeviceBufferMemoryRequirements", PLAY(memory_get_device_buffer_requirements)},
    {"vkBindBufferMemory", PLAY(play_succeed)},
    {"vkBindBufferMemory2", PLAY(play_succeed)},
    {"vkGetBufferDeviceAddress", PLAY(memory_get_buffer_address)},
    {"vkCreateImage", PLAY(memory_create_image)},
    {"vkDestroyImage", PLAY(play_destroy)},
    {"vkCreateImageView", PLAY(play_create)},
    {"vkDestroyImageView", PLAY(play_destroy)},
    {"vkGetImageMemoryRequirements", PLAY(memory_get_requirements)},
    {"vkGetImageMemoryRequirements2", PLAY(memory_get_requirements2)},
    {"vkGetDeviceImageMemoryRequirements", PLAY(memory_get_device_image_requirements)},
    {"vkGetImageSparseMemoryRequirements", PLAY(memory_get_no_sparse_requirements)},
    {"vkGetImageSparseMemoryRequirements2", PLAY(memory_get_no_sparse_requirements)},
    {"vkGetImageSubresourceLayout", PLAY(memory_get_subresource_layout)},
    {"vkBindImageMemory", PLAY(play_succeed)},
    {"vkBindImageMemory2", PLAY(play_succeed)},
    {"vkCreateFramebuffer", PLAY(play_create)},
    {"vkDestroyFramebuffer", PLAY(play_destroy)},
    {NULL, NULL},
};
