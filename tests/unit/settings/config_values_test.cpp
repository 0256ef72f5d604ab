// SPDX-License-Identifier: Apache-2.0
// What a setting's value may be: sizes.
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

extern "C" {
#include "common/settings/config.h"
}

namespace {

TEST(ConfigSize, Good)
{
    const std::pair<const char *, uint64_t> cases[] = {
        {"0", 0},
        {"65536", 65536},
        {"65536B", 65536},
        {"1K", 1024},
        {"1KB", 1024},
        {"1KiB", 1024},
        {"512M", UINT64_C(512) << 20},
        {"2G", UINT64_C(2) << 30},
        {"2GiB", UINT64_C(2) << 30},
        {"3T", UINT64_C(3) << 40},
        {"0001G", UINT64_C(1) << 30},
        {"18446744073709551615", UINT64_MAX},
        {"16777215T", UINT64_C(16777215) << 40},
    };
    for (const auto &[text, size] : cases) {
        uint64_t parsed = 4711;
        EXPECT_TRUE(config_parse_size(text, &parsed)) << text;
        EXPECT_EQ(parsed, size) << text;
    }
}

TEST(ConfigSize, Bad)
{
    const char *const cases[] = {
        "",
        " ",
        "G",
        "B",
        "1.5G",
        "-1",
        "+1",
        "1 G",
        " 1",
        "1 ",
        "1g",
        "1k",
        "1GG",
        "1Gi",
        "1GiBs",
        "1iB",
        "1Bi",
        "1BB",
        "0x10",
        "1e3",
        "1P",
        "1E",
        "1,5G",
        "1_000",
        "unset",
        "18446744073709551616",
        "99999999999999999999999999999999",
        "16777216T",
        "18014398509481984K",
        "17179869184G",
        "1\xc2\xa0G",
    };
    for (const char *text : cases) {
        uint64_t parsed = 4711;
        EXPECT_FALSE(config_parse_size(text, &parsed)) << text;
        EXPECT_EQ(parsed, 4711u) << text;
    }
}

} // namespace
