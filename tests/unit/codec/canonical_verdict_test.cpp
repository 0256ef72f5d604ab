// SPDX-License-Identifier: Apache-2.0
// Which create-infos are shared, which are kept apart, and which pass (hazards in comments).
#include <map>

#include "../clients/descriptor_heap.h"
#include "canonical_fixture.h"

namespace {

TEST_F(Canonical, HandleThatNobodyKnowsPasses)
{
    auto info = compute_info();
    handles_.unknown_handle = 12;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_HANDLE);
}

TEST_F(Canonical, UnknownStructPasses) // 17
{
    VkBaseInStructure unknown = {};
    unknown.sType = (VkStructureType)0x7ffffff0;
    unknown.pNext = &unknown; // and a cycle ends
    auto info = compute_info();
    info.pNext = &unknown;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_STRUCT);
    info.pNext = nullptr;
    info.stage.pNext = &unknown;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_STRUCT);
    expect(&unknown, CANONICAL_UNKNOWN, CANONICAL_CAUSE_STRUCT);
}

TEST_F(Canonical, StructChainedTwicePasses) // 17: and so a cycle of known structs ends
{
    VkPipelineRobustnessCreateInfoEXT robustness = {};
    robustness.sType = VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO_EXT;
    auto info = compute_info();
    info.pNext = &robustness;
    expect(&info, CANONICAL_SHARE, CANONICAL_CAUSE_NONE);
    robustness.pNext = &robustness;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_STRUCT);
}

TEST_F(Canonical, UnknownDynamicStatePasses) // 17: it may make a pointer ignored
{
    GraphicsInfo g;
    expect(&g.info, CANONICAL_SHARE, CANONICAL_CAUSE_NONE);
    g.dynamic_states[1] = static_cast<VkDynamicState>(1999999000);
    expect(&g.info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_FLAG);
}

TEST_F(Canonical, UnknownFlagPasses) // 17
{
    auto info = compute_info();
    info.flags = 1u << 28;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_FLAG);
    info.flags = 0;
    info.stage.flags = 1u << 30;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_FLAG);
}

// 75: which handle of a template is ignored hangs on its type.
TEST_F(Canonical, UnknownTemplateTypePasses)
{
    VkDescriptorUpdateTemplateCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO;
    info.descriptorSetLayout = (VkDescriptorSetLayout)5;
    expect(&info, CANONICAL_SHARE, CANONICAL_CAUSE_NONE);
    info.templateType = static_cast<VkDescriptorUpdateTemplateType>(2);
    info.pipelineLayout = (VkPipelineLayout)6;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_STRUCT);
}

// 75: and whether samplers are ignored, on the type of the descriptor.
TEST_F(Canonical, SamplersOfAnUnknownDescriptorTypePass)
{
    VkDescriptorSetLayoutBinding binding = {0, static_cast<VkDescriptorType>(1999999000), 1,
                                            VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    VkDescriptorSetLayoutCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    info.bindingCount = 1;
    info.pBindings = &binding;
    expect(&info, CANONICAL_SHARE, CANONICAL_CAUSE_NONE);
    binding.pImmutableSamplers = nowhere<VkSampler>();
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_STRUCT);
}

// 91: VK_EXT_descriptor_heap. What a mapping's source holds, another member says.
class CanonicalHeap : public Canonical {
  protected:
    CanonicalHeap()
    {
        mapping_.stype = static_cast<VkStructureType>(HEAP_STYPE_MAPPING);
        mapping_.binding_count = 1;
        mapping_.resource_mask = HEAP_RESOURCE_ALL;
        sampler_.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
        pipeline_.pNext = &flags_;
        pipeline_.layout = VK_NULL_HANDLE;
        pipeline_.stage.pNext = &mappings_;
    }

    VkSamplerCreateInfo sampler_ = {};
    heap_mapping mapping_ = {};
    heap_mapping_info mappings_ = {static_cast<VkStructureType>(HEAP_STYPE_MAPPING_INFO), nullptr,
                                   1, &mapping_};
    heap_pipeline_flags flags_ = {static_cast<VkStructureType>(HEAP_STYPE_PIPELINE_FLAGS_2),
                                  nullptr, HEAP_PIPELINE_DESCRIPTOR_HEAP};
    VkComputePipelineCreateInfo pipeline_ = compute_info();
};

TEST_F(CanonicalHeap, WhatLiesBehindTheLiveSourceDoesNotCount)
{
    mapping_.source = HEAP_SOURCE_PUSH_ADDRESS;
    expect(&pipeline_, CANONICAL_SHARE, CANONICAL_CAUSE_NONE);
    const std::string plain = bytes(&pipeline_);
    std::memset(&mapping_.data.largest[1], 0xee, sizeof mapping_.data - 8);
    EXPECT_EQ(bytes(&pipeline_), plain);
    mapping_.data.push_address_offset = 8;
    EXPECT_NE(bytes(&pipeline_), plain);
}

TEST_F(CanonicalHeap, AnEmbeddedSamplerCountsWhole)
{
    mapping_.data.constant_offset.embedded_sampler = &sampler_;
    expect(&pipeline_, CANONICAL_SHARE, CANONICAL_CAUSE_NONE);
    const std::string plain = bytes(&pipeline_);
    sampler_.maxLod = 1;
    EXPECT_NE(bytes(&pipeline_), plain);
    VkSamplerReductionModeCreateInfo reduction = {};
    reduction.sType = VK_STRUCTURE_TYPE_SAMPLER_REDUCTION_MODE_CREATE_INFO;
    sampler_.maxLod = 0;
    sampler_.pNext = &reduction;
    EXPECT_NE(bytes(&pipeline_), plain);
}

TEST_F(CanonicalHeap, UnknownSourcesAndStructsPass)
{
    VkBaseInStructure unknown = {};
    unknown.sType = (VkStructureType)0x7ffffff0;
    mapping_.source = 11;
    expect(&pipeline_, CANONICAL_UNKNOWN, CANONICAL_CAUSE_STRUCT);
    mapping_.source = HEAP_SOURCE_CONSTANT_OFFSET;
    mapping_.next = &unknown;
    expect(&pipeline_, CANONICAL_UNKNOWN, CANONICAL_CAUSE_STRUCT);
    mapping_.next = nullptr;
    mapping_.data.constant_offset.embedded_sampler = &sampler_;
    sampler_.pNext = &unknown;
    expect(&pipeline_, CANONICAL_UNKNOWN, CANONICAL_CAUSE_STRUCT);
}

// The colors that an index stands for are registered with the device.
TEST_F(CanonicalHeap, RegisteredBorderColorsGiveIdentity)
{
    struct {
        VkStructureType stype = static_cast<VkStructureType>(HEAP_STYPE_BORDER_COLOR_INDEX);
        const void *next = nullptr;
        uint32_t index = 3;
    } index;
    sampler_.pNext = &index;
    expect(&sampler_, CANONICAL_NODEDUPE, CANONICAL_CAUSE_IDENTITY);
    EXPECT_FALSE(form_.complete);
}

TEST_F(Canonical, WrongStypePasses)
{
    auto info = compute_info();
    info.stage.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_INVALID);
}

TEST_F(Canonical, MissingArrayPasses)
{
    VkDescriptorSetLayoutCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    info.bindingCount = 1;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_INVALID);
}

TEST_F(Canonical, DerivativesAreKeptApart) // 24
{
    auto info = compute_info();
    info.flags = VK_PIPELINE_CREATE_DERIVATIVE_BIT;
    info.basePipelineHandle = (VkPipeline)99;
    expect(&info, CANONICAL_NODEDUPE, CANONICAL_CAUSE_DERIVATIVE);
    EXPECT_TRUE(form_.complete);
    auto plain = compute_info();
    EXPECT_TRUE(same(&info, &plain)); // as a recipe it stands for itself
}

TEST_F(Canonical, DeferredCompilationIsKeptApart) // 24
{
    VkRayTracingPipelineCreateInfoNV info = {};
    info.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_NV;
    info.flags = VK_PIPELINE_CREATE_DEFER_COMPILE_BIT_NV;
    expect(&info, CANONICAL_NODEDUPE, CANONICAL_CAUSE_DEFERRED);
}

TEST_F(Canonical, BinariesPass) // 25
{
    BinaryInfo binaries;
    auto plain = compute_info();
    auto info = compute_info();
    info.pNext = &binaries;
    EXPECT_TRUE(same(&plain, &info)); // an empty list is none, and is not read
    binaries.count = 1;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_CACHE_FORBIDDEN);
    CreateFlags2 flags;
    flags.flags = RULES_PIPELINE_CAPTURE_DATA;
    info.pNext = &flags;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_CACHE_FORBIDDEN);
}

TEST_F(Canonical, CaptureAndReplayGiveIdentity) // 6
{
    VkRayTracingShaderGroupCreateInfoKHR group = {};
    group.sType = VK_STRUCTURE_TYPE_RAY_TRACING_SHADER_GROUP_CREATE_INFO_KHR;
    VkRayTracingPipelineCreateInfoKHR info = {};
    info.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR;
    info.groupCount = 1;
    info.pGroups = &group;
    expect(&info, CANONICAL_SHARE, CANONICAL_CAUSE_NONE);
    std::string plain = bytes(&info);
    group.pShaderGroupCaptureReplayHandle = nowhere<void>();
    expect(&info, CANONICAL_NODEDUPE, CANONICAL_CAUSE_IDENTITY);
    EXPECT_FALSE(form_.complete);
    EXPECT_NE(bytes(&info), plain);
    EXPECT_EQ(decode<void>(bytes(&info)), nullptr);
    group.pShaderGroupCaptureReplayHandle = nullptr;
    info.flags = VK_PIPELINE_CREATE_RAY_TRACING_SHADER_GROUP_HANDLE_CAPTURE_REPLAY_BIT_KHR;
    expect(&info, CANONICAL_NODEDUPE, CANONICAL_CAUSE_IDENTITY);
}

TEST_F(Canonical, CapturedDescriptorDataGivesIdentity) // 6
{
    VkOpaqueCaptureDescriptorDataCreateInfoEXT data = {};
    data.sType = VK_STRUCTURE_TYPE_OPAQUE_CAPTURE_DESCRIPTOR_DATA_CREATE_INFO_EXT;
    data.opaqueCaptureDescriptorData = nowhere<void>();
    VkSamplerCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
    info.pNext = &data;
    expect(&info, CANONICAL_NODEDUPE, CANONICAL_CAUSE_IDENTITY);
    EXPECT_FALSE(form_.complete);
}

TEST_F(Canonical, ShaderGroupsAreKeptApart) // 13
{
    VkGraphicsPipelineShaderGroupsCreateInfoNV groups = {};
    groups.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_SHADER_GROUPS_CREATE_INFO_NV;
    groups.groupCount = 3;
    groups.pGroups = nowhere<VkGraphicsShaderGroupCreateInfoNV>();
    VkGraphicsPipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
    info.pNext = &groups;
    expect(&info, CANONICAL_NODEDUPE, CANONICAL_CAUSE_IDENTITY);
    EXPECT_FALSE(form_.complete);
}

TEST_F(Canonical, SideEffectsHappenEachTime) // 32
{
    VkShaderModuleValidationCacheCreateInfoEXT cache = {};
    cache.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_VALIDATION_CACHE_CREATE_INFO_EXT;
    cache.validationCache = (VkValidationCacheEXT)77;
    auto plain = module_info();
    auto info = module_info();
    info.pNext = &cache;
    EXPECT_TRUE(same(&plain, &info));
    expect(&info, CANONICAL_NODEDUPE, CANONICAL_CAUSE_SIDE_EFFECT);
    EXPECT_TRUE(form_.complete);
}

TEST_F(Canonical, StageWithoutAnyCodePasses)
{
    auto info = compute_info();
    info.stage.module = VK_NULL_HANDLE;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_INVALID);
}

TEST_F(Canonical, WhatIsTooLongPasses)
{
    std::vector<char> name(CANONICAL_MAX_SIZE, 'x');
    name.push_back(0);
    auto info = compute_info();
    info.stage.pName = name.data();
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_SIZE);
    info.stage.pName = "main";
    expect(&info, CANONICAL_SHARE, CANONICAL_CAUSE_NONE);
}

} // namespace
