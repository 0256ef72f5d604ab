// SPDX-License-Identifier: Apache-2.0
// Threads that are cancelled in a command, and ends that look like, or are, in a handler of a
// signal.
#include "harness.hpp"
#include "program.hpp"
#include "test_icd.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <pthread.h>
#include <thread>
#include <unistd.h>

#ifndef WARMPIPE_SANITIZED // sanitizers have places to be cancelled at, and large frames

namespace {

// A thread that is set to stay does so where the layer first wakes its own thread, under its lock.
thread_local bool is_to_stay = false;
std::atomic<bool> has_stayed{false};
std::atomic<bool> is_last{false}; // nobody is to sleep from here on

} // namespace

extern "C" {
__attribute__((visibility("default"))) int pthread_cond_signal(pthread_cond_t *condition) noexcept
{
    while (is_to_stay) {
        has_stayed = true;
        pause();
    }
    static const auto next =
        reinterpret_cast<int (*)(pthread_cond_t *)>(dlsym(RTLD_NEXT, "pthread_cond_signal"));
    return next(condition);
}

__attribute__((visibility("default"))) int nanosleep(const timespec *time, timespec *rest)
{
    if (is_last) {
        abort();
    }
    return clock_nanosleep(CLOCK_REALTIME, 0, time, rest) == 0 ? 0 : -1;
}
}

namespace {

class OddEndsTest : public LayerTest {
  protected:
    // What is compiled last is read by the thread that ends the process, and not before.
    void read_at_exit()
    {
        environment["WARMPIPE_POLICY"] = folder() / "policy";
        std::ofstream(folder() / "policy") << "[test]\nsnapshot-at-exit = yes\n";
        environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000";
    }
};

// What a thread does that is to be cancelled from its beginning.
struct Cancelled {
    std::function<void()> action;
    bool has_done = false;

    void run()
    {
        pthread_t thread;
        void *end = nullptr;
        const auto start = [](void *argument) -> void * {
            auto *self = static_cast<Cancelled *>(argument);
            pthread_cancel(pthread_self());
            self->action();
            self->has_done = true;
            pthread_testcancel();
            return nullptr;
        };
        ASSERT_EQ(pthread_create(&thread, nullptr, start, this), 0);
        pthread_join(thread, &end);
        EXPECT_EQ(end, PTHREAD_CANCELED);
        EXPECT_TRUE(has_done) << "a command was a place to be cancelled at";
    }
};

// Our files and waits would make such places of commands that are none, and the thread would end
// with our locks.
TEST_F(OddEndsTest, ACancelledThreadComesOutOfACommand)
{
    run([] {
        alarm(60);
        unsetenv("WPTEST_ICD_LOG"); // the driver's file would be such a place
        Program program;
        VkDevice device = VK_NULL_HANDLE;
        Cancelled{[&] { try_device(program.instance, {}, &device); }}.run();
        Cancelled{[&] { program.create_compute(0, 2); }}.run();
        Cancelled{[&] { vkDestroyDevice(device, nullptr); }}.run();
        program.create_compute(2, 4);
        Cancelled{[&] { program.destroy_device(); }}.run();
    });
    EXPECT_EQ(run([] { Program().create_compute(0, 4); }).hits(), 4u);
}

TEST_F(OddEndsTest, ACancelledThreadComesOutOfCommandsOfCachesAndMessengers)
{
    run([] {
        alarm(60);
        unsetenv("WPTEST_ICD_LOG");
        leak_from_here_on(); // the loader forgets messengers that go with their instance
        Program program(without_messenger());
        VkPipelineCache one = VK_NULL_HANDLE, other = VK_NULL_HANDLE;
        Cancelled{[&] { one = program.create_cache(); }}.run();
        Cancelled{[&] { other = program.create_cache(); }}.run();
        Cancelled{[&] { program.create_compute(0, 2, one); }}.run();
        Cancelled{[&] { program.cache_data(one); }}.run();
        Cancelled{[&] { vkMergePipelineCaches(program.device, other, 1, &one); }}.run();
        Cancelled{[&] { program.destroy_cache(one); }}.run();
        Cancelled{[&] { program.destroy_cache(other); }}.run();
        Cancelled{[&] { create_messenger(program.instance); }}.run();
    });
    EXPECT_EQ(run([] { Program().create_compute(0, 2); }).hits(), 2u);
}

// Beside a messenger, the thread that has compiled looks at the caches.
TEST_F(OddEndsTest, ACancelledThreadComesOutOfAJoin)
{
    environment["WPTEST_ICD_COMPILE_US"] = "3000";
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    run([] {
        alarm(60);
        unsetenv("WPTEST_ICD_LOG");
        Program program(with_messenger());
        for (unsigned number = 0; number < 60; ++number) {
            Deferred deferred(program);
            Batch batch(program, Kind::ray_tracing_khr, {number});
            EXPECT_EQ(batch.create(VK_NULL_HANDLE, nullptr, deferred.operation),
                      VK_OPERATION_DEFERRED_KHR);
            Cancelled{[&] { deferred.join(); }}.run();
        }
    });
}

// Whether a thread is in a handler shows only in the signals that it blocks. Many programs block
// some from the beginning.
TEST_F(OddEndsTest, ASignalThatIsBlockedAllAlongIsNoHandler)
{
    read_at_exit();
    run([] {
        leak_from_here_on();
        std::signal(SIGUSR1, [](int) {});
        sigset_t blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
        (new Program)->create_compute(0, 5);
    });
    EXPECT_EQ(run([] { Program().create_compute(0, 5); }).hits(), 5u);
}

// Never freed: exit() runs on it.
auto &handler_stack = *new std::vector<unsigned char>(size_t{256} << 10, 0xA5);
unsigned char *handler_top;

// A handler of SIGUSR1 with a stack of its own, for this thread.
void handle_on_own_stack(void (*handler)(int))
{
    stack_t stack = {};
    stack.ss_sp = handler_stack.data();
    stack.ss_size = handler_stack.size();
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_flags = SA_ONSTACK;
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, nullptr);
}

// As Wine ends each of its programs: it blocks signals before it calls exit().
TEST_F(OddEndsTest, ASignalWhoseHandlerHasAStackOfItsOwnIsNoHandlerOnAnother)
{
    read_at_exit();
    run([] {
        leak_from_here_on();
        (new Program)->create_compute(0, 5);
        handle_on_own_stack([](int) {});
        sigset_t blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    });
    EXPECT_EQ(run([] { Program().create_compute(0, 5); }).hits(), 5u);
}

TEST_F(OddEndsTest, TheDriverIsNotReadByAHandlerOnAStackOfItsOwn)
{
    read_at_exit();
    environment["WPTEST_ICD_COMPILE_US"] = "0";
    const Outcome outcome = run([] {
        leak_from_here_on();
        (new Program)->create_compute(0, 1);
        handle_on_own_stack([](int) {
            // On a busy machine the worker has had time for one.
            std::cout << test_icd_calls("vkGetPipelineCacheData");
            std::exit(::testing::Test::HasFailure());
        });
        raise(SIGUSR1);
    });
    EXPECT_EQ(outcome.events("vkGetPipelineCacheData").size(), std::stoul(outcome.output));
}

// Handlers have stacks of their own, of 8 KiB (SIGSTKSZ) in many programs; the kernel takes up to
// 3.5 of them.
TEST_F(OddEndsTest, AnEndFromAHandlerOfASignalNeedsASmallStack)
{
    run([] {
        std::at_quick_exit([] { // behind those of ours
            const auto used = std::find_if(handler_stack.begin(), handler_stack.end(),
                                           [](unsigned char byte) { return byte != 0xA5; });
            _exit(handler_top - &*used > 4096 ? 3 : 0);
        });
        handle_on_own_stack([](int) {
            unsigned char here;
            handler_top = &here;
            std::quick_exit(0);
        });
        (new Program)->create_compute(0, 5);
        raise(SIGUSR1);
    });
}

// A thread that was ended inside a call has the worker's lock for good. Wine ends all threads so,
// and kills a process that has not ended half a second later.
TEST_F(OddEndsTest, ALockOfAThreadThatHasGoneIsWaitedForOnce)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000";
    run(
        [] {
            leak_from_here_on();
            std::atexit([] { is_last = true; }); // behind the layer's
            auto *program = new Program;
            std::thread([program] {
                is_to_stay = true;
                program->create_compute(0, 5);
            }).detach();
            while (!has_stayed) {
                usleep(1000);
            }
        },
        {Layer::any, true, 0});
}

} // namespace

#endif
