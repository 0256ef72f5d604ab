// SPDX-License-Identifier: Apache-2.0
// warmpipe policy, on devices of the test driver.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "paths.h"
#include "tool.h"

namespace {

const Environment with_nvidia = {
    {"WPTEST_ICD_VENDOR_ID", "0x10de"},
    {"WPTEST_ICD_DRIVER_ID", "4"},
    {"WPTEST_ICD_DRIVER_VERSION", std::to_string(470u << 22 | 57 << 14 | 2 << 6)},
    {"WPTEST_ICD_DEVICE_NAME", "GeForce 4711"},
    {"WPTEST_ICD_DRIVER_NAME", "NVIDIA"},
};

ToolResult run_policy(std::vector<std::string> arguments, Environment environment = {})
{
    environment["VK_DRIVER_FILES"] = TEST_ICD_MANIFEST;
    environment["VK_ICD_FILENAMES"] = TEST_ICD_MANIFEST;
    // A driver is unloaded before the program ends, and what it keeps then looks lost.
    environment["ASAN_OPTIONS"] = "detect_leaks=0";
    arguments.insert(arguments.begin(), "policy");
    return run_tool(arguments, environment);
}

nlohmann::json devices_of(std::vector<std::string> arguments, Environment environment = {})
{
    arguments.push_back("--json");
    ToolResult result = run_policy(arguments, environment);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    nlohmann::json document = nlohmann::json::parse(result.out, nullptr, false);
    EXPECT_TRUE(document.is_object()) << result.out;
    return document.value("devices", nlohmann::json());
}

TEST(Policy, GivesAnOrdinaryDriverEverything)
{
    nlohmann::json devices = devices_of({});
    ASSERT_EQ(devices.size(), 1u);
    const nlohmann::json &device = devices[0];
    EXPECT_EQ(device["index"], 0);
    for (const char *key : {"inject", "persist", "serve", "deduplicate"}) {
        EXPECT_EQ(device[key], true) << key;
    }
    EXPECT_EQ(device["serialize"], false);
    EXPECT_EQ(device["single_cache"], false);
    EXPECT_EQ(device["rule"], "default");
    EXPECT_EQ(device["rules"], nlohmann::json::array());
}

TEST(Policy, NamesTheRulesAndTheirSources)
{
    nlohmann::json device = devices_of({}, with_nvidia).at(0);
    EXPECT_EQ(device["single_cache"], true);
    EXPECT_EQ(device["max_blob"], 256 << 20);
    EXPECT_EQ(device["rule"], "nvidia-470-before-470.62.02");
    EXPECT_EQ(device["rules"], nlohmann::json::parse(R"([
        {"where": "built in", "rule": "nvidia-470-before-470.62.02", "says": "single-cache=yes",
         "source": "vkd3d-proton 0e216b2b"},
        {"where": "built in", "rule": "nvidia-large-blob", "says": "max-blob=256M",
         "source": "ANGLE vk_renderer.cpp"},
        {"where": "built in", "rule": "nvidia-pipeline-key", "says": "pipeline-key=no",
         "source": "Fossilize de951cf"}])"));
}

TEST(Policy, TheSettingsCount)
{
    Environment environment = with_nvidia;
    environment["WARMPIPE_POLICY"] = "none";
    EXPECT_EQ(devices_of({}, environment).at(0)["rule"], "default");

    TemporaryFolder folder;
    const std::string path = folder.path + "/policy";
    write_file(path, "# mine\n[roomy]\nvendor = 0x10de\nsingle-cache = no\nmax-blob = 1234567\n"
                     "[other]\nvendor = 1\npersist = no\n"
                     "[careful]\ndriver-name = nvidia\nserialize = yes\nsource = ticket 12\n");
    environment["WARMPIPE_POLICY"] = path;
    nlohmann::json device = devices_of({}, environment).at(0);
    EXPECT_EQ(device["single_cache"], false);
    EXPECT_EQ(device["serialize"], true);
    EXPECT_EQ(device["max_blob"], 1234567);
    EXPECT_EQ(device["rule"], "careful");
    ASSERT_EQ(device["rules"].size(), 5u);
    EXPECT_EQ(device["rules"][3], (nlohmann::json{{"where", "line 2"},
                                                  {"rule", "roomy"},
                                                  {"says", "single-cache=no max-blob=1234567"},
                                                  {"source", path}}));
    EXPECT_EQ(device["rules"][4]["source"], "ticket 12");
}

TEST(Policy, ABadFileIsAFindingAndTheRestIsStillTold)
{
    TemporaryFolder folder;
    const std::string path = folder.path + "/policy";
    write_file(path, "[mine]\nsingle-cache = no\nnonsense\n");
    Environment environment = with_nvidia;
    environment["WARMPIPE_POLICY"] = path;
    ToolResult result = run_policy({"--json"}, environment);
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_EQ(result.err, "warmpipe: policy: '" + path + "': line 3: expected '[name]' or " +
                              "'key = value' (bad_policy_file)\n");
    const nlohmann::json told = nlohmann::json::parse(result.out);
    EXPECT_EQ(told["devices"][0]["single_cache"], true);
    EXPECT_EQ("warmpipe: " + std::string(told["error"]) + "\n", result.err);

    environment["WARMPIPE_POLICY"] = folder.path + "/none";
    result = run_policy({}, environment);
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "cannot be read: No such file or directory"));
}

TEST(Policy, SelectsDevicesByIndexOrName)
{
    Environment environment = with_nvidia;
    environment["WPTEST_ICD_DEVICES"] = "3";
    EXPECT_EQ(devices_of({}, environment).size(), 3u);
    nlohmann::json devices = devices_of({"1"}, environment);
    ASSERT_EQ(devices.size(), 1u);
    EXPECT_EQ(devices[0]["index"], 1);
    EXPECT_EQ(devices_of({"geforce"}, environment).size(), 3u);

    for (const char *none : {"3", "radeon", "01", "4711"}) {
        ToolResult result = run_policy({none}, environment);
        EXPECT_EQ(result.exit_status, 2) << none;
        EXPECT_TRUE(contains(result.err, std::string("no device '") + none + "'"));
    }
}

TEST(Policy, TextAndJsonAgree)
{
    Environment environment = with_nvidia;
    environment["WPTEST_ICD_DEVICES"] = "2";
    ToolResult result = run_policy({"-v"}, environment);
    std::vector<std::string> lines = lines_of(result.out);
    size_t line = 0;
    for (const nlohmann::json &device : devices_of({"-v"}, environment)) {
        // JSON sorts its members; in text they are looked up.
        for (const auto &[key, value] : device.items()) {
            if (key == "rules" || key == "max_blob") {
                continue;
            }
            std::string label = key;
            std::replace(label.begin(), label.end(), '_', ' ');
            label.resize(22, ' ');
            std::string text = value.is_boolean()  ? (value ? "yes" : "no")
                               : value.is_string() ? value.get<std::string>()
                                                   : value.dump();
            EXPECT_NE(std::find(lines.begin() + line, lines.end(), label + text), lines.end())
                << label << text << " in\n"
                << result.out;
        }
        line = std::find(lines.begin() + line, lines.end(), "") - lines.begin() + 1;
    }
    EXPECT_TRUE(contains(result.out, "\ndriver                NVIDIA_PROPRIETARY\n"));
    EXPECT_TRUE(contains(result.out, "\nversion               470.57.2.0\n"));
    EXPECT_TRUE(contains(result.out, "\nbuilt in              nvidia-large-blob  max-blob=256M  "));
}

TEST(Policy, AMachineWithoutDevices)
{
    TemporaryFolder folder;
    const std::string none = folder.path + "/none.json";
    ToolResult result =
        run_tool({"policy", "--json"}, {{"VK_DRIVER_FILES", none}, {"VK_ICD_FILENAMES", none}});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_EQ(result.out,
              "{\"devices\":[],\"error\":\"policy: no Vulkan device on this machine\"}\n");
    EXPECT_TRUE(contains(result.err, "no Vulkan device on this machine")) << result.err;
}

TEST(Policy, ADriverThatFails)
{
    ToolResult result = run_policy({}, {{"WPTEST_ICD_FAIL", "vkCreateInstance:*=-1"}});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err,
              "warmpipe: policy: cannot ask the Vulkan loader for devices (VkResult -1)\n");
}

} // namespace
