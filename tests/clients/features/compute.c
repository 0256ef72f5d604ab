// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>

#include "features.h"
#include "matrix.h"
#include "spirv/fragment_frag.h"
#include "spirv/hit_rchit.h"
#include "spirv/local_read_frag.h"
#include "spirv/miss_rmiss.h"
#include "spirv/rays_rgen.h"
#include "spirv/tile_comp.h"
#include "spirv/vertex_vert.h"
#include "untyped.h"

static const struct {
    VkShaderStageFlagBits stage;
    const uint32_t *code;
    size_t size;
} shaders[] = {
    [SHADER_TILE] = {VK_SHADER_STAGE_COMPUTE_BIT, tile_comp, sizeof tile_comp},
    [SHADER_MATRIX] = {VK_SHADER_STAGE_COMPUTE_BIT, matrix_code, sizeof matrix_code},
    [SHADER_UNTYPED] = {VK_SHADER_STAGE_COMPUTE_BIT, untyped_code, sizeof untyped_code},
    [SHADER_VERTEX] = {VK_SHADER_STAGE_VERTEX_BIT, vertex_vert, sizeof vertex_vert},
    [SHADER_FRAGMENT] = {VK_SHADER_STAGE_FRAGMENT_BIT, fragment_frag, sizeof fragment_frag},
    [SHADER_LOCAL_READ] = {VK_SHADER_STAGE_FRAGMENT_BIT, local_read_frag, sizeof local_read_frag},
    [SHADER_RAYGEN] = {VK_SHADER_STAGE_RAYGEN_BIT_KHR, rays_rgen, sizeof rays_rgen},
    [SHADER_MISS] = {VK_SHADER_STAGE_MISS_BIT_KHR, miss_rmiss, sizeof miss_rmiss},
    [SHADER_HIT] = {VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR, hit_rchit, sizeof hit_rchit},
};

void stage_fill(const struct feature_device *device, struct stage *stage, enum shader shader,
                bool with_module, uint32_t variant)
{
    stage->variant = variant + 1;
    stage->entry = (VkSpecializationMapEntry){0, 0, sizeof stage->variant};
    stage->constants =
        (VkSpecializationInfo){1, &stage->entry, sizeof stage->variant, &stage->variant};
    stage->code = (VkShaderModuleCreateInfo){
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = shaders[shader].size,
        .pCode = shaders[shader].code,
    };
    stage->module = VK_NULL_HANDLE;
    if (with_module &&
        vkCreateShaderModule(device->device, &stage->code, NULL, &stage->module) != VK_SUCCESS) {
        fputs("features: vkCreateShaderModule\n", stderr);
        exit(1);
    }
    stage->info = (VkPipelineShaderStageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
        .pNext = with_module ? NULL : &stage->code,
        .stage = shaders[shader].stage,
        .module = stage->module,
        .pName = "main",
        .pSpecializationInfo = &stage->constants,
    };
}

void stage_destroy(const struct feature_device *device, const struct stage *stage)
{
    vkDestroyShaderModule(device->device, stage->module, NULL);
}

void compute_create(struct feature_device *device, const struct stage *stage,
                    VkPipelineLayout layout, VkPipelineCreateFlags flags, const void *next)
{
    struct feedback feedback;
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .pNext = feedback_chain(&feedback, 1, next),
        .flags = flags,
        .stage = stage->info,
        .layout = layout,
        .basePipelineIndex = -1,
    };
    VkPipeline pipeline = VK_NULL_HANDLE;
    const VkResult result =
        vkCreateComputePipelines(device->device, device->cache, 1, &info, NULL, &pipeline);
    feedback_note(&feedback, &device->outcome);
    outcome_note(device, result, pipeline);
    vkDestroyPipeline(device->device, pipeline, NULL);
}

/* The flags of the struct count, those of the create-info mean nothing: here they ask for another
 * pipeline. */
void create_flags2(struct feature_device *device, uint32_t variant)
{
    struct stage stage;
    stage_fill(device, &stage, SHADER_TILE, false, variant);
    const struct pipeline_flags flags = {
        .stype = (VkStructureType)STYPE_PIPELINE_FLAGS_2,
        .flags = feature_flags(device),
    };
    compute_create(device, &stage, device->layout, VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT,
                   &flags);
    graphics_create_inline(device, variant);
}

/* For features of the device that shape what it compiles and not how it is asked. */
void create_plain(struct feature_device *device, uint32_t variant)
{
    struct stage stage;
    stage_fill(device, &stage, SHADER_TILE, true, variant);
    compute_create(device, &stage, device->layout, feature_flags(device), NULL);
    stage_destroy(device, &stage);
}

/* Of the whole pipeline in one, of its stage in the other. */
void create_robustness(struct feature_device *device, uint32_t variant)
{
    struct stage stage;
    stage_fill(device, &stage, SHADER_TILE, true, variant);
    const VkPipelineRobustnessCreateInfoEXT robust = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO_EXT,
        .storageBuffers = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_EXT,
        .uniformBuffers = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_EXT,
        .vertexInputs = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_EXT,
        .images = VK_PIPELINE_ROBUSTNESS_IMAGE_BEHAVIOR_ROBUST_IMAGE_ACCESS_EXT,
    };
    compute_create(device, &stage, device->layout, feature_flags(device), &robust);
    const VkPipelineRobustnessCreateInfoEXT none = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO_EXT,
        .storageBuffers = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT,
        .uniformBuffers = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT,
        .vertexInputs = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT,
        .images = VK_PIPELINE_ROBUSTNESS_IMAGE_BEHAVIOR_DISABLED_EXT,
    };
    stage.info.pNext = &none;
    compute_create(device, &stage, device->layout, feature_flags(device), NULL);
    stage_destroy(device, &stage);
}

void create_descriptor_buffer(struct feature_device *device, uint32_t variant)
{
    const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                                                  VK_SHADER_STAGE_ALL, NULL};
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_DESCRIPTOR_BUFFER_BIT_EXT,
        .bindingCount = 1,
        .pBindings = &binding,
    };
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkResult result = vkCreateDescriptorSetLayout(device->device, &set, NULL, &set_layout);
    const VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &set_layout,
    };
    if (result == VK_SUCCESS) {
        result = vkCreatePipelineLayout(device->device, &info, NULL, &layout);
    }
    VkDeviceSize size = 0;
    ((PFN_vkGetDescriptorSetLayoutSizeEXT)feature_command(
        device, "vkGetDescriptorSetLayoutSizeEXT"))(device->device, set_layout, &size);
    outcome_see(&device->outcome, &size, sizeof size);
    struct stage stage;
    stage_fill(device, &stage, SHADER_TILE, true, variant);
    compute_create(device, &stage, layout,
                   feature_flags(device) | VK_PIPELINE_CREATE_DESCRIPTOR_BUFFER_BIT_EXT, NULL);
    stage_destroy(device, &stage);
    vkDestroyPipelineLayout(device->device, layout, NULL);
    vkDestroyDescriptorSetLayout(device->device, set_layout, NULL);
}

void create_generated_commands(struct feature_device *device, uint32_t variant)
{
    struct stage stage;
    stage_fill(device, &stage, SHADER_TILE, true, variant);
    const struct pipeline_flags flags = {
        .stype = (VkStructureType)STYPE_PIPELINE_FLAGS_2,
        .flags = feature_flags(device) | FLAG_INDIRECT_BINDABLE,
    };
    compute_create(device, &stage, device->layout, 0, &flags);
    stage_destroy(device, &stage);
}

void create_cooperative_matrix(struct feature_device *device, uint32_t variant)
{
    struct stage stage;
    stage_fill(device, &stage, SHADER_MATRIX, true, variant);
    compute_create(device, &stage, device->layout, feature_flags(device), NULL);
    stage_destroy(device, &stage);
}

void create_untyped_pointers(struct feature_device *device, uint32_t variant)
{
    struct stage stage;
    stage_fill(device, &stage, SHADER_UNTYPED, true, variant);
    compute_create(device, &stage, device->layout, feature_flags(device), NULL);
    stage_destroy(device, &stage);
}
