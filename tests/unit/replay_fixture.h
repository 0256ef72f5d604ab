// SPDX-License-Identifier: Apache-2.0
// A replay below which a fake driver counts, and recipes to hand it.
#ifndef WARMPIPE_TESTS_UNIT_REPLAY_FIXTURE_H
#define WARMPIPE_TESTS_UNIT_REPLAY_FIXTURE_H

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fake_driver.h"
#include "graphics_info.h"
#include "recipe_book.h"

#define WORDS_OF_HEADER 0x07230203, 0x00010000, 0, 10, 0, 0x0003000e, 0, 1
#define WORDS_OF_MAIN                                                                              \
    0x00020013, 2, 0x00030021, 3, 2, 0x00050036, 2, 4, 0, 3, 0x000200f8, 5, 0x000100fd, 0x00010038
#define WORDS_OF_ENTRY(model) 0x0005000f, model, 4, 0x6e69616d, 0

// A compute shader of 8 by 4 by 2; one of vertex, fragment, and ray generation shaders.
inline const uint32_t compute_code[] = {
    WORDS_OF_HEADER, WORDS_OF_ENTRY(5), 0x00060010, 4, 17, 8, 4, 2, WORDS_OF_MAIN};
inline const uint32_t other_code[] = {WORDS_OF_HEADER, WORDS_OF_ENTRY(0), WORDS_OF_ENTRY(4),
                                      WORDS_OF_ENTRY(5313), WORDS_OF_MAIN};

class Replay : public ::testing::Test {
  protected:
    RecipeBook book;
    FakeDriver &driver = FakeDriver::get();
    replay_commands commands = FakeDriver::commands();
    replay_limits limits = {};
    bool feedback = true;
    replay *replay_ = nullptr;

    Replay()
    {
        driver.reset();
    }

    ~Replay() override
    {
        end();
    }

    void end()
    {
        replay_delete(replay_);
        replay_ = nullptr;
        EXPECT_TRUE(driver.alive.empty());
    }

    // What the device lacks for a pipeline that it cannot have.
    std::string lack(digest pipeline)
    {
        EXPECT_EQ(play(pipeline), REPLAY_UNSUPPORTED);
        return replay_lack(replay_);
    }

    replay_outcome play(digest pipeline, digest environment = {})
    {
        if (!replay_) {
            replay_source source = book.source();
            replay_ = replay_new(FakeDriver::device(), &commands, (VkPipelineCache)77, &source,
                                 &limits, feedback);
        }
        return replay_pipeline(replay_, environment, pipeline);
    }

    template <typename Handle> Handle module(const uint32_t *code, size_t size)
    {
        VkShaderModuleCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
        info.codeSize = size;
        info.pCode = code;
        return book.make<Handle>(&info);
    }

    VkSampler sampler(VkSamplerYcbcrConversion conversion)
    {
        VkSamplerYcbcrConversionInfo chained = {};
        chained.sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_INFO;
        chained.conversion = conversion;
        VkSamplerCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
        info.pNext = conversion ? &chained : nullptr;
        return book.make<VkSampler>(&info);
    }

    VkSamplerYcbcrConversion conversion()
    {
        VkSamplerYcbcrConversionCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_CREATE_INFO;
        info.format = VK_FORMAT_G8_B8R8_2PLANE_420_UNORM;
        return book.make<VkSamplerYcbcrConversion>(&info);
    }

    VkDescriptorSetLayout set_layout(VkSampler immutable, uint32_t binding_number = 0)
    {
        VkDescriptorSetLayoutBinding binding = {};
        binding.binding = binding_number;
        binding.descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
        binding.descriptorCount = 1;
        binding.stageFlags = VK_SHADER_STAGE_ALL;
        binding.pImmutableSamplers = immutable ? &immutable : nullptr;
        VkDescriptorSetLayoutCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
        info.bindingCount = 1;
        info.pBindings = &binding;
        return book.make<VkDescriptorSetLayout>(&info);
    }

    VkPipelineLayout layout(std::vector<VkDescriptorSetLayout> sets = {}, uint32_t push_size = 0)
    {
        VkPushConstantRange range = {VK_SHADER_STAGE_ALL, 0, push_size};
        VkPipelineLayoutCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
        info.setLayoutCount = static_cast<uint32_t>(sets.size());
        info.pSetLayouts = sets.data();
        info.pushConstantRangeCount = push_size > 0;
        info.pPushConstantRanges = &range;
        return book.make<VkPipelineLayout>(&info);
    }

    VkComputePipelineCreateInfo compute_info(VkPipelineLayout with)
    {
        VkComputePipelineCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
        info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        info.stage.module = module<VkShaderModule>(compute_code, sizeof(compute_code));
        info.stage.pName = "main";
        info.layout = with;
        return info;
    }

    digest compute(VkPipelineLayout with)
    {
        VkComputePipelineCreateInfo info = compute_info(with);
        return book.write(&info);
    }

    // A whole one, for dynamic rendering.
    VkGraphicsPipelineCreateInfo &graphics_info(GraphicsInfo &graphics)
    {
        for (auto &stage : graphics.stages) {
            stage.module = module<VkShaderModule>(other_code, sizeof(other_code));
        }
        graphics.info.layout = layout();
        return graphics.info;
    }

    digest rays(VkPipelineCreateFlags flags = 0)
    {
        VkPipelineShaderStageCreateInfo stage = {};
        stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        stage.stage = VK_SHADER_STAGE_RAYGEN_BIT_KHR;
        stage.module = module<VkShaderModule>(other_code, sizeof(other_code));
        stage.pName = "main";
        VkRayTracingPipelineCreateInfoKHR info = {};
        info.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR;
        info.flags = flags;
        info.stageCount = 1;
        info.pStages = &stage;
        info.layout = layout();
        return book.write(&info);
    }

    // A graphics pipeline of libraries alone.
    digest linked(std::vector<VkPipeline> libraries, VkPipelineCreateFlags flags = 0)
    {
        VkPipelineLibraryCreateInfoKHR list = {};
        list.sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR;
        list.libraryCount = static_cast<uint32_t>(libraries.size());
        list.pLibraries = libraries.data();
        VkGraphicsPipelineLibraryCreateInfoEXT none = {};
        none.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT;
        none.pNext = &list;
        VkGraphicsPipelineCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
        info.pNext = &none;
        info.flags = flags;
        return book.write(&info);
    }
};

#endif
