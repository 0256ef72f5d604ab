// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include <gtest/gtest.h>

// C's atomic types by C++'s names; one thread alone uses them here.
using std::atomic_bool;
using std::atomic_uint;
#define _Atomic

extern "C" {
#include "common/base/clock.h"
#include "layer/cache/cache_writer.h"
}

namespace {

class CacheSchedule : public ::testing::Test {
  protected:
    void SetUp() override
    {
        cache_schedule_init(&schedule, 100);
    }

    // A look that has begun so long ago; what it waits for a core on a busy machine does not count.
    void look(uint64_t took_ns, bool has_read)
    {
        const own_wait_timer timer = own_wait_timer_start();
        cache_schedule_mark mark = cache_schedule_count(&schedule);
        cache_schedule_begin_look(&schedule, &mark, &timer);
        mark.start_ns -= took_ns;
        mark.timer.start_ns -= took_ns;
        cache_schedule_end_look(&schedule, &mark, false, has_read);
    }

    cache_schedule schedule;
};

TEST_F(CacheSchedule, TakesTheShorterOfTwoReads)
{
    look(20 * CLOCK_MS, true);
    EXPECT_GT(schedule.look_cost_ns, 15 * CLOCK_MS);
    look(5 * CLOCK_MS, true);
    EXPECT_GT(schedule.look_cost_ns, 3 * CLOCK_MS);
    EXPECT_LT(schedule.look_cost_ns, 15 * CLOCK_MS);
}

// A driver without feedback is asked for the size again and again.
TEST_F(CacheSchedule, ASizeSaysNothingOfAReadsCost)
{
    look(5 * CLOCK_MS, true);
    look(0, false);
    EXPECT_GT(schedule.look_cost_ns, 3 * CLOCK_MS);
    look(5 * CLOCK_MS, true);
    EXPECT_GT(schedule.look_cost_ns, 3 * CLOCK_MS);
}

} // namespace
