// SPDX-License-Identifier: Apache-2.0
// What a call of vkCreate*Pipelines answers: the driver's own results, in every element.
#include "harness.hpp"
#include "program.hpp"
#include "things.hpp"

namespace {

class BatchTest : public LayerTest, public ::testing::WithParamInterface<Kind> {};

INSTANTIATE_TEST_SUITE_P(Of, BatchTest, ::testing::ValuesIn(all_kinds),
                         [](const auto &kind) { return std::string(kind_name(kind.param)); });

// Chapter "Multiple Pipeline Creation".
TEST_P(BatchTest, FailingElementsStayWhereTheyAre)
{
    for (unsigned failing = 0; failing < 3; ++failing) {
        environment["WPTEST_ICD_FAIL_ELEMENT"] = std::to_string(failing) + "=-2";
        run([&] {
            Program program;
            for (bool early : {false, true}) {
                Batch batch(program, GetParam(), {1, 2, 3});
                for (size_t i = 0; i < 3; ++i) {
                    batch.pipelines[i] = (VkPipeline)0x5a5a5a5a;
                    if (early) {
                        batch.set_flags(i, VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT);
                    }
                }
                EXPECT_EQ(batch.create(), VK_ERROR_OUT_OF_DEVICE_MEMORY);
                for (size_t i = 0; i < 3; ++i) {
                    const bool null = i == failing || (early && i > failing);
                    EXPECT_EQ(batch.pipelines[i] == VK_NULL_HANDLE, null) << i << early;
                }
            }
        });
    }
}

TEST_P(BatchTest, FailedCallsAreTheDriversOwn)
{
    const std::string commands[] = {"vkCreateComputePipelines", "vkCreateGraphicsPipelines",
                                    "vkCreateRayTracingPipelinesKHR",
                                    "vkCreateRayTracingPipelinesNV"};
    environment["WPTEST_ICD_FAIL"] = commands[static_cast<int>(GetParam())] + ":1=-1";
    const Outcome outcome = run([&] {
        Program program;
        for (VkResult result : {VK_ERROR_OUT_OF_HOST_MEMORY, VK_SUCCESS}) {
            Batch batch(program, GetParam(), {1, 2});
            batch.pipelines = {(VkPipeline)1, (VkPipeline)1};
            EXPECT_EQ(batch.create(), result);
            EXPECT_EQ(batch.pipelines[0] == VK_NULL_HANDLE, result != VK_SUCCESS);
            EXPECT_EQ(batch.pipelines[1] == VK_NULL_HANDLE, result != VK_SUCCESS);
        }
    });
    EXPECT_EQ(outcome.calls(commands[static_cast<int>(GetParam())]), 2u) << "never tried twice";
}

TEST_P(BatchTest, PositiveResultsStay)
{
    environment["WPTEST_ICD_RESULT"] =
        "vkCreateComputePipelines=5,vkCreateGraphicsPipelines=5,"
        "vkCreateRayTracingPipelinesKHR=5,vkCreateRayTracingPipelinesNV=5";
    run([&] {
        Program program;
        Batch batch(program, GetParam(), {1});
        EXPECT_EQ(batch.create(), VK_INCOMPLETE);
        EXPECT_NE(batch.pipelines[0], VK_NULL_HANDLE);
    });
}

// VK_PIPELINE_COMPILE_REQUIRED is a result of its own, and a hit in our cache makes it a success.
TEST_P(BatchTest, FailsOnCompileRequiredUntilTheCacheHasIt)
{
    const Outcome outcome = run([&] {
        Program program;
        for (VkResult result : {VK_PIPELINE_COMPILE_REQUIRED, VK_SUCCESS}) {
            Batch batch(program, GetParam(), {1});
            batch.set_flags(0, VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT);
            EXPECT_EQ(batch.create(), result);
            EXPECT_EQ(batch.pipelines[0] == VK_NULL_HANDLE, result != VK_SUCCESS);
            program.create(GetParam(), 1);
        }
    });
    EXPECT_EQ(outcome.stats_of()["pipelines"]["driver_misses"], 1)
        << "what was not made is neither hit nor miss";
}

TEST_P(BatchTest, DerivativesGoWhole)
{
    run([&] {
        Program program;
        VkPipeline base = VK_NULL_HANDLE;
        {
            Batch batch(program, GetParam(), {1});
            batch.set_flags(0, VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT);
            EXPECT_EQ(batch.create(), VK_SUCCESS);
            base = batch.pipelines[0];
        }
        Batch derived(program, GetParam(), {2});
        derived.set_flags(0, VK_PIPELINE_CREATE_DERIVATIVE_BIT);
        derived.set_base(0, base, -1);
        EXPECT_EQ(derived.create(), VK_SUCCESS);
        Batch both(program, GetParam(), {3, 4});
        both.set_flags(0, VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT);
        both.set_flags(1, VK_PIPELINE_CREATE_DERIVATIVE_BIT);
        both.set_base(1, VK_NULL_HANDLE, 0);
        EXPECT_EQ(both.create(), VK_SUCCESS);
    });
}

// The driver keeps count of who was made with an allocator: a dropped one is a violation.
TEST_P(BatchTest, HandsTheAllocatorOn)
{
    run([&] {
        Program program;
        CountingAllocator allocator;
        Batch batch(program, GetParam(), {1, 2});
        EXPECT_EQ(batch.create(VK_NULL_HANDLE, allocator.get()), VK_SUCCESS);
        EXPECT_EQ(allocator.live(), 2);
        for (VkPipeline pipeline : batch.pipelines) {
            vkDestroyPipeline(program.device, pipeline, allocator.get());
        }
        EXPECT_EQ(allocator.live(), 0);
        batch.pipelines.clear();
    });
}

} // namespace
