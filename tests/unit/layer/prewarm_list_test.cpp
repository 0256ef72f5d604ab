// SPDX-License-Identifier: Apache-2.0
// What may be compiled ahead: by its recorded time, and where there is none.
#include <gtest/gtest.h>

#include "recipe_samples.h"

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
    prewarm_list list_ = {items_, 0, 0, 0, {}, 0, false};
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

class PrewarmListOfRecipes : public RecipesTest {
  protected:
    // The form of one that is linked from the library, many times over.
    static std::string link(uint32_t number, const std::string *library)
    {
        const std::vector<VkPipeline> libraries(15, (VkPipeline)2);
        VkPipelineLibraryCreateInfoKHR list = {};
        list.sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR;
        list.libraryCount = 15;
        list.pLibraries = libraries.data();
        VkRayTracingPipelineCreateInfoKHR info = {};
        info.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR;
        info.flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
        info.maxPipelineRayRecursionDepth = number;
        info.pLibraryInfo = library ? &list : nullptr;
        info.layout = (VkPipelineLayout)1;
        return Samples::encode(&info, {digest_of("layout"), digest_of(library ? *library : "")});
    }
};

// A small file could else keep a core busy for minutes in each start.
TEST_F(PrewarmListOfRecipes, LinksOfLinksOfLinksAreNotAllWalkedOver)
{
    const std::string third = link(0, nullptr);
    const std::string second = link(0, &third);
    const std::string first = link(0, &second);
    Batch batch;
    batch.put(RECIPE_ENVIRONMENT, sample_environment);
    batch.put(RECIPE_FORM, third).put(RECIPE_FORM, second).put(RECIPE_FORM, first);
    for (uint32_t i = 1; i <= 1000; i++) {
        const std::string form = link(i, &first);
        batch.put(RECIPE_FORM, form).use(form, sample_environment, 20000);
    }
    write(batch);
    const Recipes recipes = open();
    recipe_crashes *crashes = nullptr;
    ASSERT_EQ(recipe_crashes_open(root.c_str(), "app", {1, 1}, 0, &crashes), STATUS_ok);
    prewarm_list list = {};
    prewarm_list_make(recipes.get(), crashes, sample_environment.data(), sample_environment.size(),
                      true, &list);
    EXPECT_GT(list.count, 100u);
    EXPECT_LT(list.visits, 1100000u);
    EXPECT_LT(list.count, 1000u);
    prewarm_list_free(&list);
    recipe_crashes_close(crashes);
}

} // namespace
