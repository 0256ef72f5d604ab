// SPDX-License-Identifier: Apache-2.0
// Sets of 64-bit values: plain ones, and pointers with a hash of their own.
#include <gtest/gtest.h>

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

struct item {
    uint64_t hash;
    int name;
};

uint64_t hash_of(uint64_t value)
{
    return reinterpret_cast<const item *>(value)->hash;
}

bool is_named(uint64_t value, const void *name)
{
    return reinterpret_cast<const item *>(value)->name == *static_cast<const int *>(name);
}

TEST_F(DigestSet, FindsPointersByHashAndMatch)
{
    set.hash = hash_of;
    item items[40];
    for (int i = 0; i < 40; i++) {
        items[i] = {static_cast<uint64_t>(i % 3), i};
        ASSERT_TRUE(digest_set_add(&set, reinterpret_cast<uint64_t>(&items[i])));
    }
    for (int i = 0; i < 40; i++) {
        EXPECT_EQ(digest_set_find(&set, items[i].hash, is_named, &i),
                  reinterpret_cast<uint64_t>(&items[i]));
    }
    const int other = 40;
    EXPECT_EQ(digest_set_find(&set, 1, is_named, &other), 0u);
}

} // namespace
