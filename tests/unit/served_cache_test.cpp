// A served cache: filled at the size query, passed on after the data call.
#include <gtest/gtest.h>

#include <vector>

extern "C" {
#include "served_cache.h"
}

namespace {

int merges;
VkPipelineCache merged_into;

VKAPI_ATTR VkResult VKAPI_CALL merge(VkDevice, VkPipelineCache destination, uint32_t,
                                     const VkPipelineCache *)
{
    ++merges;
    merged_into = destination;
    return VK_SUCCESS;
}

class ServedCache : public testing::Test {
  protected:
    void SetUp() override
    {
        merges = 0;
        table.MergePipelineCaches = merge;
        served_cache_init(&cache, false);
    }
    void fill()
    {
        served_cache_fill(&cache, &caches, handle, hot);
    }
    void pass()
    {
        served_cache_pass(&cache, &caches, handle, hot);
    }

    device_table table{};
    driver_caches caches{VK_NULL_HANDLE, &table, nullptr};
    VkPipelineCache handle = reinterpret_cast<VkPipelineCache>(uintptr_t{0x10});
    VkPipelineCache hot = reinterpret_cast<VkPipelineCache>(uintptr_t{0x20});
    served_cache cache{};
};

TEST_F(ServedCache, CreationsAreServedUntilPassed)
{
    ASSERT_TRUE(served_cache_begin(&cache));
    served_cache_end(&cache);
    fill();
    EXPECT_EQ(merges, 1);
    EXPECT_EQ(merged_into, handle);
    EXPECT_FALSE(served_cache_is_passed(&cache));
    pass();
    EXPECT_TRUE(served_cache_is_passed(&cache));
    EXPECT_EQ(merges, 1) << "nothing was created in between";
    EXPECT_FALSE(served_cache_begin(&cache));
}

TEST_F(ServedCache, IsNotFilledTwiceForTheSameContents)
{
    fill();
    fill();
    EXPECT_EQ(merges, 1);
    ASSERT_TRUE(served_cache_begin(&cache));
    served_cache_end(&cache);
    fill();
    EXPECT_EQ(merges, 2);
}

TEST_F(ServedCache, WhatIsCreatedBetweenTheCallsIsMergedBeforePassing)
{
    fill();
    ASSERT_TRUE(served_cache_begin(&cache));
    served_cache_end(&cache);
    pass();
    EXPECT_EQ(merges, 2);
    EXPECT_TRUE(served_cache_is_passed(&cache));
}

TEST_F(ServedCache, StaysServedWhileACreationIsUnderWay)
{
    ASSERT_TRUE(served_cache_begin(&cache));
    fill();
    pass();
    EXPECT_FALSE(served_cache_is_passed(&cache));
    served_cache_end(&cache);
    pass();
    EXPECT_EQ(merges, 2) << "what was under way is merged before";
    EXPECT_TRUE(served_cache_is_passed(&cache));
}

TEST_F(ServedCache, PassNowDoesNotWaitForCreations)
{
    ASSERT_TRUE(served_cache_begin(&cache));
    served_cache_pass_now(&cache, &caches, handle, hot);
    EXPECT_TRUE(served_cache_is_passed(&cache));
    served_cache_end(&cache);
    EXPECT_TRUE(served_cache_is_passed(&cache));
    EXPECT_FALSE(served_cache_begin(&cache));
}

// The size was asked for before the first creation: the data call must not find more.
TEST_F(ServedCache, OneThatIsAskedForBeforeTheHotCacheIsLoadedIsEmptyInBothCalls)
{
    served_cache_fill(&cache, &caches, handle, VK_NULL_HANDLE);
    EXPECT_EQ(merges, 0);
    EXPECT_TRUE(served_cache_is_filled(&cache));
    ASSERT_TRUE(served_cache_begin(&cache));
    served_cache_end(&cache);
    pass();
    EXPECT_EQ(merges, 1) << "what was created meanwhile is merged before it is passed";
    EXPECT_TRUE(served_cache_is_passed(&cache));
}

} // namespace
