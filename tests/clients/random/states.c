// SPDX-License-Identifier: Apache-2.0
#include "states.h"

#define FEATURE(member) offsetof(struct features, member)
#define VULKAN_1_3      FEATURE(v13.dynamicRendering) /* which all devices have with it */

static const struct {
    VkDynamicState state;
    size_t feature; /* which a device must have; 0: none */
} dynamic_states[] = {
    {VK_DYNAMIC_STATE_LINE_WIDTH, 0},
    {VK_DYNAMIC_STATE_DEPTH_BIAS, 0},
    {VK_DYNAMIC_STATE_BLEND_CONSTANTS, 0},
    {VK_DYNAMIC_STATE_DEPTH_BOUNDS, 0},
    {VK_DYNAMIC_STATE_STENCIL_COMPARE_MASK, 0},
    {VK_DYNAMIC_STATE_STENCIL_REFERENCE, 0},
    {VK_DYNAMIC_STATE_CULL_MODE, VULKAN_1_3},
    {VK_DYNAMIC_STATE_FRONT_FACE, VULKAN_1_3},
    {VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY, VULKAN_1_3},
    {VK_DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE, VULKAN_1_3},
    {VK_DYNAMIC_STATE_DEPTH_TEST_ENABLE, VULKAN_1_3},
    {VK_DYNAMIC_STATE_DEPTH_WRITE_ENABLE, VULKAN_1_3},
    {VK_DYNAMIC_STATE_DEPTH_COMPARE_OP, VULKAN_1_3},
    {VK_DYNAMIC_STATE_STENCIL_TEST_ENABLE, VULKAN_1_3},
    {VK_DYNAMIC_STATE_STENCIL_OP, VULKAN_1_3},
    {VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE, VULKAN_1_3},
    {VK_DYNAMIC_STATE_DEPTH_BIAS_ENABLE, VULKAN_1_3},
    {VK_DYNAMIC_STATE_PATCH_CONTROL_POINTS_EXT,
     FEATURE(dynamic2.extendedDynamicState2PatchControlPoints)},
    {VK_DYNAMIC_STATE_LOGIC_OP_EXT, FEATURE(dynamic2.extendedDynamicState2LogicOp)},
    {VK_DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT, FEATURE(color_write.colorWriteEnable)},
#define DYNAMIC3(state, member)                                                                    \
    VK_DYNAMIC_STATE_##state##_EXT, FEATURE(dynamic3.extendedDynamicState3##member)
    {DYNAMIC3(TESSELLATION_DOMAIN_ORIGIN, TessellationDomainOrigin)},
    {DYNAMIC3(DEPTH_CLAMP_ENABLE, DepthClampEnable)},
    {DYNAMIC3(POLYGON_MODE, PolygonMode)},
    {DYNAMIC3(RASTERIZATION_SAMPLES, RasterizationSamples)},
    {DYNAMIC3(SAMPLE_MASK, SampleMask)},
    {DYNAMIC3(ALPHA_TO_COVERAGE_ENABLE, AlphaToCoverageEnable)},
    {DYNAMIC3(ALPHA_TO_ONE_ENABLE, AlphaToOneEnable)},
    {DYNAMIC3(LOGIC_OP_ENABLE, LogicOpEnable)},
    {DYNAMIC3(COLOR_BLEND_ENABLE, ColorBlendEnable)},
    {DYNAMIC3(COLOR_BLEND_EQUATION, ColorBlendEquation)},
    {DYNAMIC3(COLOR_WRITE_MASK, ColorWriteMask)},
    {DYNAMIC3(DEPTH_CLIP_ENABLE, DepthClipEnable)},
    {DYNAMIC3(PROVOKING_VERTEX_MODE, ProvokingVertexMode)},
    {DYNAMIC3(LINE_RASTERIZATION_MODE, LineRasterizationMode)},
    {DYNAMIC3(LINE_STIPPLE_ENABLE, LineStippleEnable)},
    {DYNAMIC3(DEPTH_CLIP_NEGATIVE_ONE_TO_ONE, DepthClipNegativeOneToOne)},
};

_Static_assert(COUNT_OF(dynamic_states) + 4 <= MAX_DYNAMIC, "all at once");

bool is_dynamic(const struct graphics *g, VkDynamicState state)
{
    for (uint32_t i = 0; i < g->dynamic_count; i++) {
        if (g->dynamic[i] == state) {
            return true;
        }
    }
    return false;
}

const void *ignored(struct item *item, const void *valid)
{
    const uint32_t choice = item_draw(item, 3);
    return item->device->strict || choice == 0 ? valid
           : choice == 1                       ? NULL
                                               : (const void *)(uintptr_t)8;
}

static void draw_dynamic(struct item *item, struct graphics *g)
{
    const struct features *features = &item->device->features;
    const uint32_t percent = 35 * item_draw(item, 3);
    for (size_t i = 0; i < COUNT_OF(dynamic_states); i++) {
        const VkBool32 *feature =
            (const VkBool32 *)((const char *)features + dynamic_states[i].feature);
        if (item_chance(item, percent) && (dynamic_states[i].feature == 0 || *feature)) {
            g->dynamic[g->dynamic_count++] = dynamic_states[i].state;
        }
    }
    if (item_chance(item, percent)) {
        g->dynamic[g->dynamic_count++] = features->dynamic_input.vertexInputDynamicState
                                             ? VK_DYNAMIC_STATE_VERTEX_INPUT_EXT
                                             : VK_DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE;
    }
    const bool with_count = item_chance(item, 30) && features->v13.dynamicRendering;
    if (with_count || item_chance(item, 50)) {
        g->dynamic[g->dynamic_count++] =
            with_count ? VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT : VK_DYNAMIC_STATE_VIEWPORT;
    }
    if (with_count || item_chance(item, 50)) {
        g->dynamic[g->dynamic_count++] =
            with_count ? VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT : VK_DYNAMIC_STATE_SCISSOR;
    }
    for (uint32_t i = g->dynamic_count; i > 1; i--) { /* the order is no part of it */
        const uint32_t other = item_draw(item, i);
        const VkDynamicState state = g->dynamic[other];
        g->dynamic[other] = g->dynamic[i - 1];
        g->dynamic[i - 1] = state;
    }
    g->dynamic_state = (VkPipelineDynamicStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
        .dynamicStateCount = g->dynamic_count,
        .pDynamicStates = g->dynamic};
}

static void draw_input(struct item *item, struct graphics *g)
{
    VkVertexInputBindingDescription *bindings = TAKE(item, VkVertexInputBindingDescription, 2);
    VkVertexInputAttributeDescription *attributes =
        TAKE(item, VkVertexInputAttributeDescription, 2);
    bindings[0] = (VkVertexInputBindingDescription){0, 16 << item_draw(item, 2), 0};
    bindings[1] = (VkVertexInputBindingDescription){1, 16, (VkVertexInputRate)item_draw(item, 2)};
    attributes[0] = (VkVertexInputAttributeDescription){
        0, 0, item_draw(item, 2) ? VK_FORMAT_R8G8B8A8_UNORM : VK_FORMAT_R32G32B32A32_SFLOAT, 0};
    attributes[1] =
        (VkVertexInputAttributeDescription){1, 1, VK_FORMAT_R16G16_SFLOAT, 4 * item_draw(item, 2)};
    g->input = (VkPipelineVertexInputStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
        .vertexBindingDescriptionCount = 2,
        .pVertexBindingDescriptions = bindings,
        .vertexAttributeDescriptionCount = 2,
        .pVertexAttributeDescriptions = attributes};
    if (bindings[1].inputRate &&
        item->device->features.divisor.vertexAttributeInstanceRateDivisor &&
        item_chance(item, 50)) {
        VkVertexInputBindingDivisorDescriptionEXT *divisor =
            TAKE(item, VkVertexInputBindingDivisorDescriptionEXT, 1);
        *divisor = (VkVertexInputBindingDivisorDescriptionEXT){1, 1 + item_draw(item, 3)};
        VkPipelineVertexInputDivisorStateCreateInfoEXT *chained =
            CHAIN(item, &g->input.pNext,
                  VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_EXT,
                  VkPipelineVertexInputDivisorStateCreateInfoEXT);
        chained->vertexBindingDivisorCount = 1;
        chained->pVertexBindingDivisors = divisor;
    }
    g->assembly = (VkPipelineInputAssemblyStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = g->tessellates              ? VK_PRIMITIVE_TOPOLOGY_PATCH_LIST
                    : g->vertex_stage_count > 1 ? VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST
                                                : (VkPrimitiveTopology)item_draw(item, 5)};
    g->assembly.primitiveRestartEnable =
        (g->assembly.topology == VK_PRIMITIVE_TOPOLOGY_LINE_STRIP ||
         g->assembly.topology == VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP) &&
        item_chance(item, 40);
}

static void draw_stages(struct item *item, struct graphics *g)
{
    const VkPhysicalDeviceFeatures *core = &item->device->features.core.features;
    g->tessellates = core->tessellationShader && g->view_mask == 0 && item_chance(item, 20);
    g->vertex_stages[g->vertex_stage_count++] = create_stage(item, SHADER_VERTEX);
    if (g->tessellates) {
        g->vertex_stages[g->vertex_stage_count++] = create_stage(item, SHADER_CONTROL);
        g->vertex_stages[g->vertex_stage_count++] = create_stage(item, SHADER_EVALUATION);
    }
    if (core->geometryShader && g->view_mask == 0 && item_chance(item, 20)) {
        g->vertex_stages[g->vertex_stage_count++] = create_stage(item, SHADER_GEOMETRY);
    }
    g->has_fragment = item_chance(item, 93);
    g->fragment = create_stage(item, g->reads_input ? SHADER_INPUT : SHADER_FRAGMENT);
    g->tessellation = (VkPipelineTessellationStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_TESSELLATION_STATE_CREATE_INFO,
        .patchControlPoints = 3};
    if (item_chance(item, 40)) {
        CHAIN(item, &g->tessellation.pNext,
              VK_STRUCTURE_TYPE_PIPELINE_TESSELLATION_DOMAIN_ORIGIN_STATE_CREATE_INFO,
              VkPipelineTessellationDomainOriginStateCreateInfo)
            ->domainOrigin = (VkTessellationDomainOrigin)item_draw(item, 2);
    }
}

static void draw_rasterization(struct item *item, struct graphics *g)
{
    const struct features *features = &item->device->features;
    const VkPhysicalDeviceFeatures *core = &features->core.features;
    VkViewport *viewports = TAKE(item, VkViewport, 1);
    VkRect2D *scissors = TAKE(item, VkRect2D, 1);
    *viewports = (VkViewport){(float)item_draw(item, 2), 0, 64, 64, 0, 1};
    scissors->extent = (VkExtent2D){64, 64};
    const bool with_count = is_dynamic(g, VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT);
    g->viewport = (VkPipelineViewportStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
        .viewportCount = with_count ? 0 : 1,
        .pViewports = viewports,
        .scissorCount = with_count ? 0 : 1,
        .pScissors = scissors};
    if (with_count || is_dynamic(g, VK_DYNAMIC_STATE_VIEWPORT)) {
        g->viewport.pViewports = ignored(item, viewports);
    }
    if (with_count || is_dynamic(g, VK_DYNAMIC_STATE_SCISSOR)) {
        g->viewport.pScissors = ignored(item, scissors);
    }
    if (features->clip_control.depthClipControl && item_chance(item, 15)) {
        CHAIN(item, &g->viewport.pNext,
              VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_DEPTH_CLIP_CONTROL_CREATE_INFO_EXT,
              VkPipelineViewportDepthClipControlCreateInfoEXT)
            ->negativeOneToOne = item_draw(item, 2);
    }
    VkPipelineRasterizationStateCreateInfo *r = &g->rasterization;
    *r = (VkPipelineRasterizationStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .depthClampEnable = core->depthClamp && item_chance(item, 20),
        .rasterizerDiscardEnable = g->has_discard,
        .polygonMode = core->fillModeNonSolid ? (VkPolygonMode)item_draw(item, 3) : 0,
        .cullMode = item_draw(item, 4),
        .frontFace = (VkFrontFace)item_draw(item, 2),
        .depthBiasEnable = item_chance(item, 20),
        .depthBiasConstantFactor = (float)item_draw(item, 2),
        .lineWidth = 1};
    if (features->depth_clip.depthClipEnable && item_chance(item, 15)) {
        CHAIN(item, &r->pNext,
              VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_DEPTH_CLIP_STATE_CREATE_INFO_EXT,
              VkPipelineRasterizationDepthClipStateCreateInfoEXT)
            ->depthClipEnable = item_draw(item, 2);
    }
    if (item->device->conservative && g->assembly.topology >= VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST &&
        item_chance(item, 15)) {
        CHAIN(item, &r->pNext,
              VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_CONSERVATIVE_STATE_CREATE_INFO_EXT,
              VkPipelineRasterizationConservativeStateCreateInfoEXT)
            ->conservativeRasterizationMode =
            (VkConservativeRasterizationModeEXT)item_draw(item, 3);
    }
    if (features->provoking.provokingVertexLast && item_chance(item, 15)) {
        CHAIN(item, &r->pNext,
              VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_PROVOKING_VERTEX_STATE_CREATE_INFO_EXT,
              VkPipelineRasterizationProvokingVertexStateCreateInfoEXT)
            ->provokingVertexMode = (VkProvokingVertexModeEXT)item_draw(item, 2);
    }
    if (features->lines.bresenhamLines && item_chance(item, 15)) {
        VkPipelineRasterizationLineStateCreateInfoEXT *line = CHAIN(
            item, &r->pNext, VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_LINE_STATE_CREATE_INFO_EXT,
            VkPipelineRasterizationLineStateCreateInfoEXT);
        line->lineRasterizationMode = VK_LINE_RASTERIZATION_MODE_BRESENHAM_EXT;
        line->stippledLineEnable = features->lines.stippledBresenhamLines && item_draw(item, 2);
        line->lineStippleFactor = 1 + item_draw(item, 2);
        line->lineStipplePattern = 0xf0f0;
    }
}

static void draw_output(struct item *item, struct graphics *g)
{
    const struct features *features = &item->device->features;
    const VkPhysicalDeviceFeatures *core = &features->core.features;
    VkSampleMask *mask = TAKE(item, VkSampleMask, 1);
    *mask = item_draw(item, 2) ? 0x5 : 0xffffffff;
    g->multisample = (VkPipelineMultisampleStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = g->samples,
        .sampleShadingEnable = core->sampleRateShading && item_chance(item, 15),
        .minSampleShading = 0.5f,
        .pSampleMask = item_chance(item, 40) ? mask : NULL,
        .alphaToCoverageEnable = g->color_count && g->colors[0] && item_chance(item, 15),
        .alphaToOneEnable = core->alphaToOne && item_chance(item, 10)};
    g->depth_stencil = (VkPipelineDepthStencilStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
        .depthTestEnable = item_draw(item, 2),
        .depthWriteEnable = item_draw(item, 2),
        .depthCompareOp = (VkCompareOp)item_draw(item, 8),
        .depthBoundsTestEnable = core->depthBounds && item_chance(item, 15),
        .front.compareOp = (VkCompareOp)item_draw(item, 8),
        .maxDepthBounds = 1};
    VkPipelineColorBlendAttachmentState *attachments =
        TAKE(item, VkPipelineColorBlendAttachmentState, 2);
    for (uint32_t i = 0; i < 2; i++) {
        if (i > 0 && !core->independentBlend) {
            attachments[i] = attachments[0];
            continue;
        }
        attachments[i] = (VkPipelineColorBlendAttachmentState){
            .blendEnable = item_chance(item, 50),
            .srcColorBlendFactor = (VkBlendFactor)item_draw(item, 15),
            .dstColorBlendFactor = (VkBlendFactor)item_draw(item, 15),
            .srcAlphaBlendFactor = (VkBlendFactor)item_draw(item, 15),
            .dstAlphaBlendFactor = (VkBlendFactor)item_draw(item, 15),
            .colorBlendOp = (VkBlendOp)item_draw(item, 5),
            .alphaBlendOp = (VkBlendOp)item_draw(item, 5),
            .colorWriteMask = item_draw(item, 16)};
    }
    g->blend = (VkPipelineColorBlendStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
        .logicOpEnable = core->logicOp && item_chance(item, 8),
        .logicOp = (VkLogicOp)item_draw(item, 16),
        .attachmentCount = g->color_count,
        .pAttachments = attachments,
        .blendConstants = {(float)item_draw(item, 2)}};
    if (features->color_write.colorWriteEnable && item_chance(item, 15)) {
        VkBool32 *enables = TAKE(item, VkBool32, 2);
        enables[item_draw(item, 2)] = VK_TRUE;
        VkPipelineColorWriteCreateInfoEXT *chained =
            CHAIN(item, &g->blend.pNext, VK_STRUCTURE_TYPE_PIPELINE_COLOR_WRITE_CREATE_INFO_EXT,
                  VkPipelineColorWriteCreateInfoEXT);
        chained->attachmentCount = g->color_count;
        chained->pColorWriteEnables = enables;
    }
}

/* A render pass with the attachments of the pipeline. */
static void draw_pass(struct item *item, struct graphics *g)
{
    VkAttachmentDescription2 attachments[4];
    VkAttachmentReference2 colors[2], depth, input;
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->color_count + 1; i++) {
        const bool is_depth = i == g->color_count;
        const VkFormat format = is_depth ? g->depth : g->colors[i];
        VkAttachmentReference2 *reference = is_depth ? &depth : &colors[i];
        *reference = (VkAttachmentReference2){.sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2,
                                              .attachment = format ? count : VK_ATTACHMENT_UNUSED,
                                              .layout = VK_IMAGE_LAYOUT_GENERAL,
                                              .aspectMask = is_depth ? VK_IMAGE_ASPECT_DEPTH_BIT
                                                                     : VK_IMAGE_ASPECT_COLOR_BIT};
        if (format) {
            attachments[count++] =
                (VkAttachmentDescription2){.sType = VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_2,
                                           .format = format,
                                           .samples = g->samples,
                                           .loadOp = (VkAttachmentLoadOp)item_draw(item, 3),
                                           .storeOp = (VkAttachmentStoreOp)item_draw(item, 2),
                                           .initialLayout = VK_IMAGE_LAYOUT_GENERAL,
                                           .finalLayout = VK_IMAGE_LAYOUT_GENERAL};
        }
    }
    input = colors[0];
    const uint32_t subpasses = 1 + item_draw(item, 2);
    g->subpass = item_draw(item, subpasses);
    VkSubpassDescription2 descriptions[2];
    for (uint32_t i = 0; i < subpasses; i++) {
        descriptions[i] = (VkSubpassDescription2){
            .sType = VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_2,
            .viewMask = g->view_mask,
            .inputAttachmentCount = g->reads_input ? 1 : 0,
            .pInputAttachments = &input,
            .colorAttachmentCount = g->color_count,
            .pColorAttachments = colors,
            .pDepthStencilAttachment = g->depth || item_chance(item, 30) ? &depth : NULL};
    }
    const VkRenderPassCreateInfo2 info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2,
                                          .attachmentCount = count,
                                          .pAttachments = attachments,
                                          .subpassCount = subpasses,
                                          .pSubpasses = descriptions};
    must(vkCreateRenderPass2(item->device->device, &info, NULL, &g->pass), "render pass");
    OWN(item, OBJECT_RENDER_PASS, g->pass);
}

struct graphics *draw_states(struct item *item, bool may_discard)
{
    static const VkFormat formats[] = {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_B8G8R8A8_SRGB,
                                       VK_FORMAT_R16G16B16A16_SFLOAT, VK_FORMAT_UNDEFINED};
    const struct features *features = &item->device->features;
    struct graphics *g = TAKE(item, struct graphics, 1);
    g->color_count = item_draw(item, 3);
    g->colors[0] = formats[item_draw(item, 4)];
    g->colors[1] = formats[item_draw(item, 4)];
    g->depth = item_draw(item, 2) ? VK_FORMAT_D32_SFLOAT : VK_FORMAT_UNDEFINED;
    g->samples = item_chance(item, 25) ? VK_SAMPLE_COUNT_4_BIT : VK_SAMPLE_COUNT_1_BIT;
    g->view_mask = features->v11.multiview && item_chance(item, 15) ? 3 : 0;
    g->has_discard = item_chance(item, 10) && may_discard;
    const bool with_pass = !features->v13.dynamicRendering || item_chance(item, 35);
    g->reads_input = (with_pass || features->local_read.supported[0]) && g->color_count &&
                     g->colors[0] && item_chance(item, 30);
    if (with_pass) {
        draw_pass(item, g);
    }
    draw_dynamic(item, g);
    draw_stages(item, g);
    draw_input(item, g);
    draw_rasterization(item, g);
    draw_output(item, g);
    return g;
}
