// SPDX-License-Identifier: Apache-2.0
// What a device cannot hold is not replayed on it.
#include "replay_fixture.h"

namespace {

TEST_F(Replay, RespectsTheLimitsOfLayouts)
{
    digest pipeline = compute(layout({set_layout({}), set_layout({})}, 128));
    limits.max_push_constants_size = 128;
    limits.max_bound_descriptor_sets = 2;
    EXPECT_EQ(play(pipeline), REPLAY_COMPILED);
    end();
    limits.max_push_constants_size = 124;
    EXPECT_EQ(lack(pipeline), "maxPushConstantsSize");
    end();
    limits = {};
    limits.max_bound_descriptor_sets = 1;
    EXPECT_EQ(lack(pipeline), "maxBoundDescriptorSets");
    // Also the second time, when the layout is known to be none.
    EXPECT_EQ(lack(pipeline), "maxBoundDescriptorSets");
}

// So many live at once as the device may have, however many the pipelines need altogether.
TEST_F(Replay, KeepsToTheSamplersOfADevice)
{
    VkSamplerCustomBorderColorCreateInfoEXT color = {};
    color.sType = VK_STRUCTURE_TYPE_SAMPLER_CUSTOM_BORDER_COLOR_CREATE_INFO_EXT;
    const auto pipeline_of = [&](std::vector<int> numbers, bool has_color) {
        std::vector<VkDescriptorSetLayout> sets;
        for (int number : numbers) {
            VkSamplerCreateInfo info = {};
            info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
            info.pNext = has_color ? &color : nullptr;
            info.mipLodBias = static_cast<float>(number);
            info.addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
            info.borderColor =
                has_color ? VK_BORDER_COLOR_FLOAT_CUSTOM_EXT : VK_BORDER_COLOR_INT_OPAQUE_WHITE;
            sets.push_back(set_layout(book.make<VkSampler>(&info)));
        }
        return compute(layout(sets));
    };
    const auto alive = [&] {
        return std::count_if(driver.alive.begin(), driver.alive.end(),
                             [](const auto &object) { return object.second == "sampler"; });
    };
    for (bool has_color : {false, true}) {
        (has_color ? limits.max_border_color_samplers : limits.max_samplers) = 3;
        for (int i = 0; i < 20; i++) {
            ASSERT_EQ(play(pipeline_of({i, i + 1}, has_color)), REPLAY_COMPILED) << i;
            ASSERT_LE(alive(), 3);
        }
        EXPECT_EQ(play(pipeline_of({0, 1, 2}, has_color)), REPLAY_COMPILED);
        EXPECT_EQ(play(pipeline_of({0, 1, 2, 3}, has_color)), REPLAY_UNSUPPORTED);
        EXPECT_EQ(play(pipeline_of({7, 8}, has_color)), REPLAY_COMPILED) << "the next one is made";
        end();
        limits = {};
    }
}

TEST(ReplayLimits, ReplaysShareAQuarter)
{
    replay_limits limits = {};
    limits.max_samplers = 4000;
    limits.max_border_color_samplers = 32;
    limits.max_push_constants_size = 128;
    const replay_limits share = replay_limits_share(&limits, 10);
    EXPECT_EQ(share.max_samplers, 100u);
    EXPECT_EQ(share.max_border_color_samplers, 1u) << "none would be no limit";
    EXPECT_EQ(share.max_push_constants_size, 128u);
    EXPECT_EQ(replay_limits_share(&limits, 1).max_samplers, 1000u);
    limits.max_samplers = 0;
    EXPECT_EQ(replay_limits_share(&limits, 1).max_samplers, 0u) << "not known";
}

// Drivers have arrays for as many as they tell, and write beyond them.
TEST_F(Replay, RespectsTheLimitsOfScissorsBlendsAndRenderPasses)
{
    GraphicsInfo graphics;
    VkGraphicsPipelineCreateInfo &info = graphics_info(graphics);
    limits.max_viewports = limits.max_color_attachments = 1;
    limits.max_discard_rectangles = 4;
    EXPECT_EQ(play(book.write(&info)), REPLAY_COMPILED);
    graphics.viewport.scissorCount = 2;
    EXPECT_EQ(lack(book.write(&info)), "maxViewports");
    graphics.viewport.scissorCount = 1;
    const VkPipelineColorBlendAttachmentState blends[] = {graphics.attachment, graphics.attachment};
    graphics.color_blend.attachmentCount = 2;
    graphics.color_blend.pAttachments = blends;
    EXPECT_EQ(lack(book.write(&info)), "maxColorAttachments");
    graphics.color_blend.attachmentCount = 1;

    const VkRect2D rectangles[5] = {};
    VkPipelineDiscardRectangleStateCreateInfoEXT discard = {};
    discard.sType = VK_STRUCTURE_TYPE_PIPELINE_DISCARD_RECTANGLE_STATE_CREATE_INFO_EXT;
    discard.pNext = info.pNext;
    discard.discardRectangleCount = 4;
    discard.pDiscardRectangles = rectangles;
    info.pNext = &discard;
    EXPECT_EQ(play(book.write(&info)), REPLAY_COMPILED);
    discard.discardRectangleCount = 5;
    EXPECT_EQ(lack(book.write(&info)), "maxDiscardRectangles");

    info.pNext = nullptr;
    book.handles.use = {~0ull, ~0ull, 0}; // no depth or stencil
    const VkAttachmentDescription attachments[2] = {};
    const VkAttachmentReference references[2] = {};
    VkSubpassDescription subpass = {};
    subpass.colorAttachmentCount = 2;
    subpass.pColorAttachments = references;
    VkRenderPassCreateInfo first = {};
    first.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO;
    first.attachmentCount = 2;
    first.pAttachments = attachments;
    first.subpassCount = 1;
    first.pSubpasses = &subpass;
    info.renderPass = book.make<VkRenderPass>(&first);
    EXPECT_EQ(lack(book.write(&info)), "maxColorAttachments");

    VkAttachmentDescription2 attachment_2 = {};
    attachment_2.sType = VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_2;
    VkAttachmentReference2 references_2[2] = {};
    references_2[0].sType = references_2[1].sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2;
    VkSubpassDescription2 subpass_2 = {};
    subpass_2.sType = VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_2;
    subpass_2.colorAttachmentCount = 2;
    subpass_2.pColorAttachments = references_2;
    VkRenderPassCreateInfo2 second = {};
    second.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2;
    second.attachmentCount = 1;
    second.pAttachments = &attachment_2;
    second.subpassCount = 1;
    second.pSubpasses = &subpass_2;
    info.renderPass = book.make<VkRenderPass>(&second);
    EXPECT_EQ(lack(book.write(&info)), "maxColorAttachments");
    EXPECT_EQ(driver.made["render_pass"] + driver.made["render_pass_2"], 0);
    EXPECT_EQ(driver.made["graphics"], 2) << "none of the others is the driver's";
}

TEST_F(Replay, RespectsTheLimitsOfTheStateOfAGraphicsPipeline)
{
    GraphicsInfo graphics;
    VkGraphicsPipelineCreateInfo &info = graphics_info(graphics);
    const VkVertexInputBindingDescription bindings[] = {{5, 64, VK_VERTEX_INPUT_RATE_VERTEX},
                                                        {0, 16, VK_VERTEX_INPUT_RATE_VERTEX}};
    const VkVertexInputAttributeDescription attributes[] = {{7, 5, VK_FORMAT_R32_SFLOAT, 60},
                                                            {0, 0, VK_FORMAT_R32_SFLOAT, 0}};
    graphics.vertex_input.vertexBindingDescriptionCount = 2;
    graphics.vertex_input.pVertexBindingDescriptions = bindings;
    graphics.vertex_input.vertexAttributeDescriptionCount = 2;
    graphics.vertex_input.pVertexAttributeDescriptions = attributes;
    graphics.viewport.viewportCount = 2;
    graphics.viewport.scissorCount = 2;
    graphics.multisample.rasterizationSamples = VK_SAMPLE_COUNT_4_BIT;
    const digest pipeline = book.write(&info);
    replay_limits fits = {};
    fits.max_vertex_bindings = 6;
    fits.max_vertex_attributes = 8;
    fits.max_vertex_offset = 60;
    fits.max_viewports = 2;
    fits.max_color_attachments = 1;
    fits.sample_counts = VK_SAMPLE_COUNT_1_BIT | VK_SAMPLE_COUNT_4_BIT;
    const auto lack_of = [&](uint32_t replay_limits::*limit, uint32_t value) {
        end();
        limits = fits;
        limits.*limit = value;
        return lack(pipeline);
    };
    limits = fits;
    EXPECT_EQ(play(pipeline), REPLAY_COMPILED);
    using L = replay_limits;
    EXPECT_EQ(lack_of(&L::max_vertex_bindings, 5), "maxVertexInputBindings");
    EXPECT_EQ(lack_of(&L::max_vertex_attributes, 7), "maxVertexInputAttributes");
    EXPECT_EQ(lack_of(&L::max_vertex_offset, 59), "maxVertexInputAttributeOffset");
    EXPECT_EQ(lack_of(&L::max_viewports, 1), "maxViewports");
    EXPECT_EQ(lack_of(&L::sample_counts, VK_SAMPLE_COUNT_1_BIT | VK_SAMPLE_COUNT_8_BIT),
              "framebufferColorSampleCounts");
    graphics.rendering.colorAttachmentCount = 2;
    const VkFormat formats[] = {graphics.format, graphics.format};
    graphics.rendering.pColorAttachmentFormats = formats;
    const VkPipelineColorBlendAttachmentState blends[] = {graphics.attachment, graphics.attachment};
    graphics.color_blend.attachmentCount = 2;
    graphics.color_blend.pAttachments = blends;
    const digest two_colors = book.write(&info);
    end();
    EXPECT_EQ(lack(two_colors), "maxColorAttachments");
    EXPECT_EQ(driver.made["graphics"], 1) << "none of the others is the driver's";
    fits = {};
    fits.max_patch_size = 4;
    graphics.tessellation.patchControlPoints = 4;
    info.pTessellationState = &graphics.tessellation;
    EXPECT_STREQ(replay_limits_exceeded_by_state(&fits, &info), nullptr);
    graphics.tessellation.patchControlPoints = 5;
    EXPECT_STREQ(replay_limits_exceeded_by_state(&fits, &info), "maxTessellationPatchSize");
}

TEST_F(Replay, RespectsTheLimitsOfWorkgroups)
{
    digest pipeline = compute(layout());
    auto lack_of = [&](replay_limits set) {
        end();
        limits = set;
        return lack(pipeline);
    };
    replay_limits fits = {};
    fits.max_workgroup_invocations = 64;
    fits.max_workgroup_size[0] = 8;
    fits.max_workgroup_size[1] = 4;
    fits.max_workgroup_size[2] = 2;
    limits = fits;
    EXPECT_EQ(play(pipeline), REPLAY_COMPILED);
    for (int i = 0; i < 3; i++) {
        replay_limits tight = fits;
        tight.max_workgroup_size[i]--;
        EXPECT_EQ(lack_of(tight), "maxComputeWorkGroupSize");
    }
    fits.max_workgroup_invocations--;
    EXPECT_EQ(lack_of(fits), "maxComputeWorkGroupInvocations");
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
        EXPECT_EQ(outcome(set, flags, require), REPLAY_UNSUPPORTED);
        return std::string(replay_lack(replay_));
    };
    using L = replay_limits;
    EXPECT_EQ(changed([](L &l) { l.min_subgroup_size = 16; }, 0, true), "minSubgroupSize");
    EXPECT_EQ(changed([](L &l) { l.max_subgroup_size = 4; }, 0, true), "maxSubgroupSize");
    EXPECT_EQ(changed([](L &l) { l.required_subgroup_size_stages = 1; }, 0, true),
              "requiredSubgroupSizeStages");
    EXPECT_EQ(changed([](L &l) { l.max_workgroup_subgroups = 7; }, 0, true),
              "maxComputeWorkgroupSubgroups");
    EXPECT_EQ(changed([](L &l) { l.subgroup_size = 16; }, full, false), "subgroupSize");
    EXPECT_EQ(changed([](L &l) { l.max_subgroup_size = 16; }, varying, false), "subgroupSize");
    required.requiredSubgroupSize = 16;
    EXPECT_EQ(changed([](L &l) { l.max_subgroup_size = 16; }, full, true), "subgroupSize");
}

} // namespace
