// SPDX-License-Identifier: Apache-2.0
#include <time.h>

#include "descriptor_heap.h"
#include "heaps.h"
#include "spirv/cull_comp.h"
#include "spirv/mesh_vert.h"
#include "spirv/surface_frag.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

#define LIBRARY_OF(part) VK_GRAPHICS_PIPELINE_LIBRARY_##part##_BIT_EXT

/* What a stage is made of, chained one behind the other. */
struct stage {
    VkSpecializationMapEntry entry;
    uint32_t steps;
    VkSpecializationInfo constants;
    struct heap_mapping mappings[4];
    struct heap_mapping_info mapping_info;
    VkSamplerCreateInfo embedded;
    VkShaderModuleCreateInfo code;
    VkShaderModuleIdentifierEXT identifier;
    VkPipelineShaderStageModuleIdentifierCreateInfoEXT by_identifier;
    VkPipelineShaderStageCreateInfo info;
};

static struct heap_mapping mapping(uint32_t set, uint32_t binding, uint32_t mask, uint32_t source)
{
    return (struct heap_mapping){
        .stype = (VkStructureType)HEAP_STYPE_MAPPING,
        .set = set,
        .first_binding = binding,
        .binding_count = 1,
        .resource_mask = mask,
        .source = source,
    };
}

static void fill_mappings(struct stage *stage)
{
    stage->embedded = (VkSamplerCreateInfo){
        .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
        .magFilter = VK_FILTER_LINEAR,
        .minFilter = VK_FILTER_LINEAR,
        .compareOp = VK_COMPARE_OP_NEVER,
        .maxLod = 16,
    };
    struct heap_mapping *mappings = stage->mappings;
    mappings[0] = mapping(0, 0, HEAP_RESOURCE_ALL, HEAP_SOURCE_PUSH_INDEX);
    mappings[0].data.push_index =
        (struct heap_push_index){.heap_index_stride = 64, .heap_array_stride = 64};
    mappings[1] = mapping(0, 1, HEAP_RESOURCE_ALL, HEAP_SOURCE_CONSTANT_OFFSET);
    mappings[1].data.constant_offset =
        (struct heap_constant_offset){.heap_offset = 4096, .heap_array_stride = 64};
    mappings[2] = mapping(0, 2, HEAP_RESOURCE_ALL, HEAP_SOURCE_PUSH_INDEX);
    mappings[2].data.push_index = (struct heap_push_index){.heap_offset = 64,
                                                           .heap_index_stride = 64,
                                                           .heap_array_stride = 64,
                                                           .embedded_sampler = &stage->embedded};
    mappings[3] = mapping(1, 0, HEAP_RESOURCE_UNIFORM_BUFFER, HEAP_SOURCE_PUSH_ADDRESS);
    mappings[3].data.push_address_offset = 16;
    stage->mapping_info = (struct heap_mapping_info){
        .stype = (VkStructureType)HEAP_STYPE_MAPPING_INFO,
        .count = COUNT_OF(stage->mappings),
        .mappings = mappings,
    };
}

static void fill_stage(struct stage *stage, VkShaderStageFlagBits bit, const uint32_t *code,
                       size_t code_size, uint32_t variant)
{
    fill_mappings(stage);
    stage->steps = 1 + variant;
    stage->entry = (VkSpecializationMapEntry){0, 0, sizeof stage->steps};
    stage->constants = (VkSpecializationInfo){1, &stage->entry, sizeof stage->steps, &stage->steps};
    stage->code = (VkShaderModuleCreateInfo){
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .pNext = &stage->mapping_info,
        .codeSize = code_size,
        .pCode = code,
    };
    stage->info = (VkPipelineShaderStageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
        .pNext = &stage->code,
        .stage = bit,
        .pName = "main",
        .pSpecializationInfo = &stage->constants,
    };
}

/* The stage without its code. */
static VkPipelineShaderStageCreateInfo identified(const struct heaps_device *device,
                                                  struct stage *stage)
{
    VkShaderModuleCreateInfo code = stage->code;
    code.pNext = NULL;
    stage->identifier =
        (VkShaderModuleIdentifierEXT){.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_IDENTIFIER_EXT};
    device->get_identifier(device->device, &code, &stage->identifier);
    stage->by_identifier = (VkPipelineShaderStageModuleIdentifierCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT,
        .pNext = &stage->mapping_info,
        .identifierSize = stage->identifier.identifierSize,
        .pIdentifier = stage->identifier.identifier,
    };
    VkPipelineShaderStageCreateInfo info = stage->info;
    info.pNext = &stage->by_identifier;
    return info;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void note(struct heaps_count *count, VkResult result, uint64_t start_ns)
{
    count->ns += now_ns() - start_ns;
    count->calls++;
    count->compile_required += result == VK_PIPELINE_COMPILE_REQUIRED;
    count->failures += result != VK_SUCCESS && result != VK_PIPELINE_COMPILE_REQUIRED;
}

static struct heap_pipeline_flags flags_of(uint64_t flags, const void *next)
{
    return (struct heap_pipeline_flags){
        .stype = (VkStructureType)HEAP_STYPE_PIPELINE_FLAGS_2,
        .next = next,
        .flags = HEAP_PIPELINE_DESCRIPTOR_HEAP | flags,
    };
}

static void create_compute(const struct heaps_device *device, uint32_t variant,
                           struct heaps_count *count)
{
    struct stage stage;
    fill_stage(&stage, VK_SHADER_STAGE_COMPUTE_BIT, cull_comp, sizeof cull_comp, variant);
    const struct heap_pipeline_flags flags = flags_of(0, NULL);
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .pNext = &flags,
        .stage = stage.info,
        .basePipelineIndex = -1,
    };
    VkPipeline pipeline = VK_NULL_HANDLE;
    const uint64_t start_ns = now_ns();
    note(count, vkCreateComputePipelines(device->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline),
         start_ns);
    vkDestroyPipeline(device->device, pipeline, NULL);
}

/* The states of a graphics pipeline, and its libraries. */
struct graphics {
    struct stage vertex;
    struct stage fragment;
    VkPipelineShaderStageCreateInfo stages[2];
    VkVertexInputBindingDescription binding;
    VkVertexInputAttributeDescription attribute;
    VkPipelineVertexInputStateCreateInfo input;
    VkPipelineInputAssemblyStateCreateInfo assembly;
    VkPipelineViewportStateCreateInfo viewport;
    VkPipelineRasterizationStateCreateInfo rasterization;
    VkPipelineMultisampleStateCreateInfo multisample;
    VkPipelineDepthStencilStateCreateInfo depth_stencil;
    VkPipelineColorBlendAttachmentState attachment;
    VkPipelineColorBlendStateCreateInfo blend;
    VkDynamicState dynamic_states[3];
    VkPipelineDynamicStateCreateInfo dynamic;
    VkFormat format;
    VkPipelineRenderingCreateInfo rendering;
};

static void fill_states(struct graphics *g)
{
    g->binding = (VkVertexInputBindingDescription){0, 16, VK_VERTEX_INPUT_RATE_VERTEX};
    g->attribute = (VkVertexInputAttributeDescription){0, 0, VK_FORMAT_R32G32B32A32_SFLOAT, 0};
    g->input = (VkPipelineVertexInputStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
        .vertexBindingDescriptionCount = 1,
        .pVertexBindingDescriptions = &g->binding,
        .vertexAttributeDescriptionCount = 1,
        .pVertexAttributeDescriptions = &g->attribute,
    };
    g->assembly = (VkPipelineInputAssemblyStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
    };
    g->viewport = (VkPipelineViewportStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
    g->rasterization = (VkPipelineRasterizationStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .lineWidth = 1,
    };
    g->multisample = (VkPipelineMultisampleStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
    };
    g->depth_stencil = (VkPipelineDepthStencilStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO};
    g->attachment = (VkPipelineColorBlendAttachmentState){.colorWriteMask = 0xf};
    g->blend = (VkPipelineColorBlendStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
        .attachmentCount = 1,
        .pAttachments = &g->attachment,
    };
    g->dynamic_states[0] = VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT;
    g->dynamic_states[1] = VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT;
    g->dynamic_states[2] = VK_DYNAMIC_STATE_CULL_MODE;
    g->dynamic = (VkPipelineDynamicStateCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
        .dynamicStateCount = COUNT_OF(g->dynamic_states),
        .pDynamicStates = g->dynamic_states,
    };
    g->format = VK_FORMAT_R8G8B8A8_UNORM;
    g->rendering = (VkPipelineRenderingCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
        .colorAttachmentCount = 1,
        .pColorAttachmentFormats = &g->format,
    };
}

/* The create-info of the whole pipeline, or of the parts in `parts`. */
static VkGraphicsPipelineCreateInfo part_of(const struct graphics *g, const void *next,
                                            VkGraphicsPipelineLibraryFlagsEXT parts)
{
    VkGraphicsPipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
        .pNext = next,
        .basePipelineIndex = -1,
    };
    if (parts & LIBRARY_OF(VERTEX_INPUT_INTERFACE)) {
        info.pVertexInputState = &g->input;
        info.pInputAssemblyState = &g->assembly;
    }
    if (parts & LIBRARY_OF(PRE_RASTERIZATION_SHADERS)) {
        info.pViewportState = &g->viewport;
        info.pRasterizationState = &g->rasterization;
        info.pDynamicState = &g->dynamic;
    }
    if (parts & LIBRARY_OF(FRAGMENT_SHADER)) {
        info.pDepthStencilState = &g->depth_stencil;
    }
    if (parts & LIBRARY_OF(FRAGMENT_OUTPUT_INTERFACE)) {
        info.pColorBlendState = &g->blend;
        info.pMultisampleState = &g->multisample;
    }
    return info;
}

static VkResult create(const struct heaps_device *device, const VkGraphicsPipelineCreateInfo *info,
                       struct heaps_count *count, VkPipeline *ret_pipeline)
{
    *ret_pipeline = VK_NULL_HANDLE;
    const uint64_t start_ns = now_ns();
    VkResult result =
        vkCreateGraphicsPipelines(device->device, VK_NULL_HANDLE, 1, info, NULL, ret_pipeline);
    note(count, result, start_ns);
    count->without_stages += info->stageCount == 0;
    return result;
}

/* A library of one part; one with a stage by its identifier first. */
static VkPipeline create_library(const struct heaps_device *device, const struct graphics *g,
                                 VkGraphicsPipelineLibraryFlagsEXT part, struct stage *stage,
                                 struct heaps_count *count)
{
    const VkPipelineRenderingCreateInfo no_formats = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO};
    const void *rendering =
        part == LIBRARY_OF(FRAGMENT_OUTPUT_INTERFACE) ? &g->rendering : &no_formats;
    struct heap_pipeline_flags flags = flags_of(
        HEAP_PIPELINE_LIBRARY, part == LIBRARY_OF(VERTEX_INPUT_INTERFACE) ? NULL : rendering);
    const VkGraphicsPipelineLibraryCreateInfoEXT library = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT,
        .pNext = &flags,
        .flags = part,
    };
    VkGraphicsPipelineCreateInfo info = part_of(g, &library, part);
    VkPipeline pipeline;
    if (stage) {
        const VkPipelineShaderStageCreateInfo by_identifier = identified(device, stage);
        info.stageCount = 1;
        info.pStages = &by_identifier;
        flags.flags |= HEAP_PIPELINE_FAIL_ON_COMPILE_REQUIRED;
        if (create(device, &info, count, &pipeline) == VK_SUCCESS) {
            return pipeline;
        }
        info.pStages = &stage->info;
        flags.flags &= ~HEAP_PIPELINE_FAIL_ON_COMPILE_REQUIRED;
    }
    create(device, &info, count, &pipeline);
    return pipeline;
}

static void create_graphics(const struct heaps_device *device, uint32_t variant,
                            struct heaps_count *count)
{
    struct graphics g;
    fill_stage(&g.vertex, VK_SHADER_STAGE_VERTEX_BIT, mesh_vert, sizeof mesh_vert, variant);
    fill_stage(&g.fragment, VK_SHADER_STAGE_FRAGMENT_BIT, surface_frag, sizeof surface_frag,
               variant);
    fill_states(&g);
    VkPipeline pipelines[6];
    pipelines[0] = create_library(device, &g, LIBRARY_OF(VERTEX_INPUT_INTERFACE), NULL, count);
    pipelines[1] =
        create_library(device, &g, LIBRARY_OF(PRE_RASTERIZATION_SHADERS), &g.vertex, count);
    pipelines[2] = create_library(device, &g, LIBRARY_OF(FRAGMENT_SHADER), &g.fragment, count);
    pipelines[3] = create_library(device, &g, LIBRARY_OF(FRAGMENT_OUTPUT_INTERFACE), NULL, count);

    const struct heap_pipeline_flags link_flags = flags_of(0, NULL);
    const VkPipelineLibraryCreateInfoKHR libraries = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR,
        .pNext = &link_flags,
        .libraryCount = 4,
        .pLibraries = pipelines,
    };
    const VkGraphicsPipelineCreateInfo link = part_of(&g, &libraries, 0);
    create(device, &link, count, &pipelines[4]);

    const struct heap_pipeline_flags whole_flags = flags_of(0, &g.rendering);
    VkGraphicsPipelineCreateInfo whole = part_of(&g, &whole_flags, 0xf);
    g.stages[0] = g.vertex.info;
    g.stages[1] = g.fragment.info;
    whole.stageCount = COUNT_OF(g.stages);
    whole.pStages = g.stages;
    create(device, &whole, count, &pipelines[5]);
    for (size_t i = COUNT_OF(pipelines); i-- > 0;) {
        vkDestroyPipeline(device->device, pipelines[i], NULL);
    }
}

void heaps_create(const struct heaps_device *device, uint32_t variant, struct heaps_count *count)
{
    create_compute(device, variant, count);
    create_graphics(device, variant, count);
}
