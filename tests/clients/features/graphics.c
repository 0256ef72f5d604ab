// SPDX-License-Identifier: Apache-2.0
#include "features.h"

#define LIBRARY_OF(part) VK_GRAPHICS_PIPELINE_LIBRARY_##part##_BIT_EXT

/* The states of a graphics pipeline with two attachments. Must not move once it is filled. */
struct graphics {
    struct stage vertex;
    struct stage fragment;
    VkPipelineShaderStageCreateInfo stages[2];
    VkPipelineVertexInputStateCreateInfo input;
    VkPipelineInputAssemblyStateCreateInfo assembly;
    VkPipelineViewportStateCreateInfo viewport;
    VkPipelineRasterizationStateCreateInfo rasterization;
    VkPipelineMultisampleStateCreateInfo multisample;
    VkPipelineDepthStencilStateCreateInfo depth_stencil;
    VkPipelineColorBlendAttachmentState attachments[2];
    VkPipelineColorBlendStateCreateInfo blend;
    VkDynamicState dynamic_states[2];
    VkPipelineDynamicStateCreateInfo dynamic;
    VkFormat formats[2];
    VkPipelineRenderingCreateInfo rendering;
};

static void graphics_fill(const struct feature_device *device, struct graphics *g,
                          enum shader fragment, bool with_modules, uint32_t variant)
{
    stage_fill(device, &g->vertex, SHADER_VERTEX, with_modules, variant);
    stage_fill(device, &g->fragment, fragment, with_modules, variant);
    g->stages[0] = g->vertex.info;
    g->stages[1] = g->fragment.info;
    g->input = (VkPipelineVertexInputStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    g->assembly = (VkPipelineInputAssemblyStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP};
    g->viewport = (VkPipelineViewportStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
    g->rasterization = (VkPipelineRasterizationStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .lineWidth = 1};
    g->multisample = (VkPipelineMultisampleStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    g->depth_stencil = (VkPipelineDepthStencilStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO};
    for (size_t i = 0; i < COUNT_OF(g->attachments); i++) {
        g->attachments[i] = (VkPipelineColorBlendAttachmentState){.colorWriteMask = 0xf};
        g->formats[i] = VK_FORMAT_R8G8B8A8_UNORM;
    }
    g->blend = (VkPipelineColorBlendStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
        .attachmentCount = COUNT_OF(g->attachments),
        .pAttachments = g->attachments};
    g->dynamic_states[0] = VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT;
    g->dynamic_states[1] = VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT;
    g->dynamic = (VkPipelineDynamicStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
        .dynamicStateCount = COUNT_OF(g->dynamic_states),
        .pDynamicStates = g->dynamic_states};
    g->rendering =
        (VkPipelineRenderingCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                        .colorAttachmentCount = COUNT_OF(g->formats),
                                        .pColorAttachmentFormats = g->formats};
}

static void graphics_destroy(const struct feature_device *device, const struct graphics *g)
{
    stage_destroy(device, &g->vertex);
    stage_destroy(device, &g->fragment);
}

/* The create-info of these parts. */
static VkGraphicsPipelineCreateInfo graphics_part(const struct feature_device *device,
                                                  const struct graphics *g, const void *next,
                                                  VkGraphicsPipelineLibraryFlagsEXT parts)
{
    VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                         .pNext = next,
                                         .flags = feature_flags(device),
                                         .basePipelineIndex = -1};
    const bool vertex = parts & LIBRARY_OF(PRE_RASTERIZATION_SHADERS);
    const bool fragment = parts & LIBRARY_OF(FRAGMENT_SHADER);
    if (parts & LIBRARY_OF(VERTEX_INPUT_INTERFACE)) {
        info.pVertexInputState = &g->input;
        info.pInputAssemblyState = &g->assembly;
    }
    if (vertex) {
        info.pViewportState = &g->viewport;
        info.pRasterizationState = &g->rasterization;
        info.pDynamicState = &g->dynamic;
    }
    if (fragment) {
        info.pDepthStencilState = &g->depth_stencil;
    }
    if (parts & LIBRARY_OF(FRAGMENT_OUTPUT_INTERFACE)) {
        info.pColorBlendState = &g->blend;
        info.pMultisampleState = &g->multisample;
    }
    if (vertex || fragment) {
        info.layout = device->layout;
        info.stageCount = (uint32_t)vertex + (uint32_t)fragment;
        info.pStages = vertex ? &g->stages[0] : &g->stages[1];
    }
    return info;
}

static VkResult graphics_create(struct feature_device *device,
                                const VkGraphicsPipelineCreateInfo *info, VkPipeline *ret_pipeline)
{
    struct feedback feedback;
    VkGraphicsPipelineCreateInfo with_feedback = *info;
    with_feedback.pNext = feedback_chain(&feedback, info->stageCount, info->pNext);
    *ret_pipeline = VK_NULL_HANDLE;
    const VkResult result = vkCreateGraphicsPipelines(device->device, device->cache, 1,
                                                      &with_feedback, NULL, ret_pipeline);
    feedback_note(&feedback, &device->outcome);
    outcome_note(device, result, *ret_pipeline);
    return result;
}

static void graphics_create_once(struct feature_device *device, const struct graphics *g,
                                 const void *next, VkPipelineCreateFlags flags)
{
    VkGraphicsPipelineCreateInfo info = graphics_part(device, g, next, 0xf);
    info.flags = flags;
    VkPipeline pipeline;
    graphics_create(device, &info, &pipeline);
    vkDestroyPipeline(device->device, pipeline, NULL);
}

void graphics_create_inline(struct feature_device *device, uint32_t variant)
{
    struct graphics g;
    graphics_fill(device, &g, SHADER_FRAGMENT, false, variant);
    const struct pipeline_flags flags = {
        .stype = (VkStructureType)STYPE_PIPELINE_FLAGS_2,
        .next = &g.rendering,
        .flags = feature_flags(device),
    };
    graphics_create_once(device, &g, &flags, VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT);
}

/* A vertex shader alone, whose pipeline names attachments all the same. */
void create_discarding(struct feature_device *device, uint32_t variant)
{
    struct graphics g;
    graphics_fill(device, &g, SHADER_FRAGMENT, true, variant);
    g.rasterization.rasterizerDiscardEnable = VK_TRUE;
    const VkGraphicsPipelineCreateInfo info =
        graphics_part(device, &g, &g.rendering,
                      LIBRARY_OF(VERTEX_INPUT_INTERFACE) | LIBRARY_OF(PRE_RASTERIZATION_SHADERS));
    VkPipeline pipeline;
    graphics_create(device, &info, &pipeline);
    vkDestroyPipeline(device->device, pipeline, NULL);
    graphics_destroy(device, &g);
}

/* The first attachment is read, the second written. */
void create_local_read(struct feature_device *device, uint32_t variant)
{
    static const uint32_t locations[] = {VK_ATTACHMENT_UNUSED, 0};
    static const uint32_t inputs[] = {0, VK_ATTACHMENT_UNUSED};
    struct graphics g;
    graphics_fill(device, &g, SHADER_LOCAL_READ, true, variant);
    const struct local_read_inputs read = {
        .stype = (VkStructureType)STYPE_LOCAL_READ_INPUTS,
        .next = &g.rendering,
        .count = COUNT_OF(inputs),
        .color = inputs,
    };
    const struct local_read_locations written = {
        .stype = (VkStructureType)STYPE_LOCAL_READ_LOCATIONS,
        .next = &read,
        .count = COUNT_OF(locations),
        .locations = locations,
    };
    graphics_create_once(device, &g, &written, feature_flags(device));
    graphics_destroy(device, &g);
}

static void link_libraries(struct feature_device *device, const VkPipeline *libraries,
                           uint32_t count, VkPipelineCreateFlags flags)
{
    const VkPipelineLibraryCreateInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR,
        .libraryCount = count,
        .pLibraries = libraries};
    const VkGraphicsPipelineCreateInfo link = {.sType =
                                                   VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                               .pNext = &info,
                                               .flags = feature_flags(device) | flags,
                                               .layout = device->layout,
                                               .basePipelineIndex = -1};
    VkPipeline pipeline;
    graphics_create(device, &link, &pipeline);
    vkDestroyPipeline(device->device, pipeline, NULL);
}

/* A library for each part, linked in one order quickly and in the other with optimization. `other`:
 * the layout of those without shaders. */
static void create_and_link(struct feature_device *device, uint32_t variant, VkPipelineLayout other)
{
    static const VkGraphicsPipelineLibraryFlagsEXT parts[] = {
        LIBRARY_OF(VERTEX_INPUT_INTERFACE), LIBRARY_OF(PRE_RASTERIZATION_SHADERS),
        LIBRARY_OF(FRAGMENT_SHADER), LIBRARY_OF(FRAGMENT_OUTPUT_INTERFACE)};
    enum { PARTS = COUNT_OF(parts) };
    struct graphics g;
    graphics_fill(device, &g, SHADER_FRAGMENT, true, variant);
    VkPipeline libraries[PARTS];
    VkPipeline reversed[PARTS];
    for (size_t i = 0; i < PARTS; i++) {
        const VkGraphicsPipelineLibraryCreateInfoEXT library = {
            .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT,
            .pNext = &g.rendering,
            .flags = parts[i]};
        VkGraphicsPipelineCreateInfo info = graphics_part(device, &g, &library, parts[i]);
        info.layout = info.stageCount > 0 ? info.layout : other;
        info.flags |= VK_PIPELINE_CREATE_LIBRARY_BIT_KHR |
                      VK_PIPELINE_CREATE_RETAIN_LINK_TIME_OPTIMIZATION_INFO_BIT_EXT;
        graphics_create(device, &info, &libraries[i]);
        reversed[PARTS - 1 - i] = libraries[i];
    }
    link_libraries(device, libraries, PARTS, 0);
    link_libraries(device, reversed, PARTS, VK_PIPELINE_CREATE_LINK_TIME_OPTIMIZATION_BIT_EXT);
    for (size_t i = 0; i < PARTS; i++) {
        vkDestroyPipeline(device->device, libraries[i], NULL);
    }
    graphics_destroy(device, &g);
}

void create_libraries(struct feature_device *device, uint32_t variant)
{
    create_and_link(device, variant, VK_NULL_HANDLE);
}

/* The libraries without shaders have a layout too, and another one than the rest. Vulkan ignores
 * it, RADV hashes it. */
void create_library_layouts(struct feature_device *device, uint32_t variant)
{
    const VkPushConstantRange constants = {VK_SHADER_STAGE_ALL_GRAPHICS, 0, 64};
    const VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = 1,
                                             .pSetLayouts = &device->set_layout,
                                             .pushConstantRangeCount = 1,
                                             .pPushConstantRanges = &constants};
    VkPipelineLayout other;
    feature_must(vkCreatePipelineLayout(device->device, &info, NULL, &other), "layout");
    create_and_link(device, variant, other);
    vkDestroyPipelineLayout(device->device, other, NULL);
}

/* A stage without its code. */
struct identified_stage {
    VkShaderModuleIdentifierEXT identifier;
    VkPipelineShaderStageModuleIdentifierCreateInfoEXT by_identifier;
    VkPipelineShaderStageCreateInfo info;
};

static void identify(struct feature_device *device, const struct stage *stage,
                     struct identified_stage *identified)
{
    PFN_vkGetShaderModuleCreateInfoIdentifierEXT get =
        (PFN_vkGetShaderModuleCreateInfoIdentifierEXT)feature_command(
            device, "vkGetShaderModuleCreateInfoIdentifierEXT");
    identified->identifier =
        (VkShaderModuleIdentifierEXT){.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_IDENTIFIER_EXT};
    get(device->device, &stage->code, &identified->identifier);
    outcome_see(&device->outcome, identified->identifier.identifier,
                identified->identifier.identifierSize);
    identified->by_identifier = (VkPipelineShaderStageModuleIdentifierCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT,
        .identifierSize = identified->identifier.identifierSize,
        .pIdentifier = identified->identifier.identifier};
    identified->info = stage->info;
    identified->info.pNext = &identified->by_identifier;
    identified->info.module = VK_NULL_HANDLE;
}

/* By identifiers alone, and by code only where that is not enough: both with the same flags but
 * one. */
/* Before, a pipeline as any program has it: what asks to fail rather than compile does not wait for
 * a cache that is still being loaded. */
void create_identifiers(struct feature_device *device, uint32_t variant)
{
    if (variant == 0) {
        struct stage stage;
        stage_fill(device, &stage, SHADER_TILE, true, variant);
        compute_create(device, &stage, device->layout, feature_flags(device), NULL);
        stage_destroy(device, &stage);
    }
    struct graphics g;
    graphics_fill(device, &g, SHADER_FRAGMENT, true, variant);
    struct identified_stage vertex;
    struct identified_stage fragment;
    identify(device, &g.vertex, &vertex);
    identify(device, &g.fragment, &fragment);
    const VkPipelineShaderStageCreateInfo stages[] = {vertex.info, fragment.info};
    VkGraphicsPipelineCreateInfo info = graphics_part(device, &g, &g.rendering, 0xf);
    info.flags |= VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
    info.pStages = stages;
    VkPipeline pipeline = VK_NULL_HANDLE;
    if (graphics_create(device, &info, &pipeline) == VK_PIPELINE_COMPILE_REQUIRED) {
        graphics_create_once(device, &g, &g.rendering, feature_flags(device));
    }
    vkDestroyPipeline(device->device, pipeline, NULL);
    graphics_destroy(device, &g);
}
