// SPDX-License-Identifier: Apache-2.0
/* Graphics pipelines: whole, or linked from libraries. */
#include "states.h"

enum { MAX_BATCH = 4 };

/* The parts of a graphics pipeline, as flags of libraries. */
enum {
    INPUT = VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT,
    VERTEX = VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT,
    FRAGMENT = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT,
    OUTPUT = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT,
    WHOLE = INPUT | VERTEX | FRAGMENT | OUTPUT
};

static void draw_local_read(struct item *item, const struct graphics *g, uint32_t parts,
                            const void **next)
{
    uint32_t *numbers = TAKE(item, uint32_t, 2);
    numbers[0] = item_draw(item, 2);
    numbers[1] = 1 - numbers[0];
    if (parts & OUTPUT) {
        struct local_read_locations *locations =
            CHAIN(item, next, STYPE_LOCAL_READ_LOCATIONS, struct local_read_locations);
        locations->count = g->color_count;
        locations->locations = numbers;
    }
    if (parts & FRAGMENT) {
        struct local_read_inputs *inputs =
            CHAIN(item, next, STYPE_LOCAL_READ_INPUTS, struct local_read_inputs);
        inputs->count = g->color_count;
        inputs->color = item_draw(item, 2) ? numbers : NULL;
    }
}

/* The create-info of some parts. */
static VkGraphicsPipelineCreateInfo take_parts(struct item *item, const struct graphics *g,
                                               uint32_t parts, VkPipelineLayout layout,
                                               uint64_t flags)
{
    VkPipelineShaderStageCreateInfo *stages = TAKE(item, VkPipelineShaderStageCreateInfo, 8);
    VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                         .pStages = stages,
                                         .pDynamicState = &g->dynamic_state,
                                         .layout = layout,
                                         .basePipelineIndex = -1};
    const bool discards =
        g->has_discard && !is_dynamic(g, VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE);
    const bool omits = discards && parts & VERTEX && item_chance(item, 50);
    for (uint32_t i = 0; parts & VERTEX && i < g->vertex_stage_count; i++) {
        stages[info.stageCount++] = g->vertex_stages[i];
    }
    if (parts & FRAGMENT && g->has_fragment && !g->has_discard) {
        stages[info.stageCount++] = g->fragment;
    }
    if (parts & INPUT) {
        info.pVertexInputState =
            is_dynamic(g, VK_DYNAMIC_STATE_VERTEX_INPUT_EXT) ? ignored(item, &g->input) : &g->input;
        info.pInputAssemblyState = &g->assembly;
    }
    if (parts & VERTEX) {
        info.pTessellationState =
            g->tessellates ? &g->tessellation
                           : ignored(item, item->device->strict ? NULL : &g->tessellation);
        info.pViewportState = omits ? ignored(item, &g->viewport) : &g->viewport;
        info.pRasterizationState = &g->rasterization;
    }
    if (parts & (FRAGMENT | OUTPUT)) {
        info.pMultisampleState = omits ? ignored(item, &g->multisample) : &g->multisample;
    }
    if (parts & FRAGMENT) {
        info.pDepthStencilState = omits ? ignored(item, &g->depth_stencil) : &g->depth_stencil;
    }
    if (parts & OUTPUT) {
        info.pColorBlendState = omits ? ignored(item, &g->blend) : &g->blend;
    }
    if (parts != INPUT && g->pass) {
        info.renderPass = g->pass;
        info.subpass = g->subpass;
    } else if (parts != INPUT) {
        VkPipelineRenderingCreateInfo *rendering =
            CHAIN(item, &info.pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                  VkPipelineRenderingCreateInfo);
        rendering->viewMask = g->view_mask;
        if (parts & OUTPUT || item_chance(item, 30)) {
            rendering->colorAttachmentCount = g->color_count;
            rendering->pColorAttachmentFormats =
                parts & OUTPUT ? g->colors : ignored(item, g->colors);
            rendering->depthAttachmentFormat = g->depth;
        }
        if (item->device->features.local_read.supported[0] &&
            (g->reads_input || item_chance(item, 15))) {
            draw_local_read(item, g, parts, &info.pNext);
        }
    }
    if (parts != WHOLE) {
        CHAIN(item, &info.pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT,
              VkGraphicsPipelineLibraryCreateInfoEXT)
            ->flags = parts;
    } else if (item_chance(item, 15)) {
        draw_robustness(item, &info.pNext);
    }
    put_flags(item, &info.flags, &info.pNext, flags);
    return info;
}

static void draw_whole(struct item *item)
{
    const struct features *features = &item->device->features;
    const uint32_t count = item_chance(item, 60) ? 1 : 1 + item_draw(item, MAX_BATCH);
    const bool may_fail = features->v13.pipelineCreationCacheControl;
    const bool loose = may_fail && item_chance(item, 10);
    uint64_t common = loose ? VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT : 0;
    common |=
        may_fail && item_chance(item, 15) ? VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT : 0;
    VkGraphicsPipelineCreateInfo infos[MAX_BATCH];
    uint32_t parent = UINT32_MAX;
    const struct layouts sets = create_sets(item, false);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && item_chance(item, 25)) {
            infos[i] = infos[item_draw(item, i)];
            continue;
        }
        const bool is_child = parent != UINT32_MAX && item_chance(item, 50);
        const bool is_parent = !is_child && item_chance(item, 20);
        const uint64_t flags = common | draw_flags(item) |
                               (is_child ? VK_PIPELINE_CREATE_DERIVATIVE_BIT : 0) |
                               (is_parent ? VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT : 0);
        infos[i] = take_parts(item, draw_states(item, true), WHOLE,
                              create_layout(item, &sets, true), flags);
        infos[i].basePipelineIndex = is_child ? (int32_t)parent : -1;
        parent = is_parent ? i : parent;
    }
    item_drop(item, OBJECT_SET_LAYOUT, 50);
    VkGraphicsPipelineCreateInfo again = infos[0];
    VkPipeline pipelines[MAX_BATCH] = {0};
    create_graphics(item, "graphics", count, infos, loose, pipelines);
    bool identified =
        item->device->identifies && item_chance(item, 25) && again.basePipelineIndex < 0;
    VkPipelineShaderStageCreateInfo *stages =
        TAKE(item, VkPipelineShaderStageCreateInfo, again.stageCount);
    for (uint32_t i = 0; i < again.stageCount; i++) {
        stages[i] = again.pStages[i];
        identified = identified && identify_stage(item, &stages[i]);
    }
    if (again.flags & VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT && pipelines[0]) {
        VkGraphicsPipelineCreateInfo child =
            take_parts(item, draw_states(item, true), WHOLE, again.layout,
                       draw_flags(item) | VK_PIPELINE_CREATE_DERIVATIVE_BIT);
        child.basePipelineHandle = pipelines[0];
        VkPipeline derived = VK_NULL_HANDLE;
        create_graphics(item, "derived", 1, &child, false, &derived);
    }
    if (identified) {
        again.pStages = stages;
        fail_to_compile(item, &again.flags, &again.pNext);
        create_graphics(item, "identified", 1, &again, true, pipelines);
    }
}

/* Libraries of one, two or three parts each, created one by one, then linked. */
static void draw_linked(struct item *item)
{
    static const uint32_t cuts[][4] = {{INPUT, VERTEX, FRAGMENT, OUTPUT},
                                       {INPUT, VERTEX, FRAGMENT, OUTPUT},
                                       {INPUT | VERTEX, FRAGMENT | OUTPUT},
                                       {INPUT | OUTPUT, VERTEX | FRAGMENT},
                                       {INPUT, VERTEX | FRAGMENT, OUTPUT}};
    const uint32_t index = item_draw(item, COUNT_OF(cuts));
    const uint32_t *cut = cuts[index];
    /* One with vertex and fragment shaders that discards has states that Vulkan ignores and Mesa
     * does not: the layer keeps such a library in no recipe. */
    const bool may_discard = index < 3;
    const struct layouts sets = create_sets(item, item_chance(item, 60));
    const VkPipelineLayout whole = create_layout(item, &sets, true);
    const struct graphics *g = draw_states(item, may_discard);
    const uint64_t flags = draw_flags(item);
    const bool retains = item_chance(item, 50);
    const uint64_t of_library =
        flags | VK_PIPELINE_CREATE_LIBRARY_BIT_KHR |
        (retains ? VK_PIPELINE_CREATE_RETAIN_LINK_TIME_OPTIMIZATION_INFO_BIT_EXT : 0);
    VkPipeline *libraries = TAKE(item, VkPipeline, 4);
    uint32_t count = 0;
    for (; count < 4 && cut[count]; count++) {
        const uint32_t parts = cut[count];
        VkPipelineLayout layout = create_layout(item, &sets, true);
        if (sets.independent && parts == VERTEX && item_chance(item, 50)) {
            layout = create_layout(item, &sets, false);
        } else if (!(parts & (VERTEX | FRAGMENT)) && item_chance(item, 50)) {
            layout = VK_NULL_HANDLE;
        }
        VkGraphicsPipelineCreateInfo info = take_parts(item, g, parts, layout, of_library);
        create_graphics(item, "library", 1, &info, false, &libraries[count]);
    }
    VkPipelineLibraryCreateInfoKHR use = {.sType =
                                              VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR,
                                          .libraryCount = count,
                                          .pLibraries = libraries};
    if (count == 4 && item_chance(item, 25)) { /* two become one */
        use.libraryCount = 2;
        VkGraphicsPipelineCreateInfo info = {.sType =
                                                 VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                             .pNext = &use,
                                             .layout = whole,
                                             .basePipelineIndex = -1};
        put_flags(item, &info.flags, &info.pNext, of_library);
        create_graphics(item, "combined", 1, &info, false, &libraries[1]);
        use.libraryCount = count - 1;
        use.pLibraries = libraries + 1;
    }
    item_drop(item, OBJECT_SET_LAYOUT, 50);
    item_drop(item, OBJECT_MODULE, 50);
    for (uint32_t i = 0; i < 1 + item_draw(item, 2); i++) {
        const bool optimizes = retains && item_draw(item, 2);
        VkGraphicsPipelineCreateInfo info = {.sType =
                                                 VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                             .pNext = &use,
                                             .layout = whole,
                                             .basePipelineIndex = -1};
        put_flags(item, &info.flags, &info.pNext,
                  flags | (optimizes ? VK_PIPELINE_CREATE_LINK_TIME_OPTIMIZATION_BIT_EXT : 0));
        VkPipeline linked = VK_NULL_HANDLE;
        create_graphics(item, optimizes ? "optimized" : "linked", 1, &info, false, &linked);
    }
}

void draw_graphics(struct item *item)
{
    if (item->device->features.libraries.graphicsPipelineLibrary && item_chance(item, 35)) {
        draw_linked(item);
    } else {
        draw_whole(item);
    }
    item_drop(item, OBJECT_MODULE, 50);
    item_drop(item, OBJECT_RENDER_PASS, 50);
    item_drop(item, OBJECT_LAYOUT, item->device->features.v13.maintenance4 ? 50 : 0);
}
