// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "common/base/clock.h"
#include "layer/schedule_looks.h"
}

namespace {

uint64_t cost_after(const std::vector<schedule_look> &looks)
{
    return schedule_cost_after(looks.data(), looks.size());
}

TEST(CacheSchedule, TakesTheShorterOfTwoReads)
{
    const schedule_look longer = {200 * CLOCK_MS, true};
    const schedule_look shorter = {50 * CLOCK_MS, true};
    EXPECT_GT(cost_after({longer}), 150 * CLOCK_MS);
    EXPECT_GT(cost_after({longer, shorter}), 30 * CLOCK_MS);
    EXPECT_LT(cost_after({longer, shorter}), 150 * CLOCK_MS);
}

// A driver without feedback is asked for the size again and again.
TEST(CacheSchedule, ASizeSaysNothingOfAReadsCost)
{
    const schedule_look read = {50 * CLOCK_MS, true};
    const schedule_look size = {0, false};
    EXPECT_GT(cost_after({read, size}), 30 * CLOCK_MS);
    EXPECT_GT(cost_after({read, size, read}), 30 * CLOCK_MS);
}

// Sixteen threads that compile on two cores for a second have compiled for two.
TEST(CacheSchedule, CountsNoMoreCreationsThanThereAreCores)
{
    unsigned cores = 0;
    EXPECT_EQ(schedule_busy_after(1, CLOCK_S, &cores), CLOCK_S);
    ASSERT_GT(cores, 0u);
    EXPECT_EQ(schedule_busy_after(cores, CLOCK_S, &cores), cores * CLOCK_S);
    EXPECT_NEAR(static_cast<double>(schedule_busy_after(8 * cores, CLOCK_S, &cores)),
                static_cast<double>(cores * CLOCK_S), 1000.0 * cores);
}

} // namespace
