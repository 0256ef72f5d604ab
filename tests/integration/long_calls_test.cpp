// SPDX-License-Identifier: Apache-2.0
// The end of a device and of a process is bounded: what once took a driver long is not begun again
// in a program.
#include <atomic>
#include <string_view>

#include "during.hpp"
#include "long_calls.hpp"

namespace {

constexpr unsigned very_long_us = 1100000; // not even done at the end of a device

uint64_t reads()
{
    return test_icd_calls("vkGetPipelineCacheData");
}

TEST_F(LongCallsTest, AReadIsNotBegunAgain)
{
    run([] {
        const DuringCalls sleep(sleeping_at("vkGetPipelineCacheData", very_long_us));
        Program program;
        program.create_compute(0, 2);
        wait_until([] { return reads() >= 1; });
        program.destroy_device();
    });
    ASSERT_TRUE(is_remembered());
    const Outcome second = run([&] {
        Program program;
        program.create_compute(2, 5);
        wait_for_quiet();
        EXPECT_EQ(reads(), 0u);
    });
    EXPECT_EQ(second.calls("vkGetPipelineCacheData"), 0u) << "nor at the end";
    EXPECT_EQ(second.stats_of()["cache"]["reason"], "too_slow");
    EXPECT_EQ(second.stats_of()["cache"]["state"], "loaded") << "what there is serves";

    environment["WPTEST_ICD_DRIVER_VERSION"] = "4711";
    const Outcome other = run([&] { Program().create_compute(0, 2); });
    EXPECT_GT(other.stats_of()["cache"]["saved_bytes"], 0) << "another driver may be faster";
}

// A driver that compiles behind the calls that create answers the first question when it has done
// so (Venus, of virtual machines): what a read takes is what the questions behind that one take.
TEST_F(LongCallsTest, WaitingForCompilesIsNoCostOfARead)
{
    run([] {
        std::atomic<bool> has_waited{false};
        const DuringCalls sleep([&](const char *command) {
            if (std::string_view(command) == "vkGetPipelineCacheData" &&
                !has_waited.exchange(true)) {
                usleep(very_long_us);
            }
        });
        Program().create_compute(0, 2);
    });
    EXPECT_FALSE(is_remembered());
    const Outcome second = run([] { Program().create_compute(2, 5); });
    EXPECT_GT(second.stats_of()["cache"]["saved_bytes"], 0);
}

// Whatever waits.
TEST_F(LongCallsTest, OfVenusNothingIsRemembered)
{
    environment["WPTEST_ICD_DRIVER_ID"] = "22";
    run([] {
        const DuringCalls sleep(sleeping_at("vkGetPipelineCacheData", very_long_us));
        Program().create_compute(0, 2);
    });
    EXPECT_FALSE(is_remembered());
    const Outcome second = run([] { Program().create_compute(2, 5); });
    EXPECT_GT(second.stats_of()["cache"]["saved_bytes"], 0);
}

// Where users of a cache are kept apart, a read waits for the program's compiles.
TEST_F(LongCallsTest, OfDriversThatNeedALockNothingIsRemembered)
{
    set_policy("[test]\nserialize = yes\n");
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    run(
        [&] {
            leak_from_here_on();
            auto *program = new Program;
            program->create_compute(0, 2);
            new DuringCompile([](int) {
                usleep(2 * very_long_us); // the worker, which wants to read, waits meanwhile
                std::exit(::testing::Test::HasFailure());
            });
            program->create_compute(2, 3);
        },
        {Layer::any, true, 0});
    EXPECT_FALSE(is_remembered());
    const Outcome second = run([] { Program().create_compute(3, 6); });
    EXPECT_GT(second.stats_of()["cache"]["saved_bytes"], 0);
}

// Nor counted within the process: the questions behind the first one wait for what was compiled
// meanwhile.
TEST_F(LongCallsTest, OfVenusNoReadIsTooSlow)
{
    environment["WPTEST_ICD_DRIVER_ID"] = "22";
    run([&] {
        Program program;
        {
            const DuringCalls sleep(sleeping_at("vkGetPipelineCacheData", very_long_us));
            program.create_compute(0, 2);
            wait_for_quiet();
        }
        program.create_compute(2, 5);
    });
    EXPECT_EQ(run([] { Program().create_compute(0, 5); }).hits(), 5u);
}

// At the end it is still done where it takes less than the compiles that it saves, and when it has
// become fast, it is forgotten.
TEST_F(LongCallsTest, AReadThatPaysIsDoneAtTheEnd)
{
    const auto sleep_a_while = sleeping_at("vkGetPipelineCacheData", long_us / 2);
    run([&] {
        const DuringCalls sleep(sleep_a_while);
        Program().create_compute(0, 2);
    });
    ASSERT_TRUE(is_remembered());
    environment["WPTEST_ICD_COMPILE_US"] = "400000";
    const Outcome second = run([&] {
        const DuringCalls sleep(sleep_a_while);
        Program program;
        program.create_compute(2, 4);
        wait_for_quiet();
        EXPECT_EQ(reads(), 0u);
    });
    EXPECT_GT(second.stats_of()["cache"]["saved_bytes"], 0);
    EXPECT_TRUE(is_remembered());
    run([] { Program().create_compute(4, 6); });
    EXPECT_FALSE(is_remembered());
}

// By whoever waits for it, for that one may be killed.
TEST_F(LongCallsTest, AReadIsRememberedWhileItGoesOn)
{
    run([&] {
        std::atomic<bool> is_reading{false};
        const DuringCalls wait([&](const char *command) {
            if (std::string_view(command) == "vkGetPipelineCacheData" &&
                is_reading.exchange(true)) {
                wait_until([&] { return is_remembered(); });
                usleep(long_us);
            }
        });
        Program program;
        program.create_compute(0, 2);
        wait_until([&] { return is_reading.load(); });
        program.destroy_device();
    });
    EXPECT_TRUE(is_remembered());
}

// The process does not wait for it.
TEST_F(LongCallsTest, AReadThatNeverEndsKeepsNoProcess)
{
    run([] {
        leak_from_here_on();
        static std::atomic<bool> is_reading{false};
        test_icd_on_call(
            [](const char *command, void *) {
                while (std::string_view(command) == "vkGetPipelineCacheData") {
                    is_reading = true;
                    pause();
                }
            },
            nullptr);
        (new Program)->create_compute(0, 2);
        wait_until([] { return is_reading.load(); });
        std::exit(0);
    });
    EXPECT_TRUE(is_remembered());
    EXPECT_EQ(run([] { Program().create_compute(0, 2); }).calls("vkGetPipelineCacheData"), 0u);
}

TEST_F(LongCallsTest, ALoadIsNotBegunAheadAgain)
{
    environment["WPTEST_ICD_RECORD_BYTES"] = "2200000"; // a large blob is loaded ahead
    run([] { Program().create_compute(0, 4); });
    const auto loads = [] { return test_icd_calls("vkCreatePipelineCache"); };
    const Outcome first = run([&] {
        const DuringCalls sleep(sleeping_at("vkCreatePipelineCache", very_long_us));
        Program program;
        wait_until([&] { return loads() >= 1; });
    });
    EXPECT_EQ(first.calls("vkCreatePipelineCache"), 1u);
    ASSERT_TRUE(is_remembered());
    environment["WARMPIPE_LOG"] = "debug:" + log().string();
    const Outcome second = run([&] {
        Program program;
        wait_until([&] { return logged("not loaded ahead"); });
    });
    EXPECT_EQ(second.calls("vkCreatePipelineCache"), 0u);
    const Outcome third = run([] { Program().create_compute(0, 4); });
    EXPECT_EQ(third.hits(), 4u) << "the first creation loads it all the same";
#ifndef __SANITIZE_THREAD__ // with which so much is slow
    EXPECT_FALSE(is_remembered()) << "it has become fast";
#endif
}

// What another device has saved meanwhile is not merged again: the last one to save stays.
TEST_F(LongCallsTest, AMergeIsNotBegunAgain)
{
    const auto merges = [](unsigned first) {
        Program one;
        Program two;
        one.create_compute(first, first + 1);
        two.create_compute(first + 1, first + 2);
        one.destroy_device();
    };
    const Outcome first = run([&] {
        const DuringCalls sleep(sleeping_at("vkMergePipelineCaches", very_long_us));
        merges(0);
    });
    EXPECT_GE(first.calls("vkMergePipelineCaches"), 1u);
    ASSERT_TRUE(is_remembered());
    const Outcome second = run([&] { merges(10); });
    EXPECT_EQ(second.calls("vkMergePipelineCaches"), 0u);
    EXPECT_GE(run([] { Program().create_compute(11, 12); }).hits(), 1u) << "the last one's";
    EXPECT_EQ(cache_files().size(), 1u);
}

// Nor are the program's own caches merged for our saves.
TEST_F(LongCallsTest, ACollectionIsNotMergedAgain)
{
    environment["WARMPIPE_APP_CACHE"] = "harvest";
    const auto uses_own = [](unsigned first) {
        Program program;
        for (unsigned i = first; i < first + 3; i++) {
            const VkPipelineCache cache = program.create_cache();
            program.create_compute(i, i + 1, cache);
            program.destroy_cache(cache);
        }
    };
    const Outcome first = run([&] {
        const DuringCalls sleep(sleeping_at("vkMergePipelineCaches", very_long_us));
        uses_own(0);
    });
    EXPECT_GE(first.calls("vkMergePipelineCaches"), 1u);
    ASSERT_TRUE(is_remembered());
    EXPECT_EQ(run([&] { uses_own(3); }).calls("vkMergePipelineCaches"), 0u);
}

} // namespace
