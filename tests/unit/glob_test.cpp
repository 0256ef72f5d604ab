#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "base/glob.h"
}

namespace {

TEST(Glob, Matches)
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
        EXPECT_TRUE(glob_matches(pattern, text)) << pattern << " against " << text;
    }
}

TEST(Glob, MatchesNot)
{
    const char *const cases[][2] = {
        {"", "a"},      {"a", ""},          {"?", ""},        {"a", "ab"},
        {"ab", "a"},    {"a?", "a"},        {"*b", "abc"},    {"b*", "abc"},
        {"a*d", "abc"}, {"*ab*ab", "ab"},   {"*x*", "abc"},   {"a*b*c", "acb"},
        {"[a]", "a"},   {"a*aab", "aaab!"}, {"\xc4", "\xe4"}, // only letters of ASCII have a case
    };
    for (const auto &[pattern, text] : cases) {
        EXPECT_FALSE(glob_matches(pattern, text)) << pattern << " against " << text;
    }
}

// A matcher that tries every split would not come back.
TEST(Glob, StarsDoNotMultiply)
{
    std::string pattern;
    for (int i = 0; i < 100; i++) {
        pattern += "*a";
    }
    EXPECT_FALSE(glob_matches((pattern + "b").c_str(), std::string(1000, 'a').c_str()));
    EXPECT_TRUE(glob_matches(pattern.c_str(), std::string(1000, 'a').c_str()));
}

} // namespace
