#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fake_driver.h"
#include "graphics_info.h"
#include "recipe_book.h"

namespace {

// A compute shader of 8 by 4 by 2.
const uint32_t compute_code[] = {0x07230203, 0x00010000, 0,          10, 0,  0x0005000f, 5, 4,
                                 0x6e69616d, 0,          0x00060010, 4,  17, 8,          4, 2};
const uint32_t other_code[] = {0x07230203, 0x00010000, 0, 10, 0};

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

    replay_outcome play(digest pipeline)
    {
        if (!replay_) {
            replay_source source = book.source();
            replay_ = replay_new(FakeDriver::device(), &commands, (VkPipelineCache)77, &source,
                                 &limits, feedback);
        }
        return replay_pipeline(replay_, pipeline);
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

TEST_F(Replay, MakesAllThatAPipelineRefersToOnce)
{
    VkPipelineLayout with = layout({set_layout(sampler(conversion())), set_layout(sampler({}), 3)});
    digest first = compute(with);
    VkComputePipelineCreateInfo info = compute_info(with);
    info.flags = VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT;
    digest second = book.write(&info);

    EXPECT_EQ(play(first), REPLAY_COMPILED);
    EXPECT_EQ(play(second), REPLAY_COMPILED);
    EXPECT_EQ(driver.cache, (VkPipelineCache)77);
    const std::map<std::string, int> expected = {{"module", 1},  {"set_layout", 2}, {"layout", 1},
                                                 {"sampler", 2}, {"conversion", 1}, {"compute", 2}};
    EXPECT_EQ(driver.made, expected);
    EXPECT_EQ(std::count(driver.destroyed.begin(), driver.destroyed.end(), "compute"), 2);
    driver.destroyed.clear();
    end();
    const std::vector<std::string> order = {"layout",  "set_layout", "set_layout", "module",
                                            "sampler", "sampler",    "conversion"};
    EXPECT_EQ(driver.destroyed, order);
}

TEST_F(Replay, TellsAHit)
{
    driver.hit = true;
    EXPECT_EQ(play(compute(layout())), REPLAY_HIT);
    EXPECT_EQ(driver.with_feedback, 1);
}

TEST_F(Replay, AsksForNoFeedbackWhereItMayNot)
{
    feedback = false;
    driver.hit = true;
    EXPECT_EQ(play(compute(layout())), REPLAY_COMPILED);
    EXPECT_EQ(driver.with_feedback, 0);
}

TEST_F(Replay, GraphicsWithARenderPassOfEitherSort)
{
    GraphicsInfo graphics;
    graphics_info(graphics).pNext = nullptr;
    book.handles.use = {~0ull, ~0ull, 0}; // no depth or stencil
    VkAttachmentReference reference = {0, VK_IMAGE_LAYOUT_GENERAL};
    VkAttachmentDescription attachment = {};
    attachment.samples = VK_SAMPLE_COUNT_1_BIT;
    VkSubpassDescription subpass = {};
    subpass.colorAttachmentCount = 1;
    subpass.pColorAttachments = &reference;
    VkRenderPassCreateInfo first = {};
    first.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO;
    first.attachmentCount = first.subpassCount = 1;
    first.pAttachments = &attachment;
    first.pSubpasses = &subpass;
    graphics.info.renderPass = book.make<VkRenderPass>(&first);
    EXPECT_EQ(play(book.write(&graphics.info)), REPLAY_COMPILED);

    VkSubpassDescription2 subpass_2 = {};
    subpass_2.sType = VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_2;
    VkRenderPassCreateInfo2 second = {};
    second.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2;
    second.subpassCount = 1;
    second.pSubpasses = &subpass_2;
    graphics.info.renderPass = book.make<VkRenderPass>(&second);
    digest with_second = book.write(&graphics.info);
    EXPECT_EQ(play(with_second), REPLAY_COMPILED);
    EXPECT_EQ(driver.made["render_pass"], 1);
    EXPECT_EQ(driver.made["render_pass_2"], 1);
    EXPECT_EQ(driver.made["graphics"], 2);

    end();
    commands.create_render_pass_2 = nullptr;
    EXPECT_EQ(play(with_second), REPLAY_UNSUPPORTED);
}

TEST_F(Replay, RayTracingOfBothExtensions)
{
    digest khr = rays();
    VkPipelineShaderStageCreateInfo stage = {};
    stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    stage.stage = VK_SHADER_STAGE_RAYGEN_BIT_KHR;
    stage.module = module<VkShaderModule>(other_code, sizeof(other_code));
    stage.pName = "main";
    VkRayTracingPipelineCreateInfoNV info = {};
    info.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_NV;
    info.stageCount = 1;
    info.pStages = &stage;
    info.layout = layout();
    digest nv = book.write(&info);
    EXPECT_EQ(play(khr), REPLAY_COMPILED);
    EXPECT_EQ(play(nv), REPLAY_COMPILED);
    EXPECT_EQ(driver.made["rays"], 1);
    EXPECT_EQ(driver.made["rays_nv"], 1);

    end();
    commands.create_ray_tracing_pipelines_khr = nullptr;
    commands.create_ray_tracing_pipelines_nv = nullptr;
    EXPECT_EQ(play(khr), REPLAY_UNSUPPORTED);
    EXPECT_EQ(play(nv), REPLAY_UNSUPPORTED);
}

TEST_F(Replay, KeepsALibraryForWhoIsMadeOfIt)
{
    digest library = linked({}, VK_PIPELINE_CREATE_LIBRARY_BIT_KHR);
    auto handle = (VkPipeline)book.handles.handle_of(library);
    digest whole = linked({handle});
    digest other = linked({handle, handle});
    EXPECT_EQ(play(whole), REPLAY_COMPILED);
    ASSERT_EQ(driver.libraries.size(), 1u);
    EXPECT_EQ(driver.alive.count((uint64_t)driver.libraries[0]), 1u);
    driver.hit = true;
    EXPECT_EQ(play(other), REPLAY_HIT);
    EXPECT_EQ(play(library), REPLAY_COMPILED); // as it was the first time
    EXPECT_EQ(driver.made["graphics"], 3);
    EXPECT_EQ(driver.alive.size(), 1u);
}

TEST_F(Replay, KeepsALibraryThatComesFirst)
{
    digest library = linked({}, VK_PIPELINE_CREATE_LIBRARY_BIT_KHR);
    digest whole = linked({(VkPipeline)book.handles.handle_of(library)});
    EXPECT_EQ(play(library), REPLAY_COMPILED);
    EXPECT_EQ(play(whole), REPLAY_COMPILED);
    EXPECT_EQ(driver.made["graphics"], 2);
}

TEST_F(Replay, APipelineThatIsNoLibraryIsNotTakenForOne)
{
    digest whole = linked({});
    EXPECT_EQ(play(linked({(VkPipeline)book.handles.handle_of(whole)})), REPLAY_INVALID);
    EXPECT_EQ(driver.made["graphics"], 0);
}

TEST_F(Replay, WhatIsMissingIsSkipped)
{
    digest pipeline = compute(layout());
    EXPECT_EQ(play({1, 2}), REPLAY_MISSING);
    auto codes = book.codes;
    book.codes.clear();
    EXPECT_EQ(play(pipeline), REPLAY_MISSING);
    EXPECT_EQ(driver.made["compute"], 0);
    end();
    book.codes = codes;
    EXPECT_EQ(play(pipeline), REPLAY_COMPILED);
}

TEST_F(Replay, WhatIsInvalidIsSkipped)
{
    digest pipeline = compute(layout());
    std::string &form = book.forms[RecipeBook::key(pipeline)];
    std::string whole = form;
    form.pop_back();
    EXPECT_EQ(play(pipeline), REPLAY_INVALID);
    form = whole;
    // No pipeline at all, and code of another size than the module's form says.
    digest not_a_pipeline = book.write([] {
        static VkSamplerCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
        return &info;
    }());
    EXPECT_EQ(play(not_a_pipeline), REPLAY_INVALID);
    book.codes.begin()->second.append(4, '\0');
    EXPECT_EQ(play(pipeline), REPLAY_INVALID);
    EXPECT_EQ(driver.made["compute"], 0);
}

TEST_F(Replay, AnObjectOfAnotherTypeIsNotTakenForOne)
{
    VkPipelineLayout plain = layout();
    digest pipeline = compute(plain);
    // Where the layout's digest stands there is now the set layout's form.
    digest key = {};
    for (const auto &[where, form] : book.forms) {
        if (canonical_stype(form.data(), form.size()) ==
            VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO) {
            key = {where.first, where.second};
        }
    }
    digest other = book.write([] {
        static VkDescriptorSetLayoutCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
        return &info;
    }());
    book.forms[RecipeBook::key(key)] = book.forms[RecipeBook::key(other)];
    EXPECT_EQ(play(pipeline), REPLAY_INVALID);
    EXPECT_EQ(driver.made["compute"], 0);
}

TEST_F(Replay, WhatRefersToItselfIsInvalid)
{
    digest library = linked({}, VK_PIPELINE_CREATE_LIBRARY_BIT_KHR);
    digest around =
        linked({(VkPipeline)book.handles.handle_of(library)}, VK_PIPELINE_CREATE_LIBRARY_BIT_KHR);
    book.forms[RecipeBook::key(library)] = book.forms[RecipeBook::key(around)];
    EXPECT_EQ(play(library), REPLAY_INVALID);
    EXPECT_EQ(play(around), REPLAY_INVALID);
    EXPECT_EQ(driver.made["graphics"], 0);
}

TEST_F(Replay, WhatIsTooDeepIsInvalid)
{
    digest top = linked({}, VK_PIPELINE_CREATE_LIBRARY_BIT_KHR);
    std::vector<digest> chain = {top};
    for (int i = 0; i < 10000; i++) {
        chain.push_back(linked({(VkPipeline)book.handles.handle_of(chain.back())},
                               VK_PIPELINE_CREATE_LIBRARY_BIT_KHR));
    }
    EXPECT_EQ(play(chain.back()), REPLAY_INVALID);
    EXPECT_EQ(driver.made["graphics"], 0);
    end();
    EXPECT_EQ(play(chain[3]), REPLAY_COMPILED);
}

TEST_F(Replay, WhatTheDriverRefuses)
{
    digest pipeline = compute(layout());
    driver.result = VK_ERROR_INITIALIZATION_FAILED;
    EXPECT_EQ(play(pipeline), REPLAY_REFUSED);
    driver.result = VK_PIPELINE_COMPILE_REQUIRED;
    EXPECT_EQ(play(pipeline), REPLAY_REFUSED);
    driver.result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    EXPECT_EQ(play(pipeline), REPLAY_NO_MEMORY);
}

TEST_F(Replay, RespectsTheLimitsOfLayouts)
{
    digest pipeline = compute(layout({set_layout({}), set_layout({})}, 128));
    limits.max_push_constants_size = 128;
    limits.max_bound_descriptor_sets = 2;
    EXPECT_EQ(play(pipeline), REPLAY_COMPILED);
    end();
    limits.max_push_constants_size = 124;
    EXPECT_EQ(play(pipeline), REPLAY_UNSUPPORTED);
    end();
    limits = {};
    limits.max_bound_descriptor_sets = 1;
    EXPECT_EQ(play(pipeline), REPLAY_UNSUPPORTED);
}

TEST_F(Replay, RespectsTheLimitsOfWorkgroups)
{
    digest pipeline = compute(layout());
    auto outcome = [&](replay_limits set) {
        end();
        limits = set;
        return play(pipeline);
    };
    replay_limits fits = {};
    fits.max_workgroup_invocations = 64;
    fits.max_workgroup_size[0] = 8;
    fits.max_workgroup_size[1] = 4;
    fits.max_workgroup_size[2] = 2;
    EXPECT_EQ(outcome(fits), REPLAY_COMPILED);
    for (int i = 0; i < 3; i++) {
        replay_limits tight = fits;
        tight.max_workgroup_size[i]--;
        EXPECT_EQ(outcome(tight), REPLAY_UNSUPPORTED);
    }
    fits.max_workgroup_invocations--;
    EXPECT_EQ(outcome(fits), REPLAY_UNSUPPORTED);
}

TEST_F(Replay, RespectsTheLimitsOfSubgroups)
{
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo required = {};
    required.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
    required.requiredSubgroupSize = 8;
    auto outcome = [&](replay_limits set, VkPipelineShaderStageCreateFlags flags, bool require) {
        VkComputePipelineCreateInfo info = compute_info(layout());
        info.stage.flags = flags;
        info.stage.pNext = require ? &required : nullptr;
        end();
        limits = set;
        return play(book.write(&info));
    };
    replay_limits fits = {};
    fits.min_subgroup_size = fits.max_subgroup_size = fits.subgroup_size = 8;
    fits.max_workgroup_subgroups = 8;
    fits.required_subgroup_size_stages = VK_SHADER_STAGE_COMPUTE_BIT;
    const VkPipelineShaderStageCreateFlags full =
        VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    const VkPipelineShaderStageCreateFlags varying =
        full | VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT;
    EXPECT_EQ(outcome(fits, full, true), REPLAY_COMPILED);
    EXPECT_EQ(outcome(fits, varying, false), REPLAY_COMPILED);
    auto changed = [&](auto change, VkPipelineShaderStageCreateFlags flags, bool require) {
        replay_limits set = fits;
        change(set);
        return outcome(set, flags, require);
    };
    using L = replay_limits;
    EXPECT_EQ(changed([](L &l) { l.min_subgroup_size = 16; }, 0, true), REPLAY_UNSUPPORTED);
    EXPECT_EQ(changed([](L &l) { l.max_subgroup_size = 4; }, 0, true), REPLAY_UNSUPPORTED);
    EXPECT_EQ(changed([](L &l) { l.required_subgroup_size_stages = 1; }, 0, true),
              REPLAY_UNSUPPORTED);
    EXPECT_EQ(changed([](L &l) { l.max_workgroup_subgroups = 7; }, 0, true), REPLAY_UNSUPPORTED);
    EXPECT_EQ(changed([](L &l) { l.subgroup_size = 16; }, full, false), REPLAY_UNSUPPORTED);
    EXPECT_EQ(changed([](L &l) { l.max_subgroup_size = 16; }, varying, false), REPLAY_UNSUPPORTED);
    required.requiredSubgroupSize = 16;
    EXPECT_EQ(changed([](L &l) { l.max_subgroup_size = 16; }, full, true), REPLAY_UNSUPPORTED);
}

TEST_F(Replay, CodeNamedByAnIdentifierAloneIsNotReplayed)
{
    VkPipelineShaderStageModuleIdentifierCreateInfoEXT identifier = {};
    identifier.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT;
    uint8_t bytes[8] = {1};
    identifier.identifierSize = sizeof(bytes);
    identifier.pIdentifier = bytes;
    VkComputePipelineCreateInfo info = compute_info(layout());
    info.stage.module = VK_NULL_HANDLE;
    info.stage.pNext = &identifier;
    EXPECT_EQ(play(book.write(&info, false)), REPLAY_UNSUPPORTED);
    EXPECT_EQ(driver.made["compute"], 0);
}

TEST_F(Replay, KeepsNoMoreThanItMay)
{
    std::vector<digest> pipelines;
    for (uint32_t i = 0; i < 6000; i++) {
        pipelines.push_back(compute(layout({set_layout({}, i)})));
    }
    for (digest pipeline : pipelines) {
        ASSERT_EQ(play(pipeline), REPLAY_COMPILED);
    }
    EXPECT_LT(driver.most_alive, 8300u);
    EXPECT_EQ(driver.made["set_layout"], 6000);
}

TEST(ReplayOutcome, HasAnIdentifierOfItsOwn)
{
    std::vector<std::string> ids;
    for (int i = 0; i < REPLAY_OUTCOME_COUNT; i++) {
        ids.push_back(replay_outcome_id(static_cast<replay_outcome>(i)));
        EXPECT_EQ(std::count(ids.begin(), ids.end(), ids.back()), 1);
    }
}

} // namespace
