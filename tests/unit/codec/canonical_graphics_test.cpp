// SPDX-License-Identifier: Apache-2.0
// Which states of a graphics pipeline are in its canonical form (hazard 16). Ignored pointers lead
// nowhere here: whoever follows one crashes.
#include "canonical_graphics.h"

namespace {

TEST_F(CanonicalGraphics, CompletePipeline)
{
    content();
    EXPECT_TRUE(form_.complete);
    expect_live(g_.rasterization.cullMode);
    expect_live(g_.input_assembly.topology);
    expect_live(g_.attachment.colorWriteMask);
    expect_live(g_.format);
    expect_ignored(g_.info.pTessellationState);
    expect_ignored(g_.info.pDepthStencilState);
    expect_ignored(g_.viewport.pViewports);
    expect_ignored(g_.viewport.pScissors);
}

TEST_F(CanonicalGraphics, DiscardedRasterization)
{
    g_.rasterization.rasterizerDiscardEnable = VK_TRUE;
    g_.rendering.colorAttachmentCount = 0;
    expect_ignored(g_.info.pViewportState);
    expect_ignored(g_.info.pMultisampleState);
    expect_ignored(g_.info.pColorBlendState);
    expect_ignored(g_.rendering.pColorAttachmentFormats);
    expect_live(g_.rasterization.cullMode);
}

TEST_F(CanonicalGraphics, FormatsOfDiscardedRasterizationKeepItApart)
{
    g_.rasterization.rasterizerDiscardEnable = VK_TRUE;
    g_.rendering.pColorAttachmentFormats = nowhere<VkFormat>();
    canonical_encode(&handles_.context, &g_.info, &form_);
    EXPECT_EQ(form_.verdict, CANONICAL_NODEDUPE);
    EXPECT_EQ(form_.cause, CANONICAL_CAUSE_DOUBT);
    ASSERT_TRUE(form_.complete);
    void *decoded = canonical_decode(form_.key.data, form_.size, &handles_.sources);
    ASSERT_NE(decoded, nullptr);
    const auto *rendering = static_cast<const VkPipelineRenderingCreateInfo *>(
        static_cast<VkGraphicsPipelineCreateInfo *>(decoded)->pNext);
    EXPECT_EQ(rendering->colorAttachmentCount, 0u);
    free(decoded);
    g_.info.renderPass = (VkRenderPass)30; // it takes their place
    content();
}

TEST_F(CanonicalGraphics, DynamicallyDiscardedRasterization)
{
    g_.rasterization.rasterizerDiscardEnable = VK_TRUE;
    set_dynamic({VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR,
                 VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE});
    expect_live(g_.multisample.alphaToOneEnable);
    expect_live(g_.viewport.viewportCount);
}

TEST_F(CanonicalGraphics, StaticViewports)
{
    VkViewport viewport = {0, 0, 1, 1, 0, 1};
    VkRect2D scissor = {};
    g_.viewport.pViewports = &viewport;
    g_.viewport.pScissors = &scissor;
    g_.dynamic.dynamicStateCount = 0;
    g_.dynamic.pDynamicStates = nowhere<VkDynamicState>();
    expect_live(scissor.extent.width);
    digest before = content();
    viewport.width = 2;
    EXPECT_FALSE(digest_equal(before, content()));
    g_.info.pDynamicState = nullptr;
    expect_live(scissor.extent.width);
}

TEST_F(CanonicalGraphics, ViewportsWithDynamicCount)
{
    set_dynamic({VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT, VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT});
    expect_ignored(g_.viewport.pViewports);
    expect_ignored(g_.viewport.pScissors);
}

TEST_F(CanonicalGraphics, MeshShaders)
{
    g_.stages[0].stage = VK_SHADER_STAGE_MESH_BIT_EXT;
    expect_ignored(g_.info.pVertexInputState);
    expect_ignored(g_.info.pInputAssemblyState);
}

TEST_F(CanonicalGraphics, DynamicVertexInput)
{
    set_dynamic(
        {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR, VK_DYNAMIC_STATE_VERTEX_INPUT_EXT});
    expect_ignored(g_.info.pVertexInputState);
    expect_live(g_.input_assembly.topology);
}

TEST_F(CanonicalGraphics, Tessellation)
{
    VkPipelineShaderStageCreateInfo stages[4] = {g_.stages[0], g_.stages[0], g_.stages[0],
                                                 g_.stages[1]};
    stages[1].stage = VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT;
    stages[2].stage = VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT;
    g_.info.stageCount = 4;
    g_.info.pStages = stages;
    g_.info.pTessellationState = &g_.tessellation;
    expect_live(g_.tessellation.patchControlPoints);
}

TEST_F(CanonicalGraphics, DepthFormatMakesTheStateLive)
{
    g_.info.pDepthStencilState = &g_.depth_stencil;
    g_.rendering.stencilAttachmentFormat = VK_FORMAT_S8_UINT;
    expect_live(g_.depth_stencil.depthTestEnable);
    g_.rendering.stencilAttachmentFormat = VK_FORMAT_UNDEFINED;
    expect_ignored(g_.info.pDepthStencilState);
}

TEST_F(CanonicalGraphics, NoColorFormatLeavesBlendingIgnored)
{
    g_.format = VK_FORMAT_UNDEFINED;
    expect_ignored(g_.info.pColorBlendState);
    g_.info.pNext = nullptr;
    expect_ignored(g_.info.pColorBlendState);
}

// VK_EXT_custom_resolve: what is drawn then has formats of its own, whatever the others are.
TEST_F(CanonicalGraphics, ACustomResolveUsesItsOwnAttachments)
{
    struct { // VkCustomResolveCreateInfoEXT, which older headers lack
        uint32_t stype = 1000628002;
        const void *next = nullptr;
        VkBool32 custom_resolve = VK_TRUE;
        uint32_t count = 1;
        const VkFormat *formats = nullptr;
        VkFormat depth = VK_FORMAT_UNDEFINED;
        VkFormat stencil = VK_FORMAT_S8_UINT;
    } resolve;
    const VkFormat resolved = VK_FORMAT_R8G8B8A8_UNORM;
    resolve.formats = &resolved;
    g_.rendering.pNext = &resolve;
    g_.format = VK_FORMAT_UNDEFINED;
    g_.info.pDepthStencilState = &g_.depth_stencil;
    expect_live(g_.attachment.colorWriteMask);
    expect_live(g_.depth_stencil.stencilTestEnable);
}

TEST_F(CanonicalGraphics, RenderPassTellsWhatItsSubpassUses)
{
    g_.info.renderPass = (VkRenderPass)30;
    g_.info.subpass = 1;
    g_.info.pDepthStencilState = &g_.depth_stencil;
    handles_.use = {3, 2, 2};
    expect_ignored(g_.rendering.pColorAttachmentFormats);
    expect_live(g_.depth_stencil.depthTestEnable);
    expect_live(g_.attachment.colorWriteMask);
    handles_.use = {3, 1, 1};
    expect_ignored(g_.info.pDepthStencilState);
    expect_ignored(g_.info.pColorBlendState);
}

TEST_F(CanonicalGraphics, SubpassThatIsNotKnownIsADoubt)
{
    g_.info.renderPass = (VkRenderPass)30;
    g_.info.subpass = 64;
    g_.info.pColorBlendState = nowhere<VkPipelineColorBlendStateCreateInfo>();
    expect_doubt();
    g_.info.subpass = 1; // of a render pass that has one
    handles_.use = {1, 1, 1};
    expect_doubt();
    g_.info.pColorBlendState = nullptr;
    g_.info.pDepthStencilState = nullptr;
    content();
}

TEST_F(CanonicalGraphics, RenderPassesAreNamedByContent)
{
    g_.info.renderPass = (VkRenderPass)30;
    g_.info.pDepthStencilState = &g_.depth_stencil;
    digest before = content();
    EXPECT_EQ(form_.key.size, form_.size);
    g_.info.renderPass = (VkRenderPass)31;
    EXPECT_FALSE(digest_equal(before, content()));
}

TEST_F(CanonicalGraphics, SampleMask)
{
    VkSampleMask mask[2] = {1, 2};
    g_.multisample.pSampleMask = mask;
    g_.multisample.rasterizationSamples = VK_SAMPLE_COUNT_64_BIT;
    expect_live(mask[1]);
    g_.multisample.rasterizationSamples = VK_SAMPLE_COUNT_32_BIT;
    digest before = content();
    mask[1] = 77; // beyond its end now
    EXPECT_TRUE(digest_equal(before, content()));
    set_dynamic(
        {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR, VK_DYNAMIC_STATE_SAMPLE_MASK_EXT});
    expect_ignored(g_.multisample.pSampleMask);
}

TEST_F(CanonicalGraphics, DynamicBlending)
{
    set_dynamic({VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT,
                 VK_DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT, VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT});
    g_.viewport.scissorCount = 0;
    expect_ignored(g_.color_blend.pAttachments);
    handles_.context.blend_advanced_coherent = true; // the advanced state is not dynamic
    expect_live(g_.attachment.colorWriteMask);
    g_.viewport.viewportCount = 0;
    g_.dynamic_states[0] = VK_DYNAMIC_STATE_COLOR_BLEND_ADVANCED_EXT;
    expect_ignored(g_.color_blend.pAttachments);
}

TEST_F(CanonicalGraphics, CustomSampleLocations)
{
    VkPipelineSampleLocationsStateCreateInfoEXT locations = {};
    VkSampleLocationEXT location = {0.5f, 0.5f};
    locations.sType = VK_STRUCTURE_TYPE_PIPELINE_SAMPLE_LOCATIONS_STATE_CREATE_INFO_EXT;
    locations.sampleLocationsInfo.sType = VK_STRUCTURE_TYPE_SAMPLE_LOCATIONS_INFO_EXT;
    locations.sampleLocationsInfo.sampleLocationsCount = 1;
    g_.multisample.pNext = &locations;
    expect_ignored(locations.sampleLocationsInfo.pSampleLocations);
    locations.sampleLocationsEnable = VK_TRUE;
    locations.sampleLocationsInfo.pSampleLocations = &location;
    digest before = content();
    location.x = 0.25f;
    EXPECT_FALSE(digest_equal(before, content()));
    set_dynamic({VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR,
                 VK_DYNAMIC_STATE_SAMPLE_LOCATIONS_EXT});
    expect_ignored(locations.sampleLocationsInfo.pSampleLocations);
}

TEST_F(CanonicalGraphics, DiscardRectangles)
{
    VkPipelineDiscardRectangleStateCreateInfoEXT rectangles = {};
    rectangles.sType = VK_STRUCTURE_TYPE_PIPELINE_DISCARD_RECTANGLE_STATE_CREATE_INFO_EXT;
    rectangles.discardRectangleCount = 1;
    g_.rendering.pNext = &rectangles;
    VkRect2D rectangle = {};
    rectangles.pDiscardRectangles = &rectangle;
    expect_live(rectangle.extent.height);
    set_dynamic({VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR,
                 VK_DYNAMIC_STATE_DISCARD_RECTANGLE_EXT});
    expect_ignored(rectangles.pDiscardRectangles);
}

TEST_F(CanonicalGraphics, CoverageModulationTable)
{
    VkPipelineCoverageModulationStateCreateInfoNV coverage = {};
    coverage.sType = VK_STRUCTURE_TYPE_PIPELINE_COVERAGE_MODULATION_STATE_CREATE_INFO_NV;
    coverage.coverageModulationTableCount = 1;
    g_.multisample.pNext = &coverage;
    expect_ignored(coverage.pCoverageModulationTable);
    float table = 0.5f;
    coverage.coverageModulationTableEnable = VK_TRUE;
    coverage.pCoverageModulationTable = &table;
    digest before = content();
    table = 0.25f;
    EXPECT_FALSE(digest_equal(before, content()));
    coverage.coverageModulationTableEnable = VK_FALSE;
    set_dynamic({VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR,
                 VK_DYNAMIC_STATE_COVERAGE_MODULATION_TABLE_ENABLE_NV});
    before = content();
    table = 0.75f;
    EXPECT_FALSE(digest_equal(before, content()));
}

TEST_F(CanonicalGraphics, ViewportWScaling)
{
    VkPipelineViewportWScalingStateCreateInfoNV scaling = {};
    scaling.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_W_SCALING_STATE_CREATE_INFO_NV;
    scaling.viewportCount = 1;
    g_.viewport.pNext = &scaling;
    expect_ignored(scaling.pViewportWScalings);
    const VkViewportWScalingNV value = {1, 1};
    scaling.viewportWScalingEnable = VK_TRUE;
    scaling.pViewportWScalings = &value;
    content();
    set_dynamic({VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR,
                 VK_DYNAMIC_STATE_VIEWPORT_W_SCALING_NV});
    expect_ignored(scaling.pViewportWScalings);
}

TEST_F(CanonicalGraphics, DepthClampRange)
{
    struct { // VkPipelineViewportDepthClampControlCreateInfoEXT, which older headers lack
        uint32_t stype = 1000582001;
        const void *next = nullptr;
        uint32_t mode = 0;
        const float *range = nullptr;
    } clamp;
    g_.viewport.pNext = &clamp;
    expect_ignored(clamp.range);
    float range[2] = {0, 1};
    clamp.mode = 1;
    clamp.range = range;
    digest before = content();
    range[1] = 0.5f;
    EXPECT_FALSE(digest_equal(before, content()));
    set_dynamic({VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR,
                 static_cast<VkDynamicState>(1000582000)});
    expect_ignored(clamp.range);
}

} // namespace
