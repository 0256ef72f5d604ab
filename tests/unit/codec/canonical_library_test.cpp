// SPDX-License-Identifier: Apache-2.0
// The canonical form of pipeline libraries, and of what is made of them.
#include "canonical_graphics.h"

namespace {

// The states of other subsets are ignored.
class CanonicalLibrary : public CanonicalGraphics {
  protected:
    VkGraphicsPipelineLibraryCreateInfoEXT subset_ = {};
    VkPipeline library_ = (VkPipeline)50;
    VkPipelineLibraryCreateInfoKHR libraries_ = {};

    CanonicalLibrary()
    {
        subset_.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT;
        libraries_.sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR;
        libraries_.pLibraries = &library_;
        g_.rendering.pNext = &subset_;
        subset_.pNext = &libraries_;
        g_.info.flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
    }

    // What a program has not initialized is the same as what it has not set.
    void expect_no_depth_stencil_formats()
    {
        const digest without = content();
        g_.rendering.depthAttachmentFormat = (VkFormat)0x7f3dead1;
        g_.rendering.stencilAttachmentFormat = (VkFormat)0x7f3dead2;
        EXPECT_TRUE(digest_equal(without, content()));
        void *decoded = canonical_decode(form_.key.data, form_.size, &handles_.sources);
        ASSERT_NE(decoded, nullptr);
        const auto *info = static_cast<const VkGraphicsPipelineCreateInfo *>(decoded);
        const auto *rendering = static_cast<const VkPipelineRenderingCreateInfo *>(
            canonical_find_struct(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO));
        EXPECT_EQ(rendering->depthAttachmentFormat, VK_FORMAT_UNDEFINED);
        EXPECT_EQ(rendering->stencilAttachmentFormat, VK_FORMAT_UNDEFINED);
        free(decoded);
    }
};

TEST_F(CanonicalLibrary, VertexInput)
{
    subset_.flags = VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT;
    expect_live(g_.input_assembly.topology);
    expect_ignored(g_.info.pStages);
    expect_ignored(g_.info.pViewportState);
    expect_ignored(g_.info.pRasterizationState);
    expect_ignored(g_.info.pMultisampleState);
    expect_ignored(g_.info.pColorBlendState);
    expect_ignored(g_.rendering.pColorAttachmentFormats);
    VkPipelineDiscardRectangleStateCreateInfoEXT rectangles = {};
    rectangles.sType = VK_STRUCTURE_TYPE_PIPELINE_DISCARD_RECTANGLE_STATE_CREATE_INFO_EXT;
    rectangles.discardRectangleCount = 1;
    libraries_.pNext = &rectangles;
    expect_ignored(rectangles.pDiscardRectangles);
    // Handles that are ignored may be anything, even what was never a handle.
    handles_.unknown_handle = 20;
    g_.info.renderPass = (VkRenderPass)20;
    content();
}

// Drivers hash what Vulkan ignores: a replay has to have it too.
TEST_F(CanonicalLibrary, ALibraryWithoutShadersKeepsItsLayout)
{
    for (VkGraphicsPipelineLibraryFlagsEXT subset :
         {VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT,
          VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT}) {
        subset_.flags = subset;
        handles_.unknown_handle = 20;
        g_.info.layout = VK_NULL_HANDLE;
        const digest without = content();
        g_.info.layout = (VkPipelineLayout)21;
        EXPECT_FALSE(digest_equal(content(), without));
        g_.info.layout = (VkPipelineLayout)20; // no handle at all
        EXPECT_TRUE(digest_equal(content(), without));
    }
}

TEST_F(CanonicalLibrary, PreRasterization)
{
    subset_.flags = VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
    expect_live(g_.rasterization.cullMode);
    expect_live(g_.viewport.viewportCount);
    expect_ignored(g_.info.pVertexInputState);
    expect_ignored(g_.info.pInputAssemblyState);
    expect_ignored(g_.info.pMultisampleState);
    expect_ignored(g_.info.pColorBlendState);
    expect_ignored(g_.rendering.pColorAttachmentFormats);
    expect_no_depth_stencil_formats();
}

TEST_F(CanonicalLibrary, FragmentShader)
{
    subset_.flags = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT;
    g_.info.pDepthStencilState = &g_.depth_stencil;
    expect_live(g_.depth_stencil.depthTestEnable); // formats are not looked at
    expect_ignored(g_.info.pRasterizationState);
    expect_ignored(g_.info.pColorBlendState);
    expect_ignored(g_.rendering.pColorAttachmentFormats);
    expect_no_depth_stencil_formats();
}

TEST_F(CanonicalLibrary, FragmentOutput)
{
    subset_.flags = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT;
    expect_live(g_.format);
    expect_live(g_.rendering.depthAttachmentFormat);
    expect_live(g_.rendering.stencilAttachmentFormat);
    expect_live(g_.attachment.colorWriteMask);
    expect_ignored(g_.info.pStages);
    expect_ignored(g_.info.pRasterizationState);
    expect_ignored(g_.info.pDepthStencilState);
}

TEST_F(CanonicalLibrary, LinkedLibrariesAlone)
{
    libraries_.libraryCount = 1;
    expect_ignored(g_.info.pStages);
    expect_ignored(g_.info.pVertexInputState);
    expect_ignored(g_.info.pRasterizationState);
    expect_ignored(g_.info.pColorBlendState);
    g_.rendering.pNext = &libraries_; // no flags are the same as none set
    expect_ignored(g_.info.pStages);
}

TEST_F(CanonicalLibrary, WhatHangsOnALinkedLibraryIsADoubt)
{
    libraries_.libraryCount = 1;
    subset_.flags = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT;
    g_.info.pMultisampleState = nowhere<VkPipelineMultisampleStateCreateInfo>();
    expect_doubt();
    subset_.flags = VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT;
    g_.info.pVertexInputState = nowhere<VkPipelineVertexInputStateCreateInfo>();
    expect_doubt();
}

// By Vulkan they are ignored; Mesa reads them where there are subsets, and crashes without samples.
TEST_F(CanonicalLibrary, StatesOfOneThatDiscardsAreADoubt)
{
    g_.rasterization.rasterizerDiscardEnable = VK_TRUE;
    g_.rendering.colorAttachmentCount = 0;
    subset_.flags = VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
    expect_ignored(g_.info.pMultisampleState);
    subset_.flags |= VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT;
    g_.info.pColorBlendState = nullptr;
    g_.info.pMultisampleState = nowhere<VkPipelineMultisampleStateCreateInfo>();
    expect_doubt();
    g_.info.pMultisampleState = nullptr; // so the program gives it, and so it is made again
    content();
    EXPECT_TRUE(form_.complete);
}

} // namespace
