// SPDX-License-Identifier: Apache-2.0
// The checked-in canonical forms of graphics and ray tracing (canonical_test.cpp says how they were
// made).
#include <cstring>

#include "../clients/descriptor_heap.h"
#include "canonical_form.h"

namespace {

TEST(CanonicalGraphics, Sampler)
{
    VkSamplerYcbcrConversionInfo conversion = {};
    conversion.sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_INFO;
    conversion.conversion = (VkSamplerYcbcrConversion)6;
    VkSamplerCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
    info.pNext = &conversion;
    info.magFilter = info.minFilter = VK_FILTER_LINEAR;
    info.mipmapMode = VK_SAMPLER_MIPMAP_MODE_LINEAR;
    info.mipLodBias = 0.5f;
    info.maxAnisotropy = 1.0f;
    info.maxLod = 4.0f;
    expect_form("sampler", &info);
}

TEST(CanonicalGraphics, Conversion)
{
    VkSamplerYcbcrConversionCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_CREATE_INFO;
    info.format = VK_FORMAT_G8_B8R8_2PLANE_420_UNORM;
    info.ycbcrModel = VK_SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_601;
    info.ycbcrRange = VK_SAMPLER_YCBCR_RANGE_ITU_NARROW;
    info.yChromaOffset = VK_CHROMA_LOCATION_MIDPOINT;
    info.chromaFilter = VK_FILTER_LINEAR;
    expect_form("conversion", &info);
}

TEST(CanonicalGraphics, RenderPass)
{
    const VkAttachmentDescription attachment = {
        0,
        VK_FORMAT_R8G8B8A8_UNORM,
        VK_SAMPLE_COUNT_1_BIT,
        VK_ATTACHMENT_LOAD_OP_CLEAR,
        VK_ATTACHMENT_STORE_OP_STORE,
        VK_ATTACHMENT_LOAD_OP_DONT_CARE,
        VK_ATTACHMENT_STORE_OP_DONT_CARE,
        VK_IMAGE_LAYOUT_UNDEFINED,
        VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
    };
    const VkAttachmentReference reference = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    VkSubpassDescription subpass = {};
    subpass.colorAttachmentCount = 1;
    subpass.pColorAttachments = &reference;
    subpass.pInputAttachments = reinterpret_cast<const VkAttachmentReference *>(0xdead0);
    VkRenderPassCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO;
    info.attachmentCount = 1;
    info.pAttachments = &attachment;
    info.subpassCount = 1;
    info.pSubpasses = &subpass;
    expect_form("render_pass", &info);
}

TEST(CanonicalGraphics, RenderPass2)
{
    VkAttachmentDescription2 attachment = {};
    attachment.sType = VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_2;
    attachment.format = VK_FORMAT_D32_SFLOAT;
    attachment.samples = VK_SAMPLE_COUNT_1_BIT;
    attachment.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    attachment.stencilLoadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    attachment.finalLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
    VkAttachmentReference2 reference = {};
    reference.sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2;
    reference.layout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
    reference.aspectMask = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    VkSubpassDescription2 subpass = {};
    subpass.sType = VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_2;
    subpass.pDepthStencilAttachment = &reference;
    VkSubpassDependency2 dependency = {};
    dependency.sType = VK_STRUCTURE_TYPE_SUBPASS_DEPENDENCY_2;
    dependency.srcSubpass = VK_SUBPASS_EXTERNAL;
    dependency.srcStageMask = VK_PIPELINE_STAGE_EARLY_FRAGMENT_TESTS_BIT;
    dependency.dstStageMask = VK_PIPELINE_STAGE_EARLY_FRAGMENT_TESTS_BIT;
    dependency.dstAccessMask = VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT;
    dependency.dependencyFlags = VK_DEPENDENCY_BY_REGION_BIT;
    dependency.viewOffset = -1;
    const uint32_t correlated = 3;
    VkRenderPassCreateInfo2 info = {};
    info.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2;
    info.attachmentCount = 1;
    info.pAttachments = &attachment;
    info.subpassCount = 1;
    info.pSubpasses = &subpass;
    info.dependencyCount = 1;
    info.pDependencies = &dependency;
    info.correlatedViewMaskCount = 1;
    info.pCorrelatedViewMasks = &correlated;
    expect_form("render_pass_2", &info);
}

TEST(CanonicalGraphics, Graphics)
{
    const VkPipelineShaderStageCreateInfo stages[2] = {stage(VK_SHADER_STAGE_VERTEX_BIT, 7),
                                                       stage(VK_SHADER_STAGE_FRAGMENT_BIT, 8)};
    const VkVertexInputBindingDescription binding = {0, 16, VK_VERTEX_INPUT_RATE_VERTEX};
    const VkVertexInputAttributeDescription attribute = {0, 0, VK_FORMAT_R32G32B32A32_SFLOAT, 4};
    VkPipelineVertexInputStateCreateInfo vertex_input = {};
    vertex_input.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO;
    vertex_input.vertexBindingDescriptionCount = 1;
    vertex_input.pVertexBindingDescriptions = &binding;
    vertex_input.vertexAttributeDescriptionCount = 1;
    vertex_input.pVertexAttributeDescriptions = &attribute;
    VkPipelineInputAssemblyStateCreateInfo input_assembly = {};
    input_assembly.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO;
    input_assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
    const VkRect2D scissor = {{-1, 0}, {64, 32}};
    VkPipelineViewportStateCreateInfo viewport = {};
    viewport.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO;
    viewport.viewportCount = viewport.scissorCount = 1;
    viewport.pViewports = reinterpret_cast<const VkViewport *>(0xdead0);
    viewport.pScissors = &scissor;
    VkPipelineRasterizationStateCreateInfo rasterization = {};
    rasterization.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO;
    rasterization.cullMode = VK_CULL_MODE_BACK_BIT;
    rasterization.frontFace = VK_FRONT_FACE_CLOCKWISE;
    rasterization.lineWidth = 1.0f;
    const VkSampleMask mask = 0xf;
    VkPipelineMultisampleStateCreateInfo multisample = {};
    multisample.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO;
    multisample.rasterizationSamples = VK_SAMPLE_COUNT_4_BIT;
    multisample.pSampleMask = &mask;
    VkPipelineDepthStencilStateCreateInfo depth_stencil = {};
    depth_stencil.sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO;
    depth_stencil.depthTestEnable = depth_stencil.depthWriteEnable = VK_TRUE;
    depth_stencil.depthCompareOp = VK_COMPARE_OP_LESS_OR_EQUAL;
    depth_stencil.stencilTestEnable = VK_TRUE;
    depth_stencil.front.compareOp = VK_COMPARE_OP_ALWAYS;
    depth_stencil.front.compareMask = depth_stencil.front.writeMask = 255;
    depth_stencil.front.reference = 1;
    depth_stencil.back = depth_stencil.front;
    depth_stencil.maxDepthBounds = 1.0f;
    const VkPipelineColorBlendAttachmentState attachment = {VK_TRUE,
                                                            VK_BLEND_FACTOR_SRC_ALPHA,
                                                            VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA,
                                                            VK_BLEND_OP_ADD,
                                                            VK_BLEND_FACTOR_ONE,
                                                            VK_BLEND_FACTOR_ZERO,
                                                            VK_BLEND_OP_ADD,
                                                            15};
    VkPipelineColorBlendStateCreateInfo color_blend = {};
    color_blend.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO;
    color_blend.logicOp = VK_LOGIC_OP_COPY;
    color_blend.attachmentCount = 1;
    color_blend.pAttachments = &attachment;
    color_blend.blendConstants[0] = -0.0f;
    const VkDynamicState dynamic_state = VK_DYNAMIC_STATE_VIEWPORT;
    VkPipelineDynamicStateCreateInfo dynamic = {};
    dynamic.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO;
    dynamic.dynamicStateCount = 1;
    dynamic.pDynamicStates = &dynamic_state;
    VkGraphicsPipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
    info.stageCount = 2;
    info.pStages = stages;
    info.pVertexInputState = &vertex_input;
    info.pInputAssemblyState = &input_assembly;
    info.pTessellationState =
        reinterpret_cast<const VkPipelineTessellationStateCreateInfo *>(0xdead0);
    info.pViewportState = &viewport;
    info.pRasterizationState = &rasterization;
    info.pMultisampleState = &multisample;
    info.pDepthStencilState = &depth_stencil;
    info.pColorBlendState = &color_blend;
    info.pDynamicState = &dynamic;
    info.layout = (VkPipelineLayout)2;
    info.renderPass = (VkRenderPass)9;
    info.basePipelineIndex = -1;
    expect_form("graphics", &info);
}

TEST(CanonicalGraphics, FragmentOutput)
{
    VkGraphicsPipelineLibraryCreateInfoEXT subset = {};
    subset.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT;
    subset.flags = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT;
    const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    VkPipelineRenderingCreateInfo rendering = {};
    rendering.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO;
    rendering.pNext = &subset;
    rendering.colorAttachmentCount = 1;
    rendering.pColorAttachmentFormats = &format;
    VkPipelineMultisampleStateCreateInfo multisample = {};
    multisample.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO;
    multisample.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
    VkPipelineColorBlendAttachmentState attachment = {};
    attachment.colorWriteMask = 15;
    VkPipelineColorBlendStateCreateInfo color_blend = {};
    color_blend.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO;
    color_blend.attachmentCount = 1;
    color_blend.pAttachments = &attachment;
    VkGraphicsPipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
    info.pNext = &rendering;
    info.flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
    info.pMultisampleState = &multisample;
    info.pColorBlendState = &color_blend;
    info.pRasterizationState =
        reinterpret_cast<const VkPipelineRasterizationStateCreateInfo *>(0xdead0);
    expect_form("fragment_output", &info);
}

TEST(CanonicalGraphics, VertexInput)
{
    VkGraphicsPipelineLibraryCreateInfoEXT subset = {};
    subset.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT;
    subset.flags = VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT;
    VkPipelineInputAssemblyStateCreateInfo input_assembly = {};
    input_assembly.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO;
    input_assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
    VkGraphicsPipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
    info.pNext = &subset;
    info.flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
    info.pInputAssemblyState = &input_assembly;
    info.layout = (VkPipelineLayout)2;
    expect_form("vertex_input", &info);
}

TEST(CanonicalGraphics, RayTracing)
{
    const VkPipelineShaderStageCreateInfo raygen = stage(VK_SHADER_STAGE_RAYGEN_BIT_KHR, 11);
    VkRayTracingShaderGroupCreateInfoKHR group = {};
    group.sType = VK_STRUCTURE_TYPE_RAY_TRACING_SHADER_GROUP_CREATE_INFO_KHR;
    group.closestHitShader = group.anyHitShader = group.intersectionShader = VK_SHADER_UNUSED_KHR;
    const VkPipeline library = (VkPipeline)10;
    VkPipelineLibraryCreateInfoKHR libraries = {};
    libraries.sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR;
    libraries.libraryCount = 1;
    libraries.pLibraries = &library;
    VkRayTracingPipelineInterfaceCreateInfoKHR interface = {};
    interface.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_INTERFACE_CREATE_INFO_KHR;
    interface.maxPipelineRayPayloadSize = 32;
    interface.maxPipelineRayHitAttributeSize = 8;
    VkRayTracingPipelineCreateInfoKHR info = {};
    info.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR;
    info.stageCount = 1;
    info.pStages = &raygen;
    info.groupCount = 1;
    info.pGroups = &group;
    info.maxPipelineRayRecursionDepth = 1;
    info.pLibraryInfo = &libraries;
    info.pLibraryInterface = &interface;
    info.layout = (VkPipelineLayout)2;
    expect_form("ray_tracing", &info);
}

// VK_EXT_descriptor_heap: no layout; each source that programs use, an embedded sampler, a chain.
TEST(Canonical, Heap)
{
    VkSamplerReductionModeCreateInfo reduction = {};
    reduction.sType = VK_STRUCTURE_TYPE_SAMPLER_REDUCTION_MODE_CREATE_INFO;
    reduction.reductionMode = VK_SAMPLER_REDUCTION_MODE_MIN;
    VkSamplerCreateInfo sampler = {};
    sampler.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
    sampler.pNext = &reduction;
    sampler.magFilter = VK_FILTER_LINEAR;
    sampler.mipmapMode = VK_SAMPLER_MIPMAP_MODE_LINEAR;
    sampler.maxAnisotropy = 1;
    sampler.maxLod = 1;
    heap_bank bank = {static_cast<VkStructureType>(HEAP_STYPE_BANK), nullptr, 3};
    heap_mapping mappings[4] = {};
    const uint32_t head[4][5] = {{0, 0, 1, HEAP_RESOURCE_SAMPLER, HEAP_SOURCE_CONSTANT_OFFSET},
                                 {1, 2, 1, HEAP_RESOURCE_ALL, HEAP_SOURCE_PUSH_INDEX},
                                 {2, 0, 1, HEAP_RESOURCE_UNIFORM_BUFFER, HEAP_SOURCE_HEAP_DATA},
                                 {3, 1, 1, HEAP_RESOURCE_UNIFORM_BUFFER, HEAP_SOURCE_PUSH_ADDRESS}};
    for (int i = 0; i < 4; i++) {
        std::memset(&mappings[i].data, 0xee, sizeof(mappings[i].data)); // behind what is live
        mappings[i].stype = static_cast<VkStructureType>(HEAP_STYPE_MAPPING);
        mappings[i].set = head[i][0];
        mappings[i].first_binding = head[i][1];
        mappings[i].binding_count = head[i][2];
        mappings[i].resource_mask = head[i][3];
        mappings[i].source = head[i][4];
    }
    mappings[0].data.constant_offset = {16, 32, &sampler, 5, 6};
    mappings[1].next = &bank;
    mappings[1].data.push_index = {1, 2, 3, 4, nullptr, 1, 5, 6, 7, 8};
    mappings[2].data.heap_data = {9, 10};
    mappings[3].data.push_address_offset = 64;
    heap_mapping_info info = {static_cast<VkStructureType>(HEAP_STYPE_MAPPING_INFO), nullptr, 4,
                              mappings};
    heap_pipeline_flags flags = {static_cast<VkStructureType>(HEAP_STYPE_PIPELINE_FLAGS_2), nullptr,
                                 HEAP_PIPELINE_DESCRIPTOR_HEAP};
    VkComputePipelineCreateInfo pipeline = {};
    pipeline.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    pipeline.pNext = &flags;
    pipeline.stage = stage(VK_SHADER_STAGE_COMPUTE_BIT, 1);
    pipeline.stage.pNext = &info;
    expect_form("heap", &pipeline);
}

} // namespace
