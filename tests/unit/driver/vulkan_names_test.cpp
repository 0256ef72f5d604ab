// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "common/driver/vulkan_names.h"
}

namespace {

constexpr uint32_t untouched = 4711;

uint32_t parse(const char *text, uint32_t vendor, uint32_t driver)
{
    uint32_t version = untouched;
    bool parsed = vulkan_parse_driver_version(text, vendor, driver, &version);
    EXPECT_EQ(parsed, version != untouched) << text;
    return version;
}

std::string format(uint32_t version, uint32_t vendor, uint32_t driver)
{
    driver_identity identity = {};
    identity.vendor_id = vendor;
    identity.driver_id = driver;
    identity.driver_version = version;
    char text[VULKAN_VERSION_SIZE];
    vulkan_driver_version(&identity, text);
    return text;
}

constexpr uint32_t nvidia_id = 0x10de;
constexpr uint32_t intel_id = 0x8086;
constexpr uint32_t amd_id = 0x1002;

TEST(VulkanNames, EveryVendorWritesVersionsItsOwnWay)
{
    const uint32_t version = 470u << 22 | 63 << 14 | 1 << 6;
    EXPECT_EQ(parse("470.63.01", nvidia_id, VK_DRIVER_ID_NVIDIA_PROPRIETARY), version);
    EXPECT_EQ(parse("470.63.1.0", 0, VK_DRIVER_ID_NVIDIA_PROPRIETARY), version);
    EXPECT_EQ(parse("470.63.1", nvidia_id, 0), version)
        << "as its vendor does, if that is all we know";
    EXPECT_EQ(format(version, nvidia_id, VK_DRIVER_ID_NVIDIA_PROPRIETARY), "470.63.1.0");
    EXPECT_EQ(format(version, nvidia_id, 0), "470.63.1.0");

    const uint32_t mesa = VK_MAKE_API_VERSION(0, 22, 3, 6);
    EXPECT_EQ(parse("22.3.6", amd_id, VK_DRIVER_ID_MESA_RADV), mesa);
    EXPECT_EQ(parse("22.3.6", nvidia_id, 24), mesa);
    EXPECT_EQ(format(mesa, nvidia_id, 24), "22.3.6");

    const uint32_t windows = 100u << 14 | 9126;
    EXPECT_EQ(parse("100.9126", intel_id, VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS), windows);
    EXPECT_EQ(format(windows, intel_id, VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS), "100.9126");
}

TEST(VulkanNames, PartsAtTheEndMayBeLeftOut)
{
    EXPECT_EQ(parse("441", nvidia_id, 0), 441u << 22);
    EXPECT_EQ(parse("22", amd_id, 0), VK_MAKE_API_VERSION(0, 22, 0, 0));
    EXPECT_EQ(parse("1.2", amd_id, 0), VK_MAKE_API_VERSION(0, 1, 2, 0));
}

TEST(VulkanNames, RefusesWhatIsNoVersion)
{
    for (const char *text :
         {"",       ".",        "1.",         "1.2.3.", ".1",
          "1..2",   "1.2.3.4",  "a",          "1.a",    "1 ",
          " 1",     "+1",       "-1",         "1,2",    "128",
          "1.1024", "1.2.4096", "4294967296", "0x1",    "99999999999999999999"}) {
        EXPECT_EQ(parse(text, amd_id, 0), untouched) << text;
    }
    for (const char *text : {"1024", "1.256", "1.2.256", "1.2.3.64", "1.2.3.4.5"}) {
        EXPECT_EQ(parse(text, nvidia_id, 0), untouched) << text;
    }
    EXPECT_EQ(parse("127.1023.4095", amd_id, 0), VK_MAKE_API_VERSION(0, 127, 1023, 4095));
    EXPECT_EQ(parse("1023.255.255.63", nvidia_id, 0), UINT32_MAX);
}

TEST(VulkanNames, ApiVersions)
{
    char text[VULKAN_VERSION_SIZE];
    vulkan_api_version(VK_MAKE_API_VERSION(0, 1, 3, 230), text);
    EXPECT_STREQ(text, "1.3.230");
    vulkan_api_version(VK_MAKE_API_VERSION(1, 1, 0, 14), text);
    EXPECT_STREQ(text, "1:1.0.14");
    vulkan_api_version(UINT32_MAX, text);
    EXPECT_STREQ(text, "7:127.1023.4095");

    uint32_t version = 0;
    EXPECT_TRUE(vulkan_parse_api_version("1.0.66", &version));
    EXPECT_EQ(version, VK_MAKE_API_VERSION(0, 1, 0, 66));
}

TEST(VulkanNames, DriversByName)
{
    uint32_t driver = untouched;
    EXPECT_TRUE(vulkan_parse_driver_id("MESA_RADV", &driver));
    EXPECT_EQ(driver, static_cast<uint32_t>(VK_DRIVER_ID_MESA_RADV));
    EXPECT_TRUE(vulkan_parse_driver_id("vk_driver_id_nvidia_proprietary", &driver));
    EXPECT_EQ(driver, static_cast<uint32_t>(VK_DRIVER_ID_NVIDIA_PROPRIETARY));
    EXPECT_STREQ(vulkan_driver_id(3), "MESA_RADV");
    EXPECT_STREQ(vulkan_driver_id(0), "unknown");
    EXPECT_STREQ(vulkan_driver_id(UINT32_MAX), "unknown");

    driver = untouched;
    for (const char *name : {"", "RADV", "MESA_RADV ", "unknown", "VK_DRIVER_ID_", "MESA_*", "3"}) {
        EXPECT_FALSE(vulkan_parse_driver_id(name, &driver)) << name;
    }
    EXPECT_EQ(driver, untouched);
}

TEST(VulkanNames, ADriverThatIsNotNamedIsCalledSo)
{
    driver_identity identity = {};
    EXPECT_STREQ(vulkan_driver_name(&identity), "unnamed");
    std::strcpy(identity.driver_name, "radv");
    EXPECT_STREQ(vulkan_driver_name(&identity), "radv");
}

} // namespace
