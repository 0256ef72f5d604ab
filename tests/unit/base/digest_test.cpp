// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "common/base/digest.h"
}

namespace {

std::string hex_of(const std::vector<uint8_t> &data)
{
    char hex[DIGEST_HEX_SIZE];
    digest_format(digest_of(data.data(), data.size()), hex);
    return hex;
}

// Made with `xxhsum -H2`: one length for each way that XXH3 takes.
TEST(Digest, IsXxh3OfEveryLengthClass)
{
    const std::pair<size_t, const char *> golden[] = {
        {0, "99aa06d3014798d86001c324468d497f"},    {1, "51025a4491835505e12ef9d2eb86ceeb"},
        {3, "f727126d6288a4bd5c83885a0fb5d516"},    {4, "6a20c426eb2da17d217908f07519e96e"},
        {8, "dd669d5507e0e9404506373ef0af21f8"},    {9, "781bfd0e8d95a9ada51b142882780bcb"},
        {16, "6c53b945f90d679849bf196d35649b79"},   {17, "f889d91b7faf208294ad051aea796d7e"},
        {128, "776e5a2cae08df3bd480e3bdeadbf37f"},  {129, "b550da2f042256556a4dda91524c13ef"},
        {240, "3f558c88fda1da664f23bfd3609734e8"},  {241, "9ea4272027cb71fcbff7215089202d8f"},
        {1024, "418876ca5eaea67dac8e32e4ea3ba062"}, {1025, "f66a602aa3eda73bc856c953bbdbc807"},
        {4096, "b9a8fc8c82e339f399e3c931dab3e711"}, {100003, "a8d0c7d8ae67400ac78dc1dcd2b8d447"},
    };
    for (const auto &[size, hex] : golden) {
        std::vector<uint8_t> data(size);
        for (size_t i = 0; i < size; i++) {
            data[i] = static_cast<uint8_t>(i * 7 + 1);
        }
        EXPECT_EQ(hex_of(data), hex) << size;
    }
    const struct digest nothing = digest_of(nullptr, 0);
    EXPECT_EQ(nothing.high, 0x99aa06d3014798d8u);
    EXPECT_EQ(nothing.low, 0x6001c324468d497fu);
}

TEST(Digest, AlignmentDoesNotMatter)
{
    std::vector<uint8_t> data(2000 + 16, 0x5a);
    const struct digest expected = digest_of(data.data(), 2000);
    for (size_t offset = 1; offset < 16; offset++) {
        EXPECT_TRUE(digest_equal(digest_of(data.data() + offset, 2000), expected)) << offset;
    }
}

TEST(Digest, EqualNeedsBothHalves)
{
    const struct digest digest = {1, 2};
    EXPECT_TRUE(digest_equal(digest, {1, 2}));
    EXPECT_FALSE(digest_equal(digest, {1, 3}));
    EXPECT_FALSE(digest_equal(digest, {3, 2}));
}

TEST(Digest, TextPutsTheHighHalfFirst)
{
    char hex[DIGEST_HEX_SIZE];
    digest_format({0x0123456789abcdef, 0xfedcba9876543210}, hex);
    EXPECT_STREQ(hex, "fedcba98765432100123456789abcdef");
}

TEST(Digest, ParsesItsText)
{
    struct digest digest = {};
    ASSERT_TRUE(digest_parse("fedcba98765432100123456789abcdef", &digest));
    EXPECT_EQ(digest.low, 0x0123456789abcdefu);
    EXPECT_EQ(digest.high, 0xfedcba9876543210u);
    digest = {};
    ASSERT_TRUE(digest_parse("FEDCBA98765432100123456789ABCDEF", &digest));
    EXPECT_EQ(digest.high, 0xfedcba9876543210u);
}

TEST(Digest, RefusesAnythingElse)
{
    const char *const bad[] = {
        "",
        "fedcba98765432100123456789abcde",   // 31
        "fedcba98765432100123456789abcdef0", // 33
        "fedcba98765432100123456789abcdeg",
        "fedcba98765432100123456789ABCDEG",
        "gedcba98765432100123456789abcdef",
        "fedcba987654321 0123456789abcdef",
        "0xdcba98765432100123456789abcdef",
        "fedcba98765432100123456789abcde ",
        "-edcba98765432100123456789abcdef",
    };
    for (const char *text : bad) {
        struct digest digest = {7, 8};
        EXPECT_FALSE(digest_parse(text, &digest)) << text;
        EXPECT_TRUE(digest_equal(digest, {7, 8})) << text;
    }
}

TEST(Digest, GoesThroughBytes)
{
    struct bytes bytes = {};
    digest_put(&bytes, {0x0807060504030201, 0x100f0e0d0c0b0a09});
    ASSERT_EQ(bytes.size, 16u);
    for (uint8_t i = 0; i < 16; i++) {
        EXPECT_EQ(bytes.data[i], i + 1);
    }
    struct bytes_reader reader = bytes_reader_over(bytes.data, bytes.size);
    EXPECT_TRUE(digest_equal(digest_get(&reader), {0x0807060504030201, 0x100f0e0d0c0b0a09}));
    EXPECT_FALSE(reader.overrun);
    EXPECT_TRUE(digest_equal(digest_get(&reader), {0, 0}));
    EXPECT_TRUE(reader.overrun);
    bytes_free(&bytes);
}

TEST(DigestSort, KeepsEachOnceInTheOrderOfTheirText)
{
    digest digests[] = {{1, 2}, {9, 1}, {1, 2}, {0, 2}, {9, 1}};
    ASSERT_EQ(digest_sort(digests, 5), 3u);
    EXPECT_TRUE(digest_equal(digests[0], {9, 1}));
    EXPECT_TRUE(digest_equal(digests[1], {0, 2}));
    EXPECT_TRUE(digest_equal(digests[2], {1, 2}));
    EXPECT_EQ(digest_sort(nullptr, 0), 0u);
}

} // namespace
