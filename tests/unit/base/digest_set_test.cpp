// SPDX-License-Identifier: Apache-2.0
// Sets of 64-bit values: plain ones, and pointers to what begins with a digest.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

extern "C" {
#include "common/base/digest.h"
}

namespace {

class DigestSet : public testing::Test {
  protected:
    ~DigestSet() override
    {
        digest_set_release(&set);
    }

    struct digest_set set = {};
};

TEST_F(DigestSet, HoldsWhatWasAdded)
{
    EXPECT_FALSE(digest_set_has(&set, 1));
    for (uint64_t i = 0; i < 1000; i++) {
        EXPECT_TRUE(digest_set_add(&set, i * 0x10001));
        EXPECT_TRUE(digest_set_add(&set, i * 0x10001));
    }
    EXPECT_EQ(set.count, 1000u) << "each once, 0 included";
    for (uint64_t i = 0; i < 1000; i++) {
        EXPECT_TRUE(digest_set_has(&set, i * 0x10001));
        EXPECT_FALSE(digest_set_has(&set, i * 0x10001 + 3));
    }
}

// As of a hostile file: a search goes over no more than a few of them.
TEST_F(DigestSet, SpreadsDigestsThatAreAlikeInTheirLowBits)
{
    constexpr size_t count = 4096;
    for (uint64_t i = 1; i <= count; i++) {
        ASSERT_TRUE(digest_set_add(&set, i << 24 | 5));
    }
    size_t longest = 0;
    for (size_t i = 0, run = 0; i <= set.mask; i++) {
        run = set.slots[i] != 0 ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    EXPECT_LT(longest, count / 4);
}

TEST_F(DigestSet, FindsPointersByTheirDigest)
{
    set.of_pointers = true;
    struct digest items[40];
    size_t at = 0;
    EXPECT_EQ(digest_set_find(&set, {1, 1}), nullptr);
    EXPECT_EQ(digest_set_next(&set, &at), nullptr);
    for (uint64_t i = 0; i < 40; i++) {
        items[i] = {i % 3, i};
        ASSERT_TRUE(digest_set_add(&set, reinterpret_cast<uintptr_t>(&items[i])));
    }
    for (uint64_t i = 0; i < 40; i++) {
        EXPECT_EQ(digest_set_find(&set, {i % 3, i}), &items[i]);
    }
    EXPECT_EQ(digest_set_find(&set, {1, 40}), nullptr);
    std::set<const void *> seen;
    while (const void *item = digest_set_next(&set, &at)) {
        EXPECT_TRUE(seen.insert(item).second) << "each once";
    }
    EXPECT_EQ(seen.size(), 40u);
}

} // namespace
