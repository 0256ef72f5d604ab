// SPDX-License-Identifier: Apache-2.0
// What served caches are answered from: one snapshot of the device's cache for as long as it holds
// what was compiled in their names.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

extern "C" {
#include "layer/cache/cache_snapshots.h"
}

namespace {

const VkPipelineCache the_cache = (VkPipelineCache)0x20;

std::string content; // of the device's cache
size_t told_more;    // than there is, at a size query
int reads;
int failures; // reads that are still to fail

VKAPI_ATTR VkResult VKAPI_CALL get_data(VkDevice, VkPipelineCache cache, size_t *size, void *data)
{
    EXPECT_EQ(cache, the_cache);
    if (!data) {
        *size = content.size() + told_more;
        return VK_SUCCESS;
    }
    if (failures > 0) {
        --failures;
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    ++reads;
    *size = content.size();
    std::memcpy(data, content.data(), content.size());
    return VK_SUCCESS;
}

class CacheSnapshots : public testing::Test {
  protected:
    void SetUp() override
    {
        content = "a header of thirty-two bytes, and some pipelines";
        told_more = 0;
        reads = failures = 0;
        table.GetPipelineCacheData = get_data;
        snapshots = cache_snapshots_new(&driver);
    }
    ~CacheSnapshots() override
    {
        cache_snapshots_delete(snapshots);
    }

    void create(bool compiled)
    {
        cache_snapshots_begin(snapshots);
        cache_snapshots_end(snapshots, compiled);
    }

    // What an answer with all changes until now in it is.
    std::string answer(bool fresh = false)
    {
        cache_snapshot *snapshot =
            cache_snapshots_get(snapshots, the_cache, cache_snapshots_changes(snapshots), fresh);
        if (!snapshot) {
            return "";
        }
        std::string data(reinterpret_cast<const char *>(snapshot->data), snapshot->size);
        EXPECT_TRUE(digest_equal(snapshot->digest, digest_of(data.data(), data.size())));
        cache_snapshot_drop(snapshot);
        return data;
    }

    device_table table{};
    driver_caches driver{VK_NULL_HANDLE, &table, nullptr, nullptr, nullptr, nullptr};
    cache_snapshots *snapshots = nullptr;
};

TEST_F(CacheSnapshots, OneSnapshotAnswersAllWhileNothingChanges)
{
    for (int i = 0; i < 20; ++i) {
        create(false);
        EXPECT_EQ(answer(), content);
    }
    EXPECT_EQ(reads, 1);
}

TEST_F(CacheSnapshots, WhatWasCompiledIsInTheNextAnswer)
{
    EXPECT_EQ(answer(), content);
    content = "a header of thirty-two bytes, and other bytes!!!"; // as many
    create(true);
    EXPECT_EQ(answer(), content);
    EXPECT_EQ(reads, 2);
}

// Feedback may be wrong: the driver calls a compile a hit.
TEST_F(CacheSnapshots, AnotherSizeIsAnotherContent)
{
    EXPECT_EQ(answer(), content);
    content += " and one more";
    create(false);
    EXPECT_EQ(answer(), content);
}

// It is answered as before until something is created in its own name, which others may see who
// have asked for the size.
TEST_F(CacheSnapshots, WhatIsCreatedInOtherNamesChangesNoAnswer)
{
    const uint64_t needed = cache_snapshots_changes(snapshots);
    EXPECT_EQ(answer(), content);
    content += " and one more";
    create(true);
    cache_snapshot *before = cache_snapshots_get(snapshots, the_cache, needed, false);
    EXPECT_EQ(before->size, content.size() - strlen(" and one more"));
    cache_snapshot_drop(before);
    EXPECT_EQ(answer(), content);
}

// The hit may be in what the other has compiled and not yet returned.
TEST_F(CacheSnapshots, AHitBesideACreationUnderWayCountsAsAChange)
{
    EXPECT_EQ(answer(), content);
    cache_snapshots_begin(snapshots);
    content = "a header of thirty-two bytes, and other bytes!!!";
    create(false);
    EXPECT_EQ(answer(), content);
    cache_snapshots_end(snapshots, true);
    EXPECT_EQ(reads, 2);
}

TEST_F(CacheSnapshots, IsTakenAnewWhereThatIsAsked)
{
    EXPECT_EQ(answer(), content);
    content = "a header of thirty-two bytes, and other bytes!!!";
    EXPECT_EQ(answer(true), content);
}

TEST_F(CacheSnapshots, ADriverThatFailsOnceIsAskedAgain)
{
    failures = 1;
    EXPECT_EQ(answer(), content);
    failures = 2;
    EXPECT_EQ(answer(true), "");
}

TEST_F(CacheSnapshots, ADriverThatTellsMoreThanItWritesIsNotReadEachTime)
{
    told_more = 100;
    EXPECT_EQ(answer(), content);
    EXPECT_EQ(answer(), content);
    EXPECT_EQ(reads, 1);
}

TEST_F(CacheSnapshots, APartOfAHeaderIsNoAnswer)
{
    content = "a header of twenty";
    told_more = 12;
    EXPECT_EQ(answer(), "");
}

TEST(SnapshotAnswers, AreReservedWithinTheBudget)
{
    ASSERT_TRUE(snapshot_answers_reserve(SNAPSHOT_ANSWERS_MAX - 10));
    EXPECT_TRUE(snapshot_answers_reserve(10));
    EXPECT_FALSE(snapshot_answers_reserve(1));
    snapshot_answers_unreserve(10);
    snapshot_answers_given(20); // given they are in any case
    EXPECT_FALSE(snapshot_answers_reserve(1));
    snapshot_answers_unreserve(20 + SNAPSHOT_ANSWERS_MAX - 10);
    EXPECT_FALSE(snapshot_answers_reserve(SNAPSHOT_ANSWERS_MAX + 1));
    EXPECT_TRUE(snapshot_answers_reserve(SNAPSHOT_ANSWERS_MAX));
    snapshot_answers_unreserve(SNAPSHOT_ANSWERS_MAX);
}

} // namespace
