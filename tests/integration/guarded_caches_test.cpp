// SPDX-License-Identifier: Apache-2.0
// Caches that a program guards itself (VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT): no
// thread of ours may read them.
#include "kept_caches.hpp"

#include <csignal>
#include <unistd.h>

namespace {

// zink: each of its caches is its own to guard, and none of our threads may read it. It is killed.
TEST_F(KeptCachesTest, WhatIsInGuardedCachesOfAProgramThatIsKilledIsSavedInItsFirstRun)
{
    for (int start = 0; start < 2; ++start) {
        const Outcome outcome = run(
            [&] {
                auto *program = new Program;
                const VkPipelineCache cache =
                    program->create_cache({}, VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT);
                program->create_compute(0, 10, cache);
                EXPECT_FALSE(program->cache_data(cache).empty());
                for (int i = 0; i < 60000 && !are_saved(10); ++i) {
                    usleep(1000);
                }
                EXPECT_TRUE(are_saved(10));
                die();
            },
            {Layer::any, true, -SIGKILL});
        EXPECT_EQ(outcome.hits(), start == 0 ? 0u : 10u);
        EXPECT_EQ(outcome.violations(), std::vector<std::string>());
    }
}

// The use that the flag is made for: a cache for each thread, all merged into one in the end.
TEST_F(KeptCachesTest, WhatIsMergedFromGuardedCachesIsSavedInTheFirstRunAsIsWhatTheTargetHas)
{
    for (int start = 0; start < 2; ++start) {
        const Outcome outcome = run([&] {
            Program program;
            const VkPipelineCache all = program.create_cache();
            program.create_compute(0, 10, all);
            const VkPipelineCache thread =
                program.create_cache({}, VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT);
            program.create_compute(10, 20, thread);
            EXPECT_EQ(vkMergePipelineCaches(program.device, all, 1, &thread), VK_SUCCESS);
            program.destroy_cache(thread);
            program.create_compute(20, 30, all);
            program.destroy_cache(all);
        });
        EXPECT_EQ(outcome.hits(), start == 0 ? 0u : 30u);
        EXPECT_EQ(outcome.violations(), std::vector<std::string>());
    }
}

// What it compiles into the target afterwards, and is killed.
TEST_F(KeptCachesTest, WhatComesIntoACacheBehindAMergeOfAGuardedOneIsSavedInTheFirstRun)
{
    for (int start = 0; start < 2; ++start) {
        const Outcome outcome = run(
            [&] {
                auto *program = new Program;
                const VkPipelineCache all = program->create_cache();
                const VkPipelineCache thread =
                    program->create_cache({}, VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT);
                program->create_compute(0, 10, thread);
                EXPECT_EQ(vkMergePipelineCaches(program->device, all, 1, &thread), VK_SUCCESS);
                program->destroy_cache(thread);
                program->create_compute(10, 20, all);
                for (int i = 0; i < 60000 && !are_saved(20); ++i) {
                    usleep(1000);
                }
                EXPECT_TRUE(are_saved(20));
                die();
            },
            {Layer::any, true, -SIGKILL});
        EXPECT_EQ(outcome.hits(), start == 0 ? 0u : 20u);
        EXPECT_EQ(outcome.violations(), std::vector<std::string>());
    }
}

// One that is made with data is the program's affair, and holds no more than it made: a copy of the
// whole device cache for each merge would take time that grows with what is merged.
TEST_F(KeptCachesTest, GuardedCachesBesideAKeptOneArePassedOn)
{
    constexpr VkPipelineCacheCreateFlags guarded =
        VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT;
    for (const VkPipelineCacheCreateFlags flags : {VkPipelineCacheCreateFlags{0}, guarded}) {
        environment.erase("WARMPIPE_ENABLE");
        environment["WARMPIPE_APP"] = flags ? "guards_all" : "guards_some";
        std::filesystem::remove(file("own"));
        const auto program = [&] {
            Program owner;
            const VkPipelineCache all = owner.create_cache(read_bytes(file("own")), flags);
            owner.create_compute(30, 40);
            for (unsigned i = 0; i < 3; ++i) {
                const VkPipelineCache thread = owner.create_cache({}, guarded);
                owner.create_compute(10 * i, 10 * i + 10, thread);
                EXPECT_EQ(vkMergePipelineCaches(owner.device, all, 1, &thread), VK_SUCCESS);
                owner.destroy_cache(thread);
            }
            write_bytes(file("own"), owner.cache_data(all));
            owner.destroy_cache(all);
        };
        // The program was there before us, and kept a cache.
        for (int start = 0; start < 2; ++start) {
            const Outcome outcome =
                run(program, {start == 0 ? Layer::absent : Layer::any, true, 0});
            EXPECT_EQ(holds(read_bytes(file("own")), 0, 40), 30u);
            EXPECT_EQ(outcome.violations(), std::vector<std::string>());
            if (start == 1) {
                EXPECT_EQ(served(outcome), 0u) << flags;
            }
            environment["WARMPIPE_ENABLE"] = "1";
        }
    }
}

} // namespace
