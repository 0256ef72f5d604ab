// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/doctor.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "tools/vulkan/vulkan_loader.h"

/* Shaders that do nothing. */
/* clang-format off */
#define SHADER_HEAD                                                                                \
    0x07230203, 0x00010000, 0, 6, 0,     /* SPIR-V 1.0, ids below 6 */                             \
    2 << 16 | 17, 1,                     /* OpCapability Shader */                                 \
    3 << 16 | 14, 0, 1                   /* OpMemoryModel Logical GLSL450 */
#define SHADER_ENTRY(model)                                                                        \
    5 << 16 | 15, model, 4, 0x6e69616d, 0 /* OpEntryPoint model %4 "main" */
#define SHADER_BODY                                                                                \
    2 << 16 | 19, 2,                     /* %2 = OpTypeVoid */                                     \
    3 << 16 | 33, 3, 2,                  /* %3 = OpTypeFunction %2 */                              \
    5 << 16 | 54, 2, 4, 0, 3,            /* %4 = OpFunction %2 None %3 */                          \
    2 << 16 | 248, 5,                    /* %5 = OpLabel */                                        \
    1 << 16 | 253, 1 << 16 | 56          /* OpReturn, OpFunctionEnd */

static const uint32_t compute_shader[] = {
    SHADER_HEAD, SHADER_ENTRY(5),
    6 << 16 | 16, 4, 17, 1, 1, 1,        /* OpExecutionMode %4 LocalSize 1 1 1 */
    SHADER_BODY,
};
static const uint32_t vertex_shader[] = {SHADER_HEAD, SHADER_ENTRY(0), SHADER_BODY};
static const uint32_t fragment_shader[] = {
    SHADER_HEAD, SHADER_ENTRY(4),
    3 << 16 | 16, 4, 7,                  /* OpExecutionMode %4 OriginUpperLeft */
    SHADER_BODY,
};
/* clang-format on */

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
    bool is_graphics;
    bool feedback; /* creation feedback may be requested */
    /* What the pipeline is made of: Vulkan 1.0, a render pass without attachments. */
    VkShaderModule modules[2]; /* of the compute stage; or of vertex and fragment */
    VkPipelineLayout layout;
    VkRenderPass render_pass; /* of a graphics pipeline */
};

#define GET(probe, name) VULKAN_GET(&(probe)->loader, name)

static bool probe_has_extension(struct probe *probe, const char *name)
{
    uint32_t count = 0;
    AUTO_FREE VkExtensionProperties *extensions = extensions_list(
        GET(probe, vkEnumerateDeviceExtensionProperties), probe->physical_device, &count);
    return extensions && extensions_have(extensions, count, name);
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
    AUTO_FREE VkPhysicalDevice *handles = NULL;
    uint32_t count = 0;
    VkResult result = vulkan_loader_devices(&probe->loader, &handles, &count);
    if (result == VK_SUCCESS && index >= count) {
        result = VK_ERROR_INITIALIZATION_FAILED;
    }
    if (result == VK_SUCCESS) {
        probe->physical_device = handles[index];
        result = probe_create_device(probe);
    }
    return result;
}

#define GET_DEVICE(probe, name)                                                                    \
    ((PFN_##name)GET(probe, vkGetDeviceProcAddr)((probe)->device, #name))

/* Creates what the pipeline is made of. */
static VkResult probe_create_objects(struct probe *probe)
{
    const struct {
        const uint32_t *code;
        size_t size;
    } shaders[][2] = {
        {{compute_shader, sizeof compute_shader}},
        {{vertex_shader, sizeof vertex_shader}, {fragment_shader, sizeof fragment_shader}},
    };
    const VkPipelineLayoutCreateInfo layout = {.sType =
                                                   VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    VkResult result =
        GET_DEVICE(probe, vkCreatePipelineLayout)(probe->device, &layout, NULL, &probe->layout);
    for (int i = 0; result == VK_SUCCESS && i <= probe->is_graphics; i++) {
        const VkShaderModuleCreateInfo module = {
            .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
            .codeSize = shaders[probe->is_graphics][i].size,
            .pCode = shaders[probe->is_graphics][i].code,
        };
        result = GET_DEVICE(probe, vkCreateShaderModule)(probe->device, &module, NULL,
                                                         &probe->modules[i]);
    }
    const VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS};
    const VkRenderPassCreateInfo pass = {
        .sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
        .subpassCount = 1,
        .pSubpasses = &subpass,
    };
    return result == VK_SUCCESS && probe->is_graphics
               ? GET_DEVICE(probe, vkCreateRenderPass)(probe->device, &pass, NULL,
                                                       &probe->render_pass)
               : result;
}

static void probe_destroy_objects(struct probe *probe)
{
    GET_DEVICE(probe, vkDestroyRenderPass)(probe->device, probe->render_pass, NULL);
    for (int i = 0; i < 2; i++) {
        GET_DEVICE(probe, vkDestroyShaderModule)(probe->device, probe->modules[i], NULL);
    }
    GET_DEVICE(probe, vkDestroyPipelineLayout)(probe->device, probe->layout, NULL);
}

static VkPipelineShaderStageCreateInfo probe_stage(VkShaderStageFlagBits stage,
                                                   VkShaderModule module)
{
    return (VkPipelineShaderStageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
        .stage = stage,
        .module = module,
        .pName = "main",
    };
}

static VkResult probe_create_compute(struct probe *probe, VkPipelineCache cache, const void *next,
                                     VkPipeline *ret_pipeline)
{
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .pNext = next,
        .stage = probe_stage(VK_SHADER_STAGE_COMPUTE_BIT, probe->modules[0]),
        .layout = probe->layout,
        .basePipelineIndex = -1,
    };
    return GET_DEVICE(probe, vkCreateComputePipelines)(probe->device, cache, 1, &info, NULL,
                                                       ret_pipeline);
}

static VkResult probe_create_graphics(struct probe *probe, VkPipelineCache cache, const void *next,
                                      VkPipeline *ret_pipeline)
{
    const VkPipelineShaderStageCreateInfo stages[] = {
        probe_stage(VK_SHADER_STAGE_VERTEX_BIT, probe->modules[0]),
        probe_stage(VK_SHADER_STAGE_FRAGMENT_BIT, probe->modules[1]),
    };
    const VkPipelineVertexInputStateCreateInfo vertices = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    const VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
    };
    const VkViewport viewport = {.width = 1, .height = 1, .maxDepth = 1};
    const VkRect2D scissor = {.extent = {1, 1}};
    const VkPipelineViewportStateCreateInfo viewports = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
        .viewportCount = 1,
        .pViewports = &viewport,
        .scissorCount = 1,
        .pScissors = &scissor,
    };
    const VkPipelineRasterizationStateCreateInfo rasterization = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .lineWidth = 1,
    };
    const VkPipelineMultisampleStateCreateInfo samples = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
    };
    const VkPipelineColorBlendStateCreateInfo blend = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
    const VkGraphicsPipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
        .pNext = next,
        .stageCount = 2,
        .pStages = stages,
        .pVertexInputState = &vertices,
        .pInputAssemblyState = &assembly,
        .pViewportState = &viewports,
        .pRasterizationState = &rasterization,
        .pMultisampleState = &samples,
        .pColorBlendState = &blend,
        .layout = probe->layout,
        .renderPass = probe->render_pass,
        .basePipelineIndex = -1,
    };
    return GET_DEVICE(probe, vkCreateGraphicsPipelines)(probe->device, cache, 1, &info, NULL,
                                                        ret_pipeline);
}

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
    const VkResult made = (probe->is_graphics ? probe_create_graphics : probe_create_compute)(
        probe, cache, next, &pipeline);
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

/* Bytes of a cache's data; 0: the driver does not tell. */
static uint64_t probe_cache_size(struct probe *probe, VkPipelineCache cache)
{
    AUTO_FREE void *data = NULL;
    size_t size = 0;
    const VkResult result = probe_save(probe, cache, &data, &size);
    return result == VK_SUCCESS ? size : 0;
}

/* Gives what the first cache holds to a second one, which must then have the pipeline. */
static VkResult probe_reload(struct probe *probe, VkPipelineCache caches[2],
                             struct probe_result *result)
{
    AUTO_FREE void *data = NULL;
    size_t size = 0;
    result->step = PROBE_SAVE;
    VkResult status = probe_save(probe, caches[0], &data, &size);
    result->data_size = size;
    if (status == VK_SUCCESS) {
        result->step = PROBE_LOAD;
        status = probe_new_cache(probe, data, size, &caches[1]);
    }
    if (status == VK_SUCCESS) {
        status = probe_compile(probe, caches[1], &result->warm_ns, &result->hit, result);
    }
    return status;
}

static VkResult probe_merge(struct probe *probe, VkPipelineCache caches[2],
                            struct probe_result *result)
{
    result->step = PROBE_MERGE;
    result->data_size = probe_cache_size(probe, caches[0]);
    VkResult status = probe_new_cache(probe, NULL, 0, &caches[1]);
    if (status == VK_SUCCESS) {
        status = GET_DEVICE(probe, vkMergePipelineCaches)(probe->device, caches[1], 1, &caches[0]);
        result->merged_size = probe_cache_size(probe, caches[1]);
        result->left_size = probe_cache_size(probe, caches[0]);
    }
    return status;
}

/* Compiles into a first cache, for one of the two above. */
static VkResult probe_try_caches(struct probe *probe, enum probe_kind kind,
                                 struct probe_result *result)
{
    VkPipelineCache caches[2] = {VK_NULL_HANDLE, VK_NULL_HANDLE};
    VkResult status = probe_new_cache(probe, NULL, 0, &caches[0]);
    if (status == VK_SUCCESS) {
        status = probe_compile(probe, caches[0], &result->cold_ns, &result->cold_hit, result);
    }
    if (status == VK_SUCCESS) {
        status = (kind == PROBE_MERGING ? probe_merge : probe_reload)(probe, caches, result);
    }
    GET_DEVICE(probe, vkDestroyPipelineCache)(probe->device, caches[0], NULL);
    GET_DEVICE(probe, vkDestroyPipelineCache)(probe->device, caches[1], NULL);
    return status;
}

static void probe_run(struct probe *probe, enum probe_kind kind, struct probe_result *result)
{
    result->prefers_own = probe_prefers_own_cache(probe);
    result->step = PROBE_PIPELINE;
    VkResult status = probe_create_objects(probe);
    if (status == VK_SUCCESS) {
        status = kind == PROBE_CREATE ? probe_compile(probe, VK_NULL_HANDLE, &result->cold_ns,
                                                      &result->cold_hit, result)
                                      : probe_try_caches(probe, kind, result);
    }
    result->step = status == VK_SUCCESS ? PROBE_DONE : result->step;
    result->result = status;
    probe_destroy_objects(probe);
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
