// SPDX-License-Identifier: Apache-2.0
#include "workload.h"

#include "libraries.h"
#include "util.h"

void specialized_fill(struct specialized *specialized, const struct shader_kind *kind,
                      uint32_t seed, uint32_t variant)
{
    specialized->values = shaders_specialize(kind, seed, variant);
    for (uint32_t i = 0; i < specialized->values.count; i++) {
        specialized->entries[i] = (VkSpecializationMapEntry){
            specialized->values.ids[i], i * (uint32_t)sizeof(uint32_t), sizeof(uint32_t)};
    }
    specialized->info = (VkSpecializationInfo){specialized->values.count, specialized->entries,
                                               specialized->values.count * sizeof(uint32_t),
                                               specialized->values.values};
}

struct workload workload_create(const struct gpu *gpu, const struct options *options)
{
    struct workload workload = {
        .gpu = gpu,
        .counts = {options->compute, options->graphics, options->raytracing},
        .objects = objects_create(gpu, options)};
    for (int type = 0; type < TYPE_COUNT; type++) {
        size_t all = (size_t)workload.counts[type] * options->repeat;
        workload.pipelines[type] = must_allocate(all, sizeof(VkPipeline));
    }
    workload.descriptions[TYPE_COMPUTE] = compute_describe(workload.objects, options);
    workload.descriptions[TYPE_GRAPHICS] =
        graphics_describe(workload.objects, options, gpu->dynamic_rendering);
    workload.descriptions[TYPE_RAYTRACING] = raytracing_describe(workload.objects, options);
    return workload;
}

VkResult workload_create_pipelines(const struct workload *workload, enum pipeline_type type,
                                   uint32_t first, uint32_t count, VkPipelineCache cache,
                                   VkPipeline *pipelines)
{
    const struct gpu *gpu = workload->gpu;
    const void *infos = workload->descriptions[type].infos;
    switch (type) {
    case TYPE_COMPUTE:
        return vkCreateComputePipelines(gpu->device, cache, count,
                                        (const VkComputePipelineCreateInfo *)infos + first,
                                        gpu->allocator, pipelines);
    case TYPE_GRAPHICS:
        if (gpu->libraries) {
            return libraries_create(gpu, cache, count,
                                    (const VkGraphicsPipelineCreateInfo *)infos + first, pipelines);
        }
        return vkCreateGraphicsPipelines(gpu->device, cache, count,
                                         (const VkGraphicsPipelineCreateInfo *)infos + first,
                                         gpu->allocator, pipelines);
    default:
        return gpu->create_raytracing(gpu->device, VK_NULL_HANDLE, cache, count,
                                      (const VkRayTracingPipelineCreateInfoKHR *)infos + first,
                                      gpu->allocator, pipelines);
    }
}

const void **workload_chain(const struct workload *workload, enum pipeline_type type,
                            uint32_t index, uint32_t *ret_stage_count)
{
    void *infos = workload->descriptions[type].infos;
    switch (type) {
    case TYPE_COMPUTE:
        *ret_stage_count = 1;
        return &((VkComputePipelineCreateInfo *)infos)[index].pNext;
    case TYPE_GRAPHICS:
        *ret_stage_count = ((VkGraphicsPipelineCreateInfo *)infos)[index].stageCount;
        return &((VkGraphicsPipelineCreateInfo *)infos)[index].pNext;
    default:
        *ret_stage_count = ((VkRayTracingPipelineCreateInfoKHR *)infos)[index].stageCount;
        return &((VkRayTracingPipelineCreateInfoKHR *)infos)[index].pNext;
    }
}

void workload_destroy(struct workload *workload, const struct options *options)
{
    for (int type = 0; type < TYPE_COUNT; type++) {
        size_t all = (size_t)workload->counts[type] * options->repeat;
        for (size_t i = 0; i < all; i++) {
            vkDestroyPipeline(workload->gpu->device, workload->pipelines[type][i],
                              workload->gpu->allocator);
        }
        free(workload->pipelines[type]);
        free(workload->descriptions[type].infos);
        free(workload->descriptions[type].storage);
    }
    objects_destroy(workload->objects);
}
