// SPDX-License-Identifier: Apache-2.0
// What the tests of common/disk share: a driver, its blobs, and envelopes that can be tampered
// with.
#ifndef WARMPIPE_TESTS_UNIT_DISK_FIXTURE_H
#define WARMPIPE_TESTS_UNIT_DISK_FIXTURE_H

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

extern "C" {
#include "common/base/status.h"
#include "common/blobs/envelope.h"
#include "common/driver/identity.h"
}

// GoogleTest would print a number.
inline void PrintTo(enum status reason, std::ostream *out)
{
    *out << (reason == STATUS_ok ? "ok" : status_id(reason));
}

inline driver_identity sample_identity()
{
    driver_identity identity = {};
    identity.vendor_id = 0x1002;
    identity.device_id = 0x7310;
    identity.api_version = VK_API_VERSION_1_3;
    identity.driver_version = 0x05803006;
    identity.driver_id = VK_DRIVER_ID_MESA_RADV;
    identity.pointer_size = 8;
    identity.conformance[0] = 1;
    identity.conformance[1] = 3;
    for (uint8_t i = 0; i < VK_UUID_SIZE; i++) {
        identity.pipeline_cache_uuid[i] = static_cast<uint8_t>(0xa0 + i);
    }
    std::strcpy(identity.device_name, "Sample device");
    std::strcpy(identity.driver_name, "sample");
    std::strcpy(identity.driver_info, "Sample 1.2.3");
    return identity;
}

// A driver's blob whose payload is this text.
inline std::string make_blob(const std::string &payload,
                             const driver_identity &identity = sample_identity())
{
    struct bytes bytes = {};
    bytes_put_u32(&bytes, 32);
    bytes_put_u32(&bytes, VK_PIPELINE_CACHE_HEADER_VERSION_ONE);
    bytes_put_u32(&bytes, identity.vendor_id);
    bytes_put_u32(&bytes, identity.device_id);
    bytes_put(&bytes, identity.pipeline_cache_uuid, VK_UUID_SIZE);
    std::string blob(reinterpret_cast<char *>(bytes.data), bytes.size);
    bytes_free(&bytes);
    return blob + payload;
}

inline std::string payload_of(const void *data, size_t size)
{
    return std::string(static_cast<const char *>(data), size).substr(32);
}

// A whole file around a blob.
inline std::string make_file(const std::string &blob,
                             const driver_identity &identity = sample_identity())
{
    envelope envelope = {};
    envelope.identity = identity;
    envelope.generation = 0x0123456789abcdef;
    envelope.saved_at = 1700000000;
    envelope.blob = reinterpret_cast<const uint8_t *>(blob.data());
    envelope.blob_size = blob.size();
    struct bytes header = {};
    EXPECT_TRUE(envelope_encode_header(&envelope, &header));
    std::string file(reinterpret_cast<char *>(header.data), header.size);
    bytes_free(&header);
    return file + blob;
}

// Makes the header's digest right again after a change that somebody made on purpose.
inline void sign_header(std::string &file)
{
    struct bytes bytes = {};
    digest_put(&bytes, digest_of(file.data(), ENVELOPE_HEADER_SIZE - 16));
    file.replace(ENVELOPE_HEADER_SIZE - 16, 16, reinterpret_cast<char *>(bytes.data), 16);
    bytes_free(&bytes);
}

inline void write_file(const std::string &path, const std::string &content)
{
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

// The names in a folder that end in `suffix`, sorted.
inline std::vector<std::string> names_in(const std::string &folder, const std::string &suffix = "")
{
    std::set<std::string> names;
    if (std::filesystem::is_directory(folder)) {
        for (const auto &entry : std::filesystem::directory_iterator(folder)) {
            std::string name = entry.path().filename().string();
            if (name.size() >= suffix.size() &&
                name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0) {
                names.insert(name);
            }
        }
    }
    return {names.begin(), names.end()};
}

#endif
