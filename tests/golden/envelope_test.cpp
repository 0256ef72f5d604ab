// SPDX-License-Identifier: Apache-2.0
// The checked-in envelopes and markers: written by make_envelopes.py from docs/FORMAT.md alone, so
// code and document are held against each other.
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "common/blobs/envelope.h"
#include "common/blobs/marker.h"
}

namespace {

std::string golden(const std::string &name)
{
    std::ifstream in(GOLDEN_DIRECTORY "/" + name, std::ios::binary);
    EXPECT_TRUE(in) << name;
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string payload(size_t size)
{
    std::string bytes;
    uint32_t state = 1;
    while (bytes.size() < size) {
        state = (state * 1103515245 + 12345) & 0x7fffffff;
        bytes += static_cast<char>(state >> 16);
    }
    return bytes;
}

std::string make_blob(const driver_identity &identity, const std::string &rest)
{
    struct bytes bytes = {};
    bytes_put_u32(&bytes, 32);
    bytes_put_u32(&bytes, 1);
    bytes_put_u32(&bytes, identity.vendor_id);
    bytes_put_u32(&bytes, identity.device_id);
    bytes_put(&bytes, identity.pipeline_cache_uuid, VK_UUID_SIZE);
    std::string blob(reinterpret_cast<char *>(bytes.data), bytes.size);
    bytes_free(&bytes);
    return blob + rest;
}

// The file is what the code writes of these values, and the code finds these values in it.
void expect_file(const std::string &name, const driver_identity &identity, uint64_t generation,
                 uint64_t saved_at, const std::string &blob)
{
    const std::string file = golden("envelope/" + name);
    envelope written = {};
    written.identity = identity;
    written.generation = generation;
    written.saved_at = saved_at;
    written.blob = reinterpret_cast<const uint8_t *>(blob.data());
    written.blob_size = blob.size();
    struct bytes header = {};
    ASSERT_TRUE(envelope_encode_header(&written, &header));
    EXPECT_TRUE(std::string(reinterpret_cast<char *>(header.data), header.size) + blob == file);
    bytes_free(&header);

    envelope found = {};
    ASSERT_STREQ(status_id(envelope_validate(file.data(), file.size(), &identity, &found)), "");
    EXPECT_EQ(found.generation, generation);
    EXPECT_EQ(found.saved_at, saved_at);
    ASSERT_EQ(found.blob_size, blob.size());
    EXPECT_EQ(std::memcmp(found.blob, blob.data(), blob.size()), 0);
}

TEST(GoldenEnvelope, Usual)
{
    driver_identity identity = {};
    identity.vendor_id = 0x1002;
    identity.device_id = 0x7310;
    identity.api_version = VK_MAKE_API_VERSION(0, 1, 3, 230);
    identity.driver_version = 0x05803006;
    identity.driver_id = 3;
    identity.pointer_size = 8;
    identity.conformance[0] = 1;
    identity.conformance[1] = 3;
    for (uint8_t i = 0; i < VK_UUID_SIZE; i++) {
        identity.pipeline_cache_uuid[i] = i;
    }
    std::strcpy(identity.device_name, "Sample device");
    std::strcpy(identity.driver_name, "sample");
    std::strcpy(identity.driver_info, "Sample 1.2.3");
    expect_file("usual.wpcache", identity, 0x0123456789abcdef, 1700000000,
                make_blob(identity, payload(1000)));
}

TEST(GoldenEnvelope, Least)
{
    driver_identity identity = {};
    identity.api_version = VK_API_VERSION_1_0;
    identity.pointer_size = 4;
    std::memcpy(identity.pipeline_cache_uuid, "val-%s", 6);
    expect_file("least.wpcache", identity, 1, 0, make_blob(identity, ""));
}

TEST(GoldenEnvelope, Most)
{
    driver_identity identity;
    std::memset(&identity, 0xff, sizeof(identity));
    identity.pointer_size = 8;
    std::memset(identity.device_name, 0, sizeof(identity.device_name));
    std::memset(identity.driver_name, 0, sizeof(identity.driver_name));
    std::memset(identity.driver_info, 0, sizeof(identity.driver_info));
    std::memset(identity.device_name, 'd', 255);
    std::memset(identity.driver_name, 'n', 255);
    std::memset(identity.driver_info, 'i', 255);
    expect_file("most.wpcache", identity, UINT64_MAX, UINT64_MAX,
                make_blob(identity, payload(4097)));
}

TEST(GoldenMarker, IsAsItWas)
{
    const std::string file = golden("marker/0123456789abcdef");
    marker_record record = {};
    ASSERT_TRUE(marker_record_parse(file.data(), file.size(), &record));
    EXPECT_EQ(record.id, 0x0123456789abcdefu);
    EXPECT_EQ(record.generation, 0xfedcba9876543210u);
    EXPECT_EQ(record.failure, 0x1122334455667788u);
    EXPECT_EQ(record.loaded_at, 1700000000u);
    EXPECT_EQ(record.process, 4242u);
    EXPECT_STREQ(record.program, "a program");

    struct bytes bytes = {};
    marker_record_put(&bytes, &record);
    EXPECT_TRUE(std::string(reinterpret_cast<char *>(bytes.data), bytes.size) == file);
    bytes_free(&bytes);
}

TEST(GoldenMarker, APageIsAsItWas)
{
    const std::string file = golden("marker/8123456789abcdef");
    marker_record record = {};
    ASSERT_TRUE(marker_record_parse(file.data(), file.size(), &record));
    EXPECT_TRUE(record.is_page);
    EXPECT_EQ(record.id, 0x8123456789abcdefu);
    EXPECT_EQ(record.generation, 0xfedcba9876543210u);
    EXPECT_EQ(record.failure, 0x1122334455667788u);
    EXPECT_EQ(record.deaths, 1u);
    EXPECT_STREQ(record.program, "a program");
    const crash_finding &finding = record.finding;
    EXPECT_FALSE(finding.died) << "the machine was started anew";
    EXPECT_TRUE(finding.stored);
    EXPECT_TRUE(finding.returned);
    EXPECT_TRUE(finding.passed);
    EXPECT_EQ(finding.saved, 0x0102030405060708u);
    EXPECT_EQ(finding.saving, 0x1112131415161718u);
    ASSERT_EQ(finding.keys.count, 1u) << "one is outside, one is in a long call";
    EXPECT_EQ(finding.keys.keys[0], 0x69b6badbad5c4c53u);
}

} // namespace
