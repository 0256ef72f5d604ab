// SPDX-License-Identifier: Apache-2.0
// Programs that `warmpipe run` starts with the layer, through the loader: what the line at the end
// says.
#include <nlohmann/json.hpp>

#include "paths.h"
#include "tool.h"

namespace {

class RunLayer : public ::testing::Test {
  protected:
    // What follows the tool's name: options of `run`, and then the program's.
    std::vector<std::string> words(const std::vector<std::string> &options,
                                   const std::vector<std::string> &of_program) const
    {
        std::vector<std::string> words = {"run", "--dir", folder.path + "/cache", "--app", "demo"};
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {"--", PIPELINES_CLIENT});
        words.insert(words.end(), of_program.begin(), of_program.end());
        return words;
    }

    // On the test driver.
    static Environment with_driver(Environment environment)
    {
        environment.insert({{"VK_DRIVER_FILES", TEST_ICD_MANIFEST},
                            {"VK_ICD_FILENAMES", TEST_ICD_MANIFEST},
                            // It is unloaded before the program ends, and what it keeps looks lost.
                            {"ASAN_OPTIONS", "detect_leaks=0"}});
        return environment;
    }

    std::string told(const std::vector<std::string> &of_program, Environment environment = {},
                     const std::vector<std::string> &options = {}) const
    {
        return run_tool(words(options, of_program), with_driver(std::move(environment))).err;
    }

    TemporaryFolder folder;
};

TEST_F(RunLayer, SaysAtTheEndWhatWasSaved)
{
    const std::vector<std::string> six = {"--compute", "4", "--graphics", "2"};
    const std::string cold = told(six);
    EXPECT_EQ(lines_of(cold).size(), 1u) << cold;
    EXPECT_TRUE(contains(cold, "warmpipe: demo: 6 pipelines in ")) << cold;
    EXPECT_TRUE(contains(cold, " 0 hits, 6 misses; saved ")) << cold;
    const std::string warm = told(six);
    EXPECT_TRUE(contains(warm, " 6 hits, 0 misses; nothing new to save")) << warm;
    EXPECT_EQ(told(six, {}, {"--quiet"}), "");
}

// What was compiled is new, and the next start compiles it again: the line says why.
TEST_F(RunLayer, SaysWhyAWarmStartSavedNothing)
{
    const std::vector<std::string> four = {"--compute", "4", "--graphics", "0"};
    const std::vector<std::string> six = {"--compute", "6", "--graphics", "0"};
    told(four);
    const Environment read_only = {{"WARMPIPE_READONLY", "1"}};
    const std::string used = told(four, read_only);
    EXPECT_TRUE(contains(used, " 4 hits, 0 misses; nothing new to save")) << used;
    const std::string kept = told(six, read_only);
    EXPECT_TRUE(contains(kept, " 4 hits, 2 misses; nothing saved (read_only)")) << kept;
    std::vector<std::string> limited = {"/bin/sh", "-c", "ulimit -f 2; exec \"$0\" \"$@\"",
                                        WARMPIPE_TOOL};
    const std::vector<std::string> run = words({}, six);
    limited.insert(limited.end(), run.begin(), run.end());
    const std::string full = run_program(limited, with_driver({})).err;
    EXPECT_TRUE(contains(full, " 4 hits, 2 misses; nothing saved (disk_full)")) << full;
}

// One pipeline in a cache of its own that holds nothing proves nothing of a driver yet: there is no
// reason to tell, and that there was no file is none.
TEST_F(RunLayer, TellsNoReasonWhereThereIsNone)
{
    for (const char *cache : {"own", "none", "none"}) {
        const std::string line =
            told({"--compute", "1", "--graphics", "0", "--cache", cache},
                 {{"WPTEST_ICD_COMPILE_US", "20000"},
                  {"WPTEST_ICD_DATA", "header"},
                  {"WARMPIPE_PREWARM", "off"}}); // which on a busy machine is there first
        EXPECT_TRUE(contains(line, "1 miss; nothing saved\n") ||
                    contains(line, "1 miss; nothing saved (ineffective)\n"))
            << line;
    }
}

// A program of Vulkan 1.0 is told neither the driver's name nor what its cache held.
TEST_F(RunLayer, SaysOfAnOldProgramWhatIsKnown)
{
    const std::string lines =
        told({"--api", "1.0", "--compute", "2"}, {{"WPTEST_ICD_API", "1.0"},
                                                  {"WPTEST_ICD_DRIVER_VERSION", "92274694"},
                                                  {"WARMPIPE_LOG", "info"}});
    EXPECT_TRUE(contains(lines, ", driver unnamed 22.0.6: policy rule ")) << lines;
    EXPECT_TRUE(contains(lines, " 0 shared, hits unknown; saved ")) << lines;
}

// From nothing to a warm start; the statistics show that the layer was there.
TEST_F(RunLayer, StartsAProgramWarm)
{
    auto start = [&](Environment environment) {
        const std::string stats = folder.path + "/stats";
        std::filesystem::remove(stats);
        environment["WARMPIPE_STATS"] = stats;
        const ToolResult result = run_tool(words({}, {"--compute", "4", "--graphics", "2"}),
                                           with_driver(std::move(environment)));
        EXPECT_EQ(result.exit_status, 0) << result.err;
        std::vector<std::string> lines = lines_of(read_file(stats));
        return lines.empty() ? nlohmann::json() : nlohmann::json::parse(lines.back());
    };
    nlohmann::json cold = start({});
    ASSERT_TRUE(cold.is_object()) << "the layer was not in the chain";
    EXPECT_EQ(cold["app"], "demo");
    EXPECT_EQ(cold["cache"]["state"], "cold");
    nlohmann::json warm = start({});
    EXPECT_EQ(warm["cache"]["state"], "loaded");
    EXPECT_EQ(warm["pipelines"]["requested"], 6);

    // Where a user keeps implicit layers out, this one was asked for by name.
    nlohmann::json asked_for = start({{"VK_LOADER_LAYERS_DISABLE", "~implicit~"}});
    ASSERT_TRUE(asked_for.is_object()) << "the layer was not in the chain";
    EXPECT_EQ(asked_for["cache"]["state"], "loaded");

    EXPECT_TRUE(start({{"WARMPIPE_DISABLE", "1"}}).is_null());

    ToolResult result = run_tool({"verify", folder.path + "/cache"});
    EXPECT_EQ(result.exit_status, 0);
    ASSERT_EQ(lines_of(result.out).size(), 2u) << "the cache, then what it can be made of";
    std::string path = lines_of(result.out)[0].substr(22);
    result = run_tool({"inspect", "--json", path});
    EXPECT_EQ(nlohmann::json::parse(result.out)["identity"]["digest"], warm["identity"]);
}

// What the Vulkan Configurator has written, and leaves behind: `run` says that the layer is kept
// out where it is. Loaders of before May 2023 do not know settings.
TEST_F(RunLayer, SaysThatAFileKeepsTheLayerOut)
{
    const std::string us = R"("VK_LAYER_WARMPIPE_pipeline_cache")";
    const std::string listed =
        R"("name":)" + us + R"(,"path":")" + std::string(WARMPIPE_BUILD_DIR) +
        R"(/share/vulkan/explicit_layer.d/VkLayer_warmpipe.json","control":)";
    // Whether the layer is in the chain beside this file.
    const auto gets_the_layer = [&](const std::string &name, const std::string &text) {
        const std::string path = folder.path + "/home/.local/share/vulkan/" + name;
        const std::string stats = folder.path + "/stats";
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        std::filesystem::remove(stats);
        write_file(path, text);
        const std::string said = told({"--compute", "1", "--graphics", "0"},
                                      {{"HOME", folder.path + "/home"}, {"WARMPIPE_STATS", stats}});
        std::filesystem::remove(path);
        const bool gets = std::filesystem::exists(stats);
        EXPECT_EQ(!gets, contains(said, "warmpipe: run: '" + path +
                                            "', of the Vulkan Configurator, keeps the layer out: "
                                            "the program runs without it\n"))
            << text << said;
        return gets;
    };
    const auto settings = [&](const std::string &text) {
        return gets_the_layer("loader_settings.d/vk_loader_settings.json",
                              R"({"file_format_version":"1.0.0",)" + text + "}");
    };
    EXPECT_TRUE(settings(R"("settings":{"layers":[{)" + listed + R"("auto"}]})"));
    EXPECT_TRUE(settings(R"("settings":{"layers":[{"control":"unordered_layer_location"}]})"));
    // Loaders differ in what no layers, or none listed, means.
    for (const char *object : {"{}", R"({"stderr_log":[]})", R"({"stderr_log":["error"]})",
                               R"({"layers":[]})", R"({"layers":[],"stderr_log":["error"]})"}) {
        settings(std::string(R"("settings":)") + object);
    }
    EXPECT_TRUE(settings(R"("settings_array":[{"app_keys":["/bin/x"],"layers":[]}])"));
    EXPECT_TRUE(settings(R"("settings":{"layers":[{"name":"other")"));
    EXPECT_TRUE(settings(R"("settings":{"layers":[{"name":"other","control":"on"}]})"));
    EXPECT_TRUE(settings(R"("settings":{"layers":[{"name":"other","path":"/x","control":"on"}]},)"
                         R"("settings_array":[{"app_keys":["/bin/x"],"layers":[]}])"));
    const bool is_old =
        settings(R"("settings":{"layers":[{"name":"other","path":"/x","control":"on"}]})");
    EXPECT_EQ(settings(R"("settings":{"layers":[{)" + listed +
                       R"("off"},{"control":"unordered_layer_location"}]})"),
              is_old);
    EXPECT_EQ(settings(R"("settings_array":[{"app_keys":["/bin/x"],"layers":[{)" + listed +
                       R"("on"}]},{"layers":[{"name":"other","path":"/x","control":"on"}]}])"),
              is_old);
    const auto override = [&](const std::string &text) {
        return gets_the_layer("implicit_layer.d/VkLayer_override.json",
                              R"({"file_format_version":"1.1.2","layer":{
                                  "name":"VK_LAYER_LUNARG_override","type":"GLOBAL",
                                  "api_version":"1.3.0","implementation_version":"1",
                                  "description":"", )" +
                                  text + R"(,"disable_environment":{"DISABLE_OVERRIDE":"1"}}})");
    };
    EXPECT_FALSE(override(R"("component_layers":[],"blacklisted_layers":[)" + us + "]"));
    EXPECT_TRUE(override(R"("component_layers":[)" + us + "]"));
    EXPECT_TRUE(override(R"("app_keys":["/bin/x"],"component_layers":[],"blacklisted_layers":[)" +
                         us + "]"));
}

} // namespace
