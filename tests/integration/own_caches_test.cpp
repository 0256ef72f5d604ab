// SPDX-License-Identifier: Apache-2.0
// The program's own pipeline caches: whatever is done with them, it keeps what it had; and harvest.
#include "own_caches.hpp"

#include <memory>
#include <mutex>
#include <numeric>
#include <string_view>
#include <thread>

#include <unistd.h>

#include "during.hpp"
#include "recipes.hpp"
#include "things.hpp"

namespace {

class EachMode : public OwnCachesTest, public ::testing::WithParamInterface<const char *> {
  protected:
    void SetUp() override
    {
        mode(GetParam());
    }
};

INSTANTIATE_TEST_SUITE_P(Of, EachMode, ::testing::Values("auto", "serve", "harvest", "ignore"),
                         [](const auto &mode) { return std::string(mode.param); });

TEST_P(EachMode, OneWithInitialDataIsLeftAlone)
{
    run([] { Program().create_compute(50, 60); }); // something warm that could get in
    const auto program = [&](const char *from, const char *to) {
        return [=] {
            Program owner;
            VkPipelineCache cache = owner.create_cache(read_bytes(file(from)));
            owner.create_compute(0, 5, cache);
            write_bytes(file(to), owner.cache_data(cache));
            owner.destroy_cache(cache);
        };
    };
    environment.erase("WARMPIPE_ENABLE");
    run(program("none", "initial"), {Layer::absent, true, 0});
    run(program("initial", "without"), {Layer::absent, true, 0});
    environment["WARMPIPE_ENABLE"] = "1";

    const Outcome outcome = run(program("initial", "with"));
    EXPECT_EQ(read_bytes(file("with")), read_bytes(file("without")));
    const json created = cache_made_with(outcome, read_bytes(file("initial")).size());
    for (const json &pipeline : outcome.pipelines()) {
        EXPECT_EQ(pipeline["cache"], created["handle"]);
    }
}

// The program keeps what it had without us: what it saves holds all that it made.
TEST_P(EachMode, SavesAndLoadsItsOwnFile)
{
    const auto program = [&] {
        Program owner;
        VkPipelineCache cache = owner.create_cache(read_bytes(file("own")));
        owner.create_compute(0, 20, cache);
        write_bytes(file("own"), owner.cache_data(cache));
        owner.destroy_cache(cache);
    };
    for (int start = 0; start < 3; ++start) {
        const Outcome outcome = run(program);
        EXPECT_EQ(holds(read_bytes(file("own")), 0, 20), 20u);
        EXPECT_EQ(outcome.hits(), start == 0 ? 0u : 20u);
    }
}

TEST_P(EachMode, MergesItsOwn)
{
    for (int start = 0; start < 2; ++start) {
        run([&] {
            Program program;
            std::vector<VkPipelineCache> caches;
            for (unsigned i = 0; i < 4; ++i) {
                caches.push_back(program.create_cache());
                program.create_compute(10 * i, 10 * i + 5, caches.back());
            }
            EXPECT_EQ(vkMergePipelineCaches(program.device, caches[0], 3, &caches[1]), VK_SUCCESS);
            program.create_compute(100, 105, caches[0]);
            write_bytes(file("merged"), program.cache_data(caches[0]));
            for (VkPipelineCache cache : caches) {
                program.destroy_cache(cache);
            }
        });
        const std::vector<uint8_t> merged = read_bytes(file("merged"));
        for (unsigned i = 0; i < 4; ++i) {
            EXPECT_EQ(holds(merged, 10 * i, 10 * i + 5), 5u) << i;
        }
        EXPECT_EQ(holds(merged, 100, 105), 5u);
    }
}

// There are drivers that move what they merge out of the source (RADV of Mesa 22.3): what is
// created in its name behind that is compiled into it again, though it lives.
TEST_P(EachMode, WhatIsCreatedAgainBehindAMergeIsInItsSource)
{
    environment["WPTEST_ICD_MERGE_MOVES"] = "1";
    run([&] {
        Program program;
        const VkPipelineCache source = program.create_cache(), target = program.create_cache();
        program.create_compute(0, 3, source);
        EXPECT_EQ(vkMergePipelineCaches(program.device, target, 1, &source), VK_SUCCESS);
        program.create_compute(0, 3, source);
        write_bytes(file("source"), program.cache_data(source));
        program.destroy_cache(source);
        program.destroy_cache(target);
    });
    EXPECT_EQ(holds(read_bytes(file("source")), 0, 3), 3u);
}

// The two calls of the idiom see one size, whatever other threads do to other caches meanwhile.
TEST_P(EachMode, SizeIdiomSeesOneSizeWhileOthersCreate)
{
    environment["WPTEST_ICD_COMPILE_US"] = "200";
    run([&] { read_back_while_others_create(file("data"), false); });
    EXPECT_EQ(holds(read_bytes(file("data")), 0, 10), 10u);
}

// Chapter "Pipeline Cache": such a cache is the program's to guard. The driver notices if it has
// two users at once.
TEST_P(EachMode, ExternallySynchronizedOnesAreNeverTouchedBesideTheProgram)
{
    environment["WPTEST_ICD_COMPILE_US"] = "100";
    environment["WPTEST_ICD_DATA_US"] = "1000";
    for (int start = 0; start < 2; ++start) {
        run([&] {
            Program program;
            VkPipelineCache cache =
                program.create_cache({}, VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT);
            std::mutex guard;
            std::vector<std::unique_ptr<Batch>> batches;
            for (unsigned i = 0; i < 4; ++i) {
                batches.push_back(std::make_unique<Batch>(
                    program, Kind::compute, std::vector<unsigned>{4 * i, 4 * i + 1, 4 * i + 2}));
            }
            std::vector<std::thread> threads;
            for (const auto &batch : batches) {
                threads.emplace_back([&] {
                    const std::lock_guard<std::mutex> lock(guard);
                    EXPECT_EQ(batch->create(cache), VK_SUCCESS);
                    program.cache_data(cache);
                });
            }
            for (std::thread &thread : threads) {
                thread.join();
            }
            program.destroy_cache(cache);
        });
    }
}

TEST_P(EachMode, CachesMadeWithAnAllocatorAreDestroyedWithIt)
{
    run([] {
        Program program;
        CountingAllocator allocator;
        VkPipelineCacheCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
        VkPipelineCache cache = VK_NULL_HANDLE;
        EXPECT_EQ(vkCreatePipelineCache(program.device, &info, allocator.get(), &cache),
                  VK_SUCCESS);
        program.create_compute(0, 3, cache);
        vkDestroyPipelineCache(program.device, cache, allocator.get());
        EXPECT_EQ(allocator.live(), 0) << "gone at once: the allocator may be, too";
    });
}

TEST_P(EachMode, FailedCreationsOfCachesAreTheDriversOwn)
{
    environment["WPTEST_ICD_FAIL"] = "vkCreatePipelineCache:1=-2";
    run([] {
        Program program;
        VkPipelineCacheCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
        VkPipelineCache cache = VK_NULL_HANDLE;
        EXPECT_EQ(vkCreatePipelineCache(program.device, &info, nullptr, &cache),
                  VK_ERROR_OUT_OF_DEVICE_MEMORY);
        cache = program.create_cache();
        program.create_compute(0, 3, cache);
        program.destroy_cache(cache);
    });
}

TEST_F(OwnCachesTest, HarvestedOnesArePassedOnUnseen)
{
    mode("harvest");
    run([] { Program().create_compute(50, 60); });
    const Outcome outcome = run([&] {
        Program program;
        VkPipelineCache cache = program.create_cache();
        program.create_compute(0, 5, cache);
        write_bytes(file("data"), program.cache_data(cache));
        program.destroy_cache(cache);
    });
    const std::vector<uint8_t> data = read_bytes(file("data"));
    EXPECT_EQ(holds(data, 0, 5), 5u);
    EXPECT_EQ(holds(data, 50, 60), 0u) << "it sees nothing of ours";
    for (const json &pipeline : outcome.pipelines()) {
        EXPECT_EQ(pipeline["cache"], cache_made_with(outcome, 0)["handle"]);
    }
    EXPECT_EQ(outcome.stats_of()["app_caches"]["harvested"], 1);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["passed"], 5);
    EXPECT_EQ(warm(0, 5), 5u);
    EXPECT_EQ(warm(50, 60), 10u);
}

TEST_F(OwnCachesTest, HarvestedAreTheLivingAndTheDestroyed)
{
    mode("harvest");
    const Outcome outcome = run(
        [] {
            Program program;
            for (unsigned i = 0; i < 60; ++i) { // as many as may wait for the worker
                VkPipelineCache cache = program.create_cache();
                program.create_compute(2 * i, 2 * i + 2, cache);
                program.destroy_cache(cache);
            }
            program.create_compute(200, 203, program.create_cache()); // never destroyed
        },
        {Layer::works, false, 0});
    EXPECT_EQ(outcome.violations(), std::vector<std::string>{"live_cache"})
        << "the program's leak, and no other";
    EXPECT_EQ(warm(0, 120), 120u);
    EXPECT_EQ(warm(200, 203), 3u);
}

// A save has read the cache and has not left it when the program compiles once more, and goes.
TEST_F(OwnCachesTest, WhatIsCompiledBehindAReadIsHarvested)
{
    mode("harvest");
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    run([] {
        const std::thread::id own = std::this_thread::get_id();
        std::atomic<bool> compiled{false};
        std::atomic<bool> held{false};
        std::atomic<bool> read{false};
        Signal has_read;
        Signal go_on;
        const DuringCalls hold([&](const char *command) {
            if (std::this_thread::get_id() == own || !compiled) {
                return;
            }
            if (std::string_view(command) == "vkGetPipelineCacheData") {
                read = true;
            } else if (std::string_view(command) == "vkCreatePipelineCache" && read &&
                       !held.exchange(true)) { // into the collection
                has_read.raise();
                go_on.wait();
            }
        });
        Program program;
        program.create_compute(20, 30);
        VkPipelineCache cache = program.create_cache();
        compiled = true;
        program.create_compute(0, 1, cache);
        has_read.wait();
        program.create_compute(1, 2, cache);
        program.destroy_cache(cache);
        go_on.raise();
    });
    EXPECT_EQ(warm(0, 2), 2u);
}

// The worker drops what it has collected once that is saved, and the driver takes longer over it
// than the end of a device waits for a disk.
TEST_F(OwnCachesTest, ADeviceWaitsForWhatIsDropped)
{
    mode("harvest");
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    environment["WPTEST_ICD_RECORD_BYTES"] = "4096"; // what is small is not dropped
    run([&] {
        const std::thread::id own = std::this_thread::get_id();
        Signal dropping;
        const DuringCalls slow([&](const char *command) {
            if (std::string_view(command) == "vkDestroyPipelineCache" &&
                std::this_thread::get_id() != own && !cache_files().empty()) {
                dropping.raise();
                usleep(600000);
                EXPECT_EQ(test_icd_calls("vkDestroyDevice"), 0u);
            }
        });
        Program program;
        std::vector<unsigned> numbers(40);
        std::iota(numbers.begin(), numbers.end(), 0);
        VkPipelineCache cache = program.create_cache();
        EXPECT_EQ(Batch(program, Kind::compute, numbers).create(cache), VK_SUCCESS);
        dropping.wait();
        program.destroy_cache(cache);
        program.destroy_device();
    });
}

TEST_F(OwnCachesTest, IgnoredOnesAreIgnored)
{
    mode("ignore");
    run([] {
        Program program;
        VkPipelineCache cache = program.create_cache();
        program.create_compute(0, 5, cache);
        program.destroy_cache(cache);
    });
    EXPECT_TRUE(cache_files().empty());
}

class GuardedCacheTest : public RecipesTest {
  protected:
    GuardedCacheTest()
    {
        environment["WPTEST_ICD_COMPILE_US"] = "1000";
        environment["WARMPIPE_APP_CACHE"] = "harvest"; // else they are served (decision 0302)
        environment.erase("WARMPIPE_PREWARM");
    }

    // What compiles into a cache that is the program's own to guard, and without one.
    static Program *start()
    {
        auto *program = new Program;
        const VkPipelineCache cache =
            program->create_cache({}, VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT);
        program->create_compute(0, 3, cache);
        program->create_compute(3, 4);
        return program;
    }

    // Four pipelines, by a start that creates none.
    void expect_compiled_ahead_in_the_next_start()
    {
        environment["WARMPIPE_LOG"] = "debug:" + (folder() / "log").string();
        run([&] {
            Program program;
            program.module(Kind::compute, 0);
            wait_until(
                [&] { return read_text(folder() / "log").find("prewarmed") != std::string::npos; });
        });
        environment["WARMPIPE_PREWARM"] = "off";
        EXPECT_EQ(run([] { Program().create_compute(0, 4); }).hits(), 4u);
    }
};

// Nobody may read it as long as the program has it.
TEST_F(GuardedCacheTest, WhatLivesInOneIsCompiledAheadInTheNextStart)
{
    run(
        [&] {
            Program *program = start();
            const auto flushes = [] {
                const std::string text = read_text(getenv("WARMPIPE_STATS"));
                return std::count(text.begin(), text.end(), '\n');
            };
            // What is recorded behind a save is known as saved by the next.
            for (unsigned i = 4; i < 60 && flushes() < 4; ++i) {
                program->create_compute(i, i + 1);
                usleep(50000);
            }
            EXPECT_EQ(cache_files().size(), 1u);
            for (const Recipes::Use &use : recipes().uses) {
                EXPECT_FALSE(use.saved) << "a save that has not read everything";
            }
            die();
        },
        {Layer::works, true, -SIGKILL});
    expect_compiled_ahead_in_the_next_start();
}

// It is destroyed with the allocator, which may be gone then: nothing of it is kept to be read.
TEST_F(GuardedCacheTest, WhatGoesIntoOneWithAnAllocatorIsCompiledAheadInTheNextStart)
{
    run([] {
        Program program;
        CountingAllocator allocator;
        const VkPipelineCacheCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
        VkPipelineCache cache = VK_NULL_HANDLE;
        EXPECT_EQ(vkCreatePipelineCache(program.device, &info, allocator.get(), &cache),
                  VK_SUCCESS);
        program.create_compute(0, 3, cache);
        program.create_compute(3, 4);
        vkDestroyPipelineCache(program.device, cache, allocator.get());
    });
    EXPECT_EQ(cache_files().size(), 1u);
    expect_compiled_ahead_in_the_next_start();
}

// When the device goes no thread of the program's may use it.
TEST_F(GuardedCacheTest, WhatLivesInOneIsReadWhenTheDeviceGoes)
{
    const Outcome first = run(
        [] {
            const std::unique_ptr<Program> program(start());
            program->destroy_device(); // and not the cache
        },
        {Layer::works, false});
    EXPECT_EQ(first.violations(), std::vector<std::string>{"live_cache"}) << "the program's own";
    EXPECT_EQ(run([] { Program().create_compute(0, 4); }).hits(), 4u);
}

} // namespace
