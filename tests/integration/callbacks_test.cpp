// SPDX-License-Identifier: Apache-2.0
// Where the driver may call the program back nothing hangs, and no thread that the program does not
// know comes into its callback.
#include "callbacks.hpp"
#include "things.hpp"

#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

namespace {

class CallbackTest : public LayerTest {
  protected:
    // One thread is in a call of the driver, in the callback, and waits there for the lock; another
    // one, which holds the lock, makes calls of its own.
    static void meet(Messages &messages, const char *command, const std::function<void()> &first,
                     const std::function<void()> &second)
    {
        messages.watch(command);
        std::unique_lock<std::recursive_mutex> hold(messages.lock);
        std::thread other([&] {
            messages.know_this_thread();
            first();
        });
        messages.wait();
        second();
        hold.unlock();
        other.join();
        EXPECT_FALSE(messages.was_called_by_others());
    }
};

TEST_F(CallbackTest, ALoadIsNotWaitedFor)
{
    run([] { Program().create_compute(0, 4); });
    const Outcome outcome = run([] {
        Program program(with_messenger());
        Messages messages(program);
        Batch first(program, Kind::compute, {0});
        Batch second(program, Kind::compute, {1});
        meet(
            messages, "vkCreatePipelineCache", [&] { EXPECT_EQ(first.create(), VK_SUCCESS); },
            [&] { EXPECT_EQ(second.create(), VK_SUCCESS); });
    });
    EXPECT_EQ(outcome.hits(), 1u) << "the one that did not wait has compiled";
}

// Else a program that creates on several threads at once would compile what comes first in each
// start.
TEST_F(CallbackTest, AQuickLoadIsWaitedFor)
{
    run([] { Program().create_compute(0, 2); });
    const Outcome outcome = run([] {
        Program program(with_messenger());
        Batch first(program, Kind::compute, {0});
        Batch second(program, Kind::compute, {1});
        Signal inside;
        const DuringCalls calls([&](const char *command) {
            if (std::string(command) == "vkCreatePipelineCache") {
                inside.raise();
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
            }
        });
        std::thread other([&] { // it loads
            const auto start = std::chrono::steady_clock::now();
            EXPECT_EQ(first.create(), VK_SUCCESS);
            if (std::chrono::steady_clock::now() - start > std::chrono::milliseconds(15)) {
                std::cout << "busy";
            }
        });
        inside.wait();
        EXPECT_EQ(second.create(), VK_SUCCESS);
        other.join();
    });
    if (outcome.output == "busy") {
        GTEST_SKIP() << "a machine so busy that nothing is quick";
    }
    EXPECT_EQ(outcome.hits(), 2u);
}

// The two handles are one.
TEST_F(CallbackTest, NamingIsNotWaitedFor)
{
    run([] {
        Program program(with_messenger());
        Messages messages(program);
        Things things(program);
        const uint64_t handle = things.create(Thing::module, 1);
        EXPECT_EQ(handle, things.create(Thing::module, 1));
        const auto set =
            program.command<PFN_vkSetDebugUtilsObjectNameEXT>("vkSetDebugUtilsObjectNameEXT");
        const auto name = [&](uint64_t object, const char *text) {
            const VkDebugUtilsObjectNameInfoEXT info = {
                VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT, nullptr,
                VK_OBJECT_TYPE_SHADER_MODULE, object, text};
            EXPECT_EQ(set(program.device, &info), VK_SUCCESS);
        };
        const uint64_t another = things.create(Thing::module, 2);
        meet(
            messages, "vkSetDebugUtilsObjectNameEXT", [&] { name(handle, "first"); },
            [&] {
                name(handle, "at the same moment");
                name(another, "another");
            });
        name(handle, "last");
        for (uint64_t object : {handle, handle, another}) {
            things.destroy(Thing::module, object);
        }
    });
}

// What is compiled is saved all the same.
TEST_F(CallbackTest, OurThreadsAskTheDriverForNothing)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    run([] {
        Program program(with_messenger());
        Messages messages(program);
        program.create_compute(0, 4);
        /* Longer than the quiet time before a snapshot; what would come later would be seen below.
         */
        for (int i = 0; i < 300 && !messages.was_called_by_others(); ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        const std::lock_guard<std::recursive_mutex> hold(messages.lock);
        program.destroy_device();
        EXPECT_FALSE(messages.was_called_by_others());
    });
    EXPECT_EQ(run([] { Program().create_compute(0, 4); }).hits(), 4u);
}

TEST_F(CallbackTest, ANewMessengerWaitsForTheCallThatIsUnderWay)
{
    environment["WPTEST_ICD_DATA_US"] = "50000";
    run([] {
        Program program(without_messenger());
        Signal asked;
        {
            const std::thread::id main = std::this_thread::get_id();
            const DuringCalls calls([&](const char *command) {
                if (std::string(command) == "vkGetPipelineCacheData" &&
                    std::this_thread::get_id() != main) {
                    asked.raise();
                }
            });
            program.create_compute(0, 4);
            asked.wait();
        }
        Messages messages(program);
        const std::lock_guard<std::recursive_mutex> hold(messages.lock);
        program.create_compute(4, 6);
        program.destroy_device();
        EXPECT_FALSE(messages.was_called_by_others());
    });
    EXPECT_EQ(run([] { Program().create_compute(0, 6); }).hits(), 6u);
}

// A thread of ours that was in the driver at a fork is not there in the child.
TEST_F(CallbackTest, AForkedChildWaitsForNoThreadOfItsParent)
{
    run([] {
        leak_from_here_on();
        Signal inside;
        std::atomic<bool> may_leave{false};
        const auto main = std::this_thread::get_id();
        const DuringCalls calls([&](const char *command) {
            if (std::string(command) == "vkGetPipelineCacheData" &&
                std::this_thread::get_id() != main && !may_leave) {
                inside.raise();
                while (!may_leave) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
            }
        });
        Program program(without_messenger()); // its end waits for that thread
        program.create_compute(0, 4);
        inside.wait();
        for (const bool makes_a_device : {false, true}) {
            const pid_t child = fork();
            if (child == 0) {
                alarm(20);
                if (makes_a_device) {
                    CountingAllocator allocator;
                    ProgramOptions options;
                    options.instance = program.instance;
                    options.allocator = allocator.get();
                    const Program other(options);
                } else {
                    create_messenger(program.instance);
                }
                _exit(HasFailure());
            }
            int status = 0;
            EXPECT_EQ(waitpid(child, &status, 0), child);
            EXPECT_EQ(status, 0) << (makes_a_device ? "a device" : "a messenger");
        }
        may_leave = true;
    });
}

// Drivers whose cache users must not run at once: nothing of ours keeps them apart now, so nobody
// is given our cache.
TEST_F(CallbackTest, DriversThatNeedOneUserAtATimeGetNoCache)
{
    const auto policy = folder() / "policy";
    std::ofstream(policy) << "[test]\nserialize = yes\n";
    environment["WARMPIPE_POLICY"] = policy;
    run([] { Program().create_compute(0, 4); });
    const Outcome outcome = run([] {
        Program program(with_messenger());
        Messages messages(program);
        Batch first(program, Kind::compute, {0});
        Batch second(program, Kind::compute, {1});
        meet(
            messages, "vkCreateComputePipelines", [&] { EXPECT_EQ(first.create(), VK_SUCCESS); },
            [&] { EXPECT_EQ(second.create(), VK_SUCCESS); });
    });
    EXPECT_EQ(outcome.hits(), 0u);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["injected"], 0);
}

} // namespace
