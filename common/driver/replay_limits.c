#include "driver/replay_limits.h"

#include "driver/spirv_workgroup.h"

void replay_limits_query(PFN_vkGetPhysicalDeviceProperties get_properties,
                         PFN_vkGetPhysicalDeviceProperties2 get_properties2,
                         VkPhysicalDevice device, struct replay_limits *ret_limits)
{
    VkPhysicalDeviceSubgroupSizeControlProperties control = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES,
    };
    VkPhysicalDeviceSubgroupProperties subgroup = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
        .pNext = &control,
    };
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
        .pNext = &subgroup,
    };
    if (get_properties2) {
        get_properties2(device, &properties);
    } else {
        get_properties(device, &properties.properties);
    }
    const VkPhysicalDeviceLimits *limits = &properties.properties.limits;
    *ret_limits = (struct replay_limits){
        .max_push_constants_size = limits->maxPushConstantsSize,
        .max_workgroup_invocations = limits->maxComputeWorkGroupInvocations,
        .max_workgroup_size = {limits->maxComputeWorkGroupSize[0],
                               limits->maxComputeWorkGroupSize[1],
                               limits->maxComputeWorkGroupSize[2]},
        .subgroup_size = subgroup.subgroupSize,
        .min_subgroup_size = control.minSubgroupSize,
        .max_subgroup_size = control.maxSubgroupSize,
        .max_workgroup_subgroups = control.maxComputeWorkgroupSubgroups,
        .required_subgroup_size_stages = control.requiredSubgroupSizeStages,
        .max_bound_descriptor_sets = limits->maxBoundDescriptorSets,
    };
}

/* A limit of 0 is not known. */
static bool within(uint64_t value, uint32_t limit)
{
    return limit == 0 || value <= limit;
}

bool replay_limits_allow_layout(const struct replay_limits *limits,
                                const VkPipelineLayoutCreateInfo *info)
{
    for (uint32_t i = 0; i < info->pushConstantRangeCount; i++) {
        const VkPushConstantRange *range = &info->pPushConstantRanges[i];
        if (!within((uint64_t)range->offset + range->size, limits->max_push_constants_size)) {
            return false;
        }
    }
    return within(info->setLayoutCount, limits->max_bound_descriptor_sets);
}

/* 0: the stage requires none. */
static uint32_t required_subgroup_size(const VkPipelineShaderStageCreateInfo *stage)
{
    for (const VkBaseInStructure *s = stage->pNext; s; s = s->pNext) {
        if (s->sType ==
            VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO) {
            return ((const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *)s)
                ->requiredSubgroupSize;
        }
    }
    return 0;
}

static bool allow_subgroup_size(const struct replay_limits *limits,
                                const VkPipelineShaderStageCreateInfo *stage, uint32_t required)
{
    if (required == 0 || limits->max_subgroup_size == 0) {
        return true;
    }
    return required >= limits->min_subgroup_size && required <= limits->max_subgroup_size &&
           (stage->stage & ~limits->required_subgroup_size_stages) == 0;
}

/* What the width of a workgroup must be a multiple of if subgroups are to be full; 0: anything. */
static uint32_t full_subgroup_size(const struct replay_limits *limits,
                                   VkPipelineShaderStageCreateFlags flags, uint32_t required)
{
    if (!(flags & VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT)) {
        return 0;
    }
    if (flags & VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT) {
        return limits->max_subgroup_size;
    }
    return required != 0 ? required : limits->subgroup_size;
}

static bool allow_workgroup(const struct replay_limits *limits,
                            const VkPipelineShaderStageCreateInfo *stage, const uint32_t size[3],
                            uint32_t required)
{
    uint64_t invocations = 1;
    for (int i = 0; i < 3; i++) {
        if (!within(size[i], limits->max_workgroup_size[i])) {
            return false;
        }
        invocations *= size[i] < UINT16_MAX ? size[i] : UINT16_MAX;
    }
    uint32_t full = full_subgroup_size(limits, stage->flags, required);
    if (full != 0 && size[0] % full != 0) {
        return false;
    }
    if (required != 0 && limits->max_workgroup_subgroups != 0 &&
        invocations > (uint64_t)required * limits->max_workgroup_subgroups) {
        return false;
    }
    return within(invocations, limits->max_workgroup_invocations);
}

bool replay_limits_allow_stage(const struct replay_limits *limits,
                               const VkPipelineShaderStageCreateInfo *stage, const void *code,
                               size_t code_size)
{
    uint32_t required = required_subgroup_size(stage);
    if (!allow_subgroup_size(limits, stage, required)) {
        return false;
    }
    uint32_t size[3];
    if (stage->stage != VK_SHADER_STAGE_COMPUTE_BIT || !code ||
        !spirv_workgroup_size(code, code_size, stage->pName, stage->pSpecializationInfo, size)) {
        return true;
    }
    return allow_workgroup(limits, stage, size, required);
}
