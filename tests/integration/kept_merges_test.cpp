// SPDX-License-Identifier: Apache-2.0
// Merges of caches that the program keeps, or makes beside these.
#include "kept_caches.hpp"
#include "test_icd.h"

#include <atomic>
#include <thread>

#include <unistd.h>

namespace {

// ANGLE: an empty cache for each program, merged at once into one that is kept. They are served,
// and the kept one is merged from a copy of the whole device cache.
TEST_F(KeptCachesTest, OneThatMergesManyIntoTheKeptOneGetsACopyOfOursWhenItHasCompiled)
{
    environment["WPTEST_ICD_MERGE_MOVES"] = "1";
    constexpr unsigned count = 100;
    const auto program = [&](unsigned fresh) {
        return [&, fresh] {
            Program owner;
            VkPipelineCache kept = owner.create_cache(read_bytes(file("own")));
            const auto merge = [&](unsigned first, unsigned end) {
                VkPipelineCache cache = owner.create_cache();
                owner.create_compute(first, end, cache);
                EXPECT_EQ(vkMergePipelineCaches(owner.device, kept, 1, &cache), VK_SUCCESS);
                owner.destroy_cache(cache);
            };
            for (unsigned i = 0; i < count; ++i) {
                merge(i, i + 1);
            }
            merge(1000, 1000 + fresh);
            write_bytes(file("own"), owner.cache_data(kept));
            VkPipelineCache other = owner.create_cache(read_bytes(file("own")));
            EXPECT_EQ(vkMergePipelineCaches(owner.device, other, 1, &kept), VK_SUCCESS);
            merge(0, 1);
            write_bytes(file("again"), owner.cache_data(kept));
            owner.destroy_cache(other);
            owner.destroy_cache(kept);
        };
    };
    run(program(1));
    run(program(1));
    const Outcome third = run(program(2));
    EXPECT_EQ(served(third), count + 2);
    EXPECT_EQ(third.hits(), count + 1);
    EXPECT_LT(third.calls("vkCreatePipelineCache"), count + 20);
    EXPECT_EQ(holds(read_bytes(file("own")), 0, count), count);
    EXPECT_EQ(holds(read_bytes(file("own")), 1000, 1002), 2u);
    EXPECT_EQ(holds(read_bytes(file("again")), 0, 1), 1u) << "the merge has moved it away";
}

TEST_F(KeptCachesTest, WhatTheDriverDidNotMergeIsMergedWhenTheProgramTriesAgain)
{
    mode("serve");
    run([&] {
        Program program;
        VkPipelineCache cache = program.create_cache();
        write_bytes(file("own"), program.cache_data(cache));
        program.destroy_cache(cache);
        program.create_compute(0, 3);
    });
    // The copy of ours is the driver's fifth cache, behind ours and the program's three.
    for (const char *failure : {"vkMergePipelineCaches:1=-1", "vkCreatePipelineCache:5=-1"}) {
        environment["WPTEST_ICD_FAIL"] = failure;
        run([&] {
            Program program;
            VkPipelineCache kept = program.create_cache(read_bytes(file("own")));
            VkPipelineCache sources[] = {program.create_cache(read_bytes(file("own"))),
                                         program.create_cache()};
            program.create_compute(0, 3, sources[1]);
            vkMergePipelineCaches(program.device, kept, 2, sources);
            EXPECT_EQ(vkMergePipelineCaches(program.device, kept, 2, sources), VK_SUCCESS);
            write_bytes(file("merged"), program.cache_data(kept));
            program.destroy_cache(sources[0]);
            program.destroy_cache(sources[1]);
            program.destroy_cache(kept);
        });
        environment.erase("WPTEST_ICD_FAIL");
        EXPECT_EQ(holds(read_bytes(file("merged")), 0, 3), 3u) << failure;
    }
}

// The program guards its own caches, and knows nothing of ours.
class EachMergeMode : public OwnCachesTest, public ::testing::WithParamInterface<const char *> {
    void SetUp() override
    {
        mode(GetParam());
    }
};
INSTANTIATE_TEST_SUITE_P(Of, EachMergeMode, ::testing::Values("serve", "harvest"),
                         [](const auto &mode) { return std::string(mode.param); });

TEST_P(EachMergeMode, ThreadsMergeFromTheSameCache)
{
    environment["WPTEST_ICD_DATA_US"] = "200";
    const Outcome outcome = run([] {
        Program program;
        for (unsigned round = 0; round < 20; ++round) {
            VkPipelineCache source = program.create_cache();
            program.create_compute(4 * round, 4 * round + 4, source);
            std::vector<VkPipelineCache> targets;
            for (int i = 0; i < 4; ++i) {
                targets.push_back(program.create_cache());
            }
            std::vector<std::thread> threads;
            for (VkPipelineCache target : targets) {
                threads.emplace_back([&, target] {
                    EXPECT_EQ(vkMergePipelineCaches(program.device, target, 1, &source),
                              VK_SUCCESS);
                    program.cache_data(source);
                });
            }
            for (std::thread &thread : threads) {
                thread.join();
            }
            program.destroy_cache(source);
            for (VkPipelineCache target : targets) {
                program.destroy_cache(target);
            }
        }
    });
    EXPECT_EQ(outcome.violations(), std::vector<std::string>{});
}

// The driver reads one of the program's caches for our snapshot, and does not come back until the
// program has merged others.
TEST_F(KeptCachesTest, AMergeDoesNotWaitForOurSnapshot)
{
    mode("harvest");
    const Outcome outcome = run([] {
        static std::atomic<bool> reading{false};
        static std::atomic<bool> merged{false};
        static const pid_t program_thread = gettid();
        Program program;
        test_icd_on_call(
            [](const char *command, void *) {
                if (gettid() != program_thread &&
                    std::string(command) == "vkGetPipelineCacheData") {
                    reading = true;
                    while (!merged) {
                        usleep(1000);
                    }
                }
            },
            nullptr);
        std::vector<VkPipelineCache> caches;
        for (unsigned i = 0; i < 10; ++i) {
            caches.push_back(program.create_cache());
            program.create_compute(i, i + 1, caches.back());
        }
        while (!reading) {
            usleep(1000);
        }
        VkPipelineCache target = program.create_cache();
        EXPECT_EQ(vkMergePipelineCaches(program.device, target, 10, caches.data()), VK_SUCCESS);
        merged = true;
        program.create_compute(0, 10, target);
        program.destroy_cache(target);
        for (VkPipelineCache cache : caches) {
            program.destroy_cache(cache);
        }
        program.destroy_device();
        test_icd_on_call(nullptr, nullptr);
    });
    EXPECT_EQ(warm(0, 10), 10u);
}

// The worker is reading a cache that the program destroys and one that it merges into.
TEST_F(KeptCachesTest, WhatIsReadForASaveMayBeDestroyedAndMergedInto)
{
    mode("harvest");
    environment["WPTEST_ICD_DATA_US"] = "500";
    environment["WPTEST_ICD_COMPILE_US"] =
        "5000"; // a merge pays, if it takes long on a busy machine
    run([] {
        Program program;
        for (unsigned round = 0; round < 15; ++round) { // no more than may wait for the worker
            std::vector<VkPipelineCache> caches;
            for (unsigned i = 0; i < 4; ++i) {
                caches.push_back(program.create_cache());
                program.create_compute(4 * round + i, 4 * round + i + 1, caches.back());
            }
            usleep(10000 * (round % 3 == 0)); // now and then a snapshot comes in between
            EXPECT_EQ(vkMergePipelineCaches(program.device, caches[0], 3, &caches[1]), VK_SUCCESS);
            for (VkPipelineCache cache : caches) {
                program.destroy_cache(cache);
            }
        }
    });
    EXPECT_EQ(warm(0, 60), 60u);
}

} // namespace
