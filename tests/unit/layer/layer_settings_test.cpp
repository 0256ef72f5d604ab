// SPDX-License-Identifier: Apache-2.0
// What a program sets itself, as text.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "layer/chain/host.h"
#include <vulkan/vulkan.h>
}

namespace {

// VkLayerSettingEXT and VkLayerSettingsCreateInfoEXT, which older headers do not have.
struct Setting {
    const char *layer;
    const char *name;
    int type;
    uint32_t count;
    const void *values;
};
struct Settings {
    VkStructureType type = static_cast<VkStructureType>(1000496000);
    const void *next = nullptr;
    uint32_t count = 0;
    const Setting *settings = nullptr;
};

using Given = std::vector<std::pair<std::string, std::string>>;

void note(const char *key, const char *value, void *user)
{
    static_cast<Given *>(user)->emplace_back(key, value);
}

Given given_by(const void *chain)
{
    VkInstanceCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pNext = chain;
    Given given;
    host_each_setting(&info, note, &given);
    return given;
}

constexpr const char *ours = "VK_LAYER_WARMPIPE_pipeline_cache";

TEST(LayerSettings, EachTypeAsText)
{
    const VkBool32 switches[] = {VK_TRUE, VK_FALSE, 7};
    const int32_t int32 = -5;
    const int64_t int64 = INT64_MIN;
    const uint32_t uint32 = UINT32_MAX;
    const uint64_t uint64 = UINT64_MAX;
    const float float32 = 1;
    const double float64 = 1;
    const char *strings[] = {"modules", "pipelines"};
    const Setting list[] = {
        {ours, "bool", 0, 3, switches},    {ours, "int32", 1, 1, &int32},
        {ours, "int64", 2, 1, &int64},     {ours, "uint32", 3, 1, &uint32},
        {ours, "uint64", 4, 1, &uint64},   {ours, "float32", 5, 1, &float32},
        {ours, "float64", 6, 1, &float64}, {ours, "strings", 7, 2, strings},
        {ours, "nothing", 7, 0, nullptr},
    };
    Settings settings;
    settings.count = 9;
    settings.settings = list;
    EXPECT_EQ(given_by(&settings), (Given{{"bool", "1,0,1"},
                                          {"int32", "-5"},
                                          {"int64", "-9223372036854775808"},
                                          {"uint32", "4294967295"},
                                          {"uint64", "18446744073709551615"},
                                          {"float32", "a number with a point"},
                                          {"float64", "a number with a point"},
                                          {"strings", "modules,pipelines"},
                                          {"nothing", ""}}));
}

TEST(LayerSettings, OursAloneAndOfEveryStructInTheChain)
{
    const char *off = "off";
    const char *on = "on";
    const Setting first_list[] = {{"VK_LAYER_KHRONOS_validation", "prewarm", 7, 1, &on},
                                  {ours, "prewarm", 7, 1, &off}};
    const Setting second_list[] = {{ours, "prewarm", 7, 1, &on}};
    Settings second;
    second.count = 1;
    second.settings = second_list;
    const VkBaseInStructure other = {VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     reinterpret_cast<const VkBaseInStructure *>(&second)};
    Settings first;
    first.next = &other;
    first.count = 2;
    first.settings = first_list;
    EXPECT_EQ(given_by(&first), (Given{{"prewarm", "off"}, {"prewarm", "on"}}));
    EXPECT_EQ(given_by(nullptr), Given());
}

} // namespace
