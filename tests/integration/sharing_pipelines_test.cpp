// SPDX-License-Identifier: Apache-2.0
// Pipelines that are shared: calls keep their meaning, element by element.
#include "harness.hpp"
#include "test_icd.h"
#include "things.hpp"

#include <set>

namespace {

class EachBindPoint : public LayerTest, public ::testing::WithParamInterface<Kind> {
  protected:
    Kind kind() const
    {
        return GetParam();
    }

    // How many elements have reached the driver.
    static size_t asked(const Outcome &outcome)
    {
        return outcome.pipelines().size();
    }
};

INSTANTIATE_TEST_SUITE_P(Of, EachBindPoint, ::testing::ValuesIn(all_kinds),
                         [](const auto &kind) { return std::string(kind_name(kind.param)); });

TEST_P(EachBindPoint, ElementsOfOneCallAreCreatedOnce)
{
    const Outcome outcome = run([&] {
        Program program;
        Batch batch(program, kind(), {1, 2, 1, 1, 3, 2});
        EXPECT_EQ(batch.create(), VK_SUCCESS);
        const std::vector<VkPipeline> &made = batch.pipelines;
        EXPECT_EQ(made[0], made[2]);
        EXPECT_EQ(made[0], made[3]);
        EXPECT_EQ(made[1], made[5]);
        EXPECT_EQ((std::set<VkPipeline>{made[0], made[1], made[4]}.size()), 3u);
    });
    EXPECT_EQ(asked(outcome), 3u);
    EXPECT_EQ(outcome.calls("vkDestroyPipeline"), 3u) << "each creation has its destruction";
    EXPECT_EQ(outcome.stats_of()["pipelines"]["requested"], 6);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["deduplicated"], 3);
}

TEST_P(EachBindPoint, OnlyWhatDoesNotLiveReachesTheDriverAndEachComesBackInItsPlace)
{
    const Outcome outcome = run([&] {
        Program program;
        Batch first(program, kind(), {1, 3});
        EXPECT_EQ(first.create(), VK_SUCCESS);
        Batch all(program, kind(), {0, 1, 2, 3, 4});
        EXPECT_EQ(all.create(), VK_SUCCESS);
        EXPECT_EQ(all.pipelines[1], first.pipelines[0]);
        EXPECT_EQ(all.pipelines[3], first.pipelines[1]);
        Batch again(program, kind(), {4, 3, 2, 1, 0});
        EXPECT_EQ(again.create(), VK_SUCCESS);
        for (size_t i = 0; i < 5; ++i) {
            EXPECT_EQ(again.pipelines[i], all.pipelines[4 - i]) << i;
        }
    });
    EXPECT_EQ(asked(outcome), 5u);
}

// Chapter "Multiple Pipeline Creation": null where it failed, and there alone; any failure's
// result.
TEST_P(EachBindPoint, AFailingElementIsNullInItsOwnPlaceAndNotRemembered)
{
    environment["WPTEST_ICD_FAIL_ELEMENT"] = "1=-2"; // of those that reach the driver
    const Outcome outcome = run([&] {
        Program program;
        Batch live(program, kind(), {1});
        EXPECT_EQ(live.create(), VK_SUCCESS);
        Batch batch(program, kind(), {2, 1, 3, 3, 4});
        batch.pipelines.assign(5, handle_of<VkPipeline>(0x5a5a5a5a));
        EXPECT_EQ(batch.create(), VK_ERROR_OUT_OF_DEVICE_MEMORY);
        EXPECT_NE(batch.pipelines[0], VK_NULL_HANDLE);
        EXPECT_EQ(batch.pipelines[1], live.pipelines[0]);
        EXPECT_EQ(batch.pipelines[2], VK_NULL_HANDLE);
        EXPECT_EQ(batch.pipelines[3], VK_NULL_HANDLE) << "the same once more";
        EXPECT_NE(batch.pipelines[4], VK_NULL_HANDLE);
        EXPECT_NE(program.create(kind(), 3), VK_NULL_HANDLE) << "it is asked for again";
    });
    EXPECT_EQ(outcome.events("leaked").size(), 0u);
}

TEST_P(EachBindPoint, ACallThatFailsWholeLeavesTheSharedOnes)
{
    const std::string commands[] = {"vkCreateComputePipelines", "vkCreateGraphicsPipelines",
                                    "vkCreateRayTracingPipelinesKHR",
                                    "vkCreateRayTracingPipelinesNV"};
    environment["WPTEST_ICD_FAIL"] = commands[static_cast<int>(kind())] + ":2=-1";
    const Outcome outcome = run([&] {
        Program program;
        Batch live(program, kind(), {1});
        EXPECT_EQ(live.create(), VK_SUCCESS);
        Batch batch(program, kind(), {2, 1, 3});
        batch.pipelines.assign(3, handle_of<VkPipeline>(0x5a5a5a5a));
        EXPECT_EQ(batch.create(), VK_ERROR_OUT_OF_HOST_MEMORY);
        EXPECT_EQ(batch.pipelines[0], VK_NULL_HANDLE);
        EXPECT_EQ(batch.pipelines[1], live.pipelines[0]) << "its reference is the program's";
        EXPECT_EQ(batch.pipelines[2], VK_NULL_HANDLE);
        Batch again(program, kind(), {2, 1, 3});
        EXPECT_EQ(again.create(), VK_SUCCESS);
        EXPECT_NE(again.pipelines[0], VK_NULL_HANDLE);
        EXPECT_NE(again.pipelines[2], VK_NULL_HANDLE);
    });
    EXPECT_EQ(outcome.events("leaked").size(), 0u);
}

// With EARLY_RETURN_ON_FAILURE, everything after the failure is null: the driver is given the array
// whole.
TEST_P(EachBindPoint, EarlyReturnGoesWhole)
{
    environment["WPTEST_ICD_FAIL_ELEMENT"] = "1=-2";
    const Outcome outcome = run([&] {
        Program program;
        Batch live(program, kind(), {3});
        EXPECT_EQ(live.create(), VK_SUCCESS);
        Batch batch(program, kind(), {1, 2, 3});
        for (size_t i = 0; i < 3; ++i) {
            batch.set_flags(i, VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT);
        }
        EXPECT_EQ(batch.create(), VK_ERROR_OUT_OF_DEVICE_MEMORY);
        EXPECT_NE(batch.pipelines[0], VK_NULL_HANDLE);
        EXPECT_EQ(batch.pipelines[1], VK_NULL_HANDLE);
        EXPECT_EQ(batch.pipelines[2], VK_NULL_HANDLE) << "though an equal one lives";
    });
    EXPECT_EQ(outcome.events("leaked").size(), 0u);
}

// Chapter "Pipeline Creation Flags": the flag says how to create, not what.
TEST_P(EachBindPoint, FailOnCompileRequiredMissesThenIsServed)
{
    const Outcome outcome = run([&] {
        Program program;
        const auto create = [&](VkPipelineCreateFlags flags, VkResult expected) {
            Batch batch(program, kind(), {1});
            batch.set_flags(0, flags);
            EXPECT_EQ(batch.create(), expected);
            return batch.pipelines[0];
        };
        const VkPipelineCreateFlags fail = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
        EXPECT_EQ(create(fail, VK_PIPELINE_COMPILE_REQUIRED), VK_NULL_HANDLE);
        const VkPipeline plain = create(0, VK_SUCCESS);
        EXPECT_NE(plain, VK_NULL_HANDLE);
        EXPECT_EQ(create(fail, VK_SUCCESS), plain);
        EXPECT_EQ(create(fail | VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT, VK_SUCCESS), plain);
    });
    EXPECT_EQ(asked(outcome), 2u);
}

// In one call, the one that may not compile must not stand for the one that may.
TEST_P(EachBindPoint, WhatMayCompileDoesSoBesideItsEqualThatMayNot)
{
    const Outcome outcome = run([&] {
        Program program;
        Batch batch(program, kind(), {1, 1});
        batch.set_flags(0, VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT);
        EXPECT_EQ(batch.create(), VK_PIPELINE_COMPILE_REQUIRED);
        EXPECT_EQ(batch.pipelines[0], VK_NULL_HANDLE);
        EXPECT_NE(batch.pipelines[1], VK_NULL_HANDLE);
    });
    EXPECT_EQ(outcome.events("leaked").size(), 0u);
}

// Row 89: nor for another that may not; each is asked for as the program has asked, and the third
// finds what the second has compiled.
TEST_P(EachBindPoint, WhatMayFailStandsForNoOther)
{
    const Outcome outcome = run([&] {
        Program program;
        Batch batch(program, kind(), {1, 1, 1});
        batch.set_flags(0, VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT);
        batch.set_flags(2, VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT);
        EXPECT_EQ(batch.create(), VK_PIPELINE_COMPILE_REQUIRED);
        EXPECT_EQ(batch.pipelines[0], VK_NULL_HANDLE);
        EXPECT_NE(batch.pipelines[1], VK_NULL_HANDLE);
        EXPECT_NE(batch.pipelines[2], VK_NULL_HANDLE);
    });
    EXPECT_EQ(outcome.events("leaked").size(), 0u);
}

// Chapter "Pipeline Creation Feedback": VALID is set or cleared of the pipeline and of every stage.
TEST_P(EachBindPoint, FeedbackOfASharedOneIsWrittenWhole)
{
    const Outcome outcome = run([&] {
        Program program;
        program.create(kind(), 1);
        for (uint32_t stages : {0u, 1u}) {
            Feedback shared(stages), duplicate(stages), made(stages);
            Batch batch(program, kind(), {1, 2 + stages, 2 + stages});
            batch.chain(0, &shared.info);
            batch.chain(1, &made.info);
            batch.chain(2, &duplicate.info);
            EXPECT_EQ(batch.create(), VK_SUCCESS);
            for (const Feedback *feedback : {&shared, &duplicate}) {
                EXPECT_EQ(feedback->whole.flags, VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT);
                EXPECT_LT(feedback->whole.duration, 600'000'000'000u)
                    << "since the machine's start";
                for (const VkPipelineCreationFeedback &stage : feedback->stages) {
                    EXPECT_EQ(stage.flags, 0u);
                }
            }
            EXPECT_EQ(made.whole.flags, VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT);
        }
    });
    EXPECT_EQ(asked(outcome), 3u);
}

// Whether it asks for feedback is no part of what a pipeline is.
TEST_P(EachBindPoint, AskingForFeedbackMakesNoOther)
{
    const Outcome outcome = run([&] {
        Program program;
        Feedback feedback;
        Batch with(program, kind(), {1}), without(program, kind(), {1});
        with.chain(0, &feedback.info);
        EXPECT_EQ(with.create(), VK_SUCCESS);
        EXPECT_EQ(without.create(), VK_SUCCESS);
        EXPECT_EQ(with.pipelines[0], without.pipelines[0]);
    });
    EXPECT_EQ(asked(outcome), 1u);
}

// VkPipelineCreateFlags2CreateInfo: used instead of the create-info's own flags.
TEST_P(EachBindPoint, FlagsOfTheChainReplaceTheLegacyOnes)
{
    const Outcome outcome = run([&] {
        Program program;
        PipelineCreateFlags2 flags(VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT);
        Batch both(program, kind(), {1}), legacy(program, kind(), {1}), other(program, kind(), {1});
        both.chain(0, &flags);
        both.set_flags(0, VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT);
        legacy.set_flags(0, VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT);
        other.set_flags(0, VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT);
        for (Batch *batch : {&both, &legacy, &other}) {
            EXPECT_EQ(batch->create(), VK_SUCCESS);
        }
        EXPECT_EQ(both.pipelines[0], legacy.pipelines[0]);
        EXPECT_NE(both.pipelines[0], other.pipelines[0]);
    });
    EXPECT_EQ(asked(outcome), 2u);
}

// What shapes the object is part of it, whatever the driver makes of it.
TEST_P(EachBindPoint, EveryFlagThatShapesAPipelineMakesAnother)
{
    std::vector<VkPipelineCreateFlags> flags = {
        0, VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT, VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT,
        VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR,
        VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR};
    if (kind() == Kind::graphics) {
        flags.push_back(VK_PIPELINE_CREATE_LINK_TIME_OPTIMIZATION_BIT_EXT);
        flags.push_back(VK_PIPELINE_CREATE_LIBRARY_BIT_KHR);
        flags.push_back(VK_PIPELINE_CREATE_LIBRARY_BIT_KHR |
                        VK_PIPELINE_CREATE_RETAIN_LINK_TIME_OPTIMIZATION_INFO_BIT_EXT);
    }
    const Outcome outcome = run([&] {
        ProgramOptions options;
        options.device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                                     VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME};
        Program program(options);
        for (int repeat = 0; repeat < 2; ++repeat) {
            for (VkPipelineCreateFlags each : flags) {
                Batch batch(program, kind(), {1});
                batch.set_flags(0, each);
                EXPECT_EQ(batch.create(), VK_SUCCESS);
            }
        }
    });
    EXPECT_EQ(asked(outcome), flags.size());
}

// VkPipelineShaderStageCreateInfo: the module, and only without one the code in the chain.
TEST_P(EachBindPoint, InlineCodeIsTheModuleOfThatCode)
{
    const Outcome outcome = run([&] {
        Program program;
        const std::vector<uint32_t> code = shader_code(kind(), 1), other = shader_code(kind(), 2);
        VkShaderModuleCreateInfo chained = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        chained.codeSize = code.size() * sizeof code[0];
        chained.pCode = code.data();
        VkShaderModuleCreateInfo ignored = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        ignored.codeSize = other.size() * sizeof other[0];
        ignored.pCode = other.data();
        Batch module(program, kind(), {1}), chain(program, kind(), {1}), both(program, kind(), {1});
        chain.stage(0).module = VK_NULL_HANDLE;
        chain.stage(0).pNext = &chained;
        both.stage(0).pNext = &ignored;
        for (Batch *batch : {&module, &chain, &both}) {
            EXPECT_EQ(batch->create(), VK_SUCCESS);
            EXPECT_EQ(batch->pipelines[0], module.pipelines[0]);
        }
    });
    EXPECT_EQ(asked(outcome), 1u);
}

// An identifier does not say which code it stands for.
TEST_P(EachBindPoint, AnIdentifierIsNotTheModule)
{
    run([&] {
        ProgramOptions options;
        options.device_extensions = {VK_EXT_SHADER_MODULE_IDENTIFIER_EXTENSION_NAME};
        Program program(options);
        const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        VkPipelineShaderStageModuleIdentifierCreateInfoEXT identifier = {
            VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT};
        identifier.identifierSize = sizeof bytes;
        identifier.pIdentifier = bytes;
        for (int i = 0; i < 2; ++i) {
            Batch batch(program, kind(), {1});
            batch.stage(0).module = VK_NULL_HANDLE;
            batch.stage(0).pNext = &identifier;
            batch.set_flags(0, VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT);
            EXPECT_EQ(batch.create(), VK_PIPELINE_COMPILE_REQUIRED) << "the driver's own answer";
            program.create(kind(), 1);
        }
    });
}

// Pipelines that hold no cache at all are the specification's (VUID-*-pNext-09616, -09617).
TEST_P(EachBindPoint, BinariesAreNeverShared)
{
    const Outcome outcome = run([&] {
        Program program;
        PipelineBinaryInfo first, second;
        Batch one(program, kind(), {1}), two(program, kind(), {1});
        one.chain(0, &first);
        two.chain(0, &second);
        EXPECT_EQ(one.create(), VK_SUCCESS);
        EXPECT_EQ(two.create(), VK_SUCCESS);
        EXPECT_NE(one.pipelines[0], two.pipelines[0]);
    });
    EXPECT_EQ(asked(outcome), 2u);
}

} // namespace
