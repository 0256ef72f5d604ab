// SPDX-License-Identifier: Apache-2.0
// The end of a device and of a process is bounded: what once took a driver long is not begun again
// in a program.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <unistd.h>

#include "during.hpp"
#include "recipes.hpp"
#include "test_icd.h"

namespace {

constexpr unsigned long_us = 300000;       // remembered
constexpr unsigned very_long_us = 1100000; // not even done at the end of a device

uint64_t reads()
{
    return test_icd_calls("vkGetPipelineCacheData");
}

class LongCallsTest : public RecipesTest {
  protected:
    LongCallsTest()
    {
        environment["WARMPIPE_PREWARM"] = "off";
    }

    std::filesystem::path log() const
    {
        return folder() / "log";
    }

    bool logged(const char *text) const
    {
        return read_text(log()).find(text) != std::string::npos;
    }

    bool is_remembered() const
    {
        const std::filesystem::path file = cache_root() / "program" / "program.json";
        return std::filesystem::exists(file) &&
               read_text(file).find("slow_calls") != std::string::npos;
    }

    // The worker has nothing to do any more, or it would not have told the statistics.
    void wait_for_quiet() const
    {
        wait_until([&] {
            for (const auto &file : std::filesystem::directory_iterator(folder())) {
                if (read_text(file.path()).find("\"event\":\"flush\"") != std::string::npos) {
                    return true;
                }
            }
            return false;
        });
    }

    // The driver sleeps at each call of this command.
    static std::function<void(const char *)> sleeping_at(std::string_view command, unsigned us)
    {
        return [command, us](const char *called) {
            if (command == called) {
                usleep(us);
            }
        };
    }
};

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
            if (std::string_view(command) == "vkGetPipelineCacheData" && !is_reading) {
                is_reading = true;
                wait_until([&] { return is_remembered(); });
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
    environment["WPTEST_ICD_RECORD_BYTES"] = "3000000"; // a large blob is loaded ahead
    run([] { Program().create_compute(0, 4); });
    const auto loads = [] { return test_icd_calls("vkCreatePipelineCache"); };
    const Outcome first = run([&] {
        const DuringCalls sleep(sleeping_at("vkCreatePipelineCache", long_us));
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
    EXPECT_FALSE(is_remembered()) << "it has become fast";
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

class LongCompilesTest : public LongCallsTest {
  protected:
    // Leaves recipes of five pipelines; then the driver is updated.
    void SetUp() override
    {
        RecipesTest::SetUp();
        run([] { Program().create_compute(0, 5); });
        update_driver();
        environment.erase("WARMPIPE_PREWARM");
        environment["WARMPIPE_LOG"] = "info:" + log().string();
    }

    static uint64_t asked()
    {
        return test_icd_calls("vkCreateComputePipelines");
    }

    static void destroy_and_tell(Program &program)
    {
        const auto start = std::chrono::steady_clock::now();
        program.destroy_device();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        printf("vkDestroyDevice took %.3f s\n", took.count());
        fflush(stdout);
    }

    void expect_one_left_out()
    {
        for (const std::filesystem::path &file : cache_files()) {
            std::filesystem::remove(file);
        }
        std::filesystem::remove(log());
        const Outcome outcome = run([&] {
            Program program;
            wait_until([&] { return logged("prewarmed "); });
        });
        EXPECT_TRUE(logged("prewarmed 4 of 4 ")) << read_text(log());
        EXPECT_EQ(outcome.pipelines().size(), 4u);
        for (const auto &file : std::filesystem::recursive_directory_iterator(cache_root())) {
            EXPECT_TRUE(file.path().extension() != ".crashed" || file.file_size() == 16)
                << "a slow one has crashed nothing: there are no places, only a death";
        }
    }

    bool has_file(const char *extension) const
    {
        for (const auto &file : std::filesystem::recursive_directory_iterator(cache_root())) {
            if (file.path().extension() == extension) {
                return true;
            }
        }
        return false;
    }

    // How many recorded uses took long.
    size_t longs() const
    {
        size_t count = 0;
        for (const Recipes::Use &use : recipes().uses) {
            count += use.compile_us >= 250000;
        }
        return count;
    }
};

// The first compile of the process takes long: by hand, as long as one likes.
void be_slow_once()
{
    static std::atomic<int> begun{0};
    begun = 0;
    test_icd_on_compile(
        [](void *) {
            if (begun++ == 0) {
                const char *us = std::getenv("WARMPIPE_LONG_COMPILE_US");
                usleep(us ? static_cast<unsigned>(std::strtoul(us, nullptr, 10)) : long_us);
            }
        },
        nullptr);
}

TEST_F(LongCompilesTest, OneIsNotBegunAgain)
{
    if (const char *us = std::getenv("WARMPIPE_LONG_COMPILE_US")) {
        environment["WARMPIPE_LONG_COMPILE_US"] = us;
    }
    const Outcome first = run([] {
        be_slow_once();
        Program program;
        wait_until([] { return asked() >= 1; });
        destroy_and_tell(program); // waits for it: a device cannot go while a call is in it
        EXPECT_LE(asked(), 64u);
    });
    EXPECT_EQ(longs(), 1u);
    expect_one_left_out();
    printf("%s", first.output.c_str());
}

// The first compile of the process never ends.
void hang_once()
{
    static std::atomic<int> begun{0};
    test_icd_on_compile(
        [](void *) {
            if (begun++ == 0) {
                for (;;) {
                    pause();
                }
            }
        },
        nullptr);
}

// It is recorded while it goes on, and from then on no crash.
TEST_F(LongCompilesTest, NorOneThatTheProcessWasKilledFor)
{
    run(
        [&] {
            hang_once();
            Program program;
            wait_until([&] { return longs() >= 1; });
            raise(SIGKILL);
        },
        {Layer::any, true, -SIGKILL});
    EXPECT_EQ(longs(), 1u);
    expect_one_left_out();
}

// Some take long, and then kill: that costs two starts, as what kills at once does.
TEST_F(LongCompilesTest, ThoseThatKillInTheEndCostTwoStartsAtMost)
{
    for (size_t starts = 1; starts <= 2; ++starts) {
        run(
            [&] {
                hang_once();
                Program program;
                wait_until([&] { return longs() >= starts; });
                raise(SIGKILL);
            },
            {Layer::any, true, -SIGKILL});
    }
    run([&] {
        Program program;
        wait_until([&] { return logged("prewarm_died"); });
        EXPECT_EQ(asked(), 0u);
    });
}

TEST_F(LongCompilesTest, NorOneThatTheProcessEndedIn)
{
    run([&] {
        leak_from_here_on();
        hang_once();
        new Program;
        wait_until([] { return asked() >= 1; });
        usleep(long_us); // else it has not taken long yet
        std::exit(0);
    });
    EXPECT_EQ(longs(), 1u);
    expect_one_left_out();
}

// Nor does it count as a death where it is known to take long, and has its mark for that.
TEST_F(LongCompilesTest, ProcessesThatEndInOneAreNoDeaths)
{
    for (size_t starts = 1; starts <= 2; ++starts) {
        run(
            [&] {
                leak_from_here_on();
                hang_once();
                new Program;
                wait_until([&] { return longs() >= starts; });
                std::exit(0); // whose wait for the disk may be over before the statistics
            },
            {Layer::any});
    }
    run([&] {
        Program program;
        wait_until([&] { return logged("prewarmed ") || logged("prewarm_died"); });
    });
    EXPECT_FALSE(logged("prewarm_died"));
    EXPECT_FALSE(has_file(".crashed"));
}

// Where nothing may be written nothing is recorded, and the process goes on.
TEST_F(LongCompilesTest, OneIsNotRecordedWhereNothingMayBeWritten)
{
    environment["WARMPIPE_READONLY"] = "1";
    run([this] {
        be_slow_once();
        Program program;
        wait_until([&] { return logged("prewarmed "); });
    });
    EXPECT_EQ(longs(), 0u);
}

// A time that is not known is estimated by the size of the code.
TEST_F(LongCompilesTest, WhatIsLargeAndOfUnknownTimeIsNotBegun)
{
#ifdef WARMPIPE_SANITIZED
    GTEST_SKIP() << "under a sanitizer a hit takes as long as a compile";
#endif
    std::filesystem::remove_all(cache_root());
    environment["WARMPIPE_PREWARM"] = "off";
    environment.erase("WPTEST_ICD_DRIVER_VERSION");
    const auto program_of_two = [] {
        Program program;
        std::vector<uint32_t> code = shader_code(Kind::compute, 7);
        for (int i = 0; i < 4096; i++) {
            code.push_back(1u << 16); // OpNop
        }
        VkShaderModuleCreateInfo info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        info.codeSize = code.size() * sizeof code[0];
        info.pCode = code.data();
        VkShaderModule module = VK_NULL_HANDLE;
        EXPECT_EQ(vkCreateShaderModule(program.device, &info, nullptr, &module), VK_SUCCESS);
        Batch batch(program, Kind::compute, {7});
        batch.stage(0).module = module;
        EXPECT_EQ(batch.create(), VK_SUCCESS);
        program.create_compute(0, 1);
        vkDestroyShaderModule(program.device, module, nullptr);
    };
    run(program_of_two);
    record_hits(program_of_two);
    ASSERT_EQ(recipes().uses.size(), 2u);
    update_driver();
    environment.erase("WARMPIPE_PREWARM");
    const Outcome outcome = run([&] {
        Program program;
        wait_until([&] { return logged("prewarmed "); });
        destroy_and_tell(program);
    });
    printf("%s", outcome.output.c_str());
    EXPECT_TRUE(logged("prewarmed 1 of 2 ")) << read_text(log());
    EXPECT_EQ(outcome.pipelines().size(), 1u);
}

} // namespace
