// SPDX-License-Identifier: Apache-2.0
// What may be compiled ahead though its time is not known.
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

} // namespace
