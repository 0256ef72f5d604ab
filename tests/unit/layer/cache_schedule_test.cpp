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

// By seconds that nobody spends: of what a busy machine takes from the test, some come off.
TEST(CacheSchedule, TakesTheShorterOfTwoReads)
{
    const schedule_look longer = {20 * CLOCK_S, true};
    const schedule_look shorter = {5 * CLOCK_S, true};
    EXPECT_GT(cost_after({longer}), 15 * CLOCK_S);
    EXPECT_GT(cost_after({longer, shorter}), 3 * CLOCK_S);
    EXPECT_LT(cost_after({longer, shorter}), 15 * CLOCK_S);
}

// A driver without feedback is asked for the size again and again.
TEST(CacheSchedule, ASizeSaysNothingOfAReadsCost)
{
    const schedule_look read = {5 * CLOCK_S, true};
    const schedule_look size = {0, false};
    EXPECT_GT(cost_after({read, size}), 3 * CLOCK_S);
    EXPECT_GT(cost_after({read, size, read}), 3 * CLOCK_S);
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

// Of 100 ms in creations the process has run for 30, and a busy machine may have let it run longer.
TEST(CacheSchedule, KnowsHowCrowdedTheMachineIs)
{
    EXPECT_EQ(schedule_crowd_after(30 * CLOCK_MS, 40 * CLOCK_MS, 2), 1u);
    const uint64_t third = schedule_crowd_after(100 * CLOCK_MS, 30 * CLOCK_MS, 2);
    EXPECT_TRUE(third == 2 || third == 3) << third;
    EXPECT_EQ(schedule_crowd_after(3600 * CLOCK_S, 1, 2), 4u);
}

// A long creation counts when it returns, and has run all the time before.
TEST(CacheSchedule, BelievesNoCrowdThatIsSeenOnce)
{
    EXPECT_EQ(schedule_crowd_after(3600 * CLOCK_S, 1, 1), 1u);
    EXPECT_EQ(schedule_crowd_after(CLOCK_MS, 1, 2), 1u) << "told by too little";
}

TEST(CacheSchedule, LooksLessOftenInACrowd)
{
    EXPECT_FALSE(schedule_looks_after(19 * CLOCK_MS, 1));
    EXPECT_TRUE(schedule_looks_after(21 * CLOCK_MS, 1));
    EXPECT_FALSE(schedule_looks_after(79 * CLOCK_MS, 4));
    EXPECT_TRUE(schedule_looks_after(81 * CLOCK_MS, 4));
}

// A look within a burst has not seen its end, and the program may be killed soon after.
TEST(CacheSchedule, LooksBehindABurst)
{
    for (const bool during : {false, true}) {
        EXPECT_EQ(schedule_look_behind(0, during), 50 * CLOCK_MS);
        EXPECT_GT(schedule_look_behind(60 * CLOCK_MS, during), 900 * CLOCK_MS)
            << "a second between two in quiet";
    }
}

// One that compiles all its shaders at its first start, for minutes. What it compiles during a look
// is as old as that look, not as the first of all.
TEST(CacheSchedule, LooksAndSavesNoMoreOftenAfterHalfAMinute)
{
    EXPECT_FALSE(schedule_steps_in_a_long_burst(SCHEDULE_LOOK));
    EXPECT_FALSE(schedule_steps_in_a_long_burst(SCHEDULE_SAVE));
}

// A game that compiles a small pipeline now and then, with a cache of 22 or 202 MB: each save
// writes the whole file.
TEST(CacheSchedule, WritesALargeFileNoMoreOftenThanItsBytesAllow)
{
    constexpr size_t mib = 1 << 20;
    EXPECT_EQ(schedule_next_save(22 * mib, CLOCK_MS), 1000ull * 20 * mib);
    EXPECT_EQ(schedule_next_save(202 * mib, CLOCK_MS), 1000ull * 200 * mib);
    EXPECT_LT(schedule_next_save(2 * mib, CLOCK_MS), 1000 * CLOCK_MS) << "small";
    EXPECT_LT(schedule_next_save(0, CLOCK_MS), 1000 * CLOCK_MS) << "failed";
    EXPECT_LT(schedule_next_save(22 * mib, CLOCK_S), 1000 * CLOCK_MS) << "dear";
}

// How many processes share the cores: the time in creations is so many times the work.
class EachCrowd : public ::testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Of, EachCrowd, ::testing::Values(1, 4));

// Who may be killed loses no more than forty times what the last save cost, or half a minute.
TEST_P(EachCrowd, SavesWhatIsNewOnceItIsWorthASave)
{
    const uint64_t crowd = GetParam(), first_ns = 20 * CLOCK_S, cost_ns = 10 * CLOCK_MS;
    const auto saves = [=](uint64_t spent_ns, uint64_t at_ns, uint64_t save_ns) {
        const schedule_saved program = {crowd * spent_ns, at_ns, save_ns, crowd};
        return schedule_saves(&program);
    };
    EXPECT_TRUE(saves(CLOCK_MS, first_ns, 0)) << "a save costs nothing";
    EXPECT_FALSE(saves(399 * CLOCK_MS, first_ns, cost_ns));
    EXPECT_TRUE(saves(401 * CLOCK_MS, first_ns, cost_ns));
    EXPECT_TRUE(saves(399 * CLOCK_MS, 31 * CLOCK_S, cost_ns)) << "it has waited for long";
}

} // namespace
