// SPDX-License-Identifier: Apache-2.0
#include "util.h"
#include "workload.h"

enum { STAGE_COUNT = 3 };

struct stages {
    struct specialized specialized;
    VkPipelineShaderStageCreateInfo stages[STAGE_COUNT];
    VkRayTracingShaderGroupCreateInfoKHR groups[STAGE_COUNT];
};

static void fill_stage(struct stages *s, uint32_t index, VkShaderModule module)
{
    static const VkShaderStageFlagBits bits[STAGE_COUNT] = {VK_SHADER_STAGE_RAYGEN_BIT_KHR,
                                                            VK_SHADER_STAGE_MISS_BIT_KHR,
                                                            VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR};
    bool hit = bits[index] == VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR;
    s->stages[index] = (VkPipelineShaderStageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
        .stage = bits[index],
        .module = module,
        .pName = "main",
        .pSpecializationInfo = &s->specialized.info};
    s->groups[index] = (VkRayTracingShaderGroupCreateInfoKHR){
        .sType = VK_STRUCTURE_TYPE_RAY_TRACING_SHADER_GROUP_CREATE_INFO_KHR,
        .type = hit ? VK_RAY_TRACING_SHADER_GROUP_TYPE_TRIANGLES_HIT_GROUP_KHR
                    : VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR,
        .generalShader = hit ? VK_SHADER_UNUSED_KHR : index,
        .closestHitShader = hit ? index : VK_SHADER_UNUSED_KHR,
        .anyHitShader = VK_SHADER_UNUSED_KHR,
        .intersectionShader = VK_SHADER_UNUSED_KHR};
}

struct description raytracing_describe(const struct objects *objects, const struct options *options)
{
    VkRayTracingPipelineCreateInfoKHR *infos = must_allocate(options->raytracing, sizeof(*infos));
    struct stages *storage = must_allocate(options->raytracing, sizeof(*storage));
    for (uint32_t i = 0; i < options->raytracing; i++) {
        const struct shader_kind *kind = &shaders_raytracing.kinds[i % shaders_raytracing.count];
        const struct kind_objects *made = objects_of(objects, kind);
        specialized_fill(&storage[i].specialized, kind, options->seed,
                         i / shaders_raytracing.count);
        for (uint32_t j = 0; j < STAGE_COUNT; j++) {
            fill_stage(&storage[i], j, made->modules[j]);
        }
        infos[i] = (VkRayTracingPipelineCreateInfoKHR){
            .sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR,
            .stageCount = STAGE_COUNT,
            .pStages = storage[i].stages,
            .groupCount = STAGE_COUNT,
            .pGroups = storage[i].groups,
            .maxPipelineRayRecursionDepth = 1,
            .layout = made->layout,
            .basePipelineIndex = -1};
    }
    return (struct description){infos, storage};
}
