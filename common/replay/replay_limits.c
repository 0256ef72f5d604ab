// SPDX-License-Identifier: Apache-2.0
#include "common/replay/replay.h"

#include <assert.h>
#include <stddef.h>

#include "common/codec/canonical.h"
#include "common/spirv/spirv.h"

/* All replays of a device together take no more than this part of what it can have of a kind. */
#define SHARE_OF_LIMIT 4

void replay_limits_query(PFN_vkGetPhysicalDeviceProperties get_properties,
                         PFN_vkGetPhysicalDeviceProperties2 get_properties2, uint32_t api_version,
                         VkPhysicalDevice device, struct replay_limits *ret_limits)
{
    VkPhysicalDeviceSubgroupSizeControlProperties control = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES,
    };
    VkPhysicalDeviceDiscardRectanglePropertiesEXT discard = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DISCARD_RECTANGLE_PROPERTIES_EXT,
        .pNext = &control,
    };
    VkPhysicalDeviceCustomBorderColorPropertiesEXT border = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CUSTOM_BORDER_COLOR_PROPERTIES_EXT,
        .pNext = &discard,
    };
    VkPhysicalDeviceDescriptorBufferPropertiesEXT buffer = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_BUFFER_PROPERTIES_EXT,
        .pNext = &border,
    };
    VkPhysicalDeviceSubgroupProperties subgroup = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
        .pNext = &buffer,
    };
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
        .pNext = api_version < VK_API_VERSION_1_1 ? (void *)&buffer : (void *)&subgroup,
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
        .max_vertex_bindings = limits->maxVertexInputBindings,
        .max_vertex_attributes = limits->maxVertexInputAttributes,
        .max_vertex_offset = limits->maxVertexInputAttributeOffset,
        .max_patch_size = limits->maxTessellationPatchSize,
        .max_viewports = limits->maxViewports,
        .max_color_attachments = limits->maxColorAttachments,
        .max_discard_rectangles = discard.maxDiscardRectangles,
        .sample_counts =
            limits->framebufferColorSampleCounts | limits->framebufferDepthSampleCounts |
            limits->framebufferStencilSampleCounts | limits->framebufferNoAttachmentsSampleCounts,
        .max_samplers = limits->maxSamplerAllocationCount,
        .max_border_color_samplers = border.maxCustomBorderColorSamplers,
    };
    /* What set layouts embed is made of samplers that live as long. */
    const uint32_t embedded = buffer.maxEmbeddedImmutableSamplers;
    if (embedded > 0 && embedded < ret_limits->max_samplers) {
        ret_limits->max_samplers = embedded;
    }
}

/* Of a limit that is known. */
static uint32_t limits_share_of(uint32_t limit, unsigned replays)
{
    const uint32_t share = limit / SHARE_OF_LIMIT / (replays > 0 ? replays : 1);
    return limit > 0 && share == 0 ? 1 : share;
}

struct replay_limits replay_limits_share(const struct replay_limits *limits, unsigned replays)
{
    struct replay_limits share = *limits;
    share.max_samplers = limits_share_of(limits->max_samplers, replays);
    share.max_border_color_samplers = limits_share_of(limits->max_border_color_samplers, replays);
    return share;
}

/* A limit of 0 is not known. */
static bool limits_is_within(uint64_t value, uint32_t limit)
{
    return limit == 0 || value <= limit;
}

const char *replay_limits_exceeded_by_layout(const struct replay_limits *limits,
                                             const VkPipelineLayoutCreateInfo *info)
{
    for (uint32_t i = 0; i < info->pushConstantRangeCount; i++) {
        const VkPushConstantRange *range = &info->pPushConstantRanges[i];
        if (!limits_is_within((uint64_t)range->offset + range->size,
                              limits->max_push_constants_size)) {
            return "maxPushConstantsSize";
        }
    }
    return limits_is_within(info->setLayoutCount, limits->max_bound_descriptor_sets)
               ? NULL
               : "maxBoundDescriptorSets";
}

static uint64_t limits_larger(uint64_t left, uint64_t right)
{
    return left > right ? left : right;
}

/* What vertices are read by needs that many bindings and attributes, and bytes to an attribute. */
struct limits_vertices {
    uint64_t bindings;
    uint64_t attributes;
    uint64_t offset;
};

static struct limits_vertices limits_vertices_of(const VkPipelineVertexInputStateCreateInfo *info)
{
    struct limits_vertices needed = {0};
    for (uint32_t i = 0; info && i < info->vertexBindingDescriptionCount; i++) {
        const VkVertexInputBindingDescription *binding = &info->pVertexBindingDescriptions[i];
        needed.bindings = limits_larger(needed.bindings, binding->binding + UINT64_C(1));
    }
    for (uint32_t i = 0; info && i < info->vertexAttributeDescriptionCount; i++) {
        const VkVertexInputAttributeDescription *attribute = &info->pVertexAttributeDescriptions[i];
        needed.attributes = limits_larger(needed.attributes, attribute->location + UINT64_C(1));
        needed.offset = limits_larger(needed.offset, attribute->offset);
    }
    return needed;
}

const char *replay_limits_exceeded_by_state(const struct replay_limits *limits,
                                            const VkGraphicsPipelineCreateInfo *info)
{
    const struct limits_vertices vertices = limits_vertices_of(info->pVertexInputState);
    const VkPipelineTessellationStateCreateInfo *patches = info->pTessellationState;
    const VkPipelineViewportStateCreateInfo *viewports = info->pViewportState;
    const VkPipelineMultisampleStateCreateInfo *samples = info->pMultisampleState;
    const VkPipelineColorBlendStateCreateInfo *blend = info->pColorBlendState;
    const VkPipelineRenderingCreateInfo *rendering =
        canonical_find_struct(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
    const VkPipelineDiscardRectangleStateCreateInfoEXT *discard = canonical_find_struct(
        info->pNext, VK_STRUCTURE_TYPE_PIPELINE_DISCARD_RECTANGLE_STATE_CREATE_INFO_EXT);
    const uint64_t areas =
        viewports ? limits_larger(viewports->viewportCount, viewports->scissorCount) : 0;
    const uint64_t colors = limits_larger(rendering ? rendering->colorAttachmentCount : 0,
                                          blend ? blend->attachmentCount : 0);
    if (!limits_is_within(vertices.bindings, limits->max_vertex_bindings)) {
        return "maxVertexInputBindings";
    }
    if (!limits_is_within(vertices.attributes, limits->max_vertex_attributes)) {
        return "maxVertexInputAttributes";
    }
    if (!limits_is_within(vertices.offset, limits->max_vertex_offset)) {
        return "maxVertexInputAttributeOffset";
    }
    if (patches && !limits_is_within(patches->patchControlPoints, limits->max_patch_size)) {
        return "maxTessellationPatchSize";
    }
    if (!limits_is_within(areas, limits->max_viewports)) {
        return "maxViewports";
    }
    if (!limits_is_within(colors, limits->max_color_attachments)) {
        return "maxColorAttachments";
    }
    if (discard &&
        !limits_is_within(discard->discardRectangleCount, limits->max_discard_rectangles)) {
        return "maxDiscardRectangles";
    }
    return samples && limits->sample_counts != 0 &&
                   ((VkFlags)samples->rasterizationSamples & ~limits->sample_counts) != 0
               ? "framebufferColorSampleCounts"
               : NULL;
}

static_assert(offsetof(VkRenderPassCreateInfo, subpassCount) ==
                  offsetof(VkRenderPassCreateInfo2, subpassCount),
              "render passes of both sorts begin alike");

const char *replay_limits_exceeded_by_pass(const struct replay_limits *limits,
                                           const VkRenderPassCreateInfo *info)
{
    const VkRenderPassCreateInfo2 *second =
        info->sType == VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2
            ? (const VkRenderPassCreateInfo2 *)(const void *)info
            : NULL;
    for (uint32_t i = 0; i < info->subpassCount; i++) {
        const uint32_t colors = second ? second->pSubpasses[i].colorAttachmentCount
                                       : info->pSubpasses[i].colorAttachmentCount;
        if (!limits_is_within(colors, limits->max_color_attachments)) {
            return "maxColorAttachments";
        }
    }
    return NULL;
}

bool sampler_has_border_color(const VkSamplerCreateInfo *info)
{
    return info->borderColor == VK_BORDER_COLOR_FLOAT_CUSTOM_EXT ||
           info->borderColor == VK_BORDER_COLOR_INT_CUSTOM_EXT;
}

bool replay_limits_allow_sampler(const struct replay_limits *limits,
                                 const VkSamplerCreateInfo *info, size_t samplers,
                                 size_t border_color_samplers)
{
    return limits_is_within(samplers + 1, limits->max_samplers) &&
           (!sampler_has_border_color(info) ||
            limits_is_within(border_color_samplers + 1, limits->max_border_color_samplers));
}

static const char *limits_exceeded_by_subgroup_size(const struct replay_limits *limits,
                                                    const VkPipelineShaderStageCreateInfo *stage,
                                                    uint32_t required)
{
    if (required == 0 || limits->max_subgroup_size == 0) {
        return NULL;
    }
    return required < limits->min_subgroup_size                    ? "minSubgroupSize"
           : required > limits->max_subgroup_size                  ? "maxSubgroupSize"
           : stage->stage & ~limits->required_subgroup_size_stages ? "requiredSubgroupSizeStages"
                                                                   : NULL;
}

/* For full subgroups the width of a workgroup must be a multiple of this; 0: no restriction. */
static uint32_t limits_full_subgroup_size(const struct replay_limits *limits,
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

static const char *limits_exceeded_by_workgroup(const struct replay_limits *limits,
                                                const VkPipelineShaderStageCreateInfo *stage,
                                                const uint32_t size[3], uint32_t required)
{
    uint64_t invocations = 1;
    for (int i = 0; i < 3; i++) {
        if (!limits_is_within(size[i], limits->max_workgroup_size[i])) {
            return "maxComputeWorkGroupSize";
        }
        invocations *= size[i] < UINT16_MAX ? size[i] : UINT16_MAX;
    }
    uint32_t full = limits_full_subgroup_size(limits, stage->flags, required);
    if (full != 0 && size[0] % full != 0) {
        return "subgroupSize";
    }
    if (required != 0 && limits->max_workgroup_subgroups != 0 &&
        invocations > (uint64_t)required * limits->max_workgroup_subgroups) {
        return "maxComputeWorkgroupSubgroups";
    }
    return limits_is_within(invocations, limits->max_workgroup_invocations)
               ? NULL
               : "maxComputeWorkGroupInvocations";
}

const char *replay_limits_exceeded_by_stage(const struct replay_limits *limits,
                                            const VkPipelineShaderStageCreateInfo *stage,
                                            const void *code, size_t code_size)
{
    const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *wanted = canonical_find_struct(
        stage->pNext, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
    const uint32_t required = wanted ? wanted->requiredSubgroupSize : 0; /* 0: none */
    const char *exceeded = limits_exceeded_by_subgroup_size(limits, stage, required);
    uint32_t size[3];
    if (exceeded || stage->stage != VK_SHADER_STAGE_COMPUTE_BIT || !code ||
        !spirv_workgroup_size(code, code_size, stage->pName, stage->pSpecializationInfo, size)) {
        return exceeded;
    }
    return limits_exceeded_by_workgroup(limits, stage, size, required);
}
