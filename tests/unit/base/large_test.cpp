// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <malloc.h>

extern "C" {
#include "common/base/bytes.h"
}

namespace {

TEST(Large, IsAlignedAndWritableOfAnySize)
{
    for (size_t size : {size_t{0}, size_t{1}, LARGE_BYTES - 65, LARGE_BYTES - 64, LARGE_BYTES,
                        LARGE_BYTES + 1, 100 * LARGE_BYTES}) {
        void *memory = large_new(size);
        ASSERT_NE(memory, nullptr) << size;
        EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u) << size;
        memset(memory, 0xa5, size);
        large_free(memory);
    }
    large_free(nullptr);
}

TEST(Large, SizesBeyondAllMemoryAreRefused)
{
    for (size_t size : {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2 + 1}) {
        EXPECT_EQ(large_new(size), nullptr);
    }
}

// What malloc would map, and keep more of in every heap from then on.
TEST(Large, LeavesMallocAsItWas)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const size_t before = mallinfo2().hblks;
    void *memory = large_new(8 << 20);
    struct bytes bytes = {};
    bytes_put_zeros(&bytes, 8 << 20);
    EXPECT_EQ(mallinfo2().hblks, before);
    bytes_free(&bytes);
    large_free(memory);
#else
    GTEST_SKIP() << "a sanitizer has a malloc of its own";
#endif
}

// The pages stay with the process: who allocates next finds them.
TEST(Large, WhatIsNotLargeIsMallocs)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const size_t size = 600 << 10;
    const auto in_use = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
    const size_t before = in_use();
    void *memory = large_new(size);
    EXPECT_GE(in_use(), before + size);
    large_free(memory);
    EXPECT_LT(in_use(), before + size);
#else
    GTEST_SKIP() << "a sanitizer has a malloc of its own";
#endif
}

TEST(Large, BytesGrowFromSmallToLarge)
{
    struct bytes bytes = {};
    std::vector<uint8_t> expected;
    for (size_t i = 0; i < 3 * LARGE_BYTES; i += 1000) {
        const std::vector<uint8_t> piece(1000, static_cast<uint8_t>(i / 1000));
        bytes_put(&bytes, piece.data(), piece.size());
        expected.insert(expected.end(), piece.begin(), piece.end());
    }
    EXPECT_EQ(std::vector<uint8_t>(bytes.data, bytes.data + bytes.size), expected);
    bytes_free(&bytes);
    EXPECT_EQ(bytes.data, nullptr);
}

TEST(Large, BytesAreTakenAsABlockOfMalloc)
{
    for (size_t size : {size_t{0}, size_t{10}, 3 * LARGE_BYTES}) {
        struct bytes bytes = {};
        bytes_put_zeros(&bytes, size);
        uint8_t *data = bytes_take(&bytes);
        EXPECT_EQ(std::vector<uint8_t>(data, data + size), std::vector<uint8_t>(size, 0));
        EXPECT_EQ(bytes.capacity, 0u);
        free(data);
    }
}

} // namespace
