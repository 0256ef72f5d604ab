// SPDX-License-Identifier: Apache-2.0
// vk_layer_settings.txt: where it is looked for, and what counts as a line of it.
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scratch.h"

extern "C" {
#include "common/settings/config.h"
}

namespace {

std::map<std::string, std::string> variables;

const char *value_of(const char *name)
{
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
}

using Lines = std::vector<std::pair<std::string, std::string>>;

Lines lines_of(const std::string &text, const char *prefix = "layer.")
{
    Lines lines;
    settings_file_each(
        text.data(), text.size(), prefix,
        [](const char *key, const char *value, unsigned, void *user) {
            static_cast<Lines *>(user)->emplace_back(key, value);
        },
        &lines);
    return lines;
}

TEST(SettingsFile, ReadsWhatIsMeantForTheLayer)
{
    EXPECT_EQ(lines_of("# a comment\n"
                       "layer.one = 1\n"
                       "\tlayer.two=a,b # behind it\r\n"
                       "other.one = 2\n"
                       "layer.three =   \n"
                       "layer.four\n"
                       "#layer.five = 5\n"
                       "layer.six = a = b\n"
                       "layer.one = 3"),
              (Lines{{"one", "1"},
                     {"two", "a,b"},
                     {"three", ""},
                     {"four", ""},
                     {"six", "a = b"},
                     {"one", "3"}}));
    EXPECT_EQ(lines_of("\xEF\xBB\xBFlayer.one = 1"), (Lines{{"one", "1"}})) << "Notepad's first";
    EXPECT_EQ(lines_of("\xEF\xBB\xBF"), Lines{});
    EXPECT_EQ(lines_of(""), Lines{});
    EXPECT_EQ(lines_of("="), Lines{});
    EXPECT_EQ(lines_of("layer. = x"), (Lines{{"", "x"}}));
}

TEST(SettingsFile, WhatIsTooLongOrNoTextIsPassedOver)
{
    const std::string longest(SETTINGS_VALUE_SIZE - 1, 'x');
    EXPECT_EQ(lines_of("layer.a=" + longest), (Lines{{"a", longest}}));
    EXPECT_EQ(lines_of("layer.a=x" + longest + "\nlayer.b=1"), (Lines{{"b", "1"}}));
    EXPECT_EQ(lines_of("layer." + std::string(SETTINGS_KEY_SIZE, 'k') + "=1"), Lines{});
    EXPECT_EQ(lines_of(std::string("layer.a=1\0\nlayer.b=2", 20)), (Lines{{"b", "2"}}));
}

class SettingsFileSearch : public ::testing::Test {
  protected:
    void SetUp() override
    {
        std::filesystem::create_directories(folder + "/here");
        std::filesystem::current_path(folder + "/here");
        variables = {{"HOME", folder + "/home"}};
    }

    void TearDown() override
    {
        std::filesystem::current_path("/");
    }

    void put(const std::string &path, const std::string &text)
    {
        std::filesystem::create_directories(std::filesystem::path(folder + path).parent_path());
        std::ofstream(folder + path) << text;
    }

    static std::string found()
    {
        struct settings_file file;
        if (!settings_file_read(value_of, &file)) {
            return "(none)";
        }
        const std::string text =
            file.text ? std::string(file.text, file.size) : status_id(file.reason);
        settings_file_free(&file);
        return text;
    }

    Scratch scratch;
    const std::string folder = std::filesystem::canonical(scratch.path(".")).string();
};

TEST_F(SettingsFileSearch, TheFirstThatIsThereCounts)
{
    EXPECT_EQ(found(), "(none)");
    put("/here/vk_layer_settings.txt", "work");
    EXPECT_EQ(found(), "work");
    put("/named/vk_layer_settings.txt", "named");
    variables["VK_LAYER_SETTINGS_PATH"] = folder + "/named";
    EXPECT_EQ(found(), "named");
    put("/other.txt", "other");
    variables["VK_LAYER_SETTINGS_PATH"] = folder + "/other.txt";
    EXPECT_EQ(found(), "other");
    variables["VK_LAYER_SETTINGS_PATH"] = folder + "/missing";
    EXPECT_EQ(found(), "work");
    put("/home/.local/share/vulkan/settings.d/vk_layer_settings.txt", "home");
    EXPECT_EQ(found(), "home");
    put("/data/vulkan/settings.d/vk_layer_settings.txt", "data");
    variables["XDG_DATA_HOME"] = folder + "/data";
    EXPECT_EQ(found(), "data");
    variables["XDG_DATA_HOME"] = folder + "/nothing"; // then HOME is not looked at
    EXPECT_EQ(found(), "work");
}

TEST_F(SettingsFileSearch, OnlyARegularFileOfABoundedSize)
{
    std::filesystem::create_directories(folder + "/here/vk_layer_settings.txt");
    EXPECT_EQ(found(), "(none)");
    std::filesystem::remove(folder + "/here/vk_layer_settings.txt");
    ASSERT_EQ(mkfifo((folder + "/here/vk_layer_settings.txt").c_str(), 0600), 0);
    EXPECT_EQ(found(), "(none)"); // and nobody waits for a writer
    std::filesystem::remove(folder + "/here/vk_layer_settings.txt");
    put("/here/vk_layer_settings.txt", std::string(SETTINGS_FILE_LIMIT, 'x'));
    EXPECT_EQ(found().size(), SETTINGS_FILE_LIMIT);
    put("/here/vk_layer_settings.txt", std::string(SETTINGS_FILE_LIMIT + 1, 'x'));
    EXPECT_EQ(found(), "too_large");
}

} // namespace
