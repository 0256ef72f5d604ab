// SPDX-License-Identifier: Apache-2.0
/* Calls that create pipelines, whatever of; and compute pipelines. */
#include <string.h>

#include "random.h"

enum { MAX_BATCH = 8 };

uint64_t draw_flags(struct item *item)
{
    uint64_t flags = item->device->statistics ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR : 0;
    flags |= item_chance(item, 15) ? VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT : 0;
    return flags;
}

void put_flags(struct item *item, VkPipelineCreateFlags *flags, const void **next, uint64_t value)
{
    *flags = (VkPipelineCreateFlags)value;
    if (item->device->features.maintenance5.supported[0] && item_chance(item, 40)) {
        CHAIN(item, next, STYPE_PIPELINE_FLAGS_2, struct pipeline_flags)->flags = value;
        *flags = item_draw(item, 2) ? 0 : *flags; /* which is ignored then */
    }
}

void fail_to_compile(struct item *item, VkPipelineCreateFlags *flags, const void **next)
{
    struct pipeline_flags *newer = TAKE(item, struct pipeline_flags, 1);
    *flags |= VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
    if (*next &&
        ((const VkBaseInStructure *)*next)->sType == (VkStructureType)STYPE_PIPELINE_FLAGS_2) {
        *newer = *(const struct pipeline_flags *)*next;
        newer->flags |= VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
        *next = newer;
    }
}

void draw_robustness(struct item *item, const void **next)
{
    if (item->device->features.robustness.pipelineRobustness) {
        VkPipelineRobustnessCreateInfoEXT *info =
            CHAIN(item, next, VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO_EXT,
                  VkPipelineRobustnessCreateInfoEXT);
        info->storageBuffers = (VkPipelineRobustnessBufferBehaviorEXT)item_draw(item, 3);
        info->uniformBuffers = (VkPipelineRobustnessBufferBehaviorEXT)item_draw(item, 3);
        info->vertexInputs = (VkPipelineRobustnessBufferBehaviorEXT)item_draw(item, 3);
        info->images = (VkPipelineRobustnessImageBehaviorEXT)item_draw(item, 2);
    }
}

/* FNV-1a */
static uint64_t digest(uint64_t so_far, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        so_far = (so_far ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    }
    return so_far;
}

/* What the program can see of a pipeline. */
static uint64_t look_at(const struct device *device, VkPipeline pipeline)
{
    uint64_t seen = 0xcbf29ce484222325u;
    if (!device->statistics || !pipeline) {
        return seen;
    }
    const PFN_vkGetPipelineExecutablePropertiesKHR get_executables =
        (PFN_vkGetPipelineExecutablePropertiesKHR)vkGetDeviceProcAddr(
            device->device, "vkGetPipelineExecutablePropertiesKHR");
    const PFN_vkGetPipelineExecutableStatisticsKHR get_statistics =
        (PFN_vkGetPipelineExecutableStatisticsKHR)vkGetDeviceProcAddr(
            device->device, "vkGetPipelineExecutableStatisticsKHR");
    const VkPipelineInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR,
                                    .pipeline = pipeline};
    VkPipelineExecutablePropertiesKHR executables[16] = {0};
    uint32_t count = COUNT_OF(executables);
    for (uint32_t i = 0; i < count; i++) {
        executables[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR;
    }
    must(get_executables(device->device, &info, &count, executables), "executables");
    for (uint32_t i = 0; i < count; i++) {
        VkPipelineExecutableStatisticKHR statistics[64] = {0};
        uint32_t statistic_count = COUNT_OF(statistics);
        for (uint32_t j = 0; j < statistic_count; j++) {
            statistics[j].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
        }
        const VkPipelineExecutableInfoKHR executable = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
            .pipeline = pipeline,
            .executableIndex = i};
        must(get_statistics(device->device, &executable, &statistic_count, statistics),
             "statistics");
        seen = digest(seen, &executables[i].stages, sizeof executables[i].stages);
        seen = digest(seen, executables[i].name, strlen(executables[i].name));
        for (uint32_t j = 0; j < statistic_count; j++) {
            const bool is_word =
                statistics[j].format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR;
            seen = digest(seen, statistics[j].name, strlen(statistics[j].name));
            seen = digest(seen, &statistics[j].value, is_word ? 4 : 8);
        }
    }
    return seen;
}

/* Item, row, kind, what was created, and whether the driver says that it was found or compiled. */
static void tell(struct item *item, const char *kind, bool loose, VkResult result,
                 VkPipeline pipeline, const VkPipelineCreationFeedback *feedback)
{
    const bool is_known = feedback->flags & VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT;
    const bool is_hit =
        feedback->flags & VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;
    printf("%u.%u %s%s %d %s %016llx %s\n", item->number, item->rows++, kind, loose ? " loose" : "",
           result, pipeline ? "made" : "none", (unsigned long long)look_at(item->device, pipeline),
           !is_known ? "unknown"
           : is_hit  ? "hit"
                     : "miss");
}

/* Chains where the driver is to tell. A program may ask for the stages, too, or for nothing. */
static void ask(struct item *item, const void **next, uint32_t stages,
                VkPipelineCreationFeedback *feedback)
{
    const bool wanted = item_chance(item, 50);
    if (!wanted && !item->device->cache) {
        return;
    }
    VkPipelineCreationFeedbackCreateInfo *info =
        CHAIN(item, next, VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
              VkPipelineCreationFeedbackCreateInfo);
    info->pPipelineCreationFeedback = feedback;
    if (stages && item->random % 2) {
        info->pipelineStageCreationFeedbackCount = stages;
        info->pPipelineStageCreationFeedbacks = TAKE(item, VkPipelineCreationFeedback, stages);
    }
}

static void note(struct item *item, const char *kind, bool loose, VkResult result, uint32_t count,
                 const VkPipeline *pipelines, const VkPipelineCreationFeedback *feedback)
{
    must(result, kind);
    for (uint32_t i = 0; i < count; i++) {
        tell(item, kind, loose, result, pipelines[i], &feedback[i]);
        if (pipelines[i]) {
            OWN(item, OBJECT_PIPELINE, pipelines[i]);
        }
    }
}

VkResult create_compute(struct item *item, uint32_t count, VkComputePipelineCreateInfo *infos,
                        bool loose, VkPipeline *pipelines)
{
    VkPipelineCreationFeedback *feedback = TAKE(item, VkPipelineCreationFeedback, count);
    for (uint32_t i = 0; i < count; i++) {
        ask(item, &infos[i].pNext, 1, &feedback[i]);
    }
    const VkResult result = vkCreateComputePipelines(item->device->device, item_cache(item), count,
                                                     infos, NULL, pipelines);
    note(item, "compute", loose, result, count, pipelines, feedback);
    return result;
}

VkResult create_graphics(struct item *item, const char *kind, uint32_t count,
                         VkGraphicsPipelineCreateInfo *infos, bool loose, VkPipeline *pipelines)
{
    VkPipelineCreationFeedback *feedback = TAKE(item, VkPipelineCreationFeedback, count);
    for (uint32_t i = 0; i < count; i++) {
        ask(item, &infos[i].pNext, infos[i].stageCount, &feedback[i]);
    }
    const VkResult result = vkCreateGraphicsPipelines(item->device->device, item_cache(item), count,
                                                      infos, NULL, pipelines);
    note(item, kind, loose, result, count, pipelines, feedback);
    return result;
}

static void draw_subgroups(struct item *item, VkPipelineShaderStageCreateInfo *stage)
{
    const VkPhysicalDeviceVulkan13Features *features = &item->device->features.v13;
    if (features->subgroupSizeControl && item_chance(item, 40)) {
        VkPhysicalDeviceSubgroupSizeControlProperties limits = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
        VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                           .pNext = &limits};
        vkGetPhysicalDeviceProperties2(item->device->physical, &all);
        const bool least = item_draw(item, 2);
        if (limits.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) {
            CHAIN(item, &stage->pNext,
                  VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
                  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo)
                ->requiredSubgroupSize = least ? limits.minSubgroupSize : limits.maxSubgroupSize;
        }
    } else if (features->subgroupSizeControl && item_chance(item, 40)) {
        stage->flags |= VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT;
    }
    if (features->computeFullSubgroups && item_chance(item, 20)) {
        stage->flags |= VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    }
}

static VkComputePipelineCreateInfo draw_one(struct item *item, const struct layouts *sets,
                                            uint64_t flags)
{
    const enum shader shader = item_chance(item, 50) ? SHADER_TILE : SHADER_GROUP;
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                        .stage = create_stage(item, shader),
                                        .layout = create_layout(item, sets, true),
                                        .basePipelineIndex = -1};
    if (shader == SHADER_GROUP) {
        draw_subgroups(item, &info.stage);
    }
    if (item_chance(item, 15)) {
        draw_robustness(item, &info.pNext);
    }
    flags |= draw_flags(item) | (item_chance(item, 10) ? VK_PIPELINE_CREATE_DISPATCH_BASE_BIT : 0);
    put_flags(item, &info.flags, &info.pNext, flags);
    return info;
}

void draw_compute(struct item *item)
{
    const struct features *features = &item->device->features;
    const uint32_t count = item_chance(item, 50) ? 1 : 1 + item_draw(item, MAX_BATCH);
    const bool may_fail = features->v13.pipelineCreationCacheControl;
    const bool loose = may_fail && item_chance(item, 10);
    const uint64_t flags = loose ? VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT : 0;
    const uint64_t early =
        may_fail && item_chance(item, 15) ? VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT : 0;
    VkComputePipelineCreateInfo infos[MAX_BATCH];
    uint32_t parent = UINT32_MAX;
    const struct layouts sets = create_sets(item, false);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && item_chance(item, 25)) {
            infos[i] = infos[item_draw(item, i)];
        } else if (parent != UINT32_MAX && item_chance(item, 50)) {
            infos[i] = draw_one(item, &sets, flags | early | VK_PIPELINE_CREATE_DERIVATIVE_BIT);
            infos[i].basePipelineIndex = (int32_t)parent;
        } else {
            const bool is_parent = item_chance(item, 20);
            parent = is_parent ? i : parent;
            infos[i] = draw_one(item, &sets,
                                flags | early |
                                    (is_parent ? VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT : 0));
        }
    }
    item_drop(item, OBJECT_SET_LAYOUT, 50);
    VkComputePipelineCreateInfo again = infos[0];
    VkPipeline pipelines[MAX_BATCH] = {0};
    create_compute(item, count, infos, loose, pipelines);
    if (item->device->identifies && item_chance(item, 25) && identify_stage(item, &again.stage)) {
        fail_to_compile(item, &again.flags, &again.pNext);
        create_compute(item, 1, &again, true, pipelines);
    }
    item_drop(item, OBJECT_MODULE, 50);
    item_drop(item, OBJECT_LAYOUT, features->v13.maintenance4 ? 50 : 0);
}
