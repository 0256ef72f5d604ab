// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "common/driver/environment.h"
#include "common/driver/environment_features.h"
}

namespace {

using Bytes = std::vector<uint8_t>;

struct EnvironmentDeleter {
    void operator()(environment *e) const
    {
        environment_free(e);
    }
};
using Environment = std::unique_ptr<environment, EnvironmentDeleter>;

// What a program enables; each of these is a part of it.
struct Program {
    environment_device device = {0x1002, 0x731f, VK_API_VERSION_1_3, true, 7, 9, "game", "engine"};
    std::vector<const char *> extensions = {"VK_KHR_swapchain", "VK_EXT_robustness2"};
    VkPhysicalDeviceFeatures core = {};
    VkPhysicalDeviceVulkan12Features v12 = {};
    VkPhysicalDeviceRobustness2FeaturesEXT robustness = {};
    const void *next = nullptr;

    Program()
    {
        core.robustBufferAccess = VK_TRUE;
        core.inheritedQueries = VK_TRUE; // the last one
        v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
        v12.shaderFloat16 = VK_TRUE;
        robustness.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT;
        robustness.nullDescriptor = VK_TRUE;
    }

    Bytes encode()
    {
        v12.pNext = &robustness;
        robustness.pNext = const_cast<void *>(next);
        VkDeviceCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
        info.pNext = &v12;
        info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
        info.ppEnabledExtensionNames = extensions.data();
        info.pEnabledFeatures = &core;
        return encode(info);
    }

    Bytes encode(const VkDeviceCreateInfo &info) const
    {
        bytes out = {};
        environment_encode(&device, &info, &out);
        EXPECT_FALSE(out.failed);
        Bytes copy(out.data, out.data + out.size);
        bytes_free(&out);
        return copy;
    }
};

Environment decode(const Bytes &bytes)
{
    return Environment(environment_decode(bytes.data(), bytes.size()));
}

Environment decoded(Program program)
{
    Environment e = decode(program.encode());
    EXPECT_TRUE(e);
    return e;
}

// A struct that no registry knows.
const VkBaseInStructure unknown_struct = {static_cast<VkStructureType>(1999999000), nullptr};

TEST(EnvironmentEncode, IsTheSameWhateverTheOrder)
{
    Program one;
    Program other;
    std::reverse(other.extensions.begin(), other.extensions.end());
    other.extensions.push_back(other.extensions.front());
    EXPECT_EQ(one.encode(), other.encode());

    // VkPhysicalDeviceFeatures2 says the same as pEnabledFeatures, and structs come in any order.
    VkPhysicalDeviceFeatures2 features = {};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features.features = one.core;
    VkDeviceCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &other.robustness;
    other.robustness.pNext = &features;
    features.pNext = &other.v12;
    other.v12.pNext = nullptr;
    info.enabledExtensionCount = 2;
    info.ppEnabledExtensionNames = one.extensions.data();
    EXPECT_EQ(one.encode(), other.encode(info));
}

TEST(EnvironmentEncode, LeavesOutWhatEnablesNothing)
{
    Program one;
    Program other;
    VkPhysicalDeviceMultiviewFeatures nothing = {};
    nothing.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTIVIEW_FEATURES;
    VkDeviceGroupDeviceCreateInfo group = {};
    group.sType = VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO;
    group.pNext = &nothing;
    group.physicalDeviceCount = 1;
    VkDevicePrivateDataCreateInfo slots = {};
    slots.sType = VK_STRUCTURE_TYPE_DEVICE_PRIVATE_DATA_CREATE_INFO;
    slots.pNext = &group;
    // VkDevicePipelineBinaryInternalCacheControlKHR
    VkBaseInStructure cache_control = {static_cast<VkStructureType>(1000483008),
                                       reinterpret_cast<VkBaseInStructure *>(&slots)};
    VkBaseInStructure link = {VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO, &cache_control};
    other.next = &link;
    other.device.api_version |= 250; // a patch
    EXPECT_EQ(one.encode(), other.encode());
    group.physicalDeviceCount = 2;
    EXPECT_NE(one.encode(), other.encode());
}

TEST(EnvironmentEncode, TellsEveryPartApart)
{
    std::vector<Bytes> all = {Program().encode()};
    auto add = [&](auto change) {
        Program program;
        change(program);
        all.push_back(program.encode());
    };
    add([](Program &p) { p.device.vendor_id++; });
    add([](Program &p) { p.device.device_id++; });
    add([](Program &p) { p.device.api_version = VK_API_VERSION_1_2; });
    add([](Program &p) { p.device.has_properties2 = false; });
    add([](Program &p) { p.device.application_version++; });
    add([](Program &p) { p.device.engine_version++; });
    add([](Program &p) { p.device.application_name = nullptr; });
    add([](Program &p) { p.device.engine_name = "game"; });
    add([](Program &p) { p.extensions.pop_back(); });
    add([](Program &p) { p.core.inheritedQueries = VK_FALSE; });
    add([](Program &p) { p.v12.subgroupBroadcastDynamicId = VK_TRUE; });
    add([](Program &p) { p.robustness.robustImageAccess2 = 2; });
    add([](Program &p) { p.next = &unknown_struct; });
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
    for (const Bytes &bytes : all) {
        EXPECT_TRUE(decode(bytes));
    }
}

TEST(EnvironmentEncode, CutsLongNames)
{
    Program program;
    std::string name(300, 'n');
    program.device.application_name = name.c_str();
    Environment e = decoded(program);
    EXPECT_EQ(environment_device_of(e.get()).application_name, name.substr(0, 255));
}

TEST(EnvironmentDecode, GivesTheDeviceBack)
{
    Environment e = decoded(Program());
    environment_device device = environment_device_of(e.get());
    EXPECT_EQ(device.vendor_id, 0x1002u);
    EXPECT_EQ(device.device_id, 0x731fu);
    EXPECT_EQ(device.api_version, VK_API_VERSION_1_3);
    EXPECT_TRUE(device.has_properties2);
    EXPECT_EQ(device.application_version, 7u);
    EXPECT_EQ(device.engine_version, 9u);
    EXPECT_STREQ(device.application_name, "game");
    EXPECT_STREQ(device.engine_name, "engine");
    EXPECT_TRUE(environment_has_extension(e.get(), "VK_KHR_swapchain"));
    EXPECT_FALSE(environment_has_extension(e.get(), "VK_KHR_swap"));
}

// By each of three features; the extension alone enables nothing.
TEST(EnvironmentDecode, TellsWhetherStagesMayBringTheirCode)
{
    Program none;
    none.extensions.push_back("VK_EXT_graphics_pipeline_library");
    EXPECT_FALSE(environment_allows_inline_code(decoded(none).get()));
    struct {
        uint32_t stype;
        const void *next;
        VkBool32 values[21];
    } features = {55, nullptr, {}};
    Program program;
    program.next = &features;
    const std::pair<uint32_t, size_t> allowing[] = {{55, 15}, {1000320000, 0}, {1000470000, 0}};
    for (const auto &[stype, index] : allowing) {
        features = {stype, nullptr, {}};
        EXPECT_FALSE(environment_allows_inline_code(decoded(program).get())) << stype;
        features.values[index] = VK_TRUE;
        EXPECT_TRUE(environment_allows_inline_code(decoded(program).get())) << stype;
    }
    features = {55, nullptr, {}};
    features.values[16] = VK_TRUE; // maintenance6
    EXPECT_FALSE(environment_allows_inline_code(decoded(program).get()));
}

TEST(EnvironmentDecode, RefusesEveryCutAndEveryAddition)
{
    Bytes whole = Program().encode();
    for (size_t size = 0; size < whole.size(); size++) {
        EXPECT_FALSE(decode(Bytes(whole.begin(), whole.begin() + static_cast<long>(size)))) << size;
    }
    whole.push_back(0);
    EXPECT_FALSE(decode(whole));
}

// The places of parts in the encoded form of one extension "ab" and one struct.
TEST(EnvironmentDecode, RefusesWhatNobodyEncodes)
{
    Program program;
    program.device.application_name = program.device.engine_name = nullptr;
    program.extensions = {"ab", "cd"};
    program.robustness.nullDescriptor = VK_FALSE;
    Bytes good = program.encode();
    ASSERT_EQ(good.size(), 7u * 4 + 4 + 4 + 4 + 2 * 6 + 4 + 2 * 12);
    auto refused = [&](size_t at, uint8_t value) {
        Bytes bad = good;
        EXPECT_NE(bad[at], value);
        bad[at] = value;
        return !decode(bad);
    };
    EXPECT_TRUE(refused(0, 2));     // another version
    EXPECT_TRUE(refused(16, 2));    // neither true nor false
    EXPECT_TRUE(refused(12, 1));    // a patch
    EXPECT_TRUE(refused(44, 0));    // a zero in a name
    EXPECT_TRUE(refused(44, 'x'));  // names not in order
    EXPECT_TRUE(refused(39, 0xff)); // more extensions than there are bytes
    EXPECT_TRUE(refused(55, 0xff)); // more structs than there are bytes
    EXPECT_TRUE(refused(59, 0xff)); // structs not in order
    Bytes core(good);
    core[good.size() - 12 + 4 + 6] |= 0x80; // the 56th core feature
    EXPECT_FALSE(decode(core));
}

TEST(EnvironmentIncludes, ItselfAndWhatHasLess)
{
    Environment whole = decoded(Program());
    EXPECT_TRUE(environment_includes(whole.get(), whole.get()));
    auto less_is_included = [&](auto change) {
        Program program;
        change(program);
        Environment less = decoded(program);
        return environment_includes(whole.get(), less.get()) &&
               !environment_includes(less.get(), whole.get());
    };
    EXPECT_TRUE(less_is_included([](Program &p) { p.device.api_version = VK_API_VERSION_1_2; }));
    EXPECT_TRUE(less_is_included([](Program &p) { p.extensions.pop_back(); }));
    EXPECT_TRUE(less_is_included([](Program &p) { p.extensions.clear(); }));
    EXPECT_TRUE(less_is_included([](Program &p) { p.extensions = {"VK_KHR_swapchain"}; }));
    EXPECT_TRUE(less_is_included([](Program &p) { p.core.inheritedQueries = VK_FALSE; }));
    EXPECT_TRUE(less_is_included([](Program &p) { p.core = {}; }));
    EXPECT_TRUE(less_is_included([](Program &p) { p.v12.shaderFloat16 = VK_FALSE; }));
    EXPECT_TRUE(less_is_included([](Program &p) { p.robustness.nullDescriptor = VK_FALSE; }));
}

TEST(EnvironmentIncludes, WhateverTheDeviceAndTheProgram)
{
    Program other;
    other.device = {1, 2, VK_API_VERSION_1_3, false, 3, 4, nullptr, nullptr};
    EXPECT_TRUE(environment_includes(decoded(Program()).get(), decoded(other).get()));
}

TEST(EnvironmentIncludes, AnUnknownStructOnlyWhereItIsToo)
{
    Program unknown;
    unknown.next = &unknown_struct;
    Environment with = decoded(unknown);
    Environment without = decoded(Program());
    EXPECT_TRUE(environment_includes(with.get(), with.get()));
    EXPECT_TRUE(environment_includes(with.get(), without.get()));
    EXPECT_FALSE(environment_includes(without.get(), with.get()));
}

TEST(FeatureTable, IsOrderedAndHoldsNewAndOld)
{
    for (size_t i = 1; i < feature_struct_count; i++) {
        EXPECT_LT(feature_structs[i - 1].stype, feature_structs[i].stype);
    }
    auto count_of = [](uint32_t stype) {
        const feature_struct *known = feature_struct_find(stype);
        return known ? known->count : 0;
    };
    constexpr size_t head = offsetof(VkPhysicalDeviceVulkan12Features, samplerMirrorClampToEdge);
    constexpr size_t last = offsetof(VkPhysicalDeviceVulkan12Features, subgroupBroadcastDynamicId);
    EXPECT_EQ(count_of(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES),
              (last - head) / 4 + 1);
    EXPECT_EQ(count_of(55), 21u); // VkPhysicalDeviceVulkan14Features
    EXPECT_EQ(count_of(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO), 0u);
    EXPECT_EQ(count_of(0), 0u);
    EXPECT_EQ(count_of(UINT32_MAX), 0u);
}

TEST(FeatureTable, NamesAllFeaturesOfAStructOrNone)
{
    char name[FEATURE_NAME_SIZE];
    for (size_t i = 0; i < feature_struct_count; i++) {
        const feature_struct &known = feature_structs[i];
        const bool named = feature_name(known.stype, 0, name);
        EXPECT_EQ(feature_name(known.stype, known.count - 1, name), named)
            << feature_struct_names[i];
        EXPECT_FALSE(feature_name(known.stype, known.count, name)) << feature_struct_names[i];
    }
    ASSERT_TRUE(feature_name(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTIVIEW_FEATURES, 2, name));
    EXPECT_STREQ(name, "multiviewTessellationShader");
    ASSERT_TRUE(feature_name(ENVIRONMENT_CORE_STYPE, ENVIRONMENT_CORE_COUNT - 1, name));
    EXPECT_STREQ(name, "inheritedQueries");
    EXPECT_FALSE(feature_name(ENVIRONMENT_CORE_STYPE, ENVIRONMENT_CORE_COUNT, name));
    EXPECT_FALSE(feature_name(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, 0, name));
}

} // namespace
