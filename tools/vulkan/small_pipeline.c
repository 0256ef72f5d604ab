// SPDX-License-Identifier: Apache-2.0
#include "tools/vulkan/small_pipeline.h"

/* Shaders that do nothing. */
/* clang-format off */
#define SHADER_HEAD                                                                                \
    0x07230203, 0x00010000, 0, 6, 0,     /* SPIR-V 1.0, ids below 6 */                             \
    2 << 16 | 17, 1,                     /* OpCapability Shader */                                 \
    3 << 16 | 14, 0, 1                   /* OpMemoryModel Logical GLSL450 */
#define SHADER_ENTRY(model)                                                                        \
    5 << 16 | 15, model, 4, 0x6e69616d, 0 /* OpEntryPoint model %4 "main" */
#define SHADER_BODY                                                                                \
    2 << 16 | 19, 2,                     /* %2 = OpTypeVoid */                                     \
    3 << 16 | 33, 3, 2,                  /* %3 = OpTypeFunction %2 */                              \
    5 << 16 | 54, 2, 4, 0, 3,            /* %4 = OpFunction %2 None %3 */                          \
    2 << 16 | 248, 5,                    /* %5 = OpLabel */                                        \
    1 << 16 | 253, 1 << 16 | 56          /* OpReturn, OpFunctionEnd */

static const uint32_t compute_shader[] = {
    SHADER_HEAD, SHADER_ENTRY(5),
    6 << 16 | 16, 4, 17, 1, 1, 1,        /* OpExecutionMode %4 LocalSize 1 1 1 */
    SHADER_BODY,
};
static const uint32_t vertex_shader[] = {SHADER_HEAD, SHADER_ENTRY(0), SHADER_BODY};
static const uint32_t fragment_shader[] = {
    SHADER_HEAD, SHADER_ENTRY(4),
    3 << 16 | 16, 4, 7,                  /* OpExecutionMode %4 OriginUpperLeft */
    SHADER_BODY,
};
/* clang-format on */

#define GET(small, name) ((PFN_##name)(small)->get((small)->device, #name))

static VkResult small_create_module(const struct small_pipeline *small, const uint32_t *code,
                                    size_t size, VkShaderModule *ret_module)
{
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = size,
        .pCode = code,
    };
    return GET(small, vkCreateShaderModule)(small->device, &info, NULL, ret_module);
}

/* A pass without attachments. */
static VkResult small_create_render_pass(struct small_pipeline *small)
{
    const VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS};
    const VkRenderPassCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
        .subpassCount = 1,
        .pSubpasses = &subpass,
    };
    return GET(small, vkCreateRenderPass)(small->device, &info, NULL, &small->render_pass);
}

VkResult small_pipeline_open(struct small_pipeline *ret_small, VkDevice device,
                             PFN_vkGetDeviceProcAddr get, bool is_graphics)
{
    struct small_pipeline *small = ret_small;
    *small = (struct small_pipeline){.device = device, .get = get, .is_graphics = is_graphics};
    const VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
    };
    VkResult result = GET(small, vkCreatePipelineLayout)(device, &layout, NULL, &small->layout);
    if (result == VK_SUCCESS && !is_graphics) {
        return small_create_module(small, compute_shader, sizeof compute_shader,
                                   &small->modules[0]);
    }
    if (result == VK_SUCCESS) {
        result =
            small_create_module(small, vertex_shader, sizeof vertex_shader, &small->modules[0]);
    }
    if (result == VK_SUCCESS) {
        result =
            small_create_module(small, fragment_shader, sizeof fragment_shader, &small->modules[1]);
    }
    return result == VK_SUCCESS ? small_create_render_pass(small) : result;
}

void small_pipeline_close(const struct small_pipeline *small)
{
    GET(small, vkDestroyRenderPass)(small->device, small->render_pass, NULL);
    for (int i = 0; i < 2; i++) {
        GET(small, vkDestroyShaderModule)(small->device, small->modules[i], NULL);
    }
    GET(small, vkDestroyPipelineLayout)(small->device, small->layout, NULL);
}

static VkPipelineShaderStageCreateInfo small_stage(VkShaderStageFlagBits stage,
                                                   VkShaderModule module)
{
    return (VkPipelineShaderStageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
        .stage = stage,
        .module = module,
        .pName = "main",
    };
}

static VkResult small_create_compute(const struct small_pipeline *small, VkPipelineCache cache,
                                     const void *next, VkPipeline *ret_pipeline)
{
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .pNext = next,
        .stage = small_stage(VK_SHADER_STAGE_COMPUTE_BIT, small->modules[0]),
        .layout = small->layout,
        .basePipelineIndex = -1,
    };
    return GET(small, vkCreateComputePipelines)(small->device, cache, 1, &info, NULL, ret_pipeline);
}

static VkResult small_create_graphics(const struct small_pipeline *small, VkPipelineCache cache,
                                      const void *next, VkPipeline *ret_pipeline)
{
    const VkPipelineShaderStageCreateInfo stages[] = {
        small_stage(VK_SHADER_STAGE_VERTEX_BIT, small->modules[0]),
        small_stage(VK_SHADER_STAGE_FRAGMENT_BIT, small->modules[1]),
    };
    const VkPipelineVertexInputStateCreateInfo vertices = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    const VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
    };
    const VkViewport viewport = {.width = 1, .height = 1, .maxDepth = 1};
    const VkRect2D scissor = {.extent = {1, 1}};
    const VkPipelineViewportStateCreateInfo viewports = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
        .viewportCount = 1,
        .pViewports = &viewport,
        .scissorCount = 1,
        .pScissors = &scissor,
    };
    const VkPipelineRasterizationStateCreateInfo rasterization = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .lineWidth = 1,
    };
    const VkPipelineMultisampleStateCreateInfo samples = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
    };
    const VkPipelineColorBlendStateCreateInfo blend = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
    const VkGraphicsPipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
        .pNext = next,
        .stageCount = 2,
        .pStages = stages,
        .pVertexInputState = &vertices,
        .pInputAssemblyState = &assembly,
        .pViewportState = &viewports,
        .pRasterizationState = &rasterization,
        .pMultisampleState = &samples,
        .pColorBlendState = &blend,
        .layout = small->layout,
        .renderPass = small->render_pass,
        .basePipelineIndex = -1,
    };
    return GET(small, vkCreateGraphicsPipelines)(small->device, cache, 1, &info, NULL,
                                                 ret_pipeline);
}

VkResult small_pipeline_create(const struct small_pipeline *small, VkPipelineCache cache,
                               const void *next, VkPipeline *ret_pipeline)
{
    return (small->is_graphics ? small_create_graphics : small_create_compute)(small, cache, next,
                                                                               ret_pipeline);
}
