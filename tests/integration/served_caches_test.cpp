// SPDX-License-Identifier: Apache-2.0
// Served caches: the device's cache in place of a program's own empty ones, read back or not.
#include "own_caches.hpp"

#include <fstream>
#include <set>
#include <thread>

#include <unistd.h>

namespace {

class ServedCachesTest : public OwnCachesTest {
  protected:
    ServedCachesTest()
    {
        mode("serve");
    }
};

TEST_F(ServedCachesTest, CostWhatOneDoes)
{
    const auto program = [] {
        Program owner;
        std::vector<VkPipelineCache> caches;
        for (unsigned i = 0; i < 30; ++i) {
            caches.push_back(owner.create_cache());
            owner.create_compute(2 * i, 2 * i + 2, caches.back());
        }
        for (VkPipelineCache cache : caches) {
            owner.destroy_cache(cache);
        }
    };
    run(program);
    const Outcome outcome = run(program);
    EXPECT_EQ(outcome.hits(), 60u);
    std::set<std::string> used;
    for (const json &pipeline : outcome.pipelines()) {
        used.insert(pipeline["cache"]);
    }
    EXPECT_EQ(used.size(), 1u);
    EXPECT_EQ(outcome.stats_of()["app_caches"]["created"], 30);
    EXPECT_EQ(outcome.stats_of()["app_caches"]["served"], 30);
    EXPECT_EQ(outcome.stats_of()["app_caches"]["read_back"], 0);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["injected"], 60);
    EXPECT_EQ(outcome.calls("vkMergePipelineCaches"), 0u);
}

// Feedback speaks of the cache that the program named: an empty one has seen nothing yet.
TEST_F(ServedCachesTest, TellNoHitThatIsNotTheirs)
{
    const auto program = [] {
        Program owner;
        VkPipelineCache cache = owner.create_cache();
        Feedback feedback;
        Batch batch(owner, Kind::compute, {1});
        batch.chain(0, &feedback.info);
        EXPECT_EQ(batch.create(cache), VK_SUCCESS);
        EXPECT_FALSE(feedback.hit());
        EXPECT_FALSE(feedback.stage_hit());
        owner.destroy_cache(cache);
    };
    run(program);
    EXPECT_EQ(run(program).hits(), 1u);
}

TEST_F(ServedCachesTest, AreAnsweredWholeAndStayServed)
{
    environment["WARMPIPE_LOG"] = "info";
    run([] { Program().create_compute(0, 10); });
    const Outcome outcome = run([&] {
        Program program;
        VkPipelineCache cache = program.create_cache();
        program.create_compute(0, 10, cache);
        program.create_compute(20, 30, cache);
        write_bytes(file("first"), program.cache_data(cache));
        program.create_compute(40, 45, cache);
        write_bytes(file("second"), program.cache_data(cache));
        VkPipelineCache next = program.create_cache();
        program.create_compute(60, 62, next);
        program.destroy_cache(cache);
        program.destroy_cache(next);
    });
    EXPECT_EQ(holds(read_bytes(file("first")), 0, 10), 10u);
    EXPECT_EQ(holds(read_bytes(file("first")), 20, 30), 10u);
    EXPECT_EQ(holds(read_bytes(file("second")), 0, 10), 10u);
    EXPECT_EQ(holds(read_bytes(file("second")), 40, 45), 5u);
    EXPECT_EQ(outcome.stats_of()["app_caches"]["read_back"], 1);
    for (const json &pipeline : outcome.pipelines()) {
        EXPECT_EQ(pipeline["cache"], outcome.pipelines().at(0)["cache"]);
    }
    EXPECT_EQ(outcome.calls("vkMergePipelineCaches"), 0u);
    size_t lines = 0;
    for (const std::string &line : outcome.log()) {
        lines += line.find("reads its pipeline cache back") != std::string::npos;
    }
    EXPECT_EQ(lines, 1u);
    EXPECT_EQ(warm(0, 62), 27u) << "and all of it is kept";
}

TEST_F(ServedCachesTest, ThatAreNeverUsedReadBackEmpty)
{
    run(
        [&] {
            Program program;
            VkPipelineCache cache = program.create_cache();
            program.create_cache(program.cache_data(cache));
            write_bytes(file("data"), program.cache_data(cache));
            program.destroy_cache(cache);
            size_t size = 1;
            std::vector<uint8_t> data(1);
            cache = program.create_cache();
            EXPECT_EQ(vkGetPipelineCacheData(program.device, cache, &size, data.data()),
                      VK_INCOMPLETE);
            EXPECT_EQ(size, 0u);
            program.destroy_cache(cache);
        },
        {Layer::works, false, 0});
    EXPECT_EQ(holds(read_bytes(file("data")), 0, 1), 0u);
}

// Mesa 26's lavapipe reports 20 bytes for the header of 32 that it writes.
TEST_F(ServedCachesTest, AnswerAndMergeNoPartOfAHeader)
{
    environment["WPTEST_ICD_DATA"] = "short";
    run([] {
        Program program;
        const VkPipelineCache served = program.create_cache();
        std::vector<uint8_t> header(32);
        size_t size = header.size();
        EXPECT_EQ(vkGetPipelineCacheData(program.device, served, &size, header.data()), VK_SUCCESS);
        const VkPipelineCache own = program.create_cache(header);
        program.create_compute(0, 2, served);
        EXPECT_EQ(vkGetPipelineCacheData(program.device, served, &size, nullptr), VK_SUCCESS);
        EXPECT_EQ(size, header.size());
        EXPECT_EQ(vkMergePipelineCaches(program.device, own, 1, &served), VK_SUCCESS);
        program.destroy_cache(served);
        program.destroy_cache(own);
    });
}

// A call with a structure that nobody knows uses the very cache that it names.
TEST_F(ServedCachesTest, AreAnsweredWithWhatAnUntouchedCreationMade)
{
    run([&] {
        Program program;
        VkPipelineCache cache = program.create_cache();
        program.create_compute(0, 5, cache);
        VkBaseOutStructure unknown = {static_cast<VkStructureType>(1999999001), nullptr};
        Batch batch(program, Kind::compute, {9});
        batch.chain(0, &unknown);
        EXPECT_EQ(batch.create(cache), VK_SUCCESS);
        write_bytes(file("data"), program.cache_data(cache));
        program.destroy_cache(cache);
    });
    EXPECT_EQ(holds(read_bytes(file("data")), 0, 5), 5u);
    EXPECT_EQ(holds(read_bytes(file("data")), 9, 10), 1u);
}

// They stay the program's own: whoever else uses one, we merge nothing into it.
TEST_F(ServedCachesTest, AreNeverMergedIntoBesideTheirUsers)
{
    environment["WPTEST_ICD_COMPILE_US"] = "2000";
    run([] {
        Program program;
        PipelineCreateFlags2 unknown(uint64_t{1} << 62); // of no version
        for (unsigned round = 0; round < 20; ++round) {
            VkPipelineCache cache = program.create_cache();
            program.create_compute(10 * round, 10 * round + 1, cache);
            std::vector<std::unique_ptr<Batch>> batches;
            for (unsigned i = 1; i < 5; ++i) {
                batches.push_back(std::make_unique<Batch>(program, Kind::compute,
                                                          std::vector<unsigned>{10 * round + i}));
                batches.back()->chain(0, &unknown);
            }
            std::vector<std::thread> threads;
            for (const auto &batch : batches) {
                threads.emplace_back([&] { EXPECT_EQ(batch->create(cache), VK_SUCCESS); });
            }
            for (std::thread &thread : threads) {
                thread.join();
            }
            program.destroy_cache(cache);
        }
    });
}

TEST_F(ServedCachesTest, KeepWhatADeferredOperationMakes)
{
    run([&] {
        Program program;
        VkPipelineCache cache = program.create_cache();
        Deferred deferred(program);
        Batch batch(program, Kind::ray_tracing_khr, {1});
        EXPECT_EQ(batch.create(cache, nullptr, deferred.operation), VK_OPERATION_DEFERRED_KHR);
        program.cache_data(cache);
        EXPECT_EQ(deferred.join(), VK_SUCCESS);
        write_bytes(file("data"), program.cache_data(cache));
        program.destroy_cache(cache);
    });
    environment.erase("WARMPIPE_ENABLE");
    const Outcome outcome = run(
        [&] {
            Program program;
            VkPipelineCache cache = program.create_cache(read_bytes(file("data")));
            program.create(Kind::ray_tracing_khr, 1, cache);
            program.destroy_cache(cache);
        },
        {Layer::absent, true, 0});
    EXPECT_EQ(outcome.hits(), 1u);
}

TEST_F(ServedCachesTest, Storm)
{
    const auto program = [] {
        Program owner;
        std::vector<std::unique_ptr<Batch>> batches;
        for (unsigned i = 0; i < 8; ++i) {
            batches.push_back(
                std::make_unique<Batch>(owner, Kind::compute, std::vector<unsigned>{i, i + 8}));
        }
        std::vector<std::thread> threads;
        for (size_t i = 0; i < batches.size(); ++i) {
            threads.emplace_back([&, i] {
                for (int round = 0; round < 10; ++round) {
                    VkPipelineCache cache = owner.create_cache();
                    EXPECT_EQ(batches[i]->create(cache), VK_SUCCESS);
                    for (VkPipeline &pipeline : batches[i]->pipelines) {
                        vkDestroyPipeline(owner.device, pipeline, nullptr);
                        pipeline = VK_NULL_HANDLE;
                    }
                    if (round == 5 && i == 0) {
                        owner.cache_data(cache);
                    }
                    owner.destroy_cache(cache);
                }
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
    };
    run(program);
    run(program);
}

// The two calls of the idiom see one size, whatever was created between them.
TEST_F(ServedCachesTest, SizeIdiomSeesOneSizeWhateverIsCreatedBetween)
{
    run([&] {
        Program program;
        VkPipelineCache cache = program.create_cache(), other = program.create_cache();
        program.create_compute(0, 3, cache);
        unsigned next = 10;
        for (VkPipelineCache used : {other, cache, VkPipelineCache(VK_NULL_HANDLE)}) {
            size_t size = 0;
            EXPECT_EQ(vkGetPipelineCacheData(program.device, cache, &size, nullptr), VK_SUCCESS);
            program.create_compute(next, next + 2, used);
            next += 2;
            std::vector<uint8_t> data(size);
            EXPECT_EQ(vkGetPipelineCacheData(program.device, cache, &size, data.data()),
                      VK_SUCCESS);
            EXPECT_EQ(size, data.size());
            write_bytes(file("data"), data);
        }
        program.destroy_cache(cache);
        program.destroy_cache(other);
    });
    EXPECT_EQ(holds(read_bytes(file("data")), 0, 3), 3u);
}

// Two calls get the same data until something is created in this cache ("Retrieving Pipeline Cache
// Data"): two threads that read it, or a second read.
TEST_F(ServedCachesTest, WhatIsCreatedInAnotherChangesNoAnswer)
{
    run([] {
        Program program;
        const VkPipelineCache cache = program.create_cache(), other = program.create_cache();
        program.create_compute(0, 3, cache);
        size_t sizes[2] = {};
        EXPECT_EQ(vkGetPipelineCacheData(program.device, cache, &sizes[0], nullptr), VK_SUCCESS);
        program.create_compute(10, 12, other);
        EXPECT_EQ(vkGetPipelineCacheData(program.device, cache, &sizes[1], nullptr), VK_SUCCESS);
        EXPECT_EQ(sizes[0], sizes[1]);
        std::vector<uint8_t> data[2];
        for (unsigned i = 0; i < 2; ++i) {
            size_t size = sizes[0];
            data[i].resize(size);
            EXPECT_EQ(vkGetPipelineCacheData(program.device, cache, &size, data[i].data()),
                      VK_SUCCESS);
            program.create_compute(20 + 2 * i, 22 + 2 * i, other);
        }
        EXPECT_EQ(data[0], data[1]);
        program.destroy_cache(cache);
        program.destroy_cache(other);
    });
}

// What it reads back has a budget. A program that looks at sizes alone has no need of one: its
// caches are served in its third run as in the second.
TEST_F(ServedCachesTest, AnAskedSizeIsNoRead)
{
    environment.erase("WARMPIPE_APP_CACHE");
    environment["WPTEST_ICD_RECORD_BYTES"] = "65536"; // 40 answers of 2.5 MiB
    Outcome outcome;
    for (unsigned i = 0; i < 3; ++i) {
        outcome = run([] {
            Program program;
            std::vector<VkPipelineCache> caches;
            for (unsigned i = 0; i < 40; ++i) {
                size_t size = 0;
                caches.push_back(program.create_cache());
                program.create_compute(i, i + 1, caches.back());
                EXPECT_EQ(vkGetPipelineCacheData(program.device, caches.back(), &size, nullptr),
                          VK_SUCCESS);
            }
            for (VkPipelineCache cache : caches) {
                program.destroy_cache(cache);
            }
        });
    }
    EXPECT_EQ(outcome.stats_of()["app_caches"]["served"], 40);
    EXPECT_EQ(outcome.stats_of()["app_caches"]["read_back"], 0);
    EXPECT_EQ(outcome.hits(), 40u);
}

#ifndef WARMPIPE_SANITIZED // sanitizers keep what was freed

// The answers of a hundred such queries would be 320 MiB.
TEST_F(ServedCachesTest, SizesThatAreAskedForAloneDoNotFillMemory)
{
    environment["WPTEST_ICD_RECORD_BYTES"] = "65536";
    const Outcome outcome = run([] {
        const auto resident_pages = [] {
            size_t whole = 0, resident = 0;
            std::ifstream("/proc/self/statm") >> whole >> resident;
            return resident;
        };
        Program program;
        const size_t before = resident_pages();
        std::vector<VkPipelineCache> caches;
        for (unsigned i = 0; i < 100; ++i) {
            caches.push_back(program.create_cache());
        }
        for (unsigned i = 0; i < 100; ++i) {
            size_t size = 0;
            program.create_compute(i, i + 1, caches[i]);
            EXPECT_EQ(vkGetPipelineCacheData(program.device, caches[i], &size, nullptr),
                      VK_SUCCESS);
        }
        EXPECT_LT((resident_pages() - before) * size_t(sysconf(_SC_PAGESIZE)), size_t{160} << 20);
        for (VkPipelineCache cache : caches) {
            program.destroy_cache(cache);
        }
    });
    EXPECT_EQ(outcome.stats_of()["app_caches"]["served"], 100);
}

#endif

// Of a served cache that holds even while they use this very one: they use the device cache until
// the data call has returned.
TEST_F(ServedCachesTest, SizeIdiomSeesOneSizeWhileOthersUseIt)
{
    environment["WPTEST_ICD_COMPILE_US"] = "200";
    run([&] { read_back_while_others_create(file("data"), true); });
    EXPECT_EQ(holds(read_bytes(file("data")), 0, 10), 10u);
}

} // namespace
