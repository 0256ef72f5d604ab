// SPDX-License-Identifier: Apache-2.0
// What runs first where there are not enough cores.
#include <gtest/gtest.h>

#include <thread>

#include <sched.h>
#include <sys/resource.h>

extern "C" {
#include "layer/worker/own_thread.h"
}

namespace {

// The rank of a thread of this class; below 0: it may not have it.
int rank_in(int policy, int priority)
{
    int rank = -1;
    std::thread([&] {
        const sched_param parameter = {priority};
        if (sched_setscheduler(0, policy, &parameter) == 0) {
            rank = own_thread_rank(0);
        }
    }).join();
    return rank;
}

// As rtkit asks for, and gamescope does.
TEST(OwnThread, HasItsRankThoughItsThreadsWouldNotHaveIt)
{
    EXPECT_EQ(rank_in(SCHED_IDLE, 0), rank_in(SCHED_IDLE | SCHED_RESET_ON_FORK, 0));
    EXPECT_EQ(rank_in(SCHED_RR, 1), rank_in(SCHED_RR | SCHED_RESET_ON_FORK, 1));
    EXPECT_LT(rank_in(SCHED_IDLE | SCHED_RESET_ON_FORK, 0), own_thread_rank(0));
}

TEST(OwnThread, ThatGivesWayHasNoPriorityOfTheOneThatMadeIt)
{
    const int ours = getpriority(PRIO_PROCESS, 0);
    const sched_param one = {1};
    bool is_allowed = false;
    std::thread([&] {
        is_allowed = sched_setscheduler(0, SCHED_FIFO, &one) == 0;
        std::thread([&] {
            own_thread_give_way();
            EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
            EXPECT_GE(getpriority(PRIO_PROCESS, 0), ours);
            EXPECT_GE(getpriority(PRIO_PROCESS, 0), 10);
        }).join();
    }).join();
    if (!is_allowed) {
        GTEST_SKIP() << "no right to a real-time priority";
    }
}

// nice -n 19, by somebody who may take it back.
TEST(OwnThread, ThatGivesWayIsNotPutBeforeAProgramThatDoesSoMore)
{
    std::thread([] {
        ASSERT_EQ(setpriority(PRIO_PROCESS, 0, 19), 0);
        own_thread_give_way();
        EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 19);
    }).join();
}

} // namespace
