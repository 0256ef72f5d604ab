// SPDX-License-Identifier: Apache-2.0
#include "util.h"
#include "workload.h"

/* The states of one graphics pipeline. */
struct states {
    struct specialized specialized;
    VkPipelineShaderStageCreateInfo stages[2];
    VkVertexInputBindingDescription vertex_binding;
    VkVertexInputAttributeDescription attributes[4];
    VkPipelineVertexInputStateCreateInfo vertex_input;
    VkPipelineInputAssemblyStateCreateInfo input_assembly;
    VkPipelineViewportStateCreateInfo viewport;
    VkPipelineRasterizationStateCreateInfo rasterization;
    VkPipelineMultisampleStateCreateInfo multisample;
    VkPipelineDepthStencilStateCreateInfo depth_stencil;
    VkPipelineColorBlendAttachmentState blend_attachment;
    VkPipelineColorBlendStateCreateInfo blend;
    VkDynamicState dynamic_states[2];
    VkPipelineDynamicStateCreateInfo dynamic;
    VkPipelineRenderingCreateInfo rendering;
};

static void fill_stages(struct states *s, const struct kind_objects *made)
{
    static const VkShaderStageFlagBits bits[2] = {VK_SHADER_STAGE_VERTEX_BIT,
                                                  VK_SHADER_STAGE_FRAGMENT_BIT};
    for (int i = 0; i < 2; i++) {
        s->stages[i] = (VkPipelineShaderStageCreateInfo){
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .stage = bits[i],
            .module = made->modules[i],
            .pName = "main",
            .pSpecializationInfo = &s->specialized.info};
    }
}

static void fill_vertex_input(struct states *s, bool mesh, uint32_t variant)
{
    static const VkFormat formats[4] = {VK_FORMAT_R32G32B32_SFLOAT, VK_FORMAT_R32G32B32_SFLOAT,
                                        VK_FORMAT_R32G32_SFLOAT, VK_FORMAT_R32G32B32A32_SFLOAT};
    static const uint32_t offsets[4] = {0, 12, 24, 32};
    s->vertex_binding =
        (VkVertexInputBindingDescription){0, 48 + 16 * (variant % 2), VK_VERTEX_INPUT_RATE_VERTEX};
    for (uint32_t i = 0; i < 4; i++) {
        s->attributes[i] = (VkVertexInputAttributeDescription){i, 0, formats[i], offsets[i]};
    }
    s->vertex_input = (VkPipelineVertexInputStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
        .vertexBindingDescriptionCount = mesh ? 1 : 0,
        .pVertexBindingDescriptions = &s->vertex_binding,
        .vertexAttributeDescriptionCount = mesh ? 4 : 0,
        .pVertexAttributeDescriptions = s->attributes};
    s->input_assembly = (VkPipelineInputAssemblyStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = mesh && variant % 3 == 2 ? VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP
                                             : VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
}

static void fill_rasterization(struct states *s, bool mesh, uint32_t variant)
{
    s->viewport = (VkPipelineViewportStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
        .viewportCount = 1,
        .scissorCount = 1};
    s->rasterization = (VkPipelineRasterizationStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .polygonMode = VK_POLYGON_MODE_FILL,
        .cullMode = mesh && variant % 2 ? VK_CULL_MODE_BACK_BIT : VK_CULL_MODE_NONE,
        .frontFace = VK_FRONT_FACE_COUNTER_CLOCKWISE,
        .depthBiasEnable = mesh && variant % 5 == 4,
        .depthBiasConstantFactor = 1.25f,
        .depthBiasSlopeFactor = 1.75f,
        .lineWidth = 1.0f};
    s->multisample = (VkPipelineMultisampleStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
}

static void fill_output(struct states *s, bool mesh, uint32_t variant)
{
    s->depth_stencil = (VkPipelineDepthStencilStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
        .depthTestEnable = mesh,
        .depthWriteEnable = mesh && variant % 2,
        .depthCompareOp = variant % 3 ? VK_COMPARE_OP_LESS_OR_EQUAL : VK_COMPARE_OP_GREATER};
    s->blend_attachment = (VkPipelineColorBlendAttachmentState){
        .blendEnable = variant % 4 >= 2,
        .srcColorBlendFactor = VK_BLEND_FACTOR_SRC_ALPHA,
        .dstColorBlendFactor =
            variant % 8 == 7 ? VK_BLEND_FACTOR_ONE : VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA,
        .colorBlendOp = VK_BLEND_OP_ADD,
        .srcAlphaBlendFactor = VK_BLEND_FACTOR_ONE,
        .dstAlphaBlendFactor = VK_BLEND_FACTOR_ZERO,
        .alphaBlendOp = VK_BLEND_OP_ADD,
        .colorWriteMask = 0xf};
    s->blend = (VkPipelineColorBlendStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
        .attachmentCount = 1,
        .pAttachments = &s->blend_attachment};
    s->dynamic_states[0] = VK_DYNAMIC_STATE_VIEWPORT;
    s->dynamic_states[1] = VK_DYNAMIC_STATE_SCISSOR;
    s->dynamic = (VkPipelineDynamicStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
        .dynamicStateCount = 2,
        .pDynamicStates = s->dynamic_states};
}

struct description graphics_describe(const struct objects *objects, const struct options *options,
                                     bool dynamic_rendering)
{
    VkGraphicsPipelineCreateInfo *infos = must_allocate(options->graphics, sizeof(*infos));
    struct states *storage = must_allocate(options->graphics, sizeof(*storage));
    for (uint32_t i = 0; i < options->graphics; i++) {
        struct states *s = &storage[i];
        const struct shader_kind *kind = &shaders_graphics.kinds[i % shaders_graphics.count];
        const struct kind_objects *made = objects_of(objects, kind);
        uint32_t variant = i / shaders_graphics.count;
        bool mesh = kind == &shaders_graphics.kinds[0];
        uint32_t colour = variant % COLOUR_FORMAT_COUNT;
        uint32_t depth = mesh ? 1 : 0;
        specialized_fill(&s->specialized, kind, options->seed, variant);
        fill_stages(s, made);
        fill_vertex_input(s, mesh, variant);
        fill_rasterization(s, mesh, variant);
        fill_output(s, mesh, variant);
        s->rendering = (VkPipelineRenderingCreateInfo){
            .sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
            .colorAttachmentCount = 1,
            .pColorAttachmentFormats = &objects_colour_formats[colour],
            .depthAttachmentFormat = objects_depth_formats[depth]};
        infos[i] = (VkGraphicsPipelineCreateInfo){
            .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
            .pNext = dynamic_rendering ? &s->rendering : NULL,
            .stageCount = 2,
            .pStages = s->stages,
            .pVertexInputState = &s->vertex_input,
            .pInputAssemblyState = &s->input_assembly,
            .pViewportState = &s->viewport,
            .pRasterizationState = &s->rasterization,
            .pMultisampleState = &s->multisample,
            .pDepthStencilState = &s->depth_stencil,
            .pColorBlendState = &s->blend,
            .pDynamicState = &s->dynamic,
            .layout = made->layout,
            .renderPass = objects_render_pass(objects, colour, depth),
            .basePipelineIndex = -1};
    }
    return (struct description){infos, storage};
}
