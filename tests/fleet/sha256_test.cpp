// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>
#include <sodium.h>

extern "C" {
#include "tools/remote/heads/head.h"
}

namespace {

std::string hex(const uint8_t *digest)
{
    char text[2 * SHA256_SIZE + 1];
    sodium_bin2hex(text, sizeof text, digest, SHA256_SIZE);
    return text;
}

std::string ours(const std::string &data)
{
    uint8_t digest[SHA256_SIZE];
    sha256(data.data(), data.size(), digest);
    return hex(digest);
}

TEST(Sha256, IsThatOfTheStandard)
{
    EXPECT_EQ(ours("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(ours(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(ours(std::string(1000000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Each length around the blocks, at each alignment, is what libsodium says.
TEST(Sha256, IsThatOfAnotherImplementation)
{
    std::string data;
    for (unsigned i = 0; i < 1000; i++) {
        data.push_back(static_cast<char>(i * i + i / 7));
    }
    for (size_t size = 0; size < 300; size++) {
        uint8_t digest[SHA256_SIZE];
        const std::string part = data.substr(size % 17, size);
        crypto_hash_sha256(digest, reinterpret_cast<const unsigned char *>(part.data()), size);
        EXPECT_EQ(ours(part), hex(digest)) << size;
    }
}

} // namespace
