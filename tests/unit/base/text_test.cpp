// SPDX-License-Identifier: Apache-2.0
#include <climits>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "common/base/text.h"
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

TEST(Utf8, SteeringCharactersAreNotShown)
{
    for (const char *text :
         {"\x01", "\x1b", "\x7f", "\u0080", "\u009b", "\u061c", "\u200e", "\u200f", "\u2028",
          "\u2029", "\u202a", "\u202e", "\u2066", "\u2069", "\xff", ""}) {
        EXPECT_EQ(utf8_shown_length(text), 0u) << testing::PrintToString(text);
    }
    for (const char *text : {" ", "~", "\u00a0", "\u061b", "\u200d", "\u2027", "\u202f", "\u2065",
                             "\u206a", "\U0001f600"}) {
        EXPECT_EQ(utf8_shown_length(text), strlen(text)) << testing::PrintToString(text);
    }
}

TEST(Utf8, CodePoints)
{
    EXPECT_EQ(utf8_code_point("a", 1), 0x61u);
    EXPECT_EQ(utf8_code_point("\u009b", 2), 0x9bu);
    EXPECT_EQ(utf8_code_point("\u202e", 3), 0x202eu);
    EXPECT_EQ(utf8_code_point("\U0010ffff", 4), 0x10ffffu);
}

TEST(Pattern, Matches)
{
    const char *const cases[][2] = {
        {"", ""},
        {"*", ""},
        {"**", ""},
        {"*", "anything"},
        {"abc", "abc"},
        {"ABC", "abc"},
        {"abc", "ABC"},
        {"a?c", "abc"},
        {"*c", "abc"},
        {"a*", "abc"},
        {"a*c", "ac"},
        {"a*c", "abbbc"},
        {"*b*", "abc"},
        {"*ab*ab", "abab"},
        {"a*b", "aab"},
        {"*aab", "aaaab"},
        {"*a*b*c", "xabcabc"},
        {"a**c", "abc"},
        {"[a]", "[a]"},
        {"a\\*", "a\\bc"},
        {"*DXT-48*", "PowerVR D-Series DXT-48-1536 MC1"},
    };
    for (const auto &[pattern, text] : cases) {
        EXPECT_TRUE(pattern_matches(pattern, text)) << pattern << " against " << text;
    }
}

TEST(Pattern, MatchesNot)
{
    const char *const cases[][2] = {
        {"", "a"},      {"a", ""},          {"?", ""},        {"a", "ab"},
        {"ab", "a"},    {"a?", "a"},        {"*b", "abc"},    {"b*", "abc"},
        {"a*d", "abc"}, {"*ab*ab", "ab"},   {"*x*", "abc"},   {"a*b*c", "acb"},
        {"[a]", "a"},   {"a*aab", "aaab!"}, {"\xc4", "\xe4"}, // only letters of ASCII have a case
    };
    for (const auto &[pattern, text] : cases) {
        EXPECT_FALSE(pattern_matches(pattern, text)) << pattern << " against " << text;
    }
}

// A matcher that tries every split would not come back.
TEST(Pattern, StarsDoNotMultiply)
{
    std::string pattern;
    for (int i = 0; i < 100; i++) {
        pattern += "*a";
    }
    EXPECT_FALSE(pattern_matches((pattern + "b").c_str(), std::string(1000, 'a').c_str()));
    EXPECT_TRUE(pattern_matches(pattern.c_str(), std::string(1000, 'a').c_str()));
}

TEST(Text, NamesHaveLettersDigitsAndAFewSigns)
{
    for (int c = 0; c < 256; c++) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool digit = c >= '0' && c <= '9';
        EXPECT_EQ(text_is_letter(static_cast<char>(c)), letter) << c;
        EXPECT_EQ(text_is_of_name(static_cast<char>(c), "._"),
                  letter || digit || c == '.' || c == '_')
            << c;
    }
    EXPECT_EQ(text_name_length("", "_"), 0u);
    EXPECT_EQ(text_name_length("aZ0_9", "_"), 5u);
    EXPECT_EQ(text_name_length("aZ.0", "_"), 2u);
}

TEST(Text, ACountHasItsNoun)
{
    EXPECT_STREQ(text_noun(0, "miss", "misses"), "misses");
    EXPECT_STREQ(text_noun(1, "miss", "misses"), "miss");
    EXPECT_STREQ(text_noun(2, "miss", "misses"), "misses");
}

TEST(Text, BytesInIecUnits)
{
    const std::pair<uint64_t, const char *> cases[] = {
        {0, "0 B"},
        {1, "1 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {(1 << 20) - 1, "1.0 MiB"},
        {1 << 20, "1.0 MiB"},
        {1126, "1.1 KiB"},
        {10013901, "9.6 MiB"},    // 9.55000019
        {10254662860, "9.6 GiB"}, // 9.5504
        {10254120000, "9.5 GiB"}, // 9.5499
        {uint64_t{5} << 40, "5.0 TiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    for (const auto &[bytes, expected] : cases) {
        char text[TEXT_BYTES_SIZE];
        text_bytes(bytes, text);
        EXPECT_STREQ(text, expected);
    }
}

TEST(TextTime, IsThatOfTheCalendarOrTheNumber)
{
    const std::pair<uint64_t, const char *> cases[] = {
        {0, "1970-01-01T00:00:00Z"},
        {1787318855, "2026-08-21T13:27:35Z"},
        {UINT64_MAX / 2, "9223372036854775807"},
        {UINT64_MAX, "18446744073709551615"},
    };
    for (const auto &[seconds, expected] : cases) {
        char text[TEXT_TIME_SIZE];
        text_time(seconds, text);
        EXPECT_STREQ(text, expected);
    }
}

TEST(TextEnds, InASuffixWithSomethingBeforeIt)
{
    EXPECT_TRUE(text_ends_in("a.json", ".json"));
    EXPECT_FALSE(text_ends_in(".json", ".json"));
    EXPECT_FALSE(text_ends_in("a.json5", ".json"));
    EXPECT_FALSE(text_ends_in("", ".json"));
}

TEST(TextParseTwo, NumbersWithASpaceBetween)
{
    uint64_t first = 7;
    uint64_t second = 8;
    for (const char *text : {"", "1", "1 ", "1  2", "1\t2", " 1 2", "max 100000", "-1 2",
                             "1 18446744073709551616", "18446744073709551616 1"}) {
        EXPECT_FALSE(text_parse_two(text, &first, &second)) << text;
        EXPECT_EQ(first, 7u) << text;
        EXPECT_EQ(second, 8u) << text;
    }
    EXPECT_TRUE(text_parse_two("1795773979 18446744073709551615 12\n", &first, &second));
    EXPECT_EQ(first, 1795773979u);
    EXPECT_EQ(second, UINT64_MAX);
}

TEST(TextParseHex, IsTheNumberOfTheDigitsThatThereAre)
{
    const std::pair<const char *, uint64_t> cases[] = {
        {"", 0},
        {"g", 0},
        {"0", 0},
        {"1f", 0x1f},
        {"ABCdef.wprecipes", 0xabcdef},
        {"a3513d2f6008881e", 0xa3513d2f6008881e},
        {"00000000000000000001", 1},
        {"ffffffffffffffff", UINT64_MAX},
        {"10000000000000000", UINT64_MAX},
        {"100000000000000010", UINT64_MAX},
    };
    for (const auto &[text, expected] : cases) {
        EXPECT_EQ(text_parse_hex(text), expected) << text;
    }
}

TEST(TextHexValue, IsThatOfADigitOfEitherCase)
{
    const std::string digits = "0123456789abcdef";
    for (int byte = CHAR_MIN; byte <= CHAR_MAX; byte++) {
        const char digit = static_cast<char>(byte);
        const bool is_capital = digit >= 'A' && digit <= 'F';
        const size_t at = digit ? digits.find(is_capital ? digit - 'A' + 'a' : digit) : digits.npos;
        EXPECT_EQ(text_hex_value(digit), at == digits.npos ? -1 : static_cast<int>(at)) << byte;
    }
}

} // namespace
