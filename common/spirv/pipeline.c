// SPDX-License-Identifier: Apache-2.0
#include "common/spirv/pipeline.h"

#include <stdlib.h>

#include "common/codec/canonical.h"

/* Larger numbers are no program's, and drivers multiply them (VUID-VkDescriptorSetLayoutCreateInfo
 * has limits of each device for the sums). */
#define MAX_BINDING     (1u << 20)
#define MAX_DESCRIPTORS (1u << 24)
#define MAX_BINDINGS    4096u
#define MAX_SETS        1024u
#define MAX_RANGES      64u
#define MAX_PUSH_END    65536u

/* VK_SHADER_STAGE_SUBPASS_SHADING_BIT_HUAWEI and VK_SHADER_STAGE_CLUSTER_CULLING_BIT_HUAWEI, under
 * one name whether headers know them or not. */
#define STAGE_SUBPASS_SHADING 0x00004000u
#define STAGE_CLUSTER_CULLING 0x00080000u

/* VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT: the code's bindings are those of a heap, or stand
 * in a mapping of each stage. */
#define FLAG_DESCRIPTOR_HEAP (UINT64_C(1) << 36)

static int compare_numbers(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

enum status pipeline_check_set_layout(const VkDescriptorSetLayoutCreateInfo *info)
{
    uint32_t *numbers = info->bindingCount <= MAX_BINDINGS
                            ? calloc(info->bindingCount + 1u, sizeof *numbers)
                            : NULL;
    if (!numbers) {
        return info->bindingCount <= MAX_BINDINGS ? STATUS_out_of_memory : STATUS_bad_binding;
    }
    bool fits = true;
    for (uint32_t i = 0; i < info->bindingCount; i++) {
        numbers[i] = info->pBindings[i].binding;
        fits = fits && numbers[i] <= MAX_BINDING &&
               info->pBindings[i].descriptorCount <= MAX_DESCRIPTORS;
    }
    if (info->bindingCount > 0) {
        qsort(numbers, info->bindingCount, sizeof *numbers, compare_numbers);
    }
    for (uint32_t i = 1; fits && i < info->bindingCount; i++) {
        fits = numbers[i] != numbers[i - 1];
    }
    free(numbers);
    return fits ? STATUS_ok : STATUS_bad_binding;
}

/* VUID-VkPushConstantRange-offset-00295, -size-00296, -size-00297,
 * VUID-VkPipelineLayoutCreateInfo-pPushConstantRanges-00292 */
static bool are_ranges_valid(const VkPushConstantRange *ranges, uint32_t count)
{
    VkShaderStageFlags seen = 0;
    bool fits = count <= MAX_RANGES;
    for (uint32_t i = 0; fits && i < count; i++) {
        const VkPushConstantRange *range = &ranges[i];
        fits = range->size > 0 && range->size % 4 == 0 && range->offset % 4 == 0 &&
               range->offset < MAX_PUSH_END && range->size <= MAX_PUSH_END - range->offset &&
               (range->stageFlags & seen) == 0;
        seen |= range->stageFlags;
    }
    return fits;
}

enum status pipeline_check_layout(const VkPipelineLayoutCreateInfo *info)
{
    return !are_ranges_valid(info->pPushConstantRanges, info->pushConstantRangeCount)
               ? STATUS_bad_push_constants
           : info->setLayoutCount > MAX_SETS ? STATUS_bad_binding
                                             : STATUS_ok;
}

/* Whether a graphics pipeline has pre-rasterization shaders of its own
 * (VkGraphicsPipelineLibraryCreateInfoEXT). */
static bool makes_primitives(const VkGraphicsPipelineCreateInfo *info, bool is_library)
{
    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext) {
        if (s->sType == VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT) {
            return ((const VkGraphicsPipelineLibraryCreateInfoEXT *)s)->flags &
                   VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
        }
        if (s->sType == VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR &&
            ((const VkPipelineLibraryCreateInfoKHR *)s)->libraryCount > 0) {
            is_library = true;
        }
    }
    return !is_library;
}

struct pipeline_parts pipeline_parts_of(const VkBaseInStructure *info)
{
    const VkShaderStageFlags ray_tracing =
        VK_SHADER_STAGE_RAYGEN_BIT_KHR | VK_SHADER_STAGE_ANY_HIT_BIT_KHR |
        VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR | VK_SHADER_STAGE_MISS_BIT_KHR |
        VK_SHADER_STAGE_INTERSECTION_BIT_KHR | VK_SHADER_STAGE_CALLABLE_BIT_KHR;
    const VkComputePipelineCreateInfo *compute = (const void *)info;
    const VkGraphicsPipelineCreateInfo *graphics = (const void *)info;
    const VkRayTracingPipelineCreateInfoKHR *rays = (const void *)info;
    const VkRayTracingPipelineCreateInfoNV *rays_nv = (const void *)info;
    struct pipeline_rules rules;
    canonical_rules(info, &rules);
    switch (info->sType) {
    case VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO:
        return (struct pipeline_parts){&compute->stage,
                                       1,
                                       VK_SHADER_STAGE_COMPUTE_BIT | STAGE_SUBPASS_SHADING,
                                       false,
                                       false,
                                       compute->layout,
                                       (rules.flags & FLAG_DESCRIPTOR_HEAP) != 0};
    case VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO:
        return (struct pipeline_parts){graphics->pStages,
                                       graphics->stageCount,
                                       ~(ray_tracing | VK_SHADER_STAGE_COMPUTE_BIT),
                                       false,
                                       makes_primitives(graphics, rules.library),
                                       graphics->layout,
                                       (rules.flags & FLAG_DESCRIPTOR_HEAP) != 0};
    case VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR:
        return (struct pipeline_parts){rays->pStages,
                                       rays->stageCount,
                                       ray_tracing,
                                       true,
                                       false,
                                       rays->layout,
                                       (rules.flags & FLAG_DESCRIPTOR_HEAP) != 0};
    default:
        return (struct pipeline_parts){rays_nv->pStages,
                                       rays_nv->stageCount,
                                       ray_tracing,
                                       true,
                                       false,
                                       rays_nv->layout,
                                       (rules.flags & FLAG_DESCRIPTOR_HEAP) != 0};
    }
}

bool pipeline_has_valid_stages(const struct pipeline_parts *pipeline)
{
    const VkShaderStageFlags mesh = VK_SHADER_STAGE_MESH_BIT_EXT | VK_SHADER_STAGE_TASK_BIT_EXT;
    const VkShaderStageFlags tessellation =
        VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT | VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT;
    const VkShaderStageFlags primitives =
        VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_GEOMETRY_BIT | tessellation;
    VkShaderStageFlags seen = 0;
    for (uint32_t i = 0; i < pipeline->stage_count; i++) {
        const VkShaderStageFlags stage = (VkShaderStageFlags)pipeline->stages[i].stage;
        if (stage == 0 || (stage & (stage - 1)) != 0 || (stage & ~pipeline->allowed) != 0 ||
            (!pipeline->repeats && (stage & seen) != 0)) {
            return false;
        }
        seen |= stage;
    }
    const bool makes =
        seen & (VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_MESH_BIT_EXT | STAGE_CLUSTER_CULLING);
    return (makes || !pipeline->is_whole) && !((seen & mesh) && (seen & primitives)) &&
           ((seen & tessellation) == 0 || (seen & tessellation) == tessellation);
}
