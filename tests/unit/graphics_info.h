// SPDX-License-Identifier: Apache-2.0
// A complete graphics pipeline of a vertex and a fragment stage, for dynamic rendering to one color
// attachment: what does not matter for it points nowhere.
#ifndef WARMPIPE_TESTS_GRAPHICS_INFO_H
#define WARMPIPE_TESTS_GRAPHICS_INFO_H

#include <cstdint>

#include <vulkan/vulkan.h>

// What a program leaves in a pointer that is ignored; following it is a crash.
template <typename T> const T *nowhere()
{
    return reinterpret_cast<const T *>(0xdead0);
}

// VkPipelineCreateFlags2CreateInfo and VkPipelineBinaryInfoKHR, which older headers lack.
struct CreateFlags2 {
    uint32_t stype = 1000470005;
    const void *next = nullptr;
    uint64_t flags = 0;
};

struct BinaryInfo {
    uint32_t stype = 1000483002;
    const void *next = nullptr;
    uint32_t count = 0;
    const void *binaries = nowhere<void>();
};

struct GraphicsInfo {
    VkPipelineShaderStageCreateInfo stages[2] = {};
    VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    VkPipelineRenderingCreateInfo rendering = {};
    VkPipelineVertexInputStateCreateInfo vertex_input = {};
    VkPipelineInputAssemblyStateCreateInfo input_assembly = {};
    VkPipelineTessellationStateCreateInfo tessellation = {};
    VkPipelineViewportStateCreateInfo viewport = {};
    VkPipelineRasterizationStateCreateInfo rasterization = {};
    VkPipelineMultisampleStateCreateInfo multisample = {};
    VkPipelineDepthStencilStateCreateInfo depth_stencil = {};
    VkPipelineColorBlendAttachmentState attachment = {};
    VkPipelineColorBlendStateCreateInfo color_blend = {};
    VkPipelineDynamicStateCreateInfo dynamic = {};
    VkDynamicState dynamic_states[4] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
    VkGraphicsPipelineCreateInfo info = {};

    GraphicsInfo()
    {
        const VkShaderStageFlagBits bits[] = {VK_SHADER_STAGE_VERTEX_BIT,
                                              VK_SHADER_STAGE_FRAGMENT_BIT};
        for (int i = 0; i < 2; i++) {
            stages[i].sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
            stages[i].stage = bits[i];
            stages[i].module = (VkShaderModule)(uintptr_t)(11 + i);
            stages[i].pName = "main";
        }
        rendering.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO;
        rendering.colorAttachmentCount = 1;
        rendering.pColorAttachmentFormats = &format;
        vertex_input.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO;
        input_assembly.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO;
        tessellation.sType = VK_STRUCTURE_TYPE_PIPELINE_TESSELLATION_STATE_CREATE_INFO;
        viewport.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO;
        viewport.viewportCount = viewport.scissorCount = 1;
        viewport.pViewports = nowhere<VkViewport>();
        viewport.pScissors = nowhere<VkRect2D>();
        rasterization.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO;
        rasterization.lineWidth = 1.0f;
        multisample.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO;
        multisample.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
        depth_stencil.sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO;
        attachment.colorWriteMask = VK_COLOR_COMPONENT_R_BIT;
        color_blend.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO;
        color_blend.attachmentCount = 1;
        color_blend.pAttachments = &attachment;
        dynamic.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO;
        dynamic.dynamicStateCount = 2;
        dynamic.pDynamicStates = dynamic_states;
        info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
        info.pNext = &rendering;
        info.stageCount = 2;
        info.pStages = stages;
        info.pVertexInputState = &vertex_input;
        info.pInputAssemblyState = &input_assembly;
        info.pTessellationState = nowhere<VkPipelineTessellationStateCreateInfo>();
        info.pViewportState = &viewport;
        info.pRasterizationState = &rasterization;
        info.pMultisampleState = &multisample;
        info.pDepthStencilState = nowhere<VkPipelineDepthStencilStateCreateInfo>();
        info.pColorBlendState = &color_blend;
        info.pDynamicState = &dynamic;
        info.layout = (VkPipelineLayout)20;
    }
    GraphicsInfo(const GraphicsInfo &) = delete;
};

#endif
