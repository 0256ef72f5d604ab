// SPDX-License-Identifier: Apache-2.0
// The settings as a program's environment gives them, and values that cannot be read.
#include <fstream>

#include "harness.hpp"
#include "program.hpp"

namespace fs = std::filesystem;

namespace {

class SettingsTest : public LayerTest {
  protected:
    static void program()
    {
        Program().create_compute(0, 4);
    }
};

struct Value {
    const char *variable;
    const char *value;
};

void PrintTo(const Value &value, std::ostream *stream)
{
    *stream << value.variable << '=' << value.value;
}

class BadValueTest : public SettingsTest, public ::testing::WithParamInterface<Value> {};

TEST_P(BadValueTest, IsNamedOnceAndTheDefaultUsed)
{
    environment[GetParam().variable] = GetParam().value;
    for (size_t hits : {0u, 4u}) {
        const Outcome outcome = run(program);
        ASSERT_EQ(outcome.log().size(), 1u) << outcome.errors;
        EXPECT_NE(outcome.log()[0].find(GetParam().variable), std::string::npos);
        EXPECT_NE(outcome.log()[0].find("(bad_setting)"), std::string::npos);
        EXPECT_EQ(outcome.hits(), hits) << "nothing else is changed by it";
    }
}

INSTANTIATE_TEST_SUITE_P(
    Of, BadValueTest,
    ::testing::Values(Value{"WARMPIPE_READONLY", "2"}, Value{"WARMPIPE_DEDUP", "shaders"},
                      Value{"WARMPIPE_APP_CACHE", "none"}, Value{"WARMPIPE_PREWARM", "maybe"},
                      Value{"WARMPIPE_FLUSH_IDLE_MS", "-1"}, Value{"WARMPIPE_MAX_SIZE", "1.5G"},
                      Value{"WARMPIPE_MAX_TOTAL", "lots"}, Value{"WARMPIPE_LOG", "loud"}),
    [](const auto &value) { return std::string(value.param.variable + sizeof "WARMPIPE_" - 1); });

TEST_F(SettingsTest, ARelativeDirectoryIsNotUsed)
{
    environment["WARMPIPE_DIR"] = "cache";
    const Outcome outcome = run(program);
    ASSERT_GE(outcome.log().size(), 1u) << outcome.errors;
    EXPECT_NE(outcome.log()[0].find("WARMPIPE_DIR"), std::string::npos);
    EXPECT_FALSE(fs::exists("cache"));
}

TEST_F(SettingsTest, AStatisticsFileThatCannotBeMadeIsNamed)
{
    environment["WARMPIPE_STATS"] = (folder() / "missing/stats").string();
    const Outcome outcome = run(program, {Layer::any, true, 0});
    EXPECT_EQ(outcome.calls("vkCreatePipelineCache"), 1u);
    ASSERT_EQ(outcome.log().size(), 1u) << outcome.errors;
}

TEST_F(SettingsTest, EmptyIsUnset)
{
    for (const char *variable : {"WARMPIPE_READONLY", "WARMPIPE_DEDUP", "WARMPIPE_APP_CACHE",
                                 "WARMPIPE_PREWARM", "WARMPIPE_FLUSH_IDLE_MS", "WARMPIPE_MAX_SIZE",
                                 "WARMPIPE_MAX_TOTAL", "WARMPIPE_POLICY", "WARMPIPE_LOG"}) {
        environment[variable] = "";
    }
    const Outcome outcome = run(program);
    EXPECT_EQ(outcome.log(), std::vector<std::string>());
    EXPECT_EQ(run(program).hits(), 4u);
}

TEST_F(SettingsTest, AFileSaysWhatVariablesDoNot)
{
    environment["VK_LAYER_SETTINGS_PATH"] = folder().string();
    std::ofstream(folder() / "vk_layer_settings.txt") << "warmpipe_pipeline_cache.dedup = none\n";
    const auto twice = [] {
        Program owner;
        owner.create_compute(0, 4);
        owner.create_compute(0, 4);
    };
    EXPECT_EQ(run(twice).stats_of()["pipelines"]["deduplicated"], 0);
    environment["WARMPIPE_DEDUP"] = "all";
    EXPECT_EQ(run(twice).stats_of()["pipelines"]["deduplicated"], 4);
}

// A file in the working directory, by whoever wrote it: "max_total = 1" there once deleted all that
// other programs had.
TEST_F(SettingsTest, AFileTakesNothingFromOtherPrograms)
{
    environment["WARMPIPE_APP"] = "other";
    run(program);
    const auto kept = cache_files();
    ASSERT_EQ(kept.size(), 1u);
    environment["WARMPIPE_APP"] = "mine";
    environment["VK_LAYER_SETTINGS_PATH"] = folder().string();
    std::ofstream(folder() / "vk_layer_settings.txt")
        << "warmpipe_pipeline_cache.max_total = 1\nwarmpipe_pipeline_cache.app = other\n"
           "warmpipe_pipeline_cache.max_size = 1\nwarmpipe_pipeline_cache.readonly = 1\n";
    const Outcome outcome = run(program);
    EXPECT_EQ(outcome.log().size(), 4u) << outcome.errors;
    EXPECT_EQ(cache_files().size(), 2u);
    EXPECT_TRUE(std::filesystem::exists(kept.at(0)));
}

TEST_F(SettingsTest, YesIsYes)
{
    environment["WARMPIPE_READONLY"] = "TRUE";
    const Outcome outcome = run(program);
    EXPECT_EQ(outcome.log(), std::vector<std::string>());
    EXPECT_TRUE(cache_files().empty());
}

// VkLayerSettingsCreateInfoEXT, which older headers do not have.
struct LayerSetting {
    const char *layer;
    const char *name;
    int type;
    uint32_t count;
    const void *values;
};
struct LayerSettings {
    VkStructureType type = static_cast<VkStructureType>(1000496000);
    const void *next = nullptr;
    uint32_t count = 1;
    const LayerSetting *settings = nullptr;
};

TEST_F(SettingsTest, TheProgramSaysWhatNobodyElseDoes)
{
    const auto program = [] {
        // Loaders that do not know it refuse an instance to whoever believes a report of it.
        uint32_t count = 0;
        vkEnumerateInstanceExtensionProperties("VK_LAYER_WARMPIPE_pipeline_cache", &count, nullptr);
        EXPECT_EQ(count, 0u);
        const char *none = "none";
        const VkBool32 yes = VK_TRUE;
        const LayerSetting list[] = {
            {"VK_LAYER_WARMPIPE_pipeline_cache", "dedup", 7, 1, &none},
            {"VK_LAYER_WARMPIPE_pipeline_cache", "summary", 0, 1, &yes},
        };
        LayerSettings settings;
        settings.count = 2;
        settings.settings = list;
        ProgramOptions options;
        options.instance_next = &settings;
        Program owner(options);
        owner.create_compute(0, 4);
        owner.create_compute(0, 4);
    };
    const Outcome outcome = run(program);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["deduplicated"], 0);
    EXPECT_EQ(outcome.log().size(), 1u) << outcome.errors; // the summary
}

// The summary names the setting, not the missing file that follows from it.
TEST_F(SettingsTest, SummaryOfAReadOnlyStartSaysSo)
{
    environment["WARMPIPE_SUMMARY"] = "1";
    environment["WARMPIPE_READONLY"] = "1";
    const Outcome outcome = run(program);
    EXPECT_NE(outcome.errors.find("nothing saved (read_only)"), std::string::npos)
        << outcome.errors;
}

TEST_F(SettingsTest, FolderOfTheProgram)
{
    environment["WARMPIPE_APP"] = "My_App-1";
    EXPECT_EQ(run(program).stats_of()["app"], "My_App-1");
    EXPECT_TRUE(fs::is_directory(cache_root() / "My_App-1"));

    environment["WARMPIPE_APP"] = "../../escape";
    const std::string hashed = run(program).stats_of()["app"];
    EXPECT_EQ(hashed.rfind("hash_", 0), 0u) << hashed;
    EXPECT_EQ(hashed.find('/'), std::string::npos);

    environment.erase("WARMPIPE_APP");
    const std::string derived = run(program).stats_of()["app"];
    EXPECT_EQ(derived.rfind("integration_tests-", 0), 0u) << derived;
    const std::string named = run([] {
                                  ProgramOptions options;
                                  options.application_name = "another";
                                  Program(options).create_compute(0, 1);
                              }).stats_of()["app"];
    EXPECT_NE(named, derived) << "the application's name counts";
    EXPECT_EQ(cache_files().size(), 4u);
}

// Whose mount point is below a link, as a folder for temporary files, or /snap, may be.
TEST_F(SettingsTest, AnAppImageOrASnapIsNamedByWhatItsMountPointIs)
{
    const fs::path self = fs::read_symlink("/proc/self/exe").parent_path();
    fs::create_directory_symlink(self.parent_path(), folder() / "temporary");
    environment.erase("WARMPIPE_APP");
    const std::string unmounted = run(program).stats_of()["app"];
    for (const char *variable : {"APPDIR", "SNAP"}) {
        environment[variable] = self;
        const std::string mounted = run(program).stats_of()["app"];
        EXPECT_NE(mounted, unmounted) << variable;
        environment[variable] = folder() / "temporary" / self.filename();
        EXPECT_EQ(run(program).stats_of()["app"], mounted) << variable;
        environment[variable] = folder() / "nothing";
        EXPECT_EQ(run(program).stats_of()["app"], unmounted) << variable;
        environment.erase(variable);
    }
}

TEST_F(SettingsTest, RootOfTheCaches)
{
    environment.erase("WARMPIPE_DIR");
    run(program);
    EXPECT_TRUE(fs::is_directory(folder() / "home/.cache/warmpipe/test"));
    environment["XDG_CACHE_HOME"] = (folder() / "xdg").string();
    run(program);
    EXPECT_TRUE(fs::is_directory(folder() / "xdg/warmpipe/test"));
}

TEST_F(SettingsTest, LogToAFile)
{
    const fs::path log = folder() / "log";
    environment["WARMPIPE_LOG"] = "info:" + log.string();
    const Outcome outcome = run(program);
    EXPECT_EQ(outcome.log(), std::vector<std::string>());
    EXPECT_NE(read_text(log).find("warmpipe: info: "), std::string::npos);
    EXPECT_EQ(fs::status(log).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(SettingsTest, LogIsSilentByDefault)
{
    for (int start = 0; start < 2; ++start) {
        EXPECT_EQ(run(program).log(), std::vector<std::string>());
    }
    environment["WARMPIPE_LOG"] = "off";
    write_bytes(cache_file(), {1, 2, 3});
    EXPECT_EQ(run(program).log(), std::vector<std::string>());
}

} // namespace
