// SPDX-License-Identifier: Apache-2.0
// The names by which live keys know code that may be gone.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

extern "C" {
#include "common/codec/canonical.h"
}

namespace {

constexpr live_key kKey = {{0x0706050403020100, 0x0f0e0d0c0b0a0908}};

std::string hash_of_first(size_t count)
{
    std::vector<uint8_t> bytes(count);
    for (size_t i = 0; i < count; ++i) {
        bytes[i] = static_cast<uint8_t>(i);
    }
    const digest hash = live_hash(&kKey, bytes.data(), bytes.size());
    std::string hex;
    for (uint64_t half : {hash.low, hash.high}) {
        for (int i = 0; i < 8; ++i, half >>= 8) {
            hex += "0123456789abcdef"[half >> 4 & 15];
            hex += "0123456789abcdef"[half & 15];
        }
    }
    return hex;
}

// Made with OpenSSL: openssl mac -macopt hexkey:00…0f -macopt size:16 SipHash
TEST(LiveName, IsSipHashOf128Bits)
{
    EXPECT_EQ(hash_of_first(0), "a3817f04ba25a8e66df67214c7550293");
    EXPECT_EQ(hash_of_first(1), "da87c1d86b99af44347659119b22fc45");
    EXPECT_EQ(hash_of_first(8), "3b62a9ba6258f5610f83e264f31497b4");
    EXPECT_EQ(hash_of_first(15), "5493e99933b0a8117e08ec0f97cfc3d9");
    EXPECT_EQ(hash_of_first(256), "67a00304d3834c4612eaee7b5f579acb");
}

TEST(LiveName, TellsFormsCodesAndKeysApart)
{
    const auto name = [](const live_key &key, const std::string &form, const std::string &code) {
        return live_name(&key, form.data(), form.size(), code.data(), code.size());
    };
    const live_key other = {{kKey.words[0], kKey.words[1] + 1}};
    const digest first = name(kKey, "form", "code");
    EXPECT_TRUE(digest_equal(first, name(kKey, "form", "code")));
    EXPECT_FALSE(digest_equal(first, name(kKey, "form", "coda")));
    EXPECT_FALSE(digest_equal(first, name(kKey, "fort", "code")));
    EXPECT_FALSE(digest_equal(first, name(kKey, "formc", "ode")));
    EXPECT_FALSE(digest_equal(first, name(kKey, "form", "")));
    EXPECT_FALSE(digest_equal(first, name(other, "form", "code")));
}

TEST(LiveName, TheKeyIsDrawnOnce)
{
    const live_key *key = live_key_of_process();
    ASSERT_NE(key, nullptr);
    EXPECT_EQ(live_key_of_process(), key);
    EXPECT_NE(key->words[0] | key->words[1], 0u);
}

} // namespace
