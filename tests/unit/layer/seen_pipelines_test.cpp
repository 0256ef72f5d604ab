// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "faults.h"

// C's word, unknown to C++: the functions alone look into the struct.
#define _Atomic

extern "C" {
#include "layer/app_caches/seen_pipelines.h"
}

namespace {

class SeenPipelines : public testing::Test {
  protected:
    ~SeenPipelines() override
    {
        seen_pipelines_release(&seen);
    }

    bool has(uint64_t fingerprint) const
    {
        return seen_pipelines_has(&seen, fingerprint);
    }

    seen_pipelines seen{};
};

TEST_F(SeenPipelines, HoldsAllThatThreadsHaveAddedAndNothingElse)
{
    constexpr uint64_t of_each = 1000;
    std::vector<std::thread> threads;
    for (uint64_t thread = 0; thread < 4; ++thread) {
        threads.emplace_back([this, thread] {
            for (uint64_t i = 1; i <= of_each; ++i) {
                seen_pipelines_add(&seen, thread * of_each + i);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (uint64_t i = 1; i <= 4 * of_each; ++i) {
        ASSERT_TRUE(has(i)) << i;
    }
    EXPECT_FALSE(has(4 * of_each + 1));
}

TEST_F(SeenPipelines, ForgetsAllAndGoesOn)
{
    for (uint64_t i = 1; i <= 3; ++i) {
        seen_pipelines_add(&seen, i);
    }
    seen_pipelines_forget(&seen);
    for (uint64_t i = 1; i <= 3; ++i) {
        EXPECT_FALSE(has(i)) << i;
    }
    seen_pipelines_add(&seen, 2);
    seen_pipelines_add(&seen, 3);
    EXPECT_TRUE(has(2) && has(3));
    EXPECT_FALSE(has(1));
    seen_pipelines_forget(&seen);
    EXPECT_FALSE(has(2) || has(3));
}

TEST_F(SeenPipelines, HasNoneAtFirstAndHoldsAZeroAsWell)
{
    EXPECT_FALSE(has(0));
    EXPECT_FALSE(has(7));
    seen_pipelines_add(&seen, 0);
    EXPECT_TRUE(has(0));
    EXPECT_FALSE(has(7));
}

// The first takes no memory; what there is none for is compiled again, and can be added later.
TEST_F(SeenPipelines, WithoutMemoryOneCountsAsNotSeen)
{
    {
        const Starve starve(0);
        seen_pipelines_add(&seen, 1);
        EXPECT_FALSE(starve.has_failed());
        seen_pipelines_add(&seen, 1);
        EXPECT_FALSE(starve.has_failed()) << "it is there";
        seen_pipelines_add(&seen, 2);
        EXPECT_TRUE(starve.has_failed());
    }
    EXPECT_TRUE(has(1));
    EXPECT_FALSE(has(2));
    seen_pipelines_add(&seen, 2);
    EXPECT_TRUE(has(2));
}

} // namespace
