// SPDX-License-Identifier: Apache-2.0
// When the blob is loaded, and who waits for that.
#include "during.hpp"
#include "harness.hpp"
#include "program.hpp"
#include "test_icd.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// Handles are not shared here, so that the driver is asked for every pipeline.
class FirstLoadTest : public LayerTest {
  protected:
    FirstLoadTest()
    {
        environment["WARMPIPE_DEDUP"] = "none";
    }

    // Leaves a blob that has these pipelines.
    void fill(unsigned count)
    {
        run([count] {
            Program program;
            program.create_compute(0, count);
        });
    }

    // Creates the pipeline of this number if that takes no compile.
    static VkResult create_at_once(Program &program, unsigned number,
                                   VkPipelineCache cache = VK_NULL_HANDLE)
    {
        Batch batch(program, Kind::compute, {number});
        batch.set_flags(0, VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT);
        return batch.create(cache);
    }

    // A condition that comes true on a thread of the layer; should it not, the test fails.
    template <typename Condition> static void wait_until(Condition condition)
    {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!condition()) {
            ASSERT_LT(std::chrono::steady_clock::now(), end);
            std::this_thread::yield();
        }
    }

    // Runs the action in the driver's first load by a thread that is not this one.
    static DuringCalls in_first_load(const std::function<void()> &action)
    {
        const auto here = std::this_thread::get_id();
        return DuringCalls([action, here](const char *command) {
            static std::atomic<bool> done{false};
            if (std::string_view(command) == "vkCreatePipelineCache" &&
                std::this_thread::get_id() != here && !done.exchange(true)) {
                action();
            }
        });
    }

    // A load that ends no sooner than this.
    Signal asked;
    DuringCalls load_until_asked()
    {
        return in_first_load([this] { asked.wait(); });
    }
};

// Row 90. The call does not wait for the load, which it has begun; the next ones find what it gave.
TEST_F(FirstLoadTest, ACallThatAsksNotToCompileDoesNotWaitForIt)
{
    fill(2);
    const Outcome outcome = run([this] {
        const DuringCalls during = load_until_asked();
        Program program;
        EXPECT_EQ(create_at_once(program, 1), VK_PIPELINE_COMPILE_REQUIRED);
        asked.raise();
        wait_until([&] { return create_at_once(program, 1) == VK_SUCCESS; });
    });
    EXPECT_EQ(outcome.pipelines().front()["cache"], "0");
    EXPECT_EQ(outcome.hits(), 1u);
    EXPECT_EQ(outcome.stats_of()["cache"]["state"], "loaded");
}

// One that may compile waits for the load rather than do so.
TEST_F(FirstLoadTest, OneThatMayCompileWaitsForIt)
{
    fill(2);
    const Outcome outcome = run([this] {
        const DuringCalls during = load_until_asked();
        Program program;
        EXPECT_EQ(create_at_once(program, 1), VK_PIPELINE_COMPILE_REQUIRED);
        asked.raise();
        program.create(Kind::compute, 1);
    });
    EXPECT_EQ(outcome.hits(), 1u);
}

// Nor would it help to hurry one of a call.
TEST_F(FirstLoadTest, ACallOfWhichOneMayCompileWaitsForIt)
{
    fill(3);
    const Outcome outcome = run([] {
        Program program;
        Batch batch(program, Kind::compute, {1, 2});
        batch.set_flags(0, VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT);
        EXPECT_EQ(batch.create(), VK_SUCCESS);
    });
    EXPECT_EQ(outcome.hits(), 2u);
}

// Unless that one fails and ends the call, as it asks for.
TEST_F(FirstLoadTest, ACallThatEndsRatherThanCompileDoesNotWaitForIt)
{
    fill(3);
    const Outcome outcome = run([this] {
        const DuringCalls during = load_until_asked();
        Program program;
        Batch batch(program, Kind::compute, {1, 2});
        batch.set_flags(0, VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT |
                               VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT);
        EXPECT_EQ(batch.create(), VK_PIPELINE_COMPILE_REQUIRED);
        asked.raise();
    });
    EXPECT_EQ(outcome.pipelines().front()["cache"], "0");
}

TEST_F(FirstLoadTest, AServedCacheChangesNothingOfThat)
{
    fill(2);
    environment["WARMPIPE_APP_CACHE"] = "serve";
    const Outcome outcome = run([this] {
        const DuringCalls during = load_until_asked();
        Program program;
        const VkPipelineCache cache = program.create_cache();
        EXPECT_EQ(create_at_once(program, 1, cache), VK_PIPELINE_COMPILE_REQUIRED);
        asked.raise();
        wait_until([&] { return create_at_once(program, 1, cache) == VK_SUCCESS; });
        program.destroy_cache(cache);
    });
    EXPECT_EQ(outcome.hits(), 1u);
}

// What would take long is begun before anybody asks.
TEST_F(FirstLoadTest, ALargeBlobIsLoadedAheadOfTheFirstCreation)
{
    environment["WPTEST_ICD_RECORD_BYTES"] = "4000000";
    fill(3);
    const Outcome outcome = run([] {
        Program program;
        wait_until([] { return test_icd_calls("vkCreatePipelineCache") > 0; });
        EXPECT_EQ(test_icd_calls("vkCreateComputePipelines"), 0u);
        wait_until([&] { return create_at_once(program, 1) == VK_SUCCESS; });
    });
    EXPECT_EQ(outcome.stats_of()["cache"]["state"], "loaded");
}

// So is a small one, once the program makes what pipelines are made of.
TEST_F(FirstLoadTest, ASmallBlobIsLoadedAheadInAProgramWithThreads)
{
    fill(3);
    const Outcome outcome = run([] {
        std::thread([] {}).join();
        Program program; // makes a pipeline layout
        wait_until([] { return test_icd_calls("vkCreatePipelineCache") > 0; });
        EXPECT_EQ(test_icd_calls("vkCreateComputePipelines"), 0u);
        wait_until([&] { return create_at_once(program, 1) == VK_SUCCESS; });
    });
    EXPECT_EQ(outcome.stats_of()["cache"]["state"], "loaded");
}

// It may be about to shut itself in, where a thread that opens files would be its death.
TEST_F(FirstLoadTest, ButNotInAProgramWithoutThem)
{
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer has a thread of its own";
#endif
    fill(3);
    run(
        [] {
            unsetenv("WARMPIPE_STATS"); // nothing is written at the end
            {
                Program program;
                program.module(Kind::compute, 1);
            }
            EXPECT_EQ(test_icd_calls("vkCreatePipelineCache"), 0u);
        },
        {Layer::any});
}

// Whose thread the load would be on does not know the messenger's locks, and would not be waited
// for.
TEST_F(FirstLoadTest, NorBesideADebugMessenger)
{
    environment["WPTEST_ICD_DEVICES"] = "2";
    ProgramOptions options;
    options.device = 1;
    options.instance_extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    run([&] {
        Program program(options);
        program.create_compute(0, 3);
    });
    const Outcome outcome = run([options]() mutable {
        leak_from_here_on(); // the loader forgets messengers that go with their instance
        std::thread([] {}).join();
        options.device = 0;
        Program without_blob(options);
        create_messenger(without_blob.instance);
        options.device = 1;
        options.instance = without_blob.instance;
        Program program(options);
        program.module(Kind::compute, 1);
        EXPECT_EQ(test_icd_calls("vkCreatePipelineCache"), 0u);
        program.create(Kind::compute, 1);
    });
    EXPECT_EQ(outcome.hits(), 1u);
}

// Nor is a large one: the worker would only read it, and a creation meanwhile would not wait for
// that.
TEST_F(FirstLoadTest, NorIsALargeBlobBesideADebugMessenger)
{
    environment["WPTEST_ICD_RECORD_BYTES"] = "4000000";
    fill(3);
    environment["WARMPIPE_LOG"] = "debug";
    const Outcome outcome = run([] {
        Program program(with_messenger());
        wait_until([] {
            return read_text("/proc/self/fd/2").find("not loaded ahead: the driver may call") !=
                   std::string::npos;
        });
        program.create_compute(0, 3);
    });
    EXPECT_EQ(outcome.hits(), 3u);
}

// A load that does not end before it is told to, or does something else in its first call down.
class LoadThatStaysTest : public FirstLoadTest {
  protected:
    static void make_idle(pid_t thread)
    {
        const sched_param none{};
        EXPECT_EQ(sched_setscheduler(thread, SCHED_IDLE, &none), 0);
    }

    Signal begun, created;
};

// Hazard 66: on a busy machine such a thread may have no core for seconds.
TEST_F(LoadThatStaysTest, OfAThreadOfLowerPriorityIsNotWaitedForLong)
{
    fill(3);
    run([this] {
        std::atomic<pid_t> loader{0};
        const DuringCalls during = in_first_load([&] {
            loader = gettid();
            begun.raise();
            created.wait();
        });
        Program program;
        Batch batch(program, Kind::compute, {0});
        std::thread thread([&] { batch.create(); });
        begun.wait();
        make_idle(loader);
        program.create(Kind::compute, 1);
        created.raise();
        thread.join();
    });
}

// Nor does such a thread become the worker that loads ahead for all others.
TEST_F(LoadThatStaysTest, IsNotBegunByAWorkerOfLowerPriority)
{
    fill(3);
    const std::filesystem::path log = folder() / "log";
    environment["WARMPIPE_LOG"] = "debug:" + log.string();
    const Outcome outcome = run([&] {
        std::unique_ptr<Program> program;
        std::thread([&] {
            make_idle(gettid());
            program = std::make_unique<Program>(); // makes a pipeline layout
        }).join();
        wait_until([&] { return read_text(log).find("not loaded ahead") != std::string::npos; });
        EXPECT_EQ(test_icd_calls("vkCreatePipelineCache"), 0u);
        program->create(Kind::compute, 1);
    });
    EXPECT_EQ(outcome.hits(), 1u);
}

// A filter of a sandbox may end one thread alone.
TEST_F(LoadThatStaysTest, OfAThreadThatHasGoneIsNotWaitedFor)
{
    fill(3);
    run(
        [this] {
            leak_from_here_on();
            std::thread([] {}).join();
            const DuringCalls during = in_first_load([this] {
                begun.raise();
                syscall(SYS_exit, 0);
            });
            auto *program = new Program;
            begun.wait();
            alarm(20);
            program->create(Kind::compute, 1);
            _exit(0); // the device would wait for its driver
        },
        {Layer::any});
}

TEST_F(LoadThatStaysTest, OfTheParentIsNotWaitedForInAForkedChild)
{
    fill(3);
    run([this] {
        leak_from_here_on();
        std::thread([] {}).join();
        const DuringCalls during = in_first_load([&] {
            begun.raise();
            created.wait();
        });
        Program program;
        begun.wait();
        const pid_t child = fork_in_quiet();
        if (child == 0) {
            alarm(20);
            program.create(Kind::compute, 1);
            _exit(0);
        }
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
        created.raise();
    });
}

} // namespace
