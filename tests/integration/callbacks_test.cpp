// SPDX-License-Identifier: Apache-2.0
// A driver that has something to say to a messenger at each call, and a callback that takes a lock
// which the program also holds over calls of its own. None of that may hang, and no thread that the
// program does not know may come into its callback.
#include "during.hpp"
#include "harness.hpp"
#include "things.hpp"

#include <fstream>
#include <memory>

#include <sched.h>
#include <sys/resource.h>

namespace {

// Calls of the driver come here as they would to the callback of a messenger.
class Messages {
  public:
    explicit Messages(const Program &program)
        : messenger_(create_messenger(program.instance)),
          calls_([this](const char *command) { take(command); })
    {
        leak_from_here_on(); // the loader forgets messengers that go with their instance
    }

    // From now on a call of this command says so before it takes the lock.
    void watch(const char *command)
    {
        watched_ = command;
        watching_ = true;
    }
    // Waits until such a call is in the callback.
    void wait()
    {
        inside_.wait();
    }
    // In this thread the program makes calls.
    void know_this_thread()
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        threads_.push_back(std::this_thread::get_id());
    }
    bool was_called_by_others()
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        return strangers_ > 0;
    }

    std::recursive_mutex lock; // the program's

  private:
    void take(const std::string &command)
    {
        {
            const std::lock_guard<std::mutex> guard(mutex_);
            const auto self = std::this_thread::get_id();
            strangers_ += std::find(threads_.begin(), threads_.end(), self) == threads_.end();
        }
        if (watching_ && command == watched_) {
            watching_ = false;
            inside_.raise();
        }
        // Not try_lock_for: gcc's thread sanitizer does not know the function that it calls.
        bool taken = lock.try_lock();
        for (int i = 0; !taken && i < 20000; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            taken = lock.try_lock();
        }
        EXPECT_TRUE(taken) << command;
        if (taken) {
            lock.unlock();
        }
    }

    std::string watched_;
    std::atomic<bool> watching_{false};
    Signal inside_;
    std::mutex mutex_;
    std::vector<std::thread::id> threads_{std::this_thread::get_id()};
    unsigned strangers_ = 0;
    VkDebugUtilsMessengerEXT messenger_; // the instance's end destroys it
    DuringCalls calls_;
};

// Its driver may call it back from the beginning: the worker loads nothing ahead, which it might
// where a sanitizer has a thread of its own, and be at when the messenger comes.
ProgramOptions with_messenger()
{
    ProgramOptions options;
    options.messenger = true;
    return options;
}

// One comes later.
ProgramOptions without_messenger()
{
    ProgramOptions options;
    options.instance_extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    return options;
}

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
        environment["WPTEST_ICD_COMPILE_US"] = "50000";
        environment["WPTEST_ICD_DATA_US"] = "1500"; // for the size, and for the data
        environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000";
        run([&] {
            auto *program = new Program(with_messenger());
            auto *messages = new Messages(*program);
            std::atomic<bool> busy{is_busy};
            std::thread hog = is_busy ? starve(busy) : std::thread([] {});
            Batch first(*program, Kind::compute, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
            EXPECT_EQ(first.create(), VK_SUCCESS);
            program->create_compute(10, 11);
            busy = false;
            hog.join();
            EXPECT_FALSE(messages->was_called_by_others());
            leak_from_here_on();
        });
        EXPECT_EQ(run([] { Program().create_compute(0, 11); }).hits(), 11u);
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

// The snapshot is taken by the threads of the program, and written by ours.
TEST_F(CallbackTest, WhatIsCompiledIsSavedBeforeTheEnd)
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
TEST_F(CallbackTest, WhatIsCompiledJustBeforeAnEndIsSaved)
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
TEST_F(CallbackTest, TheLastCompileIsSavedWhereTheOnesBeforeHavePaidForIt)
{
    expect_last_saved(false);
}

// It returns while another thread looks.
TEST_F(CallbackTest, TheLastCompileIsSavedWhereAnotherThreadLooks)
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
TEST_F(CallbackTest, AThreadDoesNotLookForAllOthers)
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
TEST_F(CallbackTest, TheLastCompileIsSavedOnABusyMachine)
{
    if (!std::ifstream("/proc/thread-self/schedstat")) {
        GTEST_SKIP() << "this kernel does not tell who waits for a core";
    }
    expect_last_saved(true);
}

// A pipeline that is little beside the file: less than what a driver may leave of its stack.
TEST_F(CallbackTest, WhatIsLittleBesideTheFileIsSavedWithoutFeedback)
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
TEST_F(CallbackTest, WhatIsLittleInACacheOfTheProgramIsSavedAtTheEnd)
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

// A look at 4 MiB would cost the program's thread more than it has spent in creations.
TEST_F(CallbackTest, ALargeCacheIsNotLookedAtBesideTheFirstCompile)
{
#ifdef WARMPIPE_SANITIZED
    GTEST_SKIP() << "on a busy machine a sanitizer's creations cost as much as the look";
#endif
    environment["WPTEST_ICD_RECORD_BYTES"] = "16384";
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
