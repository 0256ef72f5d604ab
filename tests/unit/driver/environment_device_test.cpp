// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "common/driver/environment.h"
}

namespace {

// A device as it tells of itself; one at a time.
struct FakeOffer {
    uint32_t api_version = VK_API_VERSION_1_3 | 200;
    std::vector<std::string> extensions = {"VK_A", "VK_B", "VK_C"};
    VkPhysicalDeviceFeatures core = {};
    VkPhysicalDeviceVulkan12Features v12 = {};
    VkResult enumerate = VK_SUCCESS;
};
FakeOffer offer;

VKAPI_ATTR void VKAPI_CALL offered_properties(VkPhysicalDevice,
                                              VkPhysicalDeviceProperties *properties)
{
    *properties = {};
    properties->apiVersion = offer.api_version;
}

VKAPI_ATTR VkResult VKAPI_CALL offered_extensions(VkPhysicalDevice, const char *, uint32_t *count,
                                                  VkExtensionProperties *properties)
{
    if (properties) {
        for (uint32_t i = 0; i < *count && i < offer.extensions.size(); i++) {
            std::strcpy(properties[i].extensionName, offer.extensions[i].c_str());
        }
    }
    *count = static_cast<uint32_t>(offer.extensions.size());
    return offer.enumerate;
}

VKAPI_ATTR void VKAPI_CALL offered_features(VkPhysicalDevice, VkPhysicalDeviceFeatures *features)
{
    *features = offer.core;
}

VKAPI_ATTR void VKAPI_CALL offered_features2(VkPhysicalDevice, VkPhysicalDeviceFeatures2 *features)
{
    ASSERT_EQ(features->sType, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    features->features = offer.core;
    for (auto *s = static_cast<VkBaseOutStructure *>(features->pNext); s; s = s->pNext) {
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES) {
            VkPhysicalDeviceVulkan12Features filled = offer.v12;
            filled.sType = s->sType;
            filled.pNext = s->pNext;
            std::memcpy(s, &filled, sizeof(filled));
        }
    }
}

const environment_commands offer_commands = {offered_properties, offered_extensions,
                                             offered_features, offered_features2};

class EnvironmentDevice : public ::testing::Test {
  protected:
    EnvironmentDevice()
    {
        offer = FakeOffer();
        offer.core.robustBufferAccess = offer.core.shaderInt64 = VK_TRUE;
        offer.v12.shaderFloat16 = offer.v12.subgroupBroadcastDynamicId = VK_TRUE;
        core.shaderInt64 = VK_TRUE;
        v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
        v12.subgroupBroadcastDynamicId = VK_TRUE;
        multiview.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTIVIEW_FEATURES;
        v12.pNext = &multiview;
    }

    ~EnvironmentDevice() override
    {
        environment_free(decoded);
    }

    environment *decode()
    {
        const environment_device told = {1, 2, VK_API_VERSION_1_3, true, 0, 0, nullptr, nullptr};
        VkDeviceCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
        info.pNext = &v12;
        info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
        info.ppEnabledExtensionNames = extensions.data();
        info.pEnabledFeatures = &core;
        bytes out = {};
        environment_encode(&told, &info, &out);
        environment_free(decoded);
        decoded = environment_decode(out.data, out.size);
        bytes_free(&out);
        EXPECT_TRUE(decoded);
        return decoded;
    }

    // Names with commas between them; "" if all is offered.
    std::string missing(const environment_commands &commands = offer_commands)
    {
        std::string names;
        environment_tell *tell = [](void *user, const char *name) {
            auto *all = static_cast<std::string *>(user);
            *all += (all->empty() ? "" : ", ") + std::string(name);
        };
        bool offered = environment_is_offered(decode(), &commands, nullptr, tell, &names);
        EXPECT_EQ(offered, names.empty());
        return names;
    }

    VkPhysicalDeviceFeatures core = {};
    VkPhysicalDeviceVulkan12Features v12 = {};
    VkPhysicalDeviceMultiviewFeatures multiview = {};
    std::vector<const char *> extensions = {"VK_B", "VK_C"};
    environment *decoded = nullptr;
};

TEST_F(EnvironmentDevice, OffersWhatItHas)
{
    EXPECT_EQ(missing(), "");
}

TEST_F(EnvironmentDevice, LacksAVersion)
{
    offer.api_version = VK_API_VERSION_1_2 | 300;
    EXPECT_EQ(missing(), "the Vulkan version");
}

TEST_F(EnvironmentDevice, LacksAnExtension)
{
    offer.extensions.pop_back();
    EXPECT_EQ(missing(), "VK_C");
}

TEST_F(EnvironmentDevice, TellsEverythingThatItLacks)
{
    offer.extensions.clear();
    core.alphaToOne = core.wideLines = VK_TRUE;
    multiview.multiview = VK_TRUE;
    EXPECT_EQ(missing(), "VK_B, VK_C, wideLines, alphaToOne, multiview");
}

TEST_F(EnvironmentDevice, DoesNotTellItsExtensions)
{
    offer.enumerate = VK_ERROR_OUT_OF_HOST_MEMORY;
    EXPECT_EQ(missing(), "the list of extensions");
}

TEST_F(EnvironmentDevice, LacksACoreFeature)
{
    core.alphaToOne = VK_TRUE;
    EXPECT_EQ(missing(), "alphaToOne");
}

TEST_F(EnvironmentDevice, LacksAFeature)
{
    v12.shaderInt8 = VK_TRUE;
    EXPECT_EQ(missing(), "shaderInt8");
}

TEST_F(EnvironmentDevice, LacksAStruct)
{
    multiview.multiview = VK_TRUE;
    EXPECT_EQ(missing(), "multiview");
}

TEST_F(EnvironmentDevice, IsTooOldToBeAsked)
{
    environment_commands old = offer_commands;
    old.get_features2 = nullptr;
    EXPECT_EQ(missing(old), "vkGetPhysicalDeviceFeatures2");
    v12.subgroupBroadcastDynamicId = VK_FALSE;
    EXPECT_EQ(missing(old), "");
}

TEST_F(EnvironmentDevice, AnUnknownStructIsNotOfferedNorMade)
{
    VkBaseInStructure unknown = {static_cast<VkStructureType>(1999999000), nullptr};
    multiview.pNext = &unknown;
    EXPECT_EQ(missing(), "a struct that is not known");
    EXPECT_EQ(environment_create_info(decoded), nullptr);
}

TEST_F(EnvironmentDevice, IsMadeAgain)
{
    multiview.multiviewGeometryShader = VK_TRUE;
    VkDeviceCreateInfo *info = environment_create_info(decode());
    ASSERT_TRUE(info);
    EXPECT_EQ(info->sType, VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
    ASSERT_EQ(info->queueCreateInfoCount, 1u);
    EXPECT_EQ(info->pQueueCreateInfos->queueCount, 1u);
    EXPECT_EQ(*info->pQueueCreateInfos->pQueuePriorities, 1.0f);
    ASSERT_EQ(info->enabledExtensionCount, 2u);
    EXPECT_STREQ(info->ppEnabledExtensionNames[1], "VK_C");
    EXPECT_EQ(std::memcmp(info->pEnabledFeatures, &core, sizeof(core)), 0);

    const environment_device told = {1, 2, VK_API_VERSION_1_3, true, 0, 0, nullptr, nullptr};
    bytes again = {};
    environment_encode(&told, info, &again);
    environment *second = environment_decode(again.data, again.size);
    ASSERT_TRUE(second);
    EXPECT_TRUE(environment_includes(second, decoded));
    EXPECT_TRUE(environment_includes(decoded, second));
    environment_free(second);
    bytes_free(&again);
    std::free(info);
}

} // namespace
