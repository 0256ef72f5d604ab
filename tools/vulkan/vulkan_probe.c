// SPDX-License-Identifier: Apache-2.0
#include "tools/vulkan/vulkan_probe.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tools/vulkan/small_pipeline.h"
#include "tools/vulkan/vulkan_loader.h"

#define MAX_FAMILIES 16

/* VkPhysicalDevicePipelineBinaryPropertiesKHR, which older headers lack. */
#define BINARY_EXTENSION        "VK_KHR_pipeline_binary"
#define STYPE_BINARY_PROPERTIES 1000483004
struct binary_properties {
    VkStructureType stype;
    void *next;
    VkBool32 internal_cache;
    VkBool32 internal_cache_control;
    VkBool32 prefers_internal_cache;
    VkBool32 precompiled_internal_cache;
    VkBool32 compressed_data;
};

struct probe {
    struct vulkan_loader loader;
    VkPhysicalDevice physical_device;
    VkDevice device;
    struct small_pipeline objects;
    bool is_graphics;
    bool feedback; /* creation feedback may be requested */
};

#define GET(probe, name) ((PFN_##name)vulkan_loader_get(&(probe)->loader, #name))

static bool probe_has_extension(struct probe *probe, const char *name)
{
    PFN_vkEnumerateDeviceExtensionProperties enumerate =
        GET(probe, vkEnumerateDeviceExtensionProperties);
    uint32_t count = 0;
    bool found = false;
    enumerate(probe->physical_device, NULL, &count, NULL);
    VkExtensionProperties *extensions = calloc(count + 1, sizeof *extensions);
    if (extensions && enumerate(probe->physical_device, NULL, &count, extensions) >= 0) {
        for (uint32_t i = 0; i < count && !found; i++) {
            found = strcmp(extensions[i].extensionName, name) == 0;
        }
    }
    free(extensions);
    return found;
}

/* Whether the driver says that its own cache serves better than one of the program's. */
static bool probe_prefers_own_cache(struct probe *probe)
{
    struct binary_properties binary = {.stype = (VkStructureType)STYPE_BINARY_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &binary};
    PFN_vkGetPhysicalDeviceProperties2 get = GET(probe, vkGetPhysicalDeviceProperties2);
    if (get && probe_has_extension(probe, BINARY_EXTENSION)) {
        get(probe->physical_device, &properties);
    }
    return binary.prefers_internal_cache;
}

/* VK_ERROR_FEATURE_NOT_PRESENT: no queue family is for such pipelines. */
static VkResult probe_create_device(struct probe *probe)
{
    VkQueueFamilyProperties families[MAX_FAMILIES];
    uint32_t count = MAX_FAMILIES;
    GET(probe, vkGetPhysicalDeviceQueueFamilyProperties)(probe->physical_device, &count, families);
    const VkQueueFlags wanted = probe->is_graphics ? VK_QUEUE_GRAPHICS_BIT : VK_QUEUE_COMPUTE_BIT;
    uint32_t family = 0;
    while (family < count && !(families[family].queueFlags & wanted)) {
        family++;
    }
    if (family == count) {
        return VK_ERROR_FEATURE_NOT_PRESENT;
    }
    VkPhysicalDeviceProperties properties;
    GET(probe, vkGetPhysicalDeviceProperties)(probe->physical_device, &properties);
    static const char *const extension = VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME;
    bool is_core = properties.apiVersion >= VK_API_VERSION_1_3 &&
                   vulkan_loader_version(&probe->loader) >= VK_API_VERSION_1_3;
    bool extended = !is_core && probe_has_extension(probe, extension);
    probe->feedback = is_core || extended;
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = family,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    const VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .enabledExtensionCount = extended ? 1 : 0,
        .ppEnabledExtensionNames = &extension,
    };
    return GET(probe, vkCreateDevice)(probe->physical_device, &info, NULL, &probe->device);
}

static VkResult probe_open_device(struct probe *probe, uint32_t index)
{
    VkPhysicalDevice *handles = NULL;
    uint32_t count = 0;
    VkResult result = vulkan_loader_devices(&probe->loader, &handles, &count);
    if (result == VK_SUCCESS && index >= count) {
        result = VK_ERROR_INITIALIZATION_FAILED;
    }
    if (result == VK_SUCCESS) {
        probe->physical_device = handles[index];
        result = probe_create_device(probe);
    }
    free(handles);
    return result;
}

static PFN_vkVoidFunction probe_get_command(struct probe *probe, const char *name)
{
    return GET(probe, vkGetDeviceProcAddr)(probe->device, name);
}

#define GET_DEVICE(probe, name) ((PFN_##name)probe_get_command(probe, #name))

/* Creates the pipeline, and destroys it again. *ret_hit: the driver says that the cache had it. */
static VkResult probe_compile(struct probe *probe, VkPipelineCache cache, uint64_t *ret_ns,
                              bool *ret_hit, struct probe_result *result)
{
    VkPipelineCreationFeedback whole = {0};
    VkPipelineCreationFeedback stages[2] = {{0}};
    const VkPipelineCreationFeedbackCreateInfo feedback = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
        .pPipelineCreationFeedback = &whole,
        .pipelineStageCreationFeedbackCount = probe->is_graphics ? 2 : 1,
        .pPipelineStageCreationFeedbacks = stages,
    };
    const void *next = probe->feedback ? &feedback : NULL;
    VkPipeline pipeline = VK_NULL_HANDLE;
    const uint64_t start = clock_now_ns();
    const VkResult made = small_pipeline_create(&probe->objects, cache, next, &pipeline);
    *ret_ns = clock_now_ns() - start;
    GET_DEVICE(probe, vkDestroyPipeline)(probe->device, pipeline, NULL);
    result->tells_hits = whole.flags & VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT;
    *ret_hit = result->tells_hits &&
               whole.flags & VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;
    return made;
}

static VkResult probe_new_cache(struct probe *probe, const void *data, size_t size,
                                VkPipelineCache *ret_cache)
{
    const VkPipelineCacheCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
        .initialDataSize = size,
        .pInitialData = data,
    };
    return GET_DEVICE(probe, vkCreatePipelineCache)(probe->device, &info, NULL, ret_cache);
}

/* *ret_data is to be freed. */
static VkResult probe_save(struct probe *probe, VkPipelineCache cache, void **ret_data,
                           size_t *ret_size)
{
    VkResult result =
        GET_DEVICE(probe, vkGetPipelineCacheData)(probe->device, cache, ret_size, NULL);
    *ret_data = result == VK_SUCCESS ? malloc(*ret_size + 1) : NULL;
    return *ret_data ? GET_DEVICE(probe, vkGetPipelineCacheData)(probe->device, cache, ret_size,
                                                                 *ret_data)
                     : result;
}

static void probe_round_trip(struct probe *probe, struct probe_result *result)
{
    VkPipelineCache cold = VK_NULL_HANDLE;
    VkPipelineCache warm = VK_NULL_HANDLE;
    void *data = NULL;
    size_t size = 0;
    VkResult status = probe_new_cache(probe, NULL, 0, &cold);
    if (status == VK_SUCCESS) {
        status = probe_compile(probe, cold, &result->cold_ns, &result->cold_hit, result);
    }
    if (status == VK_SUCCESS) {
        result->step = PROBE_SAVE;
        status = probe_save(probe, cold, &data, &size);
        result->data_size = size;
    }
    if (status == VK_SUCCESS) {
        result->step = PROBE_LOAD;
        status = probe_new_cache(probe, data, size, &warm);
    }
    if (status == VK_SUCCESS) {
        status = probe_compile(probe, warm, &result->warm_ns, &result->hit, result);
    }
    result->step = status == VK_SUCCESS ? PROBE_DONE : result->step;
    result->result = status;
    GET_DEVICE(probe, vkDestroyPipelineCache)(probe->device, cold, NULL);
    GET_DEVICE(probe, vkDestroyPipelineCache)(probe->device, warm, NULL);
    free(data);
}

/* Bytes of a cache's data; 0: the driver does not tell. */
static uint64_t probe_cache_size(struct probe *probe, VkPipelineCache cache)
{
    void *data = NULL;
    size_t size = 0;
    const VkResult result = probe_save(probe, cache, &data, &size);
    free(data);
    return result == VK_SUCCESS ? size : 0;
}

static void probe_merge(struct probe *probe, struct probe_result *result)
{
    VkPipelineCache caches[2] = {VK_NULL_HANDLE, VK_NULL_HANDLE};
    VkResult status = probe_new_cache(probe, NULL, 0, &caches[0]);
    if (status == VK_SUCCESS) {
        status = probe_compile(probe, caches[0], &result->cold_ns, &result->cold_hit, result);
    }
    if (status == VK_SUCCESS) {
        result->step = PROBE_MERGE;
        result->data_size = probe_cache_size(probe, caches[0]);
        status = probe_new_cache(probe, NULL, 0, &caches[1]);
    }
    if (status == VK_SUCCESS) {
        status = GET_DEVICE(probe, vkMergePipelineCaches)(probe->device, caches[1], 1, &caches[0]);
        result->merged_size = probe_cache_size(probe, caches[1]);
        result->left_size = probe_cache_size(probe, caches[0]);
    }
    result->step = status == VK_SUCCESS ? PROBE_DONE : result->step;
    result->result = status;
    GET_DEVICE(probe, vkDestroyPipelineCache)(probe->device, caches[0], NULL);
    GET_DEVICE(probe, vkDestroyPipelineCache)(probe->device, caches[1], NULL);
}

static void probe_create_one(struct probe *probe, struct probe_result *result)
{
    result->result =
        probe_compile(probe, VK_NULL_HANDLE, &result->cold_ns, &result->cold_hit, result);
    result->step = result->result == VK_SUCCESS ? PROBE_DONE : PROBE_PIPELINE;
}

static void probe_run(struct probe *probe, enum probe_kind kind, struct probe_result *result)
{
    static void (*const parts[])(struct probe * probe, struct probe_result * result) = {
        [PROBE_COMPUTE] = probe_round_trip,
        [PROBE_GRAPHICS] = probe_round_trip,
        [PROBE_MERGING] = probe_merge,
        [PROBE_CREATE] = probe_create_one,
    };
    result->prefers_own = probe_prefers_own_cache(probe);
    result->step = PROBE_PIPELINE;
    result->result = small_pipeline_open(&probe->objects, probe->device,
                                         GET(probe, vkGetDeviceProcAddr), probe->is_graphics);
    if (result->result == VK_SUCCESS) {
        parts[kind](probe, result);
    }
    small_pipeline_close(&probe->objects);
    GET_DEVICE(probe, vkDestroyDevice)(probe->device, NULL);
}

void vulkan_probe(enum probe_kind kind, uint32_t index, struct probe_result *ret_result)
{
    struct probe probe = {.is_graphics = kind == PROBE_GRAPHICS};
    struct probe_result result = {.step = PROBE_INSTANCE, .result = VK_ERROR_INITIALIZATION_FAILED};
    if (!vulkan_loader_open(&probe.loader)) {
        result.result = vulkan_loader_create_instance(&probe.loader, VK_API_VERSION_1_3);
    }
    if (probe.loader.instance != VK_NULL_HANDLE) {
        result.step = PROBE_DEVICE;
        result.result = probe_open_device(&probe, index);
        if (result.result == VK_SUCCESS) {
            probe_run(&probe, kind, &result);
        }
        vulkan_loader_destroy_instance(&probe.loader);
    }
    *ret_result = result;
}
