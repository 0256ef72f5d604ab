// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "bench_device.h"

#include <time.h>

const uint32_t empty_shader[EMPTY_SHADER_WORDS] = {
    0x07230203, 0x00010000, 0, 5,          0,          0x00020011, 1,          0x0003000e, 0, 1,
    0x0005000f, 5,          1, 0x6e69616d, 0,          0x00060010, 1,          17,         1, 1,
    1,          0x00020013, 2, 0x00030021, 3,          2,          0x00050036, 2,          1, 0,
    3,          0x000200f8, 4, 0x000100fd, 0x00010038,
};

VkDevice device;
VkPipelineLayout layout;
VkShaderModule module;

double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

VkInstance open_device(void)
{
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .apiVersion = VK_API_VERSION_1_3};
    VkInstanceCreateInfo instance_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                          .pApplicationInfo = &application};
    VkInstance instance;
    CHECK(vkCreateInstance(&instance_info, NULL, &instance));
    uint32_t count = 1;
    VkPhysicalDevice physical;
    vkEnumeratePhysicalDevices(instance, &count, &physical);
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo device_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                      .queueCreateInfoCount = 1,
                                      .pQueueCreateInfos = &queue};
    CHECK(vkCreateDevice(physical, &device_info, NULL, &device));
    return instance;
}

VkShaderModule create_module(const uint32_t *code, size_t size)
{
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = size, .pCode = code};
    VkShaderModule created;
    CHECK(vkCreateShaderModule(device, &info, NULL, &created));
    return created;
}

VkPipelineLayout create_layout(uint32_t push_bytes)
{
    VkPushConstantRange range = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = push_bytes};
    VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .pushConstantRangeCount = push_bytes > 0,
                                       .pPushConstantRanges = &range};
    VkPipelineLayout created;
    CHECK(vkCreatePipelineLayout(device, &info, NULL, &created));
    return created;
}

VkPipelineCache create_cache(const void *data, size_t size)
{
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                      .initialDataSize = size,
                                      .pInitialData = data};
    VkPipelineCache cache;
    CHECK(vkCreatePipelineCache(device, &info, NULL, &cache));
    return cache;
}

#define MOST_PIPELINES 64

void create_pipelines(VkPipelineCache cache, uint32_t number, uint32_t step, uint32_t count,
                      VkPipeline *ret_pipelines)
{
    VkSpecializationMapEntry entries[4];
    uint32_t values[MOST_PIPELINES][4];
    VkSpecializationInfo specializations[MOST_PIPELINES];
    VkComputePipelineCreateInfo infos[MOST_PIPELINES];
    for (uint32_t i = 0; i < 4; ++i) {
        entries[i] = (VkSpecializationMapEntry){i, i * 4, 4};
    }
    for (uint32_t n = 0; n < count; ++n) {
        for (uint32_t i = 0; i < 4; ++i) {
            values[n][i] = number + n * step + i;
        }
        specializations[n] = (VkSpecializationInfo){4, entries, sizeof values[n], values[n]};
        infos[n] = (VkComputePipelineCreateInfo){
            .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
            .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                      .module = module,
                      .pName = "main",
                      .pSpecializationInfo = &specializations[n]},
            .layout = layout,
        };
    }
    CHECK(vkCreateComputePipelines(device, cache, count, infos, NULL, ret_pipelines));
}

VkPipeline create_pipeline(VkPipelineCache cache, uint32_t number)
{
    VkPipeline pipeline;
    create_pipelines(cache, number, 0, 1, &pipeline);
    return pipeline;
}
