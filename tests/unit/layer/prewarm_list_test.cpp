// SPDX-License-Identifier: Apache-2.0
// What may be compiled ahead: by its recorded time, and where there is none.
#include <gtest/gtest.h>

extern "C" {
#include "layer/recipes/prewarm_list.h"
}

namespace {

TEST(PrewarmEstimate, BeforeAnythingIsKnownSmallOnesAreShort)
{
    const prewarm_estimate estimate = {};
    EXPECT_TRUE(prewarm_estimate_is_short(&estimate, 8 << 10));
    EXPECT_FALSE(prewarm_estimate_is_short(&estimate, (8 << 10) + 1));
}

TEST(PrewarmEstimate, GoesInStepsFromWhatIsKnown)
{
    prewarm_estimate estimate = {};
    prewarm_estimate_add(&estimate, 8 << 10, 1000);
    EXPECT_TRUE(prewarm_estimate_is_short(&estimate, 32 << 10));
    EXPECT_FALSE(prewarm_estimate_is_short(&estimate, (32 << 10) + 1));
    prewarm_estimate_add(&estimate, 32 << 10, 4000);
    EXPECT_TRUE(prewarm_estimate_is_short(&estimate, 128 << 10));
    prewarm_estimate_add(&estimate, 1 << 20, PREWARM_LONG_US);
    EXPECT_FALSE(prewarm_estimate_is_short(&estimate, 256 << 10)) << "a long one is no step";
}

TEST(PrewarmEstimate, ASlowDriverIsGivenSmallerOnes)
{
    prewarm_estimate estimate = {};
    prewarm_estimate_add(&estimate, 1 << 10, 20000);
    EXPECT_TRUE(prewarm_estimate_is_short(&estimate, 3 << 10));
    EXPECT_FALSE(prewarm_estimate_is_short(&estimate, 4 << 10));
    prewarm_estimate_add(&estimate, 0, 1 << 30);
    prewarm_estimate_add(&estimate, UINT64_MAX, 1 << 30);
    EXPECT_TRUE(prewarm_estimate_is_short(&estimate, 3 << 10))
        << "without a size nothing is learnt";
}

class PrewarmList : public testing::Test {
  protected:
    void add(uint32_t compile_us, uint64_t code_bytes = 0)
    {
        uses_[list_.count] = {};
        uses_[list_.count].compile_us = compile_us;
        items_[list_.count] = {&uses_[list_.count], code_bytes, false};
        list_.count++;
    }

    // The place in the list; -1: none.
    int take(unsigned slowdown)
    {
        const prewarm_item *item = prewarm_list_take(&list_, slowdown);
        return item ? static_cast<int>(item - items_) : -1;
    }

    recipe_use uses_[4];
    prewarm_item items_[4];
    prewarm_list list_ = {items_, 0, 0, 0, {}};
};

TEST_F(PrewarmList, IsTakenInItsOrderAndOnce)
{
    add(200000);
    add(100000);
    EXPECT_EQ(take(1), 0);
    EXPECT_EQ(take(1), 1);
    EXPECT_EQ(take(1), -1);
}

TEST_F(PrewarmList, WhatABusyMachinePassedOverIsTakenOnceItIsQuiet)
{
    add(200000);
    add(100000);
    add(10000);
    EXPECT_EQ(take(1), 0);
    EXPECT_EQ(take(10), 2);
    EXPECT_EQ(take(10), -1);
    EXPECT_EQ(take(2), 1);
    EXPECT_EQ(take(1), -1);
}

TEST_F(PrewarmList, WhatWasTooLargeIsTakenOnceMoreIsKnown)
{
    add(0, 32 << 10);
    EXPECT_EQ(take(1), -1);
    prewarm_estimate_add(&list_.estimate, 8 << 10, 1000);
    EXPECT_EQ(take(1), 0);
}

} // namespace
