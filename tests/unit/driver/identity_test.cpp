// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "common/driver/identity.h"
}

namespace {

// A device as it tells of itself to the three commands; one at a time.
struct FakeDevice {
    VkPhysicalDeviceProperties properties = {};
    VkPhysicalDeviceDriverProperties driver = {};
    std::vector<std::string> extensions;
    int properties2_calls = 0;
};
FakeDevice device;

VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice, VkPhysicalDeviceProperties *properties)
{
    *properties = device.properties;
}

VKAPI_ATTR void VKAPI_CALL get_properties2(VkPhysicalDevice,
                                           VkPhysicalDeviceProperties2 *properties)
{
    device.properties2_calls++;
    properties->properties = device.properties;
    auto *driver = static_cast<VkPhysicalDeviceDriverProperties *>(properties->pNext);
    ASSERT_NE(driver, nullptr);
    ASSERT_EQ(driver->sType, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
    driver->driverID = device.driver.driverID;
    std::memcpy(driver->driverName, device.driver.driverName, sizeof(driver->driverName));
    std::memcpy(driver->driverInfo, device.driver.driverInfo, sizeof(driver->driverInfo));
    driver->conformanceVersion = device.driver.conformanceVersion;
}

VKAPI_ATTR VkResult VKAPI_CALL enumerate_extensions(VkPhysicalDevice, const char *, uint32_t *count,
                                                    VkExtensionProperties *properties)
{
    uint32_t room = *count;
    *count = static_cast<uint32_t>(device.extensions.size());
    if (!properties) {
        return VK_SUCCESS;
    }
    for (uint32_t i = 0; i < std::min(room, *count); i++) {
        properties[i] = {};
        device.extensions[i].copy(properties[i].extensionName, VK_MAX_EXTENSION_NAME_SIZE - 1);
    }
    return room < *count ? VK_INCOMPLETE : VK_SUCCESS;
}

const identity_commands all_commands = {get_properties, get_properties2, enumerate_extensions};

class IdentityQuery : public ::testing::Test {
  protected:
    void SetUp() override
    {
        device = FakeDevice{};
        device.properties.apiVersion = VK_MAKE_API_VERSION(0, 1, 3, 230);
        device.properties.driverVersion = VK_MAKE_API_VERSION(0, 22, 3, 6);
        device.properties.vendorID = 0x1002;
        device.properties.deviceID = 0x731f;
        for (uint32_t i = 0; i < VK_UUID_SIZE; i++) {
            device.properties.pipelineCacheUUID[i] = static_cast<uint8_t>(0xa0 + i);
        }
        // What stands behind the terminator is the driver's own rubbish.
        std::memset(device.properties.deviceName, 'x', sizeof(device.properties.deviceName));
        std::strcpy(device.properties.deviceName, "RADV NAVI10");
        device.driver.driverID = VK_DRIVER_ID_MESA_RADV;
        std::memset(device.driver.driverName, 'y', sizeof(device.driver.driverName));
        std::strcpy(device.driver.driverName, "radv");
        std::memset(device.driver.driverInfo, 'z', sizeof(device.driver.driverInfo));
        std::strcpy(device.driver.driverInfo, "Mesa 22.3.6");
        device.driver.conformanceVersion = {1, 2, 7, 1};
    }

    static driver_identity query(const identity_commands &commands = all_commands)
    {
        driver_identity identity;
        std::memset(&identity, 0xee, sizeof(identity));
        identity_query(&commands, VK_NULL_HANDLE, &identity);
        return identity;
    }

    static bool knows_driver(const driver_identity &identity)
    {
        return identity.driver_id != 0 && identity.driver_name[0] != '\0' &&
               identity.driver_info[0] != '\0' && identity.conformance[0] != 0;
    }

    static bool knows_nothing_of_driver(const driver_identity &identity)
    {
        return identity.driver_id == 0 && identity.driver_name[0] == '\0' &&
               identity.driver_info[0] == '\0' && identity.conformance[0] == 0;
    }
};

TEST_F(IdentityQuery, TakesEveryField)
{
    driver_identity identity = query();
    EXPECT_EQ(identity.vendor_id, 0x1002u);
    EXPECT_EQ(identity.device_id, 0x731fu);
    EXPECT_EQ(identity.api_version, device.properties.apiVersion);
    EXPECT_EQ(identity.driver_version, device.properties.driverVersion);
    EXPECT_EQ(identity.driver_id, static_cast<uint32_t>(VK_DRIVER_ID_MESA_RADV));
    EXPECT_EQ(identity.pointer_size, sizeof(void *));
    EXPECT_EQ(identity.conformance[0], 1);
    EXPECT_EQ(identity.conformance[1], 2);
    EXPECT_EQ(identity.conformance[2], 7);
    EXPECT_EQ(identity.conformance[3], 1);
    EXPECT_EQ(0, std::memcmp(identity.pipeline_cache_uuid, device.properties.pipelineCacheUUID,
                             VK_UUID_SIZE));
    EXPECT_STREQ(identity.device_name, "RADV NAVI10");
    EXPECT_STREQ(identity.driver_name, "radv");
    EXPECT_STREQ(identity.driver_info, "Mesa 22.3.6");
}

TEST_F(IdentityQuery, PadsStringsWithZeros)
{
    driver_identity identity = query();
    auto zeros_after_end = [](const char *text, size_t size) {
        for (size_t i = std::strlen(text); i < size; i++) {
            if (text[i] != '\0') {
                return false;
            }
        }
        return true;
    };
    EXPECT_TRUE(zeros_after_end(identity.device_name, sizeof(identity.device_name)));
    EXPECT_TRUE(zeros_after_end(identity.driver_name, sizeof(identity.driver_name)));
    EXPECT_TRUE(zeros_after_end(identity.driver_info, sizeof(identity.driver_info)));
}

TEST_F(IdentityQuery, TerminatesANameThatTheDriverDidNot)
{
    std::memset(device.properties.deviceName, 'x', sizeof(device.properties.deviceName));
    EXPECT_EQ(std::strlen(query().device_name), sizeof(device.properties.deviceName) - 1);
}

TEST_F(IdentityQuery, Vulkan12NeedsNoExtension)
{
    device.properties.apiVersion = VK_API_VERSION_1_2;
    EXPECT_TRUE(knows_driver(query()));
}

TEST_F(IdentityQuery, BelowVulkan12TheExtensionDecides)
{
    device.properties.apiVersion = VK_MAKE_API_VERSION(0, 1, 1, 4095);
    device.extensions = {"VK_KHR_maintenance1", "VK_KHR_driver_properties2"};
    EXPECT_TRUE(knows_nothing_of_driver(query()));
    EXPECT_EQ(device.properties2_calls, 0);

    device.extensions = {"VK_KHR_maintenance1", VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME};
    EXPECT_TRUE(knows_driver(query()));
}

TEST_F(IdentityQuery, LivesWithoutTheLaterCommands)
{
    EXPECT_TRUE(knows_nothing_of_driver(query({get_properties, nullptr, enumerate_extensions})));
    EXPECT_TRUE(knows_nothing_of_driver(query({get_properties, nullptr, nullptr})));

    device.properties.apiVersion = VK_API_VERSION_1_1;
    EXPECT_TRUE(knows_nothing_of_driver(query({get_properties, get_properties2, nullptr})));
}

driver_identity sample()
{
    driver_identity identity = {};
    identity.vendor_id = 0x01020304;
    identity.device_id = 0x05060708;
    identity.api_version = 0x090a0b0c;
    identity.driver_version = 0x0d0e0f10;
    identity.driver_id = 3;
    identity.pointer_size = 8;
    for (uint8_t i = 0; i < 4; i++) {
        identity.conformance[i] = static_cast<uint8_t>(i + 1);
    }
    for (uint8_t i = 0; i < VK_UUID_SIZE; i++) {
        identity.pipeline_cache_uuid[i] = static_cast<uint8_t>(0x80 + i);
    }
    std::strcpy(identity.device_name, "device");
    std::strcpy(identity.driver_name, "driver");
    std::strcpy(identity.driver_info, "info");
    return identity;
}

std::vector<uint8_t> encode(const driver_identity &identity)
{
    struct bytes bytes = {};
    identity_put(&bytes, &identity);
    EXPECT_FALSE(bytes.failed);
    std::vector<uint8_t> result(bytes.data, bytes.data + bytes.size);
    bytes_free(&bytes);
    return result;
}

TEST(IdentityEncoding, IsLittleEndianAndOfTheToldSize)
{
    std::vector<uint8_t> encoded = encode(sample());
    ASSERT_EQ(encoded.size(), static_cast<size_t>(IDENTITY_ENCODED_SIZE));
    const std::vector<uint8_t> head = {4,  3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9, 16, 15,  14,
                                       13, 3, 0, 0, 0, 8, 0, 0, 0,  1,  2,  3, 4,  0x80};
    EXPECT_EQ(head, std::vector<uint8_t>(encoded.begin(), encoded.begin() + head.size()));
    EXPECT_EQ(0, std::memcmp(encoded.data() + 44, "device\0", 7));
    EXPECT_EQ(0, std::memcmp(encoded.data() + 300, "driver\0", 7));
    EXPECT_EQ(0, std::memcmp(encoded.data() + 556, "info\0", 5));
}

TEST(IdentityEncoding, RoundTrips)
{
    driver_identity written = sample();
    std::vector<uint8_t> encoded = encode(written);
    bytes_reader reader = bytes_reader_over(encoded.data(), encoded.size());
    driver_identity read;
    std::memset(&read, 0xee, sizeof(read));
    identity_get(&reader, &read);
    EXPECT_FALSE(reader.overrun);
    EXPECT_EQ(bytes_left(&reader), 0u);
    EXPECT_EQ(identity_compare(&read, &written), STATUS_ok);
    EXPECT_EQ(encode(read), encoded);
}

TEST(IdentityEncoding, TerminatesStringsOfAHostileFile)
{
    std::vector<uint8_t> encoded(IDENTITY_ENCODED_SIZE, 'A');
    bytes_reader reader = bytes_reader_over(encoded.data(), encoded.size());
    driver_identity read;
    identity_get(&reader, &read);
    EXPECT_EQ(std::strlen(read.device_name), 255u);
    EXPECT_EQ(std::strlen(read.driver_name), 255u);
    EXPECT_EQ(std::strlen(read.driver_info), 255u);
}

TEST(IdentityEncoding, CutAnywhereOverrunsAndLeavesNothingUndefined)
{
    std::vector<uint8_t> encoded = encode(sample());
    for (size_t size = 0; size < encoded.size(); size++) {
        std::vector<uint8_t> cut(encoded.begin(), encoded.begin() + static_cast<long>(size));
        bytes_reader reader = bytes_reader_over(cut.data(), cut.size());
        driver_identity read;
        std::memset(&read, 0xee, sizeof(read));
        identity_get(&reader, &read);
        ASSERT_TRUE(reader.overrun) << size;
        ASSERT_STREQ(read.driver_info, "") << size;
    }
}

TEST(IdentityEncoding, DigestIsThatOfTheEncodedBytes)
{
    driver_identity identity = sample();
    std::vector<uint8_t> encoded = encode(identity);
    EXPECT_TRUE(
        digest_equal(identity_digest(&identity), digest_of(encoded.data(), encoded.size())));
}

struct Change {
    const char *name;
    enum status reason;
    std::function<void(driver_identity &)> apply;
};

// Every field once: none may be left out of the comparison or of the digest.
const Change changes[] = {
    {"pointer size", STATUS_bad_pointer_size, [](driver_identity &i) { i.pointer_size = 4; }},
    {"vendor", STATUS_other_vendor, [](driver_identity &i) { i.vendor_id ^= 1; }},
    {"device", STATUS_other_device, [](driver_identity &i) { i.device_id ^= 1; }},
    {"device name", STATUS_other_device, [](driver_identity &i) { i.device_name[0] ^= 1; }},
    {"driver", STATUS_other_driver, [](driver_identity &i) { i.driver_id ^= 1; }},
    {"driver name", STATUS_other_driver, [](driver_identity &i) { i.driver_name[0] ^= 1; }},
    {"driver version", STATUS_other_driver_version,
     [](driver_identity &i) { i.driver_version ^= 1; }},
    {"driver info", STATUS_other_driver_version, [](driver_identity &i) { i.driver_info[0] ^= 1; }},
    {"conformance", STATUS_other_driver_version, [](driver_identity &i) { i.conformance[3] ^= 1; }},
    {"api version", STATUS_other_api_version, [](driver_identity &i) { i.api_version ^= 1; }},
    {"uuid", STATUS_other_cache_uuid, [](driver_identity &i) { i.pipeline_cache_uuid[15] ^= 1; }},
};

TEST(IdentityCompare, NamesTheDifference)
{
    driver_identity expected = sample();
    EXPECT_EQ(identity_compare(&expected, &expected), STATUS_ok);
    for (const Change &change : changes) {
        driver_identity found = expected;
        change.apply(found);
        EXPECT_EQ(identity_compare(&found, &expected), change.reason) << change.name;
    }
}

TEST(IdentityCompare, EveryFieldChangesTheDigest)
{
    driver_identity expected = sample();
    for (const Change &change : changes) {
        driver_identity found = expected;
        change.apply(found);
        EXPECT_FALSE(digest_equal(identity_digest(&found), identity_digest(&expected)))
            << change.name;
    }
}

std::vector<uint8_t> blob_of(const driver_identity &identity)
{
    struct bytes bytes = {};
    bytes_put_u32(&bytes, 32);
    bytes_put_u32(&bytes, VK_PIPELINE_CACHE_HEADER_VERSION_ONE);
    bytes_put_u32(&bytes, identity.vendor_id);
    bytes_put_u32(&bytes, identity.device_id);
    bytes_put(&bytes, identity.pipeline_cache_uuid, VK_UUID_SIZE);
    std::vector<uint8_t> result(bytes.data, bytes.data + bytes.size);
    bytes_free(&bytes);
    return result;
}

TEST(IdentityMatchesBlob, TakesItsOwnHeaderWithAndWithoutAPayload)
{
    driver_identity identity = sample();
    std::vector<uint8_t> blob = blob_of(identity);
    EXPECT_TRUE(identity_matches_blob(&identity, blob.data(), blob.size()));
    blob.resize(4096, 0x5a);
    EXPECT_TRUE(identity_matches_blob(&identity, blob.data(), blob.size()));
}

TEST(IdentityMatchesBlob, RefusesEveryChangedByteAndEveryCut)
{
    driver_identity identity = sample();
    const std::vector<uint8_t> blob = blob_of(identity);
    for (size_t i = 0; i < blob.size(); i++) {
        std::vector<uint8_t> changed = blob;
        changed[i] ^= 0x10;
        EXPECT_FALSE(identity_matches_blob(&identity, changed.data(), changed.size())) << i;
        std::vector<uint8_t> cut(blob.begin(), blob.begin() + static_cast<long>(i));
        EXPECT_FALSE(identity_matches_blob(&identity, cut.data(), cut.size())) << i;
    }
    EXPECT_FALSE(identity_matches_blob(&identity, nullptr, 0));
}

// AMD's driver of 2016 gave a header of 20 bytes; Vulkan SC's has 56.
TEST(IdentityMatchesBlob, RefusesOtherHeaders)
{
    driver_identity identity = sample();
    for (uint8_t header_size : {20, 33, 56}) {
        std::vector<uint8_t> blob = blob_of(identity);
        blob.resize(128);
        blob[0] = header_size;
        EXPECT_FALSE(identity_matches_blob(&identity, blob.data(), blob.size()));
    }
}

} // namespace
