// SPDX-License-Identifier: Apache-2.0
// What threads wait with, and what of a time is want of a core.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include <sched.h>
#include <unistd.h>

extern "C" {
#include "common/base/clock.h"
#include "layer/worker/own_wait.h"
}

#include "layer/patience.hpp"

namespace {

// The signal comes while the thread that waits has had enough of a slice, and not yet the lock.
TEST(TimedWait, MissesNoSignalBetweenTwoSlices)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition;
    clock_condition_init(&condition);
    bool done = false;
    pthread_mutex_lock(&lock);
    std::thread other([&] {
        pthread_mutex_lock(&lock); // from here on the thread waits
        usleep(10000);             // longer than the first slice
        done = true;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&lock);
    });
    const Patience some(20 * CLOCK_S);
    while (!done && timed_wait(&condition, &lock, WAIT_FOREVER)) {
    }
    EXPECT_TRUE(done);
    EXPECT_GT(patience_limit(20 * CLOCK_S), 0u) << "it has waited for what had come";
    pthread_mutex_unlock(&lock);
    other.join();
    pthread_cond_destroy(&condition);
}

// Another thread has the same core: neither its time counts nor a whole tick of the kernel's clock.
TEST(OwnWaitTimer, TellsWhatRanWhereTheCoreIsShared)
{
    if (!std::ifstream("/proc/thread-self/schedstat")) {
        GTEST_SKIP() << "this kernel does not tell who waits for a core";
    }
    cpu_set_t before, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    std::atomic<bool> busy{true};
    std::thread other([&] { // on the same core, as it is made by this thread
        while (busy) {
        }
    });
    constexpr unsigned times = 200;
    unsigned wrong = 0;
    for (unsigned i = 0; i < times; ++i) {
        const uint64_t begin_ns = clock_now_ns() + i % 20 * CLOCK_MS / 4;
        while (clock_now_ns() < begin_ns) { // anywhere between two ticks
        }
        const own_wait_timer timer = own_wait_timer_start();
        const uint64_t ran_before_ns = clock_thread_ran_ns(); // makes the kernel look itself
        while (clock_thread_ran_ns() - ran_before_ns < CLOCK_MS * 3 / 2) {
        }
        const uint64_t elapsed_ns = own_wait_timer_elapsed(&timer);
        const uint64_t ran_ns = clock_thread_ran_ns() - ran_before_ns;
        wrong += elapsed_ns > ran_ns + CLOCK_MS;
    }
    busy = false;
    other.join();
    sched_setaffinity(0, sizeof before, &before);
    EXPECT_LE(wrong, times / 12) << "but for what the machine itself stood still";
}

} // namespace
