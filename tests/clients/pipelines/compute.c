// SPDX-License-Identifier: Apache-2.0
#include "util.h"
#include "workload.h"

const struct shader_kind *compute_kind(const struct options *options, uint32_t index,
                                       uint32_t *ret_variant)
{
    /* Spread evenly: the heavy ones are those at which the running share steps up. */
    uint64_t before = (uint64_t)index * options->heavy / options->compute;
    uint64_t after = (uint64_t)(index + 1) * options->heavy / options->compute;
    const struct shader_kinds *kinds = after > before ? &shaders_heavy : &shaders_compute;
    uint32_t position = after > before ? (uint32_t)before : index - (uint32_t)before;
    *ret_variant = position / kinds->count;
    return &kinds->kinds[position % kinds->count];
}

struct description compute_describe(const struct objects *objects, const struct options *options)
{
    VkComputePipelineCreateInfo *infos = must_allocate(options->compute, sizeof(*infos));
    struct specialized *storage = must_allocate(options->compute, sizeof(*storage));
    for (uint32_t i = 0; i < options->compute; i++) {
        uint32_t variant;
        const struct shader_kind *kind = compute_kind(options, i, &variant);
        const struct kind_objects *made = objects_of(objects, kind);
        specialized_fill(&storage[i], kind, options->seed, variant);
        infos[i] = (VkComputePipelineCreateInfo){
            .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
            .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                      .module = made->modules[0],
                      .pName = "main",
                      .pSpecializationInfo = &storage[i].info},
            .layout = made->layout,
            .basePipelineIndex = -1};
    }
    return (struct description){infos, storage};
}
