// SPDX-License-Identifier: Apache-2.0
// What a replay makes of recipes, what it skips and how it tells.
#include <algorithm>

#include "replay_fixture.h"

namespace {

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

// Each stage as its program made it, libraries too; behind what its chain has already.
TEST_F(Replay, GivesCodeInTheStageThatBroughtIt)
{
    const digest environment = {3, 4};
    const auto set = [&](const digest &pipeline, unsigned stages) {
        book.inline_stages[{RecipeBook::key(environment), RecipeBook::key(pipeline)}] = stages;
    };
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {};
    size.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
    size.requiredSubgroupSize = 32;
    VkComputePipelineCreateInfo info = compute_info(layout());
    info.stage.pNext = &size;
    const digest sized = book.write(&info);
    GraphicsInfo graphics;
    const digest first = book.write(&graphics_info(graphics));
    graphics.info.flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
    VkGraphicsPipelineLibraryCreateInfoEXT part = {};
    part.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT;
    part.pNext = const_cast<void *>(graphics.info.pNext);
    part.flags = VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT |
                 VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT |
                 VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT |
                 VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT;
    graphics.info.pNext = &part;
    const digest library = book.write(&graphics.info);
    const digest whole = linked({(VkPipeline)book.handles.handle_of(library)});
    set(sized, 1);
    set(first, 2);
    set(library, 3);

    EXPECT_EQ(play(sized), REPLAY_COMPILED);
    EXPECT_EQ(play(sized, environment), REPLAY_COMPILED);
    EXPECT_EQ(play(first, environment), REPLAY_COMPILED);
    EXPECT_EQ(play(whole, environment), REPLAY_COMPILED);
    const std::string code = " 16:" + std::to_string(sizeof other_code);
    const std::string subgroups = " " + std::to_string(size.sType);
    const std::vector<std::string> expected = {"module" + subgroups,
                                               subgroups +
                                                   " 16:" + std::to_string(sizeof compute_code),
                                               "module",
                                               code,
                                               code,
                                               code};
    EXPECT_EQ(driver.stages, expected);
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
    for (const VkRenderPass pass :
         {book.make<VkRenderPass>(&first), book.make<VkRenderPass>(&second)}) {
        graphics.info.renderPass = pass;
        graphics.info.subpass = 1;
        EXPECT_EQ(play(book.write(&graphics.info)), REPLAY_INVALID) << "there is one subpass";
    }
    EXPECT_EQ(driver.made["render_pass"], 1);
    EXPECT_EQ(driver.made["render_pass_2"], 1);
    EXPECT_EQ(driver.made["graphics"], 2);

    end();
    commands.create_render_pass_2 = nullptr;
    EXPECT_EQ(lack(with_second), "the command that creates it");
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
    EXPECT_EQ(lack(book.write(&info, false)), "the code of a shader module identifier");
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
