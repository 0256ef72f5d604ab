// SPDX-License-Identifier: Apache-2.0
// What pipeline create-infos allow: known structs, caches, effective flags; and that pointers which
// the specification says are ignored are never followed (hazard 16: they point nowhere here).
#include <gtest/gtest.h>

#include "graphics_info.h"
#include "handles.h"

extern "C" {
#include "common/codec/rules.h"
}

namespace {

struct Unknown {
    uint32_t stype = 0x7ffffff0;
    const void *next = nullptr;
};

VkComputePipelineCreateInfo plain_compute_info()
{
    VkComputePipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.pName = "main";
    return info;
}

template <typename Info> pipeline_rules rules_of(const Info &info)
{
    pipeline_rules rules;
    canonical_rules(&info, &rules);
    return rules;
}

TEST(Rules, PlainComputePipelineIsKnown)
{
    pipeline_rules rules = rules_of(plain_compute_info());
    EXPECT_TRUE(rules.known);
    EXPECT_TRUE(rules.cacheable);
    EXPECT_EQ(rules.flags, 0u);
    EXPECT_EQ(rules.feedback, nullptr);
}

TEST(Rules, UnknownStructInAnyChainIsNotKnown)
{
    Unknown unknown;
    auto info = plain_compute_info();
    info.pNext = &unknown;
    EXPECT_FALSE(rules_of(info).known);
    EXPECT_TRUE(rules_of(info).cacheable);
    info = plain_compute_info();
    info.stage.pNext = &unknown;
    EXPECT_FALSE(rules_of(info).known);
    EXPECT_TRUE(rules_of(info).cacheable);
}

// It may be what says that they are ignored.
TEST(Rules, NothingIsFollowedBesideAnUnknownStruct)
{
    Unknown unknown;
    auto info = plain_compute_info();
    info.pNext = &unknown;
    info.stage.pNext = nowhere<void>();
    EXPECT_TRUE(rules_of(info).cacheable);
    GraphicsInfo g;
    unknown.next = g.info.pNext;
    g.info.pNext = &unknown;
    g.info.pMultisampleState = nowhere<VkPipelineMultisampleStateCreateInfo>();
    EXPECT_FALSE(rules_of(g.info).known);
    EXPECT_TRUE(rules_of(g.info).cacheable);
}

// Nor in a stage or state whose own chain holds one; what follows is still looked at for its flags.
TEST(Rules, NothingIsFollowedInAStructWithAnUnknownOne)
{
    Unknown unknown;
    auto info = plain_compute_info();
    info.stage.pNext = &unknown;
    info.stage.pSpecializationInfo = nowhere<VkSpecializationInfo>();
    EXPECT_FALSE(rules_of(info).known);
    GraphicsInfo g;
    g.stages[0].pNext = &unknown;
    g.stages[0].pSpecializationInfo = nowhere<VkSpecializationInfo>();
    Handles handles;
    canonical form = {};
    canonical_encode(&handles.context, &g.info, &form);
    EXPECT_EQ(form.cause, CANONICAL_CAUSE_STRUCT);
    EXPECT_FALSE(form.rules.known);
    EXPECT_TRUE(form.rules.cacheable);
    g.stages[1].flags = 1u << 30;
    canonical_encode(&handles.context, &g.info, &form);
    EXPECT_FALSE(form.rules.cacheable);
    canonical_free(&form);
}

TEST(Rules, FlagsAndBinariesBehindAnUnknownStructAreSeen)
{
    CreateFlags2 flags;
    flags.flags = RULES_PIPELINE_CAPTURE_DATA;
    Unknown unknown;
    unknown.next = &flags;
    auto info = plain_compute_info();
    info.pNext = &unknown;
    EXPECT_FALSE(rules_of(info).cacheable);
    flags.flags = 1ull << 62;
    EXPECT_FALSE(rules_of(info).cacheable);
    BinaryInfo binaries;
    binaries.count = 1;
    unknown.next = &binaries;
    EXPECT_FALSE(rules_of(info).cacheable);
}

TEST(Rules, StructKnownForAnotherParentIsNotKnown)
{
    VkPipelineRenderingCreateInfo rendering = {};
    rendering.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO;
    auto info = plain_compute_info();
    info.pNext = &rendering;
    EXPECT_FALSE(rules_of(info).known);
}

TEST(Rules, StructChainedTwiceIsNotKnown)
{
    VkPipelineCreationFeedback feedback = {};
    VkPipelineCreationFeedbackCreateInfo first = {};
    first.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO;
    first.pPipelineCreationFeedback = &feedback;
    auto second = first;
    first.pNext = &second;
    auto info = plain_compute_info();
    info.pNext = &first;
    EXPECT_FALSE(rules_of(info).known);
}

TEST(Rules, CyclicChainEnds)
{
    Unknown unknown;
    unknown.next = &unknown;
    auto info = plain_compute_info();
    info.pNext = &unknown;
    EXPECT_FALSE(rules_of(info).known);
}

TEST(Rules, UnknownFlagBitsAreNotKnown)
{
    auto info = plain_compute_info();
    info.flags = 1u << 28;
    EXPECT_FALSE(rules_of(info).known);
    EXPECT_FALSE(rules_of(info).cacheable);
    info.flags = 0;
    info.stage.flags = 1u << 30;
    EXPECT_FALSE(rules_of(info).known);
    EXPECT_FALSE(rules_of(info).cacheable);
}

TEST(Rules, Flags2ReplaceFlags)
{
    CreateFlags2 flags;
    flags.flags = RULES_PIPELINE_EARLY_RETURN_ON_FAILURE | 1ull << 34;
    auto info = plain_compute_info();
    info.flags = VK_PIPELINE_CREATE_DERIVATIVE_BIT;
    info.pNext = &flags;
    pipeline_rules rules = rules_of(info);
    EXPECT_TRUE(rules.known);
    EXPECT_TRUE(rules.early_return);
    EXPECT_FALSE(rules.derivative);
    EXPECT_EQ(rules.flags, flags.flags);
}

TEST(Rules, PipelineBinariesAndCapturedDataForbidACache)
{
    BinaryInfo binaries;
    auto info = plain_compute_info();
    info.pNext = &binaries;
    EXPECT_TRUE(rules_of(info).cacheable);
    EXPECT_TRUE(rules_of(info).known);
    binaries.count = 1;
    EXPECT_FALSE(rules_of(info).cacheable);
    CreateFlags2 flags;
    flags.flags = RULES_PIPELINE_CAPTURE_DATA;
    info.pNext = &flags;
    EXPECT_FALSE(rules_of(info).cacheable);
}

TEST(Rules, FeedbackOfTheProgramIsFound)
{
    VkPipelineCreationFeedbackCreateInfo feedback = {};
    feedback.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO;
    auto info = plain_compute_info();
    info.pNext = &feedback;
    EXPECT_EQ(rules_of(info).feedback, &feedback);
}

TEST(Rules, CodeOfAStageIsFoundWithoutAModuleOnly)
{
    VkShaderModuleCreateInfo code = {};
    code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    auto stage = plain_compute_info().stage;
    EXPECT_EQ(rules_inline_module(&stage), nullptr);
    stage.pNext = &code;
    EXPECT_EQ(rules_inline_module(&stage), &code);
    stage.module = (VkShaderModule)1;
    EXPECT_EQ(rules_inline_module(&stage), nullptr);
}

TEST(Rules, CompleteGraphicsPipelineIsKnown)
{
    GraphicsInfo g;
    EXPECT_TRUE(rules_of(g.info).known);
}

TEST(Rules, UnknownStructInALiveStateIsNotKnown)
{
    Unknown unknown;
    GraphicsInfo g;
    g.multisample.pNext = &unknown;
    EXPECT_FALSE(rules_of(g.info).known);
    g.multisample.pNext = nullptr;
    g.color_blend.pNext = &unknown;
    EXPECT_FALSE(rules_of(g.info).known);
    g.format = VK_FORMAT_UNDEFINED; // the blend state is ignored now
    EXPECT_TRUE(rules_of(g.info).known);
}

TEST(Rules, UnknownDynamicStateIsNotKnown)
{
    GraphicsInfo g;
    g.dynamic_states[0] = static_cast<VkDynamicState>(1999999000);
    EXPECT_FALSE(rules_of(g.info).known);
    EXPECT_TRUE(rules_of(g.info).cacheable);
}

TEST(Rules, DiscardedRasterizationLeavesStatesDangling)
{
    GraphicsInfo g;
    g.rasterization.rasterizerDiscardEnable = VK_TRUE;
    g.rendering.pColorAttachmentFormats = nowhere<VkFormat>();
    g.info.pViewportState = nowhere<VkPipelineViewportStateCreateInfo>();
    g.info.pMultisampleState = nowhere<VkPipelineMultisampleStateCreateInfo>();
    g.info.pColorBlendState = nowhere<VkPipelineColorBlendStateCreateInfo>();
    EXPECT_TRUE(rules_of(g.info).known);
}

TEST(Rules, DynamicDiscardKeepsStatesLive)
{
    Unknown unknown;
    GraphicsInfo g;
    g.rasterization.rasterizerDiscardEnable = VK_TRUE;
    g.dynamic_states[0] = VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE;
    g.viewport.pNext = &unknown;
    EXPECT_FALSE(rules_of(g.info).known);
}

TEST(Rules, MeshStageLeavesVertexInputDangling)
{
    GraphicsInfo g;
    g.stages[0].stage = VK_SHADER_STAGE_MESH_BIT_EXT;
    g.info.pVertexInputState = nowhere<VkPipelineVertexInputStateCreateInfo>();
    g.info.pInputAssemblyState = nowhere<VkPipelineInputAssemblyStateCreateInfo>();
    EXPECT_TRUE(rules_of(g.info).known);
}

TEST(Rules, DynamicVertexInputLeavesItDangling)
{
    GraphicsInfo g;
    g.dynamic_states[0] = VK_DYNAMIC_STATE_VERTEX_INPUT_EXT;
    g.info.pVertexInputState = nowhere<VkPipelineVertexInputStateCreateInfo>();
    EXPECT_TRUE(rules_of(g.info).known);
}

TEST(Rules, RenderPassLeavesFormatsAndAttachmentStatesAlone)
{
    GraphicsInfo g;
    g.info.renderPass = (VkRenderPass)1;
    g.rendering.pColorAttachmentFormats = nowhere<VkFormat>();
    g.info.pColorBlendState = nowhere<VkPipelineColorBlendStateCreateInfo>();
    EXPECT_TRUE(rules_of(g.info).known);
}

TEST(Rules, LibraryHasOnlyTheStatesOfItsSubsets)
{
    VkGraphicsPipelineLibraryCreateInfoEXT subset = {};
    subset.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT;
    subset.flags = VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT;
    GraphicsInfo g;
    g.rendering.pNext = &subset;
    g.rendering.pColorAttachmentFormats = nowhere<VkFormat>();
    g.info.flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
    g.info.pStages = nowhere<VkPipelineShaderStageCreateInfo>();
    g.info.pViewportState = nowhere<VkPipelineViewportStateCreateInfo>();
    g.info.pRasterizationState = nowhere<VkPipelineRasterizationStateCreateInfo>();
    g.info.pMultisampleState = nowhere<VkPipelineMultisampleStateCreateInfo>();
    g.info.pColorBlendState = nowhere<VkPipelineColorBlendStateCreateInfo>();
    EXPECT_TRUE(rules_of(g.info).known);
    EXPECT_TRUE(rules_of(g.info).library);
}

TEST(Rules, LinkingFollowsNoState)
{
    VkPipeline library = (VkPipeline)1;
    VkPipelineLibraryCreateInfoKHR libraries = {};
    libraries.sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR;
    libraries.libraryCount = 1;
    libraries.pLibraries = &library;
    VkGraphicsPipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
    info.pNext = &libraries;
    info.pVertexInputState = nowhere<VkPipelineVertexInputStateCreateInfo>();
    info.pRasterizationState = nowhere<VkPipelineRasterizationStateCreateInfo>();
    info.pColorBlendState = nowhere<VkPipelineColorBlendStateCreateInfo>();
    EXPECT_TRUE(rules_of(info).known);
}

TEST(Rules, RayTracingGroupsAndStagesAreLookedAt)
{
    Unknown unknown;
    auto stage = plain_compute_info().stage;
    stage.stage = VK_SHADER_STAGE_RAYGEN_BIT_KHR;
    VkRayTracingShaderGroupCreateInfoKHR group = {};
    group.sType = VK_STRUCTURE_TYPE_RAY_TRACING_SHADER_GROUP_CREATE_INFO_KHR;
    VkRayTracingPipelineCreateInfoKHR info = {};
    info.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR;
    info.stageCount = 1;
    info.pStages = &stage;
    info.groupCount = 1;
    info.pGroups = &group;
    EXPECT_TRUE(rules_of(info).known);
    group.pNext = &unknown;
    EXPECT_FALSE(rules_of(info).known);
}

TEST(Rules, SubpassesTellWhatTheyUse)
{
    const VkAttachmentReference unused = {VK_ATTACHMENT_UNUSED, VK_IMAGE_LAYOUT_UNDEFINED};
    const VkAttachmentReference used = {0, VK_IMAGE_LAYOUT_GENERAL};
    const VkAttachmentReference one_of_two[2] = {unused, used};
    VkSubpassDescription subpasses[70] = {};
    subpasses[1].colorAttachmentCount = 1;
    subpasses[1].pColorAttachments = &unused;
    subpasses[1].pDepthStencilAttachment = &unused;
    subpasses[2].colorAttachmentCount = 2;
    subpasses[2].pColorAttachments = one_of_two;
    subpasses[3].pDepthStencilAttachment = &used;
    VkRenderPassCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO;
    info.subpassCount = 4;
    info.pSubpasses = subpasses;
    render_pass_use use;
    canonical_render_pass_use(&info, &use);
    EXPECT_EQ(use.known, 0xfu);
    EXPECT_EQ(use.color, 4u);
    EXPECT_EQ(use.depth_stencil, 8u);
    info.subpassCount = 70;
    canonical_render_pass_use(&info, &use);
    EXPECT_EQ(use.known, ~0ull);
}

TEST(Rules, SubpassesOfTheSecondFormTellWhatTheyUse)
{
    VkAttachmentReference2 unused = {};
    unused.attachment = VK_ATTACHMENT_UNUSED;
    VkAttachmentReference2 used = {};
    VkSubpassDescription2 subpasses[3] = {};
    subpasses[0].colorAttachmentCount = 1;
    subpasses[0].pColorAttachments = &used;
    subpasses[0].pDepthStencilAttachment = &unused;
    subpasses[1].colorAttachmentCount = 1;
    subpasses[1].pColorAttachments = &unused;
    subpasses[1].pDepthStencilAttachment = &used;
    VkRenderPassCreateInfo2 info = {};
    info.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2;
    info.subpassCount = 3;
    info.pSubpasses = subpasses;
    render_pass_use use;
    canonical_render_pass_use(&info, &use);
    EXPECT_EQ(use.known, 7u);
    EXPECT_EQ(use.color, 1u);
    EXPECT_EQ(use.depth_stencil, 2u);
}

} // namespace
