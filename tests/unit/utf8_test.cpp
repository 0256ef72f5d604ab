#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "base/utf8.h"
}

namespace {

TEST(Utf8, LengthOfWellFormed)
{
    EXPECT_EQ(utf8_length(""), 1u);
    EXPECT_EQ(utf8_length("a"), 1u);
    EXPECT_EQ(utf8_length("\x7f"), 1u);
    for (const char *two : {"\xc2\x80", "\xdf\xbf"}) {
        EXPECT_EQ(utf8_length(two), 2u);
    }
    for (const char *three : {"\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf"}) {
        EXPECT_EQ(utf8_length(three), 3u);
    }
    for (const char *four : {"\xf0\x90\x80\x80", "\xf1\x80\x80\x80", "\xf4\x8f\xbf\xbf"}) {
        EXPECT_EQ(utf8_length(four), 4u);
    }
}

TEST(Utf8, RefusesIllFormed)
{
    const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xfe",
        "\xff",
        "\xf5\x80\x80\x80",
        "\xc0\x80",
        "\xc1\xbf",
        "\xe0\x9f\xbf",
        "\xf0\x8f\xbf\xbf", // overlong
        "\xed\xa0\x80",
        "\xed\xbf\xbf",     // surrogates
        "\xf4\x90\x80\x80", // above U+10FFFF
        "\xc3",
        "\xe2\x82",
        "\xf0\x9f\x98", // cut off
        "\xc3(",
        "\xe2(\x82",
        "\xe2\x82(",
        "\xf0\x9f\x98(",
    };
    for (const char *text : bad) {
        EXPECT_EQ(utf8_length(text), 0u) << testing::PrintToString(text);
    }
}

// The block ends with the zero: reading beyond it is the sanitizer's to tell.
TEST(Utf8, StopsAtTheZero)
{
    for (const char *cut : {"\xe2", "\xe2\x82", "\xf0", "\xf0\x9f", "\xf0\x9f\x98"}) {
        std::string text(cut);
        text.shrink_to_fit();
        EXPECT_EQ(utf8_length(text.c_str()), 0u);
    }
}

} // namespace
