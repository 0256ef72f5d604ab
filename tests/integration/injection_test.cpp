// SPDX-License-Identifier: Apache-2.0
// Pipelines of programs that pass no cache: what the driver is given, and what the program sees.
#include "harness.hpp"
#include "program.hpp"
#include "test_icd.h"

#include <fstream>
#include <set>
#include <thread>

namespace {

// Handles are not shared here, so that the driver is asked for every pipeline.
class InjectionTest : public LayerTest {
  protected:
    void SetUp() override
    {
        LayerTest::SetUp();
        environment["WARMPIPE_DEDUP"] = "none";
    }

    // The caches that the driver's creations named; "0" is none.
    static std::set<std::string> caches_of(const Outcome &outcome)
    {
        std::set<std::string> caches;
        for (const json &pipeline : outcome.pipelines()) {
            caches.insert(pipeline["cache"]);
        }
        return caches;
    }
};

class EachKind : public InjectionTest, public ::testing::WithParamInterface<Kind> {};

INSTANTIATE_TEST_SUITE_P(Of, EachKind, ::testing::ValuesIn(all_kinds),
                         [](const auto &kind) { return std::string(kind_name(kind.param)); });

// Drivers of before mid-2022 write feedback of each stage whatever the count says: our own has
// room.
TEST_P(EachKind, FeedbackOfOursHasRoomForEveryStage)
{
    environment["WPTEST_ICD_OLD_FEEDBACK"] = "1";
    const auto program = [&] {
        Program owner;
        Batch(owner, GetParam(), {1, 2, 3}).create();
    };
    run(program);
    EXPECT_EQ(run(program).hits(), 3u);
}

TEST_F(InjectionTest, FeedbackOfOursHasRoomForMoreStagesThanAreInline)
{
    environment["WPTEST_ICD_OLD_FEEDBACK"] = "1";
    const auto program = [] {
        Program owner;
        VkPipelineShaderStageCreateInfo stage = {
            VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
        stage.stage = VK_SHADER_STAGE_RAYGEN_BIT_KHR;
        stage.module = owner.module(Kind::ray_tracing_khr, 1);
        stage.pName = "main";
        const std::vector<VkPipelineShaderStageCreateInfo> stages(9, stage);
        Batch batch(owner, Kind::ray_tracing_khr, {1});
        batch.set_stages(0, stages);
        EXPECT_EQ(batch.create(), VK_SUCCESS);
    };
    run(program);
    EXPECT_EQ(run(program).hits(), 1u);
}

TEST_P(EachKind, SecondProcessHits)
{
    const auto program = [&] {
        Program owner;
        for (unsigned number = 0; number < 5; ++number) {
            owner.create(GetParam(), number);
        }
    };
    const Outcome cold = run(program);
    EXPECT_EQ(caches_of(cold).count("0"), 0u);
    EXPECT_EQ(cold.hits(), 0u);
    EXPECT_EQ(cold.stats_of()["cache"]["state"], "cold");
    EXPECT_EQ(cold.stats_of()["cache"]["reason"], "no_file");
    EXPECT_EQ(cold.stats_of()["pipelines"]["driver_misses"], 5);

    const Outcome warm = run(program);
    EXPECT_EQ(warm.hits(), 5u);
    EXPECT_EQ(warm.stats_of()["cache"]["state"], "loaded");
    EXPECT_EQ(warm.stats_of()["cache"]["loaded_bytes"], cold.stats_of()["cache"]["saved_bytes"]);
    EXPECT_EQ(warm.stats_of()["pipelines"]["requested"], 5);
    EXPECT_EQ(warm.stats_of()["pipelines"]["injected"], 5);
    EXPECT_EQ(warm.stats_of()["pipelines"]["passed"], 0);
    EXPECT_EQ(warm.stats_of()["pipelines"]["driver_hits"], 5);
    EXPECT_EQ(warm.stats_of()["pipelines"]["driver_misses"], 0);
}

// VUID-Vk*PipelineCreateInfo-pNext-09616 and -09617 forbid a cache; a flag bit of tomorrow may.
TEST_P(EachKind, PassesWhatForbidsACache)
{
    for (int wrong = 0; wrong < 3; ++wrong) {
        const Outcome outcome = run([&] {
            Program program;
            PipelineBinaryInfo binaries;
            PipelineCreateFlags2 capture(0x80000000u);
            PipelineCreateFlags2 unknown(1ull << 62);
            void *structures[] = {&binaries, &capture, &unknown};
            Batch batch(program, GetParam(), {1, 2});
            batch.chain(1, structures[wrong]);
            EXPECT_EQ(batch.create(), VK_SUCCESS);
        });
        EXPECT_EQ(caches_of(outcome), std::set<std::string>{"0"}) << wrong;
        EXPECT_EQ(outcome.stats_of()["pipelines"]["passed"], 2);
        EXPECT_EQ(outcome.stats_of()["pipelines"]["injected"], 0);
    }
}

// A struct that nobody here has heard of.
struct Unknown {
    VkStructureType type = static_cast<VkStructureType>(1999999001);
    void *next = nullptr;
    uint64_t bytes[4] = {1, 2, 3, 4};

    bool untouched() const
    {
        return type == 1999999001 && bytes[0] == 1 && bytes[1] == 2 && bytes[2] == 3 &&
               bytes[3] == 4;
    }
};

std::string hex(const void *pointer)
{
    char address[32];
    std::snprintf(address, sizeof address, "%lx", reinterpret_cast<unsigned long>(pointer));
    return address;
}

// It forbids no cache; but its neighbours in the call are not taken apart, for it may tell of them,
// and nothing of ours is chained to it.
TEST_P(EachKind, GivesUnknownStructsTheCacheAndChangesNoByte)
{
    environment["WARMPIPE_DEDUP"] = "all";
    Unknown unknown;
    const auto program = [&] {
        Program owner;
        for (int time = 0; time < 2; ++time) {
            Batch batch(owner, GetParam(), {1, 2});
            unknown.next = nullptr;
            batch.chain(1, &unknown);
            EXPECT_EQ(batch.create(), VK_SUCCESS);
            EXPECT_TRUE(unknown.untouched());
        }
    };
    const Outcome cold = run(program);
    ASSERT_EQ(cold.pipelines().size(), 4u) << "none is shared";
    EXPECT_EQ(caches_of(cold).count("0"), 0u);
    EXPECT_EQ(cold.stats_of()["pipelines"]["injected"], 4);
    EXPECT_EQ(cold.stats_of()["pipelines"]["passed"], 0);
    for (const json &pipeline : cold.pipelines()) {
        if (pipeline["element"] == 1) {
            EXPECT_EQ(pipeline["pnext"][0], 1999999001);
            EXPECT_EQ(pipeline["pnext_at"][0], hex(&unknown));
            EXPECT_EQ(pipeline["pnext"].size(), GetParam() == Kind::graphics ? 2u : 1u);
        }
    }
    EXPECT_EQ(run(program).hits(), 4u);
}

TEST_P(EachKind, GivesUnknownStructsOfAStageTheCache)
{
    environment["WARMPIPE_DEDUP"] = "all";
    Unknown unknown;
    const auto program = [&] {
        Program owner;
        for (int time = 0; time < 2; ++time) {
            Batch batch(owner, GetParam(), {1});
            batch.stage(0).pNext = &unknown;
            EXPECT_EQ(batch.create(), VK_SUCCESS);
            EXPECT_TRUE(unknown.untouched());
        }
    };
    const Outcome cold = run(program);
    ASSERT_EQ(cold.pipelines().size(), 2u) << "none is shared";
    EXPECT_EQ(caches_of(cold).count("0"), 0u);
    for (const json &pipeline : cold.pipelines()) {
        EXPECT_EQ(pipeline["pnext"].size(), GetParam() == Kind::graphics ? 1u : 0u);
    }
    EXPECT_EQ(run(program).hits(), 2u);
}

// Chapter "Pipeline Creation Feedback": what a program asks for itself is still not told of a hit
// in a cache that it did not name.
TEST_P(EachKind, HidesHitsBesideUnknownStructs)
{
    const auto program = [&] {
        Program owner;
        Unknown unknown;
        Feedback feedback;
        Batch batch(owner, GetParam(), {1});
        batch.chain(0, &unknown);
        batch.chain(0, &feedback.info);
        EXPECT_EQ(batch.create(), VK_SUCCESS);
        EXPECT_FALSE(feedback.hit());
        EXPECT_EQ(feedback.whole.flags, VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT);
    };
    run(program);
    EXPECT_EQ(run(program).hits(), 1u);
}

TEST_P(EachKind, PassesUnknownStructsWhereThePolicyIsStrict)
{
    const std::filesystem::path policy = folder() / "policy";
    std::ofstream(policy) << "[mine]\nstrict = yes\n";
    environment["WARMPIPE_POLICY"] = policy;
    const Outcome outcome = run([&] {
        Program program;
        Unknown unknown;
        Batch batch(program, GetParam(), {1});
        batch.chain(0, &unknown);
        EXPECT_EQ(batch.create(), VK_SUCCESS);
        Batch known(program, GetParam(), {2});
        EXPECT_EQ(known.create(), VK_SUCCESS);
    });
    EXPECT_EQ(caches_of(outcome).size(), 2u);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["passed"], 1);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["injected"], 1);
}

// Chapter "Pipeline Creation Feedback": the bit speaks of the cache that the application named.
TEST_P(EachKind, HidesHitsInACacheThatTheProgramDidNotName)
{
    const auto program = [&] {
        Program owner;
        for (uint32_t stages : {0u, 1u}) {
            Feedback feedback(stages);
            Batch batch(owner, GetParam(), {stages});
            batch.chain(0, &feedback.info);
            EXPECT_EQ(batch.create(), VK_SUCCESS);
            EXPECT_FALSE(feedback.hit());
            EXPECT_FALSE(feedback.stage_hit());
            EXPECT_EQ(feedback.whole.flags, VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT);
            EXPECT_NE(feedback.whole.duration, 0x0123456789abcdefu) << "the driver's own";
        }
    };
    run(program);
    const Outcome warm = run(program);
    EXPECT_EQ(warm.hits(), 2u);
    EXPECT_EQ(warm.stats_of()["pipelines"]["driver_hits"], 2);
}

TEST_P(EachKind, TellsHitsInACacheThatTheProgramNamed)
{
    run([&] {
        Program program;
        VkPipelineCache filled = program.create_cache();
        program.create(GetParam(), 1, filled);
        VkPipelineCache cache = program.create_cache(program.cache_data(filled));
        for (bool hit : {true, false}) {
            Feedback feedback;
            Batch batch(program, GetParam(), {hit ? 1u : 2u});
            batch.chain(0, &feedback.info);
            EXPECT_EQ(batch.create(cache), VK_SUCCESS);
            EXPECT_EQ(feedback.hit(), hit);
            EXPECT_EQ(feedback.stage_hit(), hit);
        }
        program.destroy_cache(filled);
        program.destroy_cache(cache);
    });
}

TEST_P(EachKind, SixteenThreadsShareOneCache)
{
    const auto program = [&] {
        Program owner;
        std::vector<std::unique_ptr<Batch>> batches;
        for (unsigned i = 0; i < 16; ++i) {
            batches.push_back(std::make_unique<Batch>(owner, GetParam(),
                                                      std::vector<unsigned>{i, i + 16, i + 32}));
        }
        std::vector<std::thread> threads;
        for (const auto &batch : batches) {
            threads.emplace_back([&batch] { EXPECT_EQ(batch->create(), VK_SUCCESS); });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
    };
    const Outcome cold = run(program);
    EXPECT_EQ(caches_of(cold).size(), 1u);
    const Outcome warm = run(program);
    EXPECT_EQ(warm.hits(), 48u) << "threads wait for the first load rather than compile cold";
    EXPECT_EQ(warm.calls("vkCreatePipelineCache"), 1u);
}

TEST_F(InjectionTest, DeferredOperationsAreJoinedLater)
{
    const auto program = [] {
        Program owner;
        Deferred deferred(owner);
        Feedback feedback;
        Batch batch(owner, Kind::ray_tracing_khr, {1, 2});
        batch.chain(0, &feedback.info);
        EXPECT_EQ(batch.create(VK_NULL_HANDLE, nullptr, deferred.operation),
                  VK_OPERATION_DEFERRED_KHR);
        EXPECT_EQ(feedback.whole.flags, 0x7fffffffu) << "nothing is written before the join";
        owner.create_compute(0, 2);
        EXPECT_EQ(deferred.join(), VK_SUCCESS);
        EXPECT_NE(batch.pipelines[0], VK_NULL_HANDLE);
        EXPECT_NE(batch.pipelines[1], VK_NULL_HANDLE);
    };
    run(program);
    const Outcome warm = run(program);
    EXPECT_EQ(warm.hits(), 4u);
    EXPECT_EQ(caches_of(warm).count("0"), 0u);
}

TEST_F(InjectionTest, OperationsThatAreNotDeferredAreSeenThrough)
{
    environment["WPTEST_ICD_NOT_DEFERRED"] = "1";
    const auto program = [] {
        Program owner;
        Deferred deferred(owner);
        Feedback feedback;
        Batch batch(owner, Kind::ray_tracing_khr, {1});
        batch.chain(0, &feedback.info);
        EXPECT_EQ(batch.create(VK_NULL_HANDLE, nullptr, deferred.operation),
                  VK_OPERATION_NOT_DEFERRED_KHR);
        EXPECT_NE(batch.pipelines[0], VK_NULL_HANDLE);
        EXPECT_FALSE(feedback.hit());
    };
    run(program);
    EXPECT_EQ(run(program).hits(), 1u);
}

TEST_F(InjectionTest, WorksBelowVulkan13)
{
    struct Version {
        const char *name;
        uint32_t api;
        std::vector<const char *> extensions;
        bool counts; // hits and misses
    };
    const Version versions[] = {
        {"1.0", VK_API_VERSION_1_0, {}, false},
        {"1.1", VK_API_VERSION_1_1, {}, false},
        {"1.2", VK_API_VERSION_1_2, {}, false},
        {"1.2", VK_API_VERSION_1_2, {VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME}, true},
        {"1.3", VK_API_VERSION_1_1, {}, false},
    };
    unsigned number = 0;
    for (const Version &version : versions) {
        environment["WARMPIPE_APP"] = "version" + std::to_string(number++);
        environment["WPTEST_ICD_API"] = version.name;
        const auto program = [&] {
            ProgramOptions options;
            options.api = version.api;
            options.device_extensions = version.extensions;
            Program(options).create_compute(0, 3);
        };
        const Outcome cold = run(program);
        EXPECT_EQ(cold.stats_of()["pipelines"]["driver_misses"], version.counts ? 3 : 0);
        const Outcome warm = run(program);
        EXPECT_EQ(warm.hits(), 3u) << version.name;
        EXPECT_EQ(warm.stats_of()["pipelines"]["driver_hits"], version.counts ? 3 : 0);
    }
}

// A driver that leaves feedback alone, though it should not.
TEST_F(InjectionTest, DriversWithoutFeedbackAreSavedAllTheSame)
{
    environment["WPTEST_ICD_NO_FEEDBACK"] = "1";
    const auto program = [] {
        Program owner;
        owner.create_compute(0, 3);
        Feedback feedback;
        Batch batch(owner, Kind::compute, {4});
        batch.chain(0, &feedback.info);
        EXPECT_EQ(batch.create(), VK_SUCCESS);
    };
    run(program);
    EXPECT_EQ(run(program).hits(), 4u);
}

TEST_F(InjectionTest, DriversThatReturnEqualOrRecycledHandles)
{
    for (const char *fault : {"WPTEST_ICD_EQUAL_HANDLES", "WPTEST_ICD_RECYCLE"}) {
        for (const char *dedup : {"none", "all"}) {
            environment[fault] = "1";
            environment["WARMPIPE_DEDUP"] = dedup;
            environment["WARMPIPE_APP"] = std::string(fault) + dedup;
            const auto program = [] {
                Program owner;
                owner.create_compute(0, 3);
                owner.create_compute(0, 3);
            };
            run(program);
            EXPECT_EQ(run(program).hits(), dedup == std::string("none") ? 6u : 3u) << fault;
        }
    }
}

TEST_F(InjectionTest, PipelineLibrariesAreInjectedToo)
{
    const auto program = [] {
        ProgramOptions options;
        options.device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME};
        Program owner(options);
        Batch library(owner, Kind::ray_tracing_khr, {1});
        library.set_flags(0, VK_PIPELINE_CREATE_LIBRARY_BIT_KHR);
        EXPECT_EQ(library.create(), VK_SUCCESS);
    };
    run(program);
    EXPECT_EQ(run(program).hits(), 1u);
}

} // namespace
