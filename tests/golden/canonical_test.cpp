// SPDX-License-Identifier: Apache-2.0
// The checked-in canonical forms of compute: written by make_canonical.py from the description of
// the form alone, so code and document are held against each other. These tests are built a second
// time over tables made of another registry (newest.xml): a form does not hang on who generated the
// tables.
#include "canonical_form.h"

namespace {

TEST(Canonical, Compute)
{
    struct {
        uint32_t stype = 1000470005;
        const void *next = nullptr;
        uint64_t flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT |
                         VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT | 1ull << 34;
    } flags;
    VkPipelineRobustnessCreateInfoEXT robustness = {};
    robustness.sType = VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO_EXT;
    robustness.storageBuffers = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_EXT;
    robustness.uniformBuffers = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_EXT;
    robustness.images = VK_PIPELINE_ROBUSTNESS_IMAGE_BEHAVIOR_DISABLED_EXT;
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup = {};
    subgroup.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
    subgroup.requiredSubgroupSize = 32;
    subgroup.pNext = &robustness;
    const VkSpecializationMapEntry entries[2] = {{0, 0, 4}, {7, 4, 2}};
    const uint8_t data[6] = {1, 2, 3, 4, 5, 6};
    const VkSpecializationInfo constants = {2, entries, sizeof(data), data};
    VkComputePipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.pNext = &flags;
    info.flags = VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT;
    info.stage = stage(VK_SHADER_STAGE_COMPUTE_BIT, 1);
    info.stage.pNext = &subgroup;
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    info.stage.pSpecializationInfo = &constants;
    info.layout = (VkPipelineLayout)2;
    expect_form("compute", &info);
}

TEST(Canonical, Module)
{
    VkShaderModuleCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = sizeof(code);
    info.pCode = code;
    expect_form("module", &info);
}

TEST(Canonical, SetLayout)
{
    const VkSampler samplers[2] = {(VkSampler)3, (VkSampler)4};
    const VkDescriptorSetLayoutBinding bindings[2] = {
        {0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 2, 0x11, samplers},
        {1, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT,
         reinterpret_cast<const VkSampler *>(0xdead0)}};
    const VkDescriptorBindingFlags binding_flags[2] = {VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT,
                                                       0};
    VkDescriptorSetLayoutBindingFlagsCreateInfo flags = {};
    flags.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO;
    flags.bindingCount = 2;
    flags.pBindingFlags = binding_flags;
    VkDescriptorSetLayoutCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    info.pNext = &flags;
    info.bindingCount = 2;
    info.pBindings = bindings;
    expect_form("set_layout", &info);
}

TEST(Canonical, PipelineLayout)
{
    const VkDescriptorSetLayout sets[2] = {(VkDescriptorSetLayout)5, VK_NULL_HANDLE};
    const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 16};
    VkPipelineLayoutCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.setLayoutCount = 2;
    info.pSetLayouts = sets;
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &range;
    expect_form("pipeline_layout", &info);
}

TEST(Canonical, Template)
{
    const VkDescriptorUpdateTemplateEntry entry = {0,  0, 1, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                                                   16, 8};
    VkDescriptorUpdateTemplateCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO;
    info.descriptorUpdateEntryCount = 1;
    info.pDescriptorUpdateEntries = &entry;
    info.templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET;
    info.descriptorSetLayout = (VkDescriptorSetLayout)5;
    info.pipelineLayout = (VkPipelineLayout)0xdead0;
    expect_form("template", &info);
}

#ifdef GOLDEN_REDUCED_REGISTRY

// The reduced registry knows a struct and a flag that nobody has reviewed.
TEST(Canonical, UnreviewedStructPasses)
{
    VkBaseInStructure unreviewed = {};
    unreviewed.sType = static_cast<VkStructureType>(1000998000);
    VkComputePipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.pNext = &unreviewed;
    info.stage = stage(VK_SHADER_STAGE_COMPUTE_BIT, 1);
    canonical_context context = {};
    context.resolve = resolve;
    canonical form = {};
    canonical_encode(&context, &info, &form);
    EXPECT_EQ(form.verdict, CANONICAL_UNKNOWN);
    EXPECT_EQ(form.cause, CANONICAL_CAUSE_STRUCT);
    info.pNext = nullptr;
    info.stage.flags = 1u << 30; // of a disabled extension
    canonical_encode(&context, &info, &form);
    EXPECT_EQ(form.cause, CANONICAL_CAUSE_FLAG);
    canonical_free(&form);
}

#endif

} // namespace
