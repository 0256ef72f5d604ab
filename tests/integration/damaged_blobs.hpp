// SPDX-License-Identifier: Apache-2.0
// Blobs that are whole and hold other data than the driver's: what they cost in starts.
#ifndef WARMPIPE_TESTS_DAMAGED_BLOBS_HPP
#define WARMPIPE_TESTS_DAMAGED_BLOBS_HPP

#include <algorithm>
#include <filesystem>
#include <functional>
#include <vector>

#include "harness.hpp"

extern "C" {
#include "common/blobs/envelope.h"
}

// Changes the driver's data, and makes every sum right again.
inline void change_blob(const std::filesystem::path &path,
                        const std::function<void(std::vector<uint8_t> &blob)> &change)
{
    std::vector<uint8_t> file = read_bytes(path);
    struct envelope envelope = {};
    ASSERT_EQ(envelope_validate(file.data(), file.size(), nullptr, &envelope), STATUS_ok);
    std::vector<uint8_t> blob(envelope.blob, envelope.blob + envelope.blob_size);
    change(blob);
    envelope.blob = blob.data();
    struct bytes header = {};
    ASSERT_TRUE(envelope_encode_header(&envelope, &header));
    std::copy(header.data, header.data + header.size, file.begin());
    std::copy(blob.begin(), blob.end(), file.begin() + static_cast<std::ptrdiff_t>(header.size));
    bytes_free(&header);
    write_bytes(path, file);
}

// The folder of a program as it was when this blob was saved, recipes apart.
inline void put_back(const std::filesystem::path &file, const std::vector<uint8_t> &good)
{
    for (const auto &entry : std::filesystem::directory_iterator(file.parent_path())) {
        if (entry.path().filename() != "recipes") {
            std::filesystem::remove_all(entry.path());
        }
    }
    write_bytes(file, good);
    std::filesystem::permissions(file, std::filesystem::perms(0600));
}

// Starts until three in a row have lived; how many were lost.
template <typename Start> unsigned count_lost(Start start)
{
    unsigned lost = 0;
    for (unsigned lived = 0; lived < 3 && lost < 10;) {
        const bool lives = start();
        lost += lives ? 0 : 1;
        lived = lives ? lived + 1 : 0;
    }
    return lost;
}

#endif
