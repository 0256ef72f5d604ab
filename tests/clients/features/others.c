// SPDX-License-Identifier: Apache-2.0
/* Features with commands of their own. */
#include <stdlib.h>

#include "features.h"

static VkRayTracingShaderGroupCreateInfoKHR group_of(VkShaderStageFlagBits stage, uint32_t index)
{
    const bool hit = stage == VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR;
    return (VkRayTracingShaderGroupCreateInfoKHR){
        .sType = VK_STRUCTURE_TYPE_RAY_TRACING_SHADER_GROUP_CREATE_INFO_KHR,
        .type = hit ? VK_RAY_TRACING_SHADER_GROUP_TYPE_TRIANGLES_HIT_GROUP_KHR
                    : VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR,
        .generalShader = hit ? VK_SHADER_UNUSED_KHR : index,
        .closestHitShader = hit ? index : VK_SHADER_UNUSED_KHR,
        .anyHitShader = VK_SHADER_UNUSED_KHR,
        .intersectionShader = VK_SHADER_UNUSED_KHR};
}

/* A pipeline or a library of these stages, each a group, and of libraries. */
static VkPipeline create_rays(struct feature_device *device, VkPipelineLayout layout,
                              const struct stage *stages, uint32_t count,
                              const VkPipeline *libraries, uint32_t library_count,
                              VkPipelineCreateFlags flags)
{
    static const VkRayTracingPipelineInterfaceCreateInfoKHR interface = {
        .sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_INTERFACE_CREATE_INFO_KHR,
        .maxPipelineRayPayloadSize = 16,
        .maxPipelineRayHitAttributeSize = 8};
    const VkPipelineLibraryCreateInfoKHR linked = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR,
        .libraryCount = library_count,
        .pLibraries = libraries};
    VkPipelineShaderStageCreateInfo infos[3];
    VkRayTracingShaderGroupCreateInfoKHR groups[3];
    for (uint32_t i = 0; i < count; i++) {
        infos[i] = stages[i].info;
        groups[i] = group_of(infos[i].stage, i);
    }
    struct feedback feedback;
    const VkRayTracingPipelineCreateInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR,
        .pNext = feedback_chain(&feedback, count, NULL),
        .flags = feature_flags(device) | flags,
        .stageCount = count,
        .pStages = infos,
        .groupCount = count,
        .pGroups = groups,
        .maxPipelineRayRecursionDepth = 1,
        .pLibraryInfo = library_count ? &linked : NULL,
        .pLibraryInterface = &interface,
        .layout = layout,
        .basePipelineIndex = -1};
    PFN_vkCreateRayTracingPipelinesKHR create = (PFN_vkCreateRayTracingPipelinesKHR)feature_command(
        device, "vkCreateRayTracingPipelinesKHR");
    VkPipeline pipeline = VK_NULL_HANDLE;
    const VkResult result =
        create(device->device, VK_NULL_HANDLE, device->cache, 1, &info, NULL, &pipeline);
    feedback_note(&feedback, &device->outcome);
    outcome_note(device, result, pipeline);
    return pipeline;
}

static VkPipelineLayout create_ray_layout(const struct feature_device *device,
                                          VkDescriptorSetLayout *ret_set_layout)
{
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_RAYGEN_BIT_KHR, NULL},
        {1, VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR, 1, VK_SHADER_STAGE_RAYGEN_BIT_KHR, NULL},
    };
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = COUNT_OF(bindings),
        .pBindings = bindings};
    const VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = 1,
                                             .pSetLayouts = ret_set_layout};
    VkPipelineLayout layout = VK_NULL_HANDLE;
    *ret_set_layout = VK_NULL_HANDLE;
    if (vkCreateDescriptorSetLayout(device->device, &set, NULL, ret_set_layout) != VK_SUCCESS ||
        vkCreatePipelineLayout(device->device, &info, NULL, &layout) != VK_SUCCESS) {
        exit(1);
    }
    return layout;
}

/* All in one; and the ray generation with a library of the rest. */
void create_ray_tracing(struct feature_device *device, uint32_t variant)
{
    static const enum shader shaders[] = {SHADER_RAYGEN, SHADER_MISS, SHADER_HIT};
    struct stage stages[COUNT_OF(shaders)];
    for (size_t i = 0; i < COUNT_OF(shaders); i++) {
        stage_fill(device, &stages[i], shaders[i], true, variant);
    }
    VkDescriptorSetLayout set_layout;
    const VkPipelineLayout layout = create_ray_layout(device, &set_layout);
    const VkPipeline whole = create_rays(device, layout, stages, 3, NULL, 0, 0);
    const VkPipeline library =
        create_rays(device, layout, stages + 1, 2, NULL, 0, VK_PIPELINE_CREATE_LIBRARY_BIT_KHR);
    const VkPipeline linked = create_rays(device, layout, stages, 1, &library, 1, 0);
    vkDestroyPipeline(device->device, linked, NULL);
    vkDestroyPipeline(device->device, library, NULL);
    vkDestroyPipeline(device->device, whole, NULL);
    vkDestroyPipelineLayout(device->device, layout, NULL);
    vkDestroyDescriptorSetLayout(device->device, set_layout, NULL);
    for (size_t i = 0; i < COUNT_OF(shaders); i++) {
        stage_destroy(device, &stages[i]);
    }
}

/* The bytes of a shader that was made of SPIR-V; and a shader made of those bytes. */
void create_shader_object(struct feature_device *device, uint32_t variant)
{
    create_shaders create = (create_shaders)feature_command(device, "vkCreateShadersEXT");
    destroy_shader destroy = (destroy_shader)feature_command(device, "vkDestroyShaderEXT");
    get_shader_data get = (get_shader_data)feature_command(device, "vkGetShaderBinaryDataEXT");
    struct stage stage;
    stage_fill(device, &stage, SHADER_TILE, false, variant);
    struct shader_create_info info = {
        .stype = (VkStructureType)STYPE_SHADER_CREATE_INFO,
        .stage = VK_SHADER_STAGE_COMPUTE_BIT,
        .code_type = 1,
        .code_size = stage.code.codeSize,
        .code = stage.code.pCode,
        .name = "main",
        .set_layout_count = 1,
        .set_layouts = &device->set_layout,
        .specialization = &stage.constants,
    };
    uint64_t shaders[2] = {0};
    outcome_note(device, create(device->device, 1, &info, NULL, &shaders[0]), VK_NULL_HANDLE);
    size_t size = 0;
    get(device->device, shaders[0], &size, NULL);
    void *data = calloc(1, size + 1);
    if (!data || get(device->device, shaders[0], &size, data) != VK_SUCCESS) {
        exit(1);
    }
    outcome_see(&device->outcome, data, size);
    info.code_type = 0;
    info.code_size = size;
    info.code = data;
    outcome_note(device, create(device->device, 1, &info, NULL, &shaders[1]), VK_NULL_HANDLE);
    free(data);
    destroy(device->device, shaders[0], NULL);
    destroy(device->device, shaders[1], NULL);
}

enum { MAX_BINARIES = 16 };

/* The binaries of a pipeline, and the pipeline made of them, as a program does that keeps them. */
void create_pipeline_binary(struct feature_device *device, uint32_t variant)
{
    create_binaries create =
        (create_binaries)feature_command(device, "vkCreatePipelineBinariesKHR");
    destroy_binary destroy = (destroy_binary)feature_command(device, "vkDestroyPipelineBinaryKHR");
    get_pipeline_key get_key = (get_pipeline_key)feature_command(device, "vkGetPipelineKeyKHR");
    struct stage stage;
    stage_fill(device, &stage, SHADER_TILE, true, variant);
    struct pipeline_flags flags = {.stype = (VkStructureType)STYPE_PIPELINE_FLAGS_2,
                                   .flags = feature_flags(device) | FLAG_CAPTURE_DATA};
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                        .pNext = &flags,
                                        .stage = stage.info,
                                        .layout = device->layout,
                                        .basePipelineIndex = -1};
    const struct pipeline_create_info keyed = {.stype = (VkStructureType)STYPE_PIPELINE_CREATE_INFO,
                                               .next = &info};
    struct binary_key key = {.stype = (VkStructureType)STYPE_BINARY_KEY};
    outcome_note(device, get_key(device->device, &keyed, &key), VK_NULL_HANDLE);
    outcome_see(&device->outcome, key.key, key.size);
    VkPipeline captured = VK_NULL_HANDLE;
    outcome_note(
        device, vkCreateComputePipelines(device->device, VK_NULL_HANDLE, 1, &info, NULL, &captured),
        captured);
    uint64_t binaries[MAX_BINARIES];
    struct binary_handles handles = {.stype = (VkStructureType)STYPE_BINARY_HANDLES};
    const struct binary_create_info of_pipeline = {
        .stype = (VkStructureType)STYPE_BINARY_CREATE_INFO, .pipeline = captured};
    outcome_note(device, create(device->device, &of_pipeline, NULL, &handles), VK_NULL_HANDLE);
    if (handles.count > MAX_BINARIES) {
        exit(1);
    }
    handles.binaries = binaries;
    outcome_note(device, create(device->device, &of_pipeline, NULL, &handles), VK_NULL_HANDLE);
    const struct binary_info made_of = {.stype = (VkStructureType)STYPE_BINARY_INFO,
                                        .next = &flags,
                                        .count = handles.count,
                                        .binaries = binaries};
    flags.flags &= ~FLAG_CAPTURE_DATA;
    info.pNext = &made_of;
    info.stage.module = VK_NULL_HANDLE;
    VkPipeline made = VK_NULL_HANDLE;
    outcome_note(device,
                 vkCreateComputePipelines(device->device, VK_NULL_HANDLE, 1, &info, NULL, &made),
                 made);
    for (uint32_t i = 0; i < handles.count; i++) {
        destroy(device->device, binaries[i], NULL);
    }
    vkDestroyPipeline(device->device, made, NULL);
    vkDestroyPipeline(device->device, captured, NULL);
    stage_destroy(device, &stage);
}
