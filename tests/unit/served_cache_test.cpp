// A served cache: filled at the size query, passed on after the data call.
#include <gtest/gtest.h>

#include <vector>

extern "C" {
#include "served_cache.h"
}

namespace {

int merges;
VkPipelineCache merged_into;

const VkPipelineCache hot_cache = reinterpret_cast<VkPipelineCache>(uintptr_t{0x20});
const VkPipelineCache copied = reinterpret_cast<VkPipelineCache>(uintptr_t{0x30});

VKAPI_ATTR VkResult VKAPI_CALL get_data(VkDevice, VkPipelineCache cache, size_t *size, void *)
{
    EXPECT_EQ(cache, hot_cache);
    *size = 32;
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL create(VkDevice, const VkPipelineCacheCreateInfo *,
                                      const VkAllocationCallbacks *, VkPipelineCache *ret_cache)
{
    *ret_cache = copied;
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy(VkDevice, VkPipelineCache cache, const VkAllocationCallbacks *)
{
    EXPECT_EQ(cache, copied);
}

// Drivers may take the entries out of a source: the hot cache itself is never one.
VKAPI_ATTR VkResult VKAPI_CALL merge(VkDevice, VkPipelineCache destination, uint32_t,
                                     const VkPipelineCache *sources)
{
    EXPECT_EQ(sources[0], copied);
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
        table.GetPipelineCacheData = get_data;
        table.CreatePipelineCache = create;
        table.DestroyPipelineCache = destroy;
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
    driver_caches caches{VK_NULL_HANDLE, &table, nullptr, nullptr};
    VkPipelineCache handle = reinterpret_cast<VkPipelineCache>(uintptr_t{0x10});
    VkPipelineCache hot = hot_cache;
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
