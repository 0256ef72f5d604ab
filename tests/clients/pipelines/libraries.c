// SPDX-License-Identifier: Apache-2.0
#include "libraries.h"

#include "util.h"

static const VkGraphicsPipelineLibraryFlagsEXT parts[] = {
    VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT,
    VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT,
    VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT,
    VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT,
};

/* Of the two stages, vertex and fragment, those that a part has. */
static void keep_stages(VkGraphicsPipelineCreateInfo *info, VkGraphicsPipelineLibraryFlagsEXT part)
{
    const VkPipelineShaderStageCreateInfo *stages = info->pStages;
    info->stageCount = 0;
    info->pStages = NULL;
    if (part == VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT) {
        info->stageCount = 1;
        info->pStages = &stages[0];
    } else if (part == VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT) {
        info->stageCount = 1;
        info->pStages = &stages[1];
    }
}

static VkResult create_part(const struct gpu *gpu, VkPipelineCache cache,
                            const VkGraphicsPipelineCreateInfo *whole,
                            VkGraphicsPipelineLibraryFlagsEXT part, VkPipeline *ret_library)
{
    VkGraphicsPipelineLibraryCreateInfoEXT kind = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT,
        .pNext = (void *)(uintptr_t)whole->pNext,
        .flags = part};
    VkGraphicsPipelineCreateInfo info = *whole;
    info.pNext = &kind;
    info.flags |= VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
    keep_stages(&info, part);
    return vkCreateGraphicsPipelines(gpu->device, cache, 1, &info, gpu->allocator, ret_library);
}

static VkResult create_linked(const struct gpu *gpu, VkPipelineCache cache,
                              const VkGraphicsPipelineCreateInfo *whole, VkPipeline *ret_pipeline)
{
    VkPipeline made[COUNT_OF(parts)] = {VK_NULL_HANDLE};
    VkResult result = VK_SUCCESS;
    for (uint32_t i = 0; result == VK_SUCCESS && i < COUNT_OF(parts); i++) {
        result = create_part(gpu, cache, whole, parts[i], &made[i]);
    }
    VkPipelineLibraryCreateInfoKHR libraries = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR,
        .libraryCount = COUNT_OF(parts),
        .pLibraries = made};
    VkGraphicsPipelineCreateInfo link = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                         .pNext = &libraries,
                                         .layout = whole->layout,
                                         .basePipelineIndex = -1};
    if (result == VK_SUCCESS) {
        result =
            vkCreateGraphicsPipelines(gpu->device, cache, 1, &link, gpu->allocator, ret_pipeline);
    }
    for (uint32_t i = 0; i < COUNT_OF(parts); i++) {
        vkDestroyPipeline(gpu->device, made[i], gpu->allocator);
    }
    return result;
}

VkResult libraries_create(const struct gpu *gpu, VkPipelineCache cache, uint32_t count,
                          const VkGraphicsPipelineCreateInfo *infos, VkPipeline *pipelines)
{
    VkResult first = VK_SUCCESS;
    for (uint32_t i = 0; i < count; i++) {
        pipelines[i] = VK_NULL_HANDLE;
        VkResult result = create_linked(gpu, cache, &infos[i], &pipelines[i]);
        first = first == VK_SUCCESS ? result : first;
    }
    return first;
}
