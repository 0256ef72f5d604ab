// SPDX-License-Identifier: Apache-2.0
#include "tools/vulkan/vulkan_probe.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tools/vulkan/vulkan_loader.h"

#define MAX_FAMILIES 16

/* A compute shader that does nothing, in workgroups of one. */
/* clang-format off */
static const uint32_t shader[] = {
    0x07230203, 0x00010000, 0, 6, 0,     /* SPIR-V 1.0, ids below 6 */
    2 << 16 | 17, 1,                     /* OpCapability Shader */
    3 << 16 | 14, 0, 1,                  /* OpMemoryModel Logical GLSL450 */
    5 << 16 | 15, 5, 4, 0x6e69616d, 0,   /* OpEntryPoint GLCompute %4 "main" */
    6 << 16 | 16, 4, 17, 1, 1, 1,        /* OpExecutionMode %4 LocalSize 1 1 1 */
    2 << 16 | 19, 2,                     /* %2 = OpTypeVoid */
    3 << 16 | 33, 3, 2,                  /* %3 = OpTypeFunction %2 */
    5 << 16 | 54, 2, 4, 0, 3,            /* %4 = OpFunction %2 None %3 */
    2 << 16 | 248, 5,                    /* %5 = OpLabel */
    1 << 16 | 253, 1 << 16 | 56,         /* OpReturn, OpFunctionEnd */
};
/* clang-format on */

struct probe {
    struct vulkan_loader loader;
    VkPhysicalDevice physical_device;
    VkDevice device;
    VkShaderModule module;
    VkPipelineLayout layout;
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

/* VK_ERROR_FEATURE_NOT_PRESENT: no queue family computes. */
static VkResult probe_create_device(struct probe *probe)
{
    VkQueueFamilyProperties families[MAX_FAMILIES];
    uint32_t count = MAX_FAMILIES;
    GET(probe, vkGetPhysicalDeviceQueueFamilyProperties)(probe->physical_device, &count, families);
    uint32_t family = 0;
    while (family < count && !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT)) {
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

static VkResult probe_create_objects(struct probe *probe)
{
    const VkShaderModuleCreateInfo module = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = sizeof shader,
        .pCode = shader,
    };
    const VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
    };
    VkResult result =
        GET_DEVICE(probe, vkCreateShaderModule)(probe->device, &module, NULL, &probe->module);
    if (result == VK_SUCCESS) {
        result =
            GET_DEVICE(probe, vkCreatePipelineLayout)(probe->device, &layout, NULL, &probe->layout);
    }
    return result;
}

/* Creates the pipeline, and destroys it again. */
static VkResult probe_compile(struct probe *probe, VkPipelineCache cache, uint64_t *ret_ns,
                              struct probe_result *result)
{
    VkPipelineCreationFeedback whole = {0};
    VkPipelineCreationFeedback stage = {0};
    const VkPipelineCreationFeedbackCreateInfo feedback = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
        .pPipelineCreationFeedback = &whole,
        .pipelineStageCreationFeedbackCount = 1,
        .pPipelineStageCreationFeedbacks = &stage,
    };
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .pNext = probe->feedback ? &feedback : NULL,
        .stage =
            {
                .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = probe->module,
                .pName = "main",
            },
        .layout = probe->layout,
        .basePipelineIndex = -1,
    };
    VkPipeline pipeline = VK_NULL_HANDLE;
    PFN_vkCreateComputePipelines create = GET_DEVICE(probe, vkCreateComputePipelines);
    uint64_t start = clock_now_ns();
    VkResult made = create(probe->device, cache, 1, &info, NULL, &pipeline);
    *ret_ns = clock_now_ns() - start;
    GET_DEVICE(probe, vkDestroyPipeline)(probe->device, pipeline, NULL);
    result->tells_hits = whole.flags & VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT;
    result->hit = whole.flags & VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;
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
        status = probe_compile(probe, cold, &result->cold_ns, result);
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
        status = probe_compile(probe, warm, &result->warm_ns, result);
    }
    result->step = status == VK_SUCCESS ? PROBE_DONE : result->step;
    result->result = status;
    GET_DEVICE(probe, vkDestroyPipelineCache)(probe->device, cold, NULL);
    GET_DEVICE(probe, vkDestroyPipelineCache)(probe->device, warm, NULL);
    free(data);
}

static void probe_run(struct probe *probe, enum probe_kind kind, struct probe_result *result)
{
    result->step = PROBE_PIPELINE;
    result->result = probe_create_objects(probe);
    if (result->result == VK_SUCCESS && kind == PROBE_ROUND_TRIP) {
        probe_round_trip(probe, result);
    } else if (result->result == VK_SUCCESS) {
        result->result = probe_compile(probe, VK_NULL_HANDLE, &result->cold_ns, result);
        result->step = result->result == VK_SUCCESS ? PROBE_DONE : PROBE_PIPELINE;
    }
    GET_DEVICE(probe, vkDestroyPipelineLayout)(probe->device, probe->layout, NULL);
    GET_DEVICE(probe, vkDestroyShaderModule)(probe->device, probe->module, NULL);
    GET_DEVICE(probe, vkDestroyDevice)(probe->device, NULL);
}

void vulkan_probe(enum probe_kind kind, uint32_t index, struct probe_result *ret_result)
{
    struct probe probe = {0};
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
