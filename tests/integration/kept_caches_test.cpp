// SPDX-License-Identifier: Apache-2.0
// Which programs keep their own pipeline caches, and which only read them back: what is learnt of
// that, and what becomes of their caches.
#include "kept_caches.hpp"
#include "test_icd.h"

#include <csignal>
#include <unistd.h>

namespace {

// Dawn, libplacebo, mpv: {caches, pipelines in each}; all of them read back, none ever loaded.
struct Reader {
    const char *name;
    unsigned caches;
    unsigned each;
};

class EachReader : public KeptCachesTest, public ::testing::WithParamInterface<Reader> {};

INSTANTIATE_TEST_SUITE_P(Of, EachReader,
                         ::testing::Values(Reader{"dawn", 20, 3}, Reader{"libplacebo", 10, 2},
                                           Reader{"mpv", 2, 15}),
                         [](const auto &reader) { return std::string(reader.param.name); });

TEST_P(EachReader, IsWarmFromItsSecondStartOn)
{
    const auto [name, caches, each] = GetParam();
    const auto program = [caches = caches, each = each, this] {
        Program owner;
        const auto data = use_caches(owner, caches, each, caches);
        for (unsigned i = 0; i < caches; ++i) {
            write_bytes(file(("data" + std::to_string(i)).c_str()), data[i]);
        }
    };
    for (int start = 0; start < 4; ++start) {
        const Outcome outcome = run(program);
        EXPECT_EQ(outcome.hits(), start == 0 ? 0u : caches * each);
        EXPECT_EQ(served(outcome), start == 0 ? 0u : caches);
        EXPECT_EQ(outcome.stats_of()["app_caches"]["read_back"], caches);
        for (unsigned i = 0; i < caches; ++i) {
            const auto data = read_bytes(file(("data" + std::to_string(i)).c_str()));
            EXPECT_EQ(holds(data, each * i, each * (i + 1)), each) << "what it made is in it";
        }
    }
    EXPECT_EQ(learnt()["app_caches"], "read_back");
    EXPECT_FALSE(learnt().contains("app_caches_kept"));
}

// Chromium, llama.cpp, ncnn: no vkDestroyDevice, no exit handlers.
TEST_F(KeptCachesTest, IsLearntOfAProgramThatIsKilled)
{
    const auto wait_until = [](const std::function<bool()> &condition) {
        for (int i = 0; i < 60000 && !condition(); ++i) {
            usleep(1000);
        }
        EXPECT_TRUE(condition());
    };
    for (int start = 0; start < 2; ++start) {
        const Outcome outcome = run(
            [&] {
                auto *program = new Program;
                use_caches(*program, 5, 2, start == 0 ? 0 : 5);
                wait_until([&] {
                    return read_text(program_file()).find(start == 0 ? "not_read" : "answers") !=
                               std::string::npos &&
                           are_saved(10);
                });
                die();
            },
            {Layer::any, true, -SIGKILL});
        EXPECT_EQ(outcome.hits(), start == 0 ? 0u : 10u);
    }
    EXPECT_EQ(learnt()["app_caches"], "read_back");
    EXPECT_EQ(learnt()["app_caches_read_runs"], 1);
}

// However often a run writes what it has learnt, it is one that reads back.
TEST_F(KeptCachesTest, IsCountedOnceInARun)
{
    for (unsigned start = 1; start <= 2; ++start) {
        run([] {
            for (int device = 0; device < 3; ++device) {
                Program owner;
                use_caches(owner, 5, 2, 5);
            }
        });
        EXPECT_EQ(learnt()["app_caches_read_runs"], start);
    }
}

TEST_F(KeptCachesTest, OneThatKeepsItsCacheIsLeftAlone)
{
    environment.erase("WARMPIPE_ENABLE");
    std::vector<std::vector<uint8_t>> plain;
    for (int start = 0; start < 3; ++start) {
        run(keeper(0, 10 + start), {Layer::absent, true, 0});
        plain.push_back(read_bytes(file("own")));
    }
    forget("own");
    environment["WARMPIPE_ENABLE"] = "1";
    for (int start = 0; start < 3; ++start) {
        const Outcome outcome = run(keeper(0, 10 + start));
        EXPECT_EQ(outcome.hits(), start == 0 ? 0u : 9u + start);
        EXPECT_EQ(read_bytes(file("own")), plain[start]) << "byte for byte as without us";
        EXPECT_EQ(served(outcome), 0u);
    }
    EXPECT_EQ(learnt()["app_caches_kept"], 1);
}

// What it makes in its first run could not be collected.
TEST_F(KeptCachesTest, OneThatKeepsItsCacheBesideAMessengerIsServedInItsFirstRunAlone)
{
    for (int start = 0; start < 3; ++start) {
        const Outcome outcome = run(keeper(0, 10 + start, with_messenger()));
        EXPECT_EQ(outcome.hits(), start == 0 ? 0u : 9u + start);
        EXPECT_EQ(holds(read_bytes(file("own")), 0, 20), 10u + start) << "what it made, no more";
        EXPECT_EQ(served(outcome), start == 0 ? 1u : 0u);
    }
    EXPECT_EQ(learnt()["app_caches_kept"], 1);
}

// Where no folder is known there is no later run for which to save what it holds.
TEST_F(KeptCachesTest, OneBesideAMessengerIsPassedOnWhereNothingIsKept)
{
    for (const char *name : {"WARMPIPE_DIR", "XDG_CACHE_HOME", "HOME"}) {
        environment.erase(name);
    }
    EXPECT_EQ(served(run(keeper(0, 10, with_messenger()))), 0u);
}

TEST_F(KeptCachesTest, OneThatHasLostItsFileIsGivenItBack)
{
    run(keeper(0, 10));
    run(keeper(0, 10));
    for (int start = 0; start < 2; ++start) {
        forget("own");
        const Outcome outcome = run(keeper(0, 10));
        EXPECT_EQ(outcome.hits(), 10u);
        EXPECT_GT(outcome.events("vkCreatePipelineCache").at(1)["initial_size"], 32);
        EXPECT_EQ(holds(read_bytes(file("own")), 0, 10), 10u);
        EXPECT_LE(outcome.calls("vkMergePipelineCaches"), 1u) << "for a save, if one falls due";
    }
    EXPECT_EQ(run(keeper(0, 10)).hits(), 10u) << "and it keeps what it was given";
}

// Of 64 MiB that a program may be given, two of 30 are left for the caches behind the refused one.
TEST_F(KeptCachesTest, WhatTheDriverRefusesToTakeIsNotCountedAsGiven)
{
    environment["WPTEST_ICD_RECORD_BYTES"] = std::to_string(3 << 20);
    set_policy("[busy]\ncount-costs = no\n"); // a slow machine is no slow driver
    run(keeper(0, 10));
    run(keeper(0, 10));
    environment["WPTEST_ICD_FAIL"] = "vkCreatePipelineCache:2=-1"; // the first is the device cache
    run([&] {
        Program program;
        for (unsigned held : {0u, 10u, 10u}) {
            VkPipelineCache cache = program.create_cache();
            EXPECT_EQ(holds(program.cache_data(cache), 0, 10), held);
            program.destroy_cache(cache);
        }
    });
}

// vkd3d-proton: an empty cache for each pipeline, one of which is read back and kept.
TEST_F(KeptCachesTest, OneThatKeepsOneOfManyIsServedAllOthers)
{
    constexpr unsigned count = 400;
    const auto program = [&] {
        Program owner;
        std::vector<uint8_t> own = read_bytes(file("own"));
        if (own.empty()) {
            own = use_caches(owner, 1, 1, 1).at(0);
            write_bytes(file("own"), own);
        } else {
            VkPipelineCache kept = owner.create_cache(own);
            owner.create_compute(0, 1, kept);
            owner.destroy_cache(kept);
        }
        use_caches(owner, count - 1, 1, 0, 1);
    };
    EXPECT_EQ(run(program).hits(), 0u);
    EXPECT_GT(run(program).hits(), 0u); // more are destroyed at once than a first run keeps
    EXPECT_EQ(learnt()["app_caches_kept"], 1);
    const Outcome third = run(program);
    EXPECT_EQ(third.hits(), count);
    EXPECT_EQ(served(third), count - 1);
}

// A program that makes few caches and reads each back before the budget is spent, and one that
// exceeds it: 20 answers of 80 pipelines of 64 KiB are 100 MiB.
TEST_F(KeptCachesTest, BeyondTheBudgetTheyArePassedOnUntilTheProgramIsKnown)
{
    environment["WPTEST_ICD_RECORD_BYTES"] = "65536";
    set_policy("[busy]\ncount-costs = no\n"); // a slow machine is no slow driver
    const auto program = [&] {
        Program owner;
        const auto data = use_caches(owner, 20, 4, 20);
        write_bytes(file("last"), data.back());
    };
    run(program);
    const Outcome second = run(program);
    EXPECT_GT(served(second), 0u);
    EXPECT_LT(served(second), 20u);
    EXPECT_EQ(holds(read_bytes(file("last")), 76, 80), 4u);

    // Three runs on two days.
    json known = learnt();
    known["app_caches_read_runs"] = 3;
    known["app_caches_read_days"] = 2;
    const std::string text = known.dump();
    write_bytes(program_file(), {text.begin(), text.end()});
    const Outcome known_run = run(program);
    EXPECT_EQ(served(known_run), 20u);
    EXPECT_EQ(known_run.hits(), 80u);
    EXPECT_EQ(holds(read_bytes(file("last")), 76, 80), 0u) << "the empty cache that it really is";

    // It keeps it after all: it gets what it had, at once, and is known for good.
    const Outcome kept = run([&] {
        Program owner;
        VkPipelineCache cache = owner.create_cache(read_bytes(file("last")));
        owner.create_compute(76, 80, cache);
        write_bytes(file("last"), owner.cache_data(cache));
        owner.destroy_cache(cache);
    });
    EXPECT_EQ(kept.hits(), 4u);
    EXPECT_EQ(holds(read_bytes(file("last")), 76, 80), 4u);
    EXPECT_EQ(learnt()["app_caches_kept"], 1);
}

// What a process reads and loads again itself shows nothing.
TEST_F(KeptCachesTest, LoadingInTheSameProcessIsNotKeeping)
{
    const auto program = [] {
        Program owner;
        const auto data = use_caches(owner, 1, 5, 1);
        VkPipelineCache again = owner.create_cache(data.at(0));
        owner.create_compute(0, 5, again);
        owner.destroy_cache(again);
    };
    for (int start = 0; start < 3; ++start) {
        run(program);
        EXPECT_FALSE(learnt().contains("app_caches_kept"));
    }
}

// What it compiles into an empty one is in the file, which a program without threads has not
// loaded.
TEST_F(KeptCachesTest, WhatIsCompiledBesideAKeptOneInEachStartIsWrittenOnce)
{
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer has a thread of its own, so that the worker loads the file";
#endif
    json last;
    const auto start = [&] {
        const Outcome outcome = run([&] {
            Program program;
            // All shader modules come before the first thread of ours, which would load the blob.
            Batch of_kept(program, Kind::compute, {0, 1, 2, 3, 4});
            Batch of_empty(program, Kind::compute, {100, 101, 102});
            VkPipelineCache kept = program.create_cache(read_bytes(file("own")));
            EXPECT_EQ(of_kept.create(kept), VK_SUCCESS);
            VkPipelineCache empty = program.create_cache();
            EXPECT_EQ(of_empty.create(empty), VK_SUCCESS);
            write_bytes(file("own"), program.cache_data(kept));
            program.destroy_cache(empty);
            program.destroy_cache(kept);
        });
        EXPECT_TRUE(outcome.violations().empty());
        last = outcome.stats_of()["cache"];
        return read_bytes(cache_file());
    };
    start();
    const std::vector<uint8_t> second = start();
    for (int i = 0; i < 3; i++) {
        EXPECT_TRUE(start() == second); // each save draws a generation
        EXPECT_EQ(last["loaded_bytes"], 0);
        EXPECT_EQ(last["saved_bytes"], 0);
    }
    EXPECT_EQ(warm(0, 5), 5u);
    EXPECT_EQ(warm(100, 103), 3u);
}

} // namespace
