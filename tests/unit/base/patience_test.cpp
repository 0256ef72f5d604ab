// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

extern "C" {
#include "common/base/clock.h"
}

namespace {

// What a thread spends that has waited two seconds, all of them for a core.
uint64_t spend_two_starved_seconds()
{
    return patience_spend(2 * CLOCK_S, 2 * CLOCK_S) / CLOCK_S;
}

TEST(Patience, IsGivenOneSecondWithoutACore)
{
    EXPECT_EQ(patience_set(PATIENCE_AT_END), UINT64_MAX);
    EXPECT_EQ(spend_two_starved_seconds(), 1u);
    EXPECT_EQ(spend_two_starved_seconds(), 2u);
    EXPECT_EQ(patience_set(UINT64_MAX), 0u);
}

// An exit has several handlers, each of which sets what is left.
TEST(Patience, IsNotGivenAnotherOneByEachHandlerOfAnExit)
{
    patience_set(PATIENCE_AT_END);
    EXPECT_EQ(spend_two_starved_seconds(), 1u);
    patience_set(PATIENCE_AT_END);
    EXPECT_EQ(spend_two_starved_seconds(), 2u);
    patience_set(UINT64_MAX);
    patience_set(PATIENCE_AT_END);
    EXPECT_EQ(spend_two_starved_seconds(), 1u) << "another end";
    patience_set(UINT64_MAX);
}

} // namespace
