// SPDX-License-Identifier: Apache-2.0
// The create-infos of every kind of pipeline.
#include "program.hpp"

#include <cstring>

// Each array holds as many as the batch has elements; only the one of its kind is used.
struct Batch::Infos {
    explicit Infos(size_t count)
        : stages(count), compute(count), graphics(count), khr(count), nv(count)
    {
        std::memset(&group_khr, 0, sizeof group_khr);
        std::memset(&group_nv, 0, sizeof group_nv);
        group_khr.sType = VK_STRUCTURE_TYPE_RAY_TRACING_SHADER_GROUP_CREATE_INFO_KHR;
        group_khr.type = VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR;
        group_khr.closestHitShader = group_khr.anyHitShader = group_khr.intersectionShader =
            VK_SHADER_UNUSED_KHR;
        group_nv.sType = VK_STRUCTURE_TYPE_RAY_TRACING_SHADER_GROUP_CREATE_INFO_NV;
        group_nv.type = VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR;
        group_nv.closestHitShader = group_nv.anyHitShader = group_nv.intersectionShader =
            VK_SHADER_UNUSED_KHR;
        assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
        raster.rasterizerDiscardEnable = VK_TRUE;
        raster.lineWidth = 1;
    }

    std::vector<VkPipelineShaderStageCreateInfo> stages;
    std::vector<VkComputePipelineCreateInfo> compute;
    std::vector<VkGraphicsPipelineCreateInfo> graphics;
    std::vector<VkRayTracingPipelineCreateInfoKHR> khr;
    std::vector<VkRayTracingPipelineCreateInfoNV> nv;

    VkRayTracingShaderGroupCreateInfoKHR group_khr;
    VkRayTracingShaderGroupCreateInfoNV group_nv;
    VkPipelineRenderingCreateInfo rendering = {VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO};
    VkPipelineVertexInputStateCreateInfo vertex = {
        VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    VkPipelineInputAssemblyStateCreateInfo assembly = {
        VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO};
    VkPipelineRasterizationStateCreateInfo raster = {
        VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO};
};

static VkShaderStageFlagBits stage_of(Kind kind)
{
    return kind == Kind::compute    ? VK_SHADER_STAGE_COMPUTE_BIT
           : kind == Kind::graphics ? VK_SHADER_STAGE_VERTEX_BIT
                                    : VK_SHADER_STAGE_RAYGEN_BIT_KHR;
}

Batch::Batch(Program &program, Kind kind, const std::vector<unsigned> &numbers)
    : pipelines(numbers.size()), program_(program), kind_(kind),
      infos_(std::make_unique<Infos>(numbers.size()))
{
    for (size_t i = 0; i < numbers.size(); ++i) {
        VkPipelineShaderStageCreateInfo &stage = infos_->stages[i];
        stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
        stage.stage = stage_of(kind);
        stage.module = program.module(kind, numbers[i]);
        stage.pName = "main";

        VkComputePipelineCreateInfo &compute = infos_->compute[i];
        compute = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
        compute.stage = stage;
        compute.layout = program.layout;
        compute.basePipelineIndex = -1;

        VkGraphicsPipelineCreateInfo &graphics = infos_->graphics[i];
        graphics = {VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO};
        graphics.pNext = &infos_->rendering;
        graphics.stageCount = 1;
        graphics.pStages = &stage;
        graphics.pVertexInputState = &infos_->vertex;
        graphics.pInputAssemblyState = &infos_->assembly;
        graphics.pRasterizationState = &infos_->raster;
        graphics.layout = program.layout;
        graphics.basePipelineIndex = -1;

        VkRayTracingPipelineCreateInfoKHR &khr = infos_->khr[i];
        khr = {VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR};
        khr.stageCount = khr.groupCount = khr.maxPipelineRayRecursionDepth = 1;
        khr.pStages = &stage;
        khr.pGroups = &infos_->group_khr;
        khr.layout = program.layout;
        khr.basePipelineIndex = -1;

        VkRayTracingPipelineCreateInfoNV &nv = infos_->nv[i];
        nv = {VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_NV};
        nv.stageCount = nv.groupCount = nv.maxRecursionDepth = 1;
        nv.pStages = &stage;
        nv.pGroups = &infos_->group_nv;
        nv.layout = program.layout;
        nv.basePipelineIndex = -1;
    }
}

Batch::~Batch()
{
    for (VkPipeline pipeline : pipelines) {
        program_.keep(pipeline);
    }
}

void Batch::chain(size_t element, void *structure)
{
    const void **heads[] = {&infos_->compute[element].pNext, &infos_->graphics[element].pNext,
                            &infos_->khr[element].pNext, &infos_->nv[element].pNext};
    const void **head = heads[static_cast<int>(kind_)];
    auto *base = static_cast<VkBaseOutStructure *>(structure);
    base->pNext = static_cast<VkBaseOutStructure *>(const_cast<void *>(*head));
    *head = structure;
}

void Batch::set_stages(size_t element, const std::vector<VkPipelineShaderStageCreateInfo> &stages)
{
    infos_->khr[element].stageCount = static_cast<uint32_t>(stages.size());
    infos_->khr[element].pStages = stages.data();
}

VkPipelineShaderStageCreateInfo &Batch::stage(size_t element)
{
    // The compute create-info holds a copy; the others point to it.
    return kind_ == Kind::compute ? infos_->compute[element].stage : infos_->stages[element];
}

VkRayTracingShaderGroupCreateInfoKHR &Batch::group()
{
    return infos_->group_khr;
}

VkPipelineRenderingCreateInfo &Batch::rendering()
{
    return infos_->rendering;
}

void Batch::set_layout(size_t element, VkPipelineLayout layout)
{
    infos_->compute[element].layout = infos_->graphics[element].layout =
        infos_->khr[element].layout = infos_->nv[element].layout = layout;
}

void Batch::set_flags(size_t element, VkPipelineCreateFlags flags)
{
    infos_->compute[element].flags = infos_->graphics[element].flags = infos_->khr[element].flags =
        infos_->nv[element].flags = flags;
}

void Batch::set_base(size_t element, VkPipeline handle, int32_t index)
{
    infos_->compute[element].basePipelineHandle = infos_->graphics[element].basePipelineHandle =
        infos_->khr[element].basePipelineHandle = infos_->nv[element].basePipelineHandle = handle;
    infos_->compute[element].basePipelineIndex = infos_->graphics[element].basePipelineIndex =
        infos_->khr[element].basePipelineIndex = infos_->nv[element].basePipelineIndex = index;
}

VkResult Batch::create(VkPipelineCache cache, const VkAllocationCallbacks *allocator,
                       VkDeferredOperationKHR deferred)
{
    const VkDevice device = program_.device;
    const auto count = static_cast<uint32_t>(pipelines.size());
    switch (kind_) {
    case Kind::compute:
        return vkCreateComputePipelines(device, cache, count, infos_->compute.data(), allocator,
                                        pipelines.data());
    case Kind::graphics:
        return vkCreateGraphicsPipelines(device, cache, count, infos_->graphics.data(), allocator,
                                         pipelines.data());
    case Kind::ray_tracing_khr:
        return program_.command<PFN_vkCreateRayTracingPipelinesKHR>(
            "vkCreateRayTracingPipelinesKHR")(device, deferred, cache, count, infos_->khr.data(),
                                              allocator, pipelines.data());
    default:
        return program_.command<PFN_vkCreateRayTracingPipelinesNV>("vkCreateRayTracingPipelinesNV")(
            device, cache, count, infos_->nv.data(), allocator, pipelines.data());
    }
}

Feedback::Feedback(uint32_t stage_count)
    : whole{0x7fffffff, 0x0123456789abcdef}, stages(stage_count, whole)
{
    info = {VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO, nullptr, &whole, stage_count,
            stages.data()};
}

bool Feedback::stage_hit() const
{
    for (const VkPipelineCreationFeedback &stage : stages) {
        if (stage.flags & VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT) {
            return true;
        }
    }
    return false;
}

Deferred::Deferred(Program &owner) : program(owner)
{
    EXPECT_EQ(program.command<PFN_vkCreateDeferredOperationKHR>("vkCreateDeferredOperationKHR")(
                  program.device, nullptr, &operation),
              VK_SUCCESS);
}

Deferred::~Deferred()
{
    program.command<PFN_vkDestroyDeferredOperationKHR>("vkDestroyDeferredOperationKHR")(
        program.device, operation, nullptr);
}

VkResult Deferred::join()
{
    return program.command<PFN_vkDeferredOperationJoinKHR>("vkDeferredOperationJoinKHR")(
        program.device, operation);
}
