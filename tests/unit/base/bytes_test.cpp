// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "common/base/bytes.h"
}

// A failed allocation is what these tests want to see, not the end of the process.
extern "C" const char *__asan_default_options()
{
    return "allocator_may_return_null=1";
}
extern "C" const char *__tsan_default_options()
{
    return "allocator_may_return_null=1";
}

namespace {

std::vector<uint8_t> content(const struct bytes &bytes)
{
    return {bytes.data, bytes.data + bytes.size};
}

TEST(BytesWriter, PutsLittleEndian)
{
    struct bytes bytes = {};
    bytes_put_u8(&bytes, 0xa1);
    bytes_put_u32(&bytes, 0xb4b3b2b1);
    bytes_put_u64(&bytes, 0xc8c7c6c5c4c3c2c1);
    bytes_put(&bytes, "xy", 2);
    bytes_put_zeros(&bytes, 3);
    EXPECT_FALSE(bytes.failed);
    EXPECT_EQ(content(bytes),
              (std::vector<uint8_t>{0xa1, 0xb1, 0xb2, 0xb3, 0xb4, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5,
                                    0xc6, 0xc7, 0xc8, 'x', 'y', 0, 0, 0}));
    bytes_free(&bytes);
    EXPECT_EQ(bytes.data, nullptr);
    EXPECT_EQ(bytes.size, 0u);
    EXPECT_EQ(bytes.capacity, 0u);
}

TEST(BytesWriter, GrowsAcrossManyPuts)
{
    struct bytes bytes = {};
    for (uint32_t i = 0; i < 100000; i++) {
        bytes_put_u32(&bytes, i);
    }
    ASSERT_EQ(bytes.size, 400000u);
    EXPECT_GE(bytes.capacity, bytes.size);
    struct bytes_reader reader = bytes_reader_over(bytes.data, bytes.size);
    for (uint32_t i = 0; i < 100000; i++) {
        ASSERT_EQ(bytes_get_u32(&reader), i);
    }
    EXPECT_FALSE(reader.overrun);
    bytes_free(&bytes);
}

TEST(BytesWriter, ReserveMakesRoomWithoutSize)
{
    struct bytes bytes = {};
    ASSERT_TRUE(bytes_reserve(&bytes, 1000));
    EXPECT_EQ(bytes.size, 0u);
    EXPECT_GE(bytes.capacity, 1000u);
    const uint8_t *before = bytes.data;
    bytes_put_zeros(&bytes, 1000);
    EXPECT_EQ(bytes.data, before);
    bytes_free(&bytes);
}

TEST(BytesWriter, PuttingNothingNeedsNoMemory)
{
    struct bytes bytes = {};
    bytes_put(&bytes, nullptr, 0);
    bytes_put_zeros(&bytes, 0);
    EXPECT_EQ(bytes.data, nullptr);
    EXPECT_FALSE(bytes.failed);
}

class BytesOutOfMemory : public testing::TestWithParam<size_t> {};

TEST_P(BytesOutOfMemory, KeepsDataAndIgnoresFurtherPuts)
{
    struct bytes bytes = {};
    bytes_put_u32(&bytes, 0x64636261);
    EXPECT_FALSE(bytes_reserve(&bytes, GetParam()));
    EXPECT_TRUE(bytes.failed);
    EXPECT_FALSE(bytes_reserve(&bytes, 1));
    bytes_put_u8(&bytes, 'e');
    bytes_put_zeros(&bytes, 1);
    EXPECT_EQ(content(bytes), (std::vector<uint8_t>{'a', 'b', 'c', 'd'}));
    bytes_free(&bytes);
    EXPECT_FALSE(bytes.failed);
}

INSTANTIATE_TEST_SUITE_P(Sizes, BytesOutOfMemory,
                         testing::Values(SIZE_MAX, SIZE_MAX - 4, SIZE_MAX / 2, SIZE_MAX / 2 + 1));

TEST(BytesWriter, MemoryOfSomebodyElsesDoesNotGrow)
{
    uint8_t memory[4] = {1, 2, 3, 4};
    struct bytes bytes = {};
    bytes.data = memory;
    bytes.size = sizeof memory;
    bytes_put_u8(&bytes, 5);
    EXPECT_TRUE(bytes.failed);
    EXPECT_EQ(bytes.size, sizeof memory);
    EXPECT_EQ(memory[3], 4);
}

TEST(BytesWriter, HugeZerosFailWithoutTouchingMemory)
{
    struct bytes bytes = {};
    bytes_put_zeros(&bytes, SIZE_MAX / 2 + 1); // more than any allocation may be
    EXPECT_TRUE(bytes.failed);
    EXPECT_EQ(bytes.size, 0u);
    bytes_free(&bytes);
}

TEST(BytesReader, ReadsBackWhatWasPut)
{
    const uint8_t data[] = {0xff, 1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 0x88, 'z'};
    struct bytes_reader reader = bytes_reader_over(data, sizeof data);
    EXPECT_EQ(bytes_left(&reader), 14u);
    EXPECT_EQ(bytes_get_u8(&reader), 0xff);
    EXPECT_EQ(bytes_get_u32(&reader), 0x04030201u);
    EXPECT_EQ(bytes_get_u64(&reader), 0x8807060504030201u);
    EXPECT_EQ(bytes_get(&reader, 1), data + 13);
    EXPECT_EQ(bytes_left(&reader), 0u);
    EXPECT_FALSE(reader.overrun);
}

// The window is a heap block of its own: one byte read beyond it, and the sanitizer speaks.
TEST(BytesReader, OverrunIsStickyForEveryWidth)
{
    for (size_t size = 0; size < 8; size++) {
        std::vector<uint8_t> data(size, 0xff);
        data.shrink_to_fit();

        struct bytes_reader reader = bytes_reader_over(data.data(), size);
        EXPECT_EQ(bytes_get_u64(&reader), 0u);
        EXPECT_TRUE(reader.overrun);
        EXPECT_EQ(bytes_left(&reader), 0u);
        EXPECT_EQ(bytes_get_u8(&reader), 0u);
        EXPECT_EQ(bytes_get(&reader, 0), nullptr);

        if (size < 4) {
            reader = bytes_reader_over(data.data(), size);
            EXPECT_EQ(bytes_get_u32(&reader), 0u);
            EXPECT_TRUE(reader.overrun);
        }
        reader = bytes_reader_over(data.data(), size);
        EXPECT_EQ(bytes_get(&reader, size + 1), nullptr);
        EXPECT_TRUE(reader.overrun);

        reader = bytes_reader_over(data.data(), size);
        EXPECT_EQ(bytes_get(&reader, SIZE_MAX), nullptr);
        EXPECT_TRUE(reader.overrun);
    }
}

TEST(BytesReader, EmptyWindowIsNoOverrun)
{
    struct bytes_reader reader = bytes_reader_over(nullptr, 0);
    EXPECT_NE(bytes_get(&reader, 0), nullptr);
    EXPECT_FALSE(reader.overrun);
    EXPECT_EQ(bytes_get_u8(&reader), 0u);
    EXPECT_TRUE(reader.overrun);
}

} // namespace
