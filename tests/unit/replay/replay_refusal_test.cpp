// SPDX-License-Identifier: Apache-2.0
// What no driver is given, and what becomes of a replay without memory.
#include <algorithm>
#include <functional>

#include "faults.h"
#include "replay_fixture.h"

namespace {

class ReplayRefusal : public Replay {
  protected:
    replay_outcome
    play_changed(const std::function<void(VkComputePipelineCreateInfo &info)> &change,
                 VkPipelineLayout with = VK_NULL_HANDLE)
    {
        VkComputePipelineCreateInfo info = compute_info(with ? with : layout());
        change(info);
        const replay_outcome outcome = play(book.write(&info));
        EXPECT_EQ(driver.made["compute"], 0) << "it is not asked";
        EXPECT_TRUE(replay_is_refusal(outcome));
        return outcome;
    }

    replay_outcome play_code(std::vector<uint32_t> code)
    {
        return play_changed([&](VkComputePipelineCreateInfo &info) {
            info.stage.module = module<VkShaderModule>(code.data(), code.size() * 4);
        });
    }
};

TEST_F(ReplayRefusal, OfCodeThatADriverCannotTake)
{
    std::vector<uint32_t> code(std::begin(compute_code), std::end(compute_code));
    std::vector<uint32_t> other = code;
    other[0] = 0x03022307;
    EXPECT_EQ(play_code(other), REPLAY_BAD_SPIRV) << "another endianness";
    other = code;
    const uint32_t local_size[] = {0x00060010, 4, 17};
    *(std::search(other.begin(), other.end(), std::begin(local_size), std::end(local_size)) + 3) =
        0;
    EXPECT_EQ(play_code(other), REPLAY_BAD_SPIRV) << "a workgroup of nothing";
    other = code;
    other[3] = UINT32_MAX;
    EXPECT_EQ(play_code(other), REPLAY_BAD_SPIRV) << "more ids than there may be";
}

TEST_F(ReplayRefusal, OfStagesThatTheCodeDoesNotHave)
{
    EXPECT_EQ(play_changed([](VkComputePipelineCreateInfo &info) { info.stage.pName = "other"; }),
              REPLAY_BAD_ENTRY_POINT);
    EXPECT_EQ(play_changed([](VkComputePipelineCreateInfo &info) {
                  info.stage.stage = VK_SHADER_STAGE_VERTEX_BIT;
              }),
              REPLAY_BAD_STAGE);
    const uint32_t value = 1;
    const VkSpecializationMapEntry twice[] = {{0, 0, sizeof value}, {0, 0, sizeof value}};
    const VkSpecializationInfo constants = {2, twice, sizeof value, &value};
    EXPECT_EQ(play_changed([&](VkComputePipelineCreateInfo &info) {
                  info.stage.pSpecializationInfo = &constants;
              }),
              REPLAY_BAD_SPECIALIZATION);
}

// Each allocation in turn: that pipeline is not made, nothing leaks, and the next replay makes it.
TEST_F(ReplayRefusal, WithoutMemoryNothingIsMade)
{
    const digest pipelines[] = {compute(layout({set_layout(sampler(conversion()))}, 16)), rays()};
    for (const digest &pipeline : pipelines) {
        bool has_failed = true;
        for (int failing = 0; has_failed; ++failing) {
            replay_outcome outcome = REPLAY_COMPILED;
            {
                const Starve starve(failing);
                const replay_source source = book.source();
                replay_ = replay_new(FakeDriver::device(), &commands, (VkPipelineCache)77, &source,
                                     &limits, feedback);
                outcome = replay_ ? replay_pipeline(replay_, {}, pipeline) : REPLAY_NO_MEMORY;
                has_failed = starve.has_failed();
            }
            EXPECT_TRUE(outcome == REPLAY_COMPILED || outcome == REPLAY_HIT ||
                        (has_failed && outcome != REPLAY_COMPILED))
                << failing;
            end();
        }
        EXPECT_TRUE(play(pipeline) == REPLAY_COMPILED);
        end();
    }
}

TEST(ReplayLimits, AreAskedOfEitherVersion)
{
    static const auto fill = [](VkPhysicalDeviceProperties *properties) {
        properties->limits.maxPushConstantsSize = 128;
        properties->limits.maxSamplerAllocationCount = 4000;
    };
    replay_limits limits = {};
    replay_limits_query(
        [](VkPhysicalDevice, VkPhysicalDeviceProperties *properties) { fill(properties); }, nullptr,
        VK_API_VERSION_1_0, VK_NULL_HANDLE, &limits);
    EXPECT_EQ(limits.max_push_constants_size, 128u);
    EXPECT_EQ(limits.max_samplers, 4000u);
    EXPECT_EQ(limits.subgroup_size, 0u) << "not known";
    replay_limits_query(
        nullptr,
        [](VkPhysicalDevice, VkPhysicalDeviceProperties2 *properties) {
            fill(&properties->properties);
            for (auto *s = static_cast<VkBaseOutStructure *>(properties->pNext); s; s = s->pNext) {
                if (s->sType ==
                    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_BUFFER_PROPERTIES_EXT) {
                    reinterpret_cast<VkPhysicalDeviceDescriptorBufferPropertiesEXT *>(s)
                        ->maxEmbeddedImmutableSamplers = 100;
                }
                if (s->sType ==
                    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DISCARD_RECTANGLE_PROPERTIES_EXT) {
                    reinterpret_cast<VkPhysicalDeviceDiscardRectanglePropertiesEXT *>(s)
                        ->maxDiscardRectangles = 4;
                }
            }
        },
        VK_API_VERSION_1_1, VK_NULL_HANDLE, &limits);
    EXPECT_EQ(limits.max_discard_rectangles, 4u);
    EXPECT_EQ(limits.max_samplers, 100u) << "what set layouts embed lives as long";
}

// By the extension of a program of 1.0.
TEST(ReplayLimits, AskForNothingOfALaterVersion)
{
    static bool asks_for_subgroups = false;
    for (const uint32_t version : {VK_API_VERSION_1_0, VK_API_VERSION_1_1}) {
        replay_limits limits = {};
        asks_for_subgroups = false;
        replay_limits_query(
            nullptr,
            [](VkPhysicalDevice, VkPhysicalDeviceProperties2 *properties) {
                auto *s = static_cast<VkBaseOutStructure *>(properties->pNext);
                for (; s; s = s->pNext) {
                    asks_for_subgroups |=
                        s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
                }
            },
            version, VK_NULL_HANDLE, &limits);
        EXPECT_EQ(asks_for_subgroups, version == VK_API_VERSION_1_1);
    }
}

} // namespace
