// SPDX-License-Identifier: Apache-2.0
#include "verify.h"

#include <string.h>

#include "util.h"

enum { BUFFER_COUNT = 4, BUFFER_SIZE = 1 << 18 };

/* Rows, columns, depth: small enough for every shader's indices to lie within the buffers. */
static const uint32_t shape[4] = {32, 32, 4, 0};

struct bench {
    const struct gpu *gpu;
    VkBuffer buffers[BUFFER_COUNT];
    VkDeviceMemory memory;
    char *mapped;
    VkDeviceSize stride; /* from one buffer to the next in memory */
    VkDescriptorPool descriptor_pool;
    VkCommandPool command_pool;
    VkCommandBuffer commands;
};

static uint32_t find_memory_type(const struct gpu *gpu, uint32_t allowed)
{
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties properties;
    vkGetPhysicalDeviceMemoryProperties(gpu->physical, &properties);
    for (uint32_t i = 0; i < properties.memoryTypeCount; i++) {
        if ((allowed >> i & 1) && (properties.memoryTypes[i].propertyFlags & wanted) == wanted) {
            return i;
        }
    }
    fail("finding host-visible memory", VK_ERROR_FEATURE_NOT_PRESENT);
}

static void create_buffers(struct bench *bench)
{
    const struct gpu *gpu = bench->gpu;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = BUFFER_SIZE,
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                        VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT};
    for (int i = 0; i < BUFFER_COUNT; i++) {
        must(vkCreateBuffer(gpu->device, &info, gpu->allocator, &bench->buffers[i]),
             "vkCreateBuffer");
    }
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(gpu->device, bench->buffers[0], &needs);
    bench->stride = (needs.size + needs.alignment - 1) / needs.alignment * needs.alignment;
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .allocationSize = BUFFER_COUNT * bench->stride,
                                   .memoryTypeIndex = find_memory_type(gpu, needs.memoryTypeBits)};
    must(vkAllocateMemory(gpu->device, &memory, gpu->allocator, &bench->memory),
         "vkAllocateMemory");
    for (VkDeviceSize i = 0; i < BUFFER_COUNT; i++) {
        must(vkBindBufferMemory(gpu->device, bench->buffers[i], bench->memory, i * bench->stride),
             "vkBindBufferMemory");
    }
    void *mapped;
    must(vkMapMemory(gpu->device, bench->memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
    bench->mapped = mapped;
}

static void create_pools(struct bench *bench)
{
    const struct gpu *gpu = bench->gpu;
    VkDescriptorPoolSize sizes[2] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, BUFFER_COUNT},
                                     {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, BUFFER_COUNT}};
    VkDescriptorPoolCreateInfo descriptors = {.sType =
                                                  VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                              .maxSets = 1,
                                              .poolSizeCount = 2,
                                              .pPoolSizes = sizes};
    must(vkCreateDescriptorPool(gpu->device, &descriptors, gpu->allocator, &bench->descriptor_pool),
         "vkCreateDescriptorPool");
    VkCommandPoolCreateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                        .queueFamilyIndex = gpu->queue_family};
    must(vkCreateCommandPool(gpu->device, &commands, gpu->allocator, &bench->command_pool),
         "vkCreateCommandPool");
    VkCommandBufferAllocateInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandPool = bench->command_pool,
                                          .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                          .commandBufferCount = 1};
    must(vkAllocateCommandBuffers(gpu->device, &buffer, &bench->commands),
         "vkAllocateCommandBuffers");
}

static void fill_buffers(const struct bench *bench)
{
    for (uint32_t i = 0; i < BUFFER_COUNT; i++) {
        float *values = (float *)(bench->mapped + i * bench->stride);
        for (uint32_t j = 0; j < BUFFER_SIZE / sizeof(float); j++) {
            values[j] = (float)((j * 37 + i * 11) % 97) / 97.0f - 0.25f;
        }
    }
}

static VkDescriptorSet bind_buffers(const struct bench *bench, const struct kind_objects *made)
{
    VkDevice device = bench->gpu->device;
    must(vkResetDescriptorPool(device, bench->descriptor_pool, 0), "vkResetDescriptorPool");
    VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = bench->descriptor_pool,
                                        .descriptorSetCount = 1,
                                        .pSetLayouts = &made->set_layout};
    VkDescriptorSet set;
    must(vkAllocateDescriptorSets(device, &info, &set), "vkAllocateDescriptorSets");
    const char *letters = made->kind->bindings;
    for (uint32_t i = 0; letters[i]; i++) {
        bool uniform = letters[i] == 'u';
        VkDescriptorBufferInfo buffer = {bench->buffers[i], 0, uniform ? 4096 : VK_WHOLE_SIZE};
        VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                      .dstSet = set,
                                      .dstBinding = i,
                                      .descriptorCount = 1,
                                      .descriptorType = uniform ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                                                                : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                      .pBufferInfo = &buffer};
        vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
    }
    return set;
}

static void dispatch(const struct bench *bench, const struct kind_objects *made,
                     VkPipeline pipeline)
{
    VkDescriptorSet set = bind_buffers(bench, made);
    VkCommandBuffer commands = bench->commands;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    must(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, made->layout, 0, 1, &set, 0,
                            NULL);
    vkCmdPushConstants(commands, made->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(shape),
                       shape);
    vkCmdDispatch(commands, shape[0], shape[1], 1);
    must(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &commands};
    must(vkQueueSubmit(bench->gpu->queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
    must(vkQueueWaitIdle(bench->gpu->queue), "vkQueueWaitIdle");
}

/* FNV-1a, word by word. */
static uint64_t digest_buffers(const struct bench *bench, uint64_t digest)
{
    for (uint32_t i = 0; i < BUFFER_COUNT; i++) {
        const char *bytes = bench->mapped + i * bench->stride;
        for (uint32_t j = 0; j < BUFFER_SIZE; j += sizeof(uint32_t)) {
            uint32_t word;
            memcpy(&word, bytes + j, sizeof(word));
            digest = (digest ^ word) * 0x100000001b3u;
        }
    }
    return digest;
}

static void destroy_bench(struct bench *bench)
{
    const struct gpu *gpu = bench->gpu;
    vkDestroyCommandPool(gpu->device, bench->command_pool, gpu->allocator);
    vkDestroyDescriptorPool(gpu->device, bench->descriptor_pool, gpu->allocator);
    for (int i = 0; i < BUFFER_COUNT; i++) {
        vkDestroyBuffer(gpu->device, bench->buffers[i], gpu->allocator);
    }
    vkFreeMemory(gpu->device, bench->memory, gpu->allocator);
}

struct verification verify_run(const struct workload *workload, const struct options *options)
{
    struct verification result = {.digest = 0xcbf29ce484222325u};
    struct bench bench = {.gpu = workload->gpu};
    create_buffers(&bench);
    create_pools(&bench);
    for (uint32_t i = 0; i < options->compute * options->repeat; i++) {
        uint32_t variant;
        const struct shader_kind *kind = compute_kind(options, i % options->compute, &variant);
        if (strspn(kind->bindings, "bu") != strlen(kind->bindings)) {
            continue;
        }
        fill_buffers(&bench);
        dispatch(&bench, objects_of(workload->objects, kind), workload->pipelines[TYPE_COMPUTE][i]);
        result.digest = digest_buffers(&bench, result.digest);
        result.dispatched++;
    }
    destroy_bench(&bench);
    return result;
}
