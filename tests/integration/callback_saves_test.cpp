// SPDX-License-Identifier: Apache-2.0
// Where the driver may call the program back, the program's own threads look at the caches: what is
// saved, and what that costs them.
#include "callbacks.hpp"

#include <fstream>
#include <memory>
#include <numeric>

#include <sched.h>
#include <sys/resource.h>

namespace {

class CallbackSavesTest : public LayerTest {
  protected:
    // From here on this thread has a tenth of its core, until `busy` falls.
    static std::thread starve(const std::atomic<bool> &busy)
    {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        std::thread hog([&busy] {
            while (busy) {
            }
        });
        EXPECT_EQ(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 10), 0);
        return hog;
    }

    void expect_last_saved(bool is_busy)
    {
        environment["WPTEST_ICD_COMPILE_US"] = "100000";
        environment["WPTEST_ICD_DATA_US"] = "1500"; // for the size, and for the data
        environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000";
        run([&] {
            auto *program = new Program(with_messenger());
            auto *messages = new Messages(*program);
            std::vector<unsigned> earlier(20);
            std::iota(earlier.begin(), earlier.end(), 0);
            std::atomic<bool> busy{is_busy};
            std::thread hog = is_busy ? starve(busy) : std::thread([] {});
            Batch first(*program, Kind::compute, earlier);
            EXPECT_EQ(first.create(), VK_SUCCESS);
            program->create_compute(20, 21);
            busy = false;
            hog.join();
            EXPECT_FALSE(messages->was_called_by_others());
            leak_from_here_on();
        });
        EXPECT_EQ(run([] { Program().create_compute(0, 21); }).hits(), 21u);
    }
};

// The snapshot is taken by the threads of the program, and written by ours.
TEST_F(CallbackSavesTest, WhatIsCompiledIsSavedBeforeTheEnd)
{
    environment["WPTEST_ICD_COMPILE_US"] = "30000";
    run(
        [&] {
            auto *program = new Program(with_messenger());
            Messages messages(*program);
            for (unsigned i = 0; i < 600 && cache_files().empty(); ++i) {
                program->create_compute(i, i + 1);
            }
            EXPECT_FALSE(messages.was_called_by_others());
            _exit(HasFailure());
        },
        {Layer::any, true, 0});
    EXPECT_GE(run([] { Program().create_compute(0, 4); }).hits(), 1u);
}

// Nobody looks at the end of the process: what waits for the disk is what was last looked at.
TEST_F(CallbackSavesTest, WhatIsCompiledJustBeforeAnEndIsSaved)
{
    environment["WPTEST_ICD_COMPILE_US"] = "20000";
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000";
    run([&] {
        auto *program = new Program(with_messenger());
        auto *messages = new Messages(*program);
        for (unsigned i = 0; i < 12; ++i) {
            program->create_compute(i, i + 1);
        }
        EXPECT_FALSE(messages->was_called_by_others());
        leak_from_here_on();
    });
    EXPECT_GE(run([] { Program().create_compute(0, 12); }).hits(), 6u);
}

// What a look costs was earned by the compiles before the last one, which is not long enough
// itself.
TEST_F(CallbackSavesTest, TheLastCompileIsSavedWhereTheOnesBeforeHavePaidForIt)
{
    expect_last_saved(false);
}

// It returns while another thread looks.
TEST_F(CallbackSavesTest, TheLastCompileIsSavedWhereAnotherThreadLooks)
{
    environment["WPTEST_ICD_COMPILE_US"] = "15000";
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000";
    run([] {
        auto *program = new Program(with_messenger());
        program->create_compute(0, 40);
        Batch beside(*program, Kind::compute, {100});
        Signal looking, compiled;
        std::atomic<bool> looks{false};
        const DuringCalls calls([&](const char *command) {
            if (std::string(command) == "vkGetPipelineCacheData returns" && !looks.exchange(true)) {
                looking.raise();
                compiled.wait();
            }
        });
        std::thread other([&] {
            looking.wait();
            EXPECT_EQ(beside.create(), VK_SUCCESS);
            compiled.raise();
        });
        for (unsigned i = 40; !looks; ++i) {
            program->create_compute(i, i + 1);
        }
        other.join();
        leak_from_here_on();
    });
    EXPECT_EQ(run([] { Program().create_compute(100, 101); }).hits(), 1u);
}

// There is always another one that has compiled meanwhile.
TEST_F(CallbackSavesTest, AThreadDoesNotLookForAllOthers)
{
    environment["WPTEST_ICD_DATA_US"] = "1000";
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000";
    run([] {
        auto *program = new Program(with_messenger());
        leak_from_here_on();
        std::vector<std::unique_ptr<Batch>> batches;
        for (unsigned number = 0; number < 64 * 30; ++number) {
            batches.push_back(
                std::make_unique<Batch>(*program, Kind::compute, std::vector<unsigned>{number}));
        }
        static thread_local unsigned reads;
        std::atomic<bool> has_looked_often{false};
        const DuringCompile sleeps(
            [](int) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
        const DuringCalls calls([](const char *command) {
            reads += std::string(command) == "vkGetPipelineCacheData returns";
        });
        std::vector<std::thread> threads;
        for (unsigned thread = 0; thread < 64; ++thread) {
            threads.emplace_back([&, thread] {
                for (unsigned i = thread * 30; i < (thread + 1) * 30; ++i) {
                    reads = 0;
                    batches[i]->create();
                    // A read is tried again where the cache grows meanwhile.
                    has_looked_often = has_looked_often || reads > 8;
                }
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
        EXPECT_FALSE(has_looked_often);
    });
}

// A look costs nothing while it waits for a core.
TEST_F(CallbackSavesTest, TheLastCompileIsSavedOnABusyMachine)
{
    if (!std::ifstream("/proc/thread-self/schedstat")) {
        GTEST_SKIP() << "this kernel does not tell who waits for a core";
    }
    expect_last_saved(true);
}

// A pipeline that is little beside the file: less than what a driver may leave of its stack.
TEST_F(CallbackSavesTest, WhatIsLittleBesideTheFileIsSavedWithoutFeedback)
{
    environment["WPTEST_ICD_NO_FEEDBACK"] = "1";
    environment["WPTEST_ICD_RECORD_BYTES"] = "1024";
    run([] { Program().create_compute(0, 256); });
    environment["WPTEST_ICD_COMPILE_US"] = "20000";
    run([] {
        Program program(with_messenger());
        Messages messages(program);
        program.create_compute(256, 257);
        program.destroy_device();
    });
    EXPECT_EQ(run([] { Program().create_compute(256, 257); }).hits(), 1u);
}

// The program's thread has looked at the device's cache alone since.
TEST_F(CallbackSavesTest, WhatIsLittleInACacheOfTheProgramIsSavedAtTheEnd)
{
    environment["WARMPIPE_APP_CACHE"] = "harvest";
    run([] { Program().create_compute(0, 1024); });
    environment["WPTEST_ICD_COMPILE_US"] = "20000";
    run([] {
        Program program(with_messenger());
        Messages messages(program);
        program.create_compute(1024, 1025);
        const VkPipelineCache cache = program.create_cache();
        program.create_compute(1025, 1026, cache);
        program.destroy_cache(cache);
        program.destroy_device();
    });
    EXPECT_EQ(run([] { Program().create_compute(1024, 1026); }).hits(), 2u);
}

// The driver is so slow at it that nobody of ours reads; its caches are served from the first run
// on.
TEST_F(CallbackSavesTest, WhatTheProgramReadsBackIsSaved)
{
    environment["WPTEST_ICD_DATA_US"] = "20000";
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000";
    run([] {
        auto *program = new Program(with_messenger());
        auto *messages = new Messages(*program);
        for (unsigned i = 0; i < 3; ++i) {
            const VkPipelineCache cache = program->create_cache();
            program->create_compute(i, i + 1, cache);
            EXPECT_FALSE(program->cache_data(cache).empty());
            program->destroy_cache(cache);
        }
        EXPECT_FALSE(messages->was_called_by_others());
        leak_from_here_on();
    });
    EXPECT_EQ(run([] { Program().create_compute(0, 3); }).hits(), 3u);
}

// A look at 16 MiB would cost the program's thread more than it has spent in creations.
TEST_F(CallbackSavesTest, ALargeCacheIsNotLookedAtBesideTheFirstCompile)
{
#ifdef WARMPIPE_SANITIZED
    GTEST_SKIP() << "on a busy machine a sanitizer's creations cost as much as the look";
#endif
    environment["WPTEST_ICD_RECORD_BYTES"] = "65536";
    run([] { Program().create_compute(0, 256); }, {Layer::any});
    environment["WPTEST_ICD_COMPILE_US"] = "2000";
    run(
        [] {
            Program program(without_messenger());
            program.create_compute(0, 1); // beside a messenger nobody waits for the load
            Messages messages(program);
            program.create_compute(256, 257);
            EXPECT_EQ(test_icd_calls("vkGetPipelineCacheData"), 0u);
        },
        {Layer::any});
}

} // namespace
