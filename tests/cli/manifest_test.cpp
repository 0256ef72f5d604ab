// SPDX-License-Identifier: Apache-2.0
// What the manifest tells Vulkan Configurator of the settings, against what the code takes.
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "child.h"
#include "paths.h"
#include "tool.h"

extern "C" {
#include "common/settings/config.h"
}

namespace {

using json = nlohmann::json;

std::map<std::string, std::string> variables;

const char *look_up(const char *name)
{
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
}

// What the settings say of a value; nothing if they take it.
std::vector<std::string> said_of(const std::string &variable, const std::string &value)
{
    variables = {{"HOME", "/nowhere"}, {variable, value}};
    return run_in_child([] {
               struct config config;
               config_read(look_up, &config);
               config_free(&config);
           })
        .lines();
}

json read_manifest(const std::string &kind)
{
    return json::parse(read_file(std::string(WARMPIPE_BUILD_DIR) + "/share/vulkan/" + kind +
                                 "_layer.d/VkLayer_warmpipe.json"));
}

// As a variable or a settings file has it.
std::string text_of(const json &value)
{
    if (value.is_boolean()) {
        return value.get<bool>() ? "1" : "0";
    }
    if (value.is_array()) {
        std::string text;
        for (const json &word : value) {
            text += (text.empty() ? "" : ",") + word.get<std::string>();
        }
        return text;
    }
    return value.is_number() ? value.dump() : value.get<std::string>();
}

// Loaders parse the implicit one for each question that a program asks before it has an instance.
TEST(Manifest, TheImplicitOneTellsOfTheLayerAlone)
{
    json implicit = read_manifest("implicit")["layer"];
    json explicit_one = read_manifest("explicit")["layer"];
    EXPECT_EQ(implicit.count("features"), 0u);
    EXPECT_EQ(explicit_one.erase("features"), 1u);
    EXPECT_EQ(implicit.erase("enable_environment"), 1u);
    EXPECT_EQ(implicit.erase("disable_environment"), 1u);
    EXPECT_EQ(implicit, explicit_one);
}

TEST(Manifest, TellsOfEverySettingThatAFileMayGive)
{
    std::set<std::string> expected;
#define SETTING(id, kind, from, name, ...)                                                         \
    if (std::string(#from) != "environment") {                                                     \
        expected.insert(#id "=" name);                                                             \
    }
#include "common/settings/settings.def"
#undef SETTING
    std::set<std::string> found;
    const json manifest = read_manifest("explicit");
    for (const json &setting : manifest["layer"]["features"]["settings"]) {
        found.insert(setting["key"].get<std::string>() + "=" + setting["env"].get<std::string>());
    }
    EXPECT_EQ(found, expected);
}

TEST(Manifest, EveryValueThatItTellsOfIsTaken)
{
    size_t values = 0;
    const json manifest = read_manifest("explicit");
    for (const json &setting : manifest["layer"]["features"]["settings"]) {
        std::vector<std::string> texts = {text_of(setting["default"])};
        if (setting.contains("flags")) {
            for (const json &flag : setting["flags"]) {
                texts.push_back(flag["key"]);
            }
        }
        for (const std::string &text : texts) {
            EXPECT_EQ(said_of(setting["env"], text), std::vector<std::string>()) << setting["key"];
            values++;
        }
    }
    EXPECT_GT(values, 20u);
    EXPECT_EQ(said_of("WARMPIPE_PREWARM", "maybe").size(), 1u) << "the check itself";
}

} // namespace
