// SPDX-License-Identifier: Apache-2.0
// Layouts and stages as no driver may be given them, whatever their code.
#include <vector>

#include <gtest/gtest.h>

#include "faults.h"

extern "C" {
#include "common/spirv/spirv.h"
}

namespace {

using Stages = std::vector<VkShaderStageFlags>;

constexpr VkShaderStageFlags vertex = VK_SHADER_STAGE_VERTEX_BIT,
                             fragment = VK_SHADER_STAGE_FRAGMENT_BIT,
                             control = VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT,
                             evaluation = VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT,
                             geometry = VK_SHADER_STAGE_GEOMETRY_BIT,
                             compute = VK_SHADER_STAGE_COMPUTE_BIT,
                             mesh = VK_SHADER_STAGE_MESH_BIT_EXT,
                             task = VK_SHADER_STAGE_TASK_BIT_EXT,
                             raygen = VK_SHADER_STAGE_RAYGEN_BIT_KHR,
                             miss = VK_SHADER_STAGE_MISS_BIT_KHR;

enum status check_set(std::vector<VkDescriptorSetLayoutBinding> bindings,
                      const void *next = nullptr)
{
    VkDescriptorSetLayoutCreateInfo info = {};
    info.pNext = next;
    info.bindingCount = static_cast<uint32_t>(bindings.size());
    info.pBindings = bindings.data();
    return pipeline_check_set_layout(&info);
}

VkDescriptorSetLayoutBinding binding(uint32_t number, uint32_t count = 1)
{
    return {number, VK_DESCRIPTOR_TYPE_SAMPLER, count, VK_SHADER_STAGE_ALL, nullptr};
}

TEST(PipelineLayouts, BindingsAreDifferentAndOfASizeThatDriversHave)
{
    EXPECT_EQ(check_set({}), STATUS_ok);
    EXPECT_EQ(check_set({binding(7), binding(0, 1 << 20), binding(3, 0)}), STATUS_ok);
    EXPECT_EQ(check_set({binding(7), binding(0), binding(7)}), STATUS_bad_binding);
    EXPECT_EQ(check_set({binding(UINT32_MAX)}), STATUS_bad_binding);
    EXPECT_EQ(check_set({binding(0, UINT32_MAX)}), STATUS_bad_binding);
    std::vector<VkDescriptorSetLayoutBinding> many;
    for (uint32_t number = 0; number < 4097; number++) {
        many.push_back(binding(number));
    }
    EXPECT_EQ(check_set(many), STATUS_bad_binding);
    many.pop_back();
    EXPECT_EQ(check_set(many), STATUS_ok);
    const Starve starve(0);
    EXPECT_EQ(check_set({binding(0)}), STATUS_out_of_memory);
}

TEST(PipelineLayouts, AllBindingsHaveFlagsOrNone)
{
    VkDescriptorSetLayoutBindingFlagsCreateInfo flags = {};
    flags.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO;
    for (uint32_t count = 0; count < 4; count++) {
        flags.bindingCount = count;
        EXPECT_EQ(check_set({binding(0), binding(1)}, &flags),
                  count == 0 || count == 2 ? STATUS_ok : STATUS_bad_binding)
            << count;
    }
}

TEST(PipelineLayouts, RangesAreAlignedAndOneForAStage)
{
    const auto check = [](std::vector<VkPushConstantRange> ranges, uint32_t sets = 0) {
        VkPipelineLayoutCreateInfo info = {};
        info.setLayoutCount = sets;
        info.pushConstantRangeCount = static_cast<uint32_t>(ranges.size());
        info.pPushConstantRanges = ranges.data();
        return pipeline_check_layout(&info);
    };
    EXPECT_EQ(check({}), STATUS_ok);
    EXPECT_EQ(check({{vertex, 0, 16}, {fragment, 16, 4}}, 32), STATUS_ok);
    for (const VkPushConstantRange &bad :
         std::vector<VkPushConstantRange>{{vertex, 0, 0},
                                          {vertex, 0, 6},
                                          {vertex, 2, 4},
                                          {vertex, 1 << 16, 4},
                                          {vertex, 16, UINT32_MAX - 3}}) {
        EXPECT_EQ(check({bad}), STATUS_bad_push_constants) << bad.offset << " " << bad.size;
    }
    EXPECT_EQ(check({{vertex, 0, 16}, {vertex | fragment, 16, 4}}), STATUS_bad_push_constants);
    EXPECT_EQ(check(std::vector<VkPushConstantRange>(65, {0, 0, 4})), STATUS_bad_push_constants);
    EXPECT_EQ(check({}, 1025), STATUS_bad_binding);
}

class PipelineStages : public testing::Test {
  protected:
    std::vector<VkPipelineShaderStageCreateInfo> stages;

    const std::vector<VkPipelineShaderStageCreateInfo> &stages_of(const Stages &bits)
    {
        stages.assign(bits.size(), {});
        for (size_t i = 0; i < bits.size(); i++) {
            stages[i].stage = static_cast<VkShaderStageFlagBits>(bits[i]);
        }
        return stages;
    }

    bool is_graphics(const Stages &bits, const void *chain = nullptr,
                     VkPipelineCreateFlags flags = 0)
    {
        VkGraphicsPipelineCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
        info.pNext = chain;
        info.flags = flags;
        info.stageCount = static_cast<uint32_t>(bits.size());
        info.pStages = stages_of(bits).data();
        return is_valid(&info);
    }

    bool are_rays(const Stages &bits)
    {
        VkRayTracingPipelineCreateInfoKHR khr = {};
        khr.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR;
        khr.stageCount = static_cast<uint32_t>(bits.size());
        khr.pStages = stages_of(bits).data();
        VkRayTracingPipelineCreateInfoNV nv = {};
        nv.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_NV;
        nv.stageCount = khr.stageCount;
        nv.pStages = khr.pStages;
        EXPECT_EQ(is_valid(&khr), is_valid(&nv));
        return is_valid(&khr);
    }

    static bool is_valid(const void *info)
    {
        const pipeline_parts parts =
            pipeline_parts_of(static_cast<const VkBaseInStructure *>(info));
        return pipeline_has_valid_stages(&parts);
    }
};

TEST_F(PipelineStages, OfGraphics)
{
    for (const Stages &good : {Stages{vertex},
                               {vertex, fragment},
                               {mesh},
                               {task, mesh, fragment},
                               {vertex, control, evaluation, geometry, fragment}}) {
        EXPECT_TRUE(is_graphics(good)) << testing::PrintToString(good);
    }
    for (const Stages &bad : {Stages{},
                              {fragment},
                              {vertex, vertex},
                              {vertex | fragment},
                              {vertex, 0},
                              {compute},
                              {vertex, raygen},
                              {vertex, control},
                              {vertex, evaluation},
                              {mesh, vertex},
                              {mesh, geometry},
                              {task, vertex},
                              {task}}) {
        EXPECT_FALSE(is_graphics(bad)) << testing::PrintToString(bad);
    }
}

TEST_F(PipelineStages, OfLibraries)
{
    VkGraphicsPipelineLibraryCreateInfoEXT part = {};
    part.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT;
    part.flags = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT;
    EXPECT_TRUE(is_graphics({fragment}, &part, VK_PIPELINE_CREATE_LIBRARY_BIT_KHR));
    part.flags = VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
    EXPECT_FALSE(is_graphics({fragment}, &part, VK_PIPELINE_CREATE_LIBRARY_BIT_KHR));
    EXPECT_TRUE(is_graphics({vertex}, &part, VK_PIPELINE_CREATE_LIBRARY_BIT_KHR));
    VkPipelineLibraryCreateInfoKHR list = {};
    list.sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR;
    EXPECT_FALSE(is_graphics({}, &list)) << "of no library";
    list.libraryCount = 2;
    EXPECT_TRUE(is_graphics({}, &list));
}

TEST_F(PipelineStages, OfRays)
{
    EXPECT_TRUE(are_rays({raygen, miss, miss}));
    EXPECT_FALSE(are_rays({raygen, vertex}));
    EXPECT_FALSE(are_rays({0}));
}

TEST_F(PipelineStages, OfCompute)
{
    VkComputePipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    EXPECT_TRUE(is_valid(&info));
    info.stage.stage = VK_SHADER_STAGE_VERTEX_BIT;
    EXPECT_FALSE(is_valid(&info));
}

} // namespace
