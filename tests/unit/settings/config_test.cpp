// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

extern "C" {
#include "common/settings/config.h"
}

#include "child.h"
#include "scratch.h"

static bool memory_is_out;

// In place of the C library's: the common code links to this one.
extern "C" char *strdup(const char *text) noexcept
{
    const size_t size = strlen(text) + 1;
    void *copy = memory_is_out ? nullptr : malloc(size);
    return static_cast<char *>(copy ? memcpy(copy, text, size) : nullptr);
}

namespace {

using Variables = std::map<std::string, std::string>;

Variables environment;

const char *look_up(const char *name)
{
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
}

std::string text(const char *value)
{
    return value ? value : "(none)";
}

// Reads the settings in a child (the log and the complaints are once a process) and hands them to
// `check` there. Gives what was said.
template <typename Check>
std::vector<std::string> read_with(const Variables &variables, Check check)
{
    environment = variables;
    return run_in_child([&] {
               struct config config;
               memset(&config, 0x5a, sizeof config);
               config_read(look_up, &config);
               check(config);
               config_free(&config);
               EXPECT_EQ(config.root, nullptr);
           })
        .lines();
}

void expect_defaults(const struct config &config)
{
    EXPECT_EQ(text(config.root), "/usr/.cache/warmpipe");
    EXPECT_EQ(config.app, nullptr);
    EXPECT_EQ(config.policy_path, nullptr);
    EXPECT_EQ(config.log_path, nullptr);
    EXPECT_EQ(config.stats_path, nullptr);
    EXPECT_EQ(config.trace_path, nullptr);
    EXPECT_FALSE(config.policy_none);
    EXPECT_FALSE(config.read_only);
    EXPECT_EQ(config.dedup, static_cast<unsigned>(DEDUP_ALL));
    EXPECT_EQ(config.app_cache, APP_CACHE_AUTO);
    EXPECT_EQ(config.prewarm, PREWARM_AUTO);
    EXPECT_EQ(config.flush_idle_ms, 100u);
    EXPECT_EQ(config.max_size, UINT64_C(1) << 30);
    EXPECT_EQ(config.max_total, UINT64_C(4) << 30);
    EXPECT_EQ(config.log_level, LOG_LEVEL_WARN);
}

TEST(Config, Defaults)
{
    EXPECT_TRUE(read_with({{"HOME", "/usr"}}, expect_defaults).empty());
}

TEST(Config, EmptyCountsAsNotSet)
{
    Variables variables = {{"HOME", "/usr"}, {"XDG_CACHE_HOME", ""}};
#define SETTING(id, kind, from, name, ...) variables[name] = "";
#include "common/settings/settings.def"
#undef SETTING
    EXPECT_TRUE(read_with(variables, expect_defaults).empty());
}

TEST(Config, RootComesFromTheFirstThatIsSet)
{
    const std::pair<Variables, const char *> cases[] = {
        {{{"WARMPIPE_DIR", "/w"}, {"XDG_CACHE_HOME", "/x"}, {"HOME", "/etc"}}, "/w"},
        {{{"XDG_CACHE_HOME", "/x"}, {"HOME", "/etc"}}, "/x/warmpipe"},
        {{{"HOME", "/etc"}}, "/etc/.cache/warmpipe"},
        {{{"HOME", "/etc/there is no such home"}}, "(none)"},
        {{}, "(none)"},
    };
    for (const auto &[variables, root] : cases) {
        const auto said = read_with(variables, [wanted = root](const struct config &config) {
            EXPECT_EQ(text(config.root), wanted);
        });
        EXPECT_TRUE(said.empty()) << root;
    }
}

TEST(Config, RelativeDirectoriesAreNamedAndSkipped)
{
    const std::string end = "(bad_setting)";
    const std::pair<Variables, std::pair<const char *, std::vector<std::string>>> cases[] = {
        {{{"WARMPIPE_DIR", "w"}, {"XDG_CACHE_HOME", "/x"}}, {"/x/warmpipe", {"WARMPIPE_DIR='w'"}}},
        {{{"WARMPIPE_DIR", "~/w"}, {"HOME", "/etc"}},
         {"/etc/.cache/warmpipe", {"WARMPIPE_DIR='~/w'"}}},
        {{{"XDG_CACHE_HOME", "./x"}, {"HOME", "/etc"}},
         {"/etc/.cache/warmpipe", {"XDG_CACHE_HOME='./x'"}}},
        {{{"WARMPIPE_DIR", "w"}, {"XDG_CACHE_HOME", "x"}, {"HOME", "h"}},
         {"(none)", {"WARMPIPE_DIR='w'", "XDG_CACHE_HOME='x'", "HOME='h'"}}},
    };
    for (const auto &[variables, expected] : cases) {
        const auto said =
            read_with(variables, [root = expected.first](const struct config &config) {
                EXPECT_EQ(text(config.root), root);
            });
        ASSERT_EQ(said.size(), expected.second.size());
        for (size_t i = 0; i < said.size(); i++) {
            EXPECT_EQ(said[i].rfind("warmpipe: warn: " + expected.second[i] +
                                        ": expected an absolute path;",
                                    0),
                      0u)
                << said[i];
            EXPECT_EQ(said[i].substr(said[i].size() - end.size()), end);
        }
    }
}

// One good value and what it must set.
struct Good {
    const char *name;
    const char *value;
    bool (*holds)(const struct config &config);
};

// For the test's name.
void PrintTo(const Good &good, std::ostream *out)
{
    *out << good.name << "=" << good.value;
}

class ConfigGood : public testing::TestWithParam<Good> {};

TEST_P(ConfigGood, IsTaken)
{
    const auto said =
        read_with({{GetParam().name, GetParam().value}}, [](const struct config &config) {
            EXPECT_TRUE(GetParam().holds(config)) << GetParam().name << "=" << GetParam().value;
        });
    EXPECT_TRUE(said.empty());
}

#define HOLDS(expression) [](const struct config &config) -> bool { return expression; }

const Good good[] = {
    {"WARMPIPE_DIR", "/a b/c", HOLDS(text(config.root) == "/a b/c")},
    {"WARMPIPE_APP", "../odd name", HOLDS(text(config.app) == "../odd name")},
    {"WARMPIPE_READONLY", "1", HOLDS(config.read_only)},
    {"WARMPIPE_READONLY", "0", HOLDS(!config.read_only)},
    {"WARMPIPE_READONLY", "true", HOLDS(config.read_only)},
    {"WARMPIPE_READONLY", "YES", HOLDS(config.read_only)},
    {"WARMPIPE_READONLY", "On", HOLDS(config.read_only)},
    {"WARMPIPE_READONLY", "False", HOLDS(!config.read_only)},
    {"WARMPIPE_READONLY", "no", HOLDS(!config.read_only)},
    {"WARMPIPE_READONLY", "OFF", HOLDS(!config.read_only)},
    {"WARMPIPE_PREWARM", "1", HOLDS(config.prewarm == PREWARM_ON)},
    {"WARMPIPE_PREWARM", "False", HOLDS(config.prewarm == PREWARM_OFF)},
    {"WARMPIPE_SUMMARY", "1", HOLDS(config.summary)},
    {"WARMPIPE_DEDUP", "all", HOLDS(config.dedup == DEDUP_ALL)},
    {"WARMPIPE_DEDUP", "none", HOLDS(config.dedup == 0)},
    {"WARMPIPE_DEDUP", "modules", HOLDS(config.dedup == DEDUP_MODULES)},
    {"WARMPIPE_DEDUP", "set_layouts", HOLDS(config.dedup == DEDUP_SET_LAYOUTS)},
    {"WARMPIPE_DEDUP", "pipeline_layouts", HOLDS(config.dedup == DEDUP_PIPELINE_LAYOUTS)},
    {"WARMPIPE_DEDUP", "templates", HOLDS(config.dedup == DEDUP_TEMPLATES)},
    {"WARMPIPE_DEDUP", "pipelines", HOLDS(config.dedup == DEDUP_PIPELINES)},
    {"WARMPIPE_DEDUP", "pipelines,modules,modules",
     HOLDS(config.dedup == (DEDUP_PIPELINES | DEDUP_MODULES))},
    {"WARMPIPE_DEDUP", "pipelines, modules",
     HOLDS(config.dedup == (DEDUP_PIPELINES | DEDUP_MODULES))},
    {"WARMPIPE_DEDUP", "modules,set_layouts,pipeline_layouts,templates,pipelines",
     HOLDS(config.dedup == DEDUP_ALL)},
    {"WARMPIPE_APP_CACHE", "auto", HOLDS(config.app_cache == APP_CACHE_AUTO)},
    {"WARMPIPE_APP_CACHE", "serve", HOLDS(config.app_cache == APP_CACHE_SERVE)},
    {"WARMPIPE_APP_CACHE", "harvest", HOLDS(config.app_cache == APP_CACHE_HARVEST)},
    {"WARMPIPE_APP_CACHE", "ignore", HOLDS(config.app_cache == APP_CACHE_IGNORE)},
    {"WARMPIPE_PREWARM", "auto", HOLDS(config.prewarm == PREWARM_AUTO)},
    {"WARMPIPE_PREWARM", "on", HOLDS(config.prewarm == PREWARM_ON)},
    {"WARMPIPE_PREWARM", "off", HOLDS(config.prewarm == PREWARM_OFF)},
    {"WARMPIPE_FLUSH_IDLE_MS", "0", HOLDS(config.flush_idle_ms == 0)},
    {"WARMPIPE_FLUSH_IDLE_MS", "007", HOLDS(config.flush_idle_ms == 7)},
    {"WARMPIPE_FLUSH_IDLE_MS", "4294967295", HOLDS(config.flush_idle_ms == UINT32_MAX)},
    {"WARMPIPE_MAX_SIZE", "512M", HOLDS(config.max_size == UINT64_C(512) << 20)},
    {"WARMPIPE_MAX_SIZE", "65536", HOLDS(config.max_size == 65536)},
    {"WARMPIPE_MAX_TOTAL", "2TiB", HOLDS(config.max_total == UINT64_C(2) << 40)},
    {"WARMPIPE_POLICY", "none", HOLDS(config.policy_none && !config.policy_path)},
    {"WARMPIPE_POLICY", "/p", HOLDS(!config.policy_none && text(config.policy_path) == "/p")},
    {"WARMPIPE_LOG", "off", HOLDS(config.log_level == LOG_LEVEL_OFF && !config.log_path)},
    {"WARMPIPE_LOG", "error", HOLDS(config.log_level == LOG_LEVEL_ERROR)},
    {"WARMPIPE_LOG", "warn", HOLDS(config.log_level == LOG_LEVEL_WARN)},
    {"WARMPIPE_LOG", "info", HOLDS(config.log_level == LOG_LEVEL_INFO)},
    {"WARMPIPE_LOG", "debug", HOLDS(config.log_level == LOG_LEVEL_DEBUG && !config.log_path)},
    {"WARMPIPE_LOG", "debug:/dev/null",
     HOLDS(config.log_level == LOG_LEVEL_DEBUG && text(config.log_path) == "/dev/null")},
    {"WARMPIPE_LOG", "off:/nowhere/a:b",
     HOLDS(config.log_level == LOG_LEVEL_OFF && text(config.log_path) == "/nowhere/a:b")},
    {"WARMPIPE_STATS", "/s", HOLDS(text(config.stats_path) == "/s")},
    {"WARMPIPE_TRACE", "/t", HOLDS(text(config.trace_path) == "/t")},
};

INSTANTIATE_TEST_SUITE_P(Values, ConfigGood, testing::ValuesIn(good));

struct Bad {
    const char *name;
    const char *value;
};

void PrintTo(const Bad &bad, std::ostream *out)
{
    *out << bad.name << "=" << bad.value;
}

class ConfigBad : public testing::TestWithParam<Bad> {};

TEST_P(ConfigBad, IsNamedOnceAndTheDefaultUsed)
{
    const std::string name = GetParam().name;
    environment = {{"HOME", "/usr"}, {name, GetParam().value}};
    const auto said = run_in_child([] {
                          for (int instance = 0; instance < 3; instance++) {
                              struct config config;
                              config_read(look_up, &config);
                              expect_defaults(config);
                              config_free(&config);
                          }
                      }).lines();
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(
        said[0].rfind("warmpipe: warn: " + name + "='" + GetParam().value + "': expected ", 0), 0u)
        << said[0];
    EXPECT_NE(said[0].find("using the default, "), std::string::npos) << said[0];
    EXPECT_NE(said[0].find("(bad_setting)"), std::string::npos) << said[0];
}

const Bad bad[] = {
    {"WARMPIPE_DIR", "relative/path"},
    {"WARMPIPE_READONLY", "ja"},
    {"WARMPIPE_SUMMARY", "2"},
    {"WARMPIPE_READONLY", "2"},
    {"WARMPIPE_READONLY", "1 "},
    {"WARMPIPE_DEDUP", "everything"},
    {"WARMPIPE_DEDUP", "modules,"},
    {"WARMPIPE_DEDUP", ",modules"},
    {"WARMPIPE_DEDUP", "modules,,templates"},
    {"WARMPIPE_DEDUP", "modules, "},
    {"WARMPIPE_DEDUP", "modules ,templates"},
    {"WARMPIPE_DEDUP", "all,modules"},
    {"WARMPIPE_DEDUP", "modules,none"},
    {"WARMPIPE_DEDUP", "Modules"},
    {"WARMPIPE_DEDUP", "module"},
    {"WARMPIPE_DEDUP", "modules_and_a_great_deal_more"},
    {"WARMPIPE_APP_CACHE", "AUTO"},
    {"WARMPIPE_APP_CACHE", "0"},
    {"WARMPIPE_PREWARM", "maybe"},
    {"WARMPIPE_FLUSH_IDLE_MS", "-1"},
    {"WARMPIPE_FLUSH_IDLE_MS", "100ms"},
    {"WARMPIPE_FLUSH_IDLE_MS", "1e3"},
    {"WARMPIPE_FLUSH_IDLE_MS", "0x10"},
    {"WARMPIPE_FLUSH_IDLE_MS", "4294967296"},
    {"WARMPIPE_FLUSH_IDLE_MS", "99999999999999999999999"},
    {"WARMPIPE_MAX_SIZE", "1.5G"},
    {"WARMPIPE_MAX_SIZE", "lots"},
    {"WARMPIPE_MAX_TOTAL", "-1"},
    {"WARMPIPE_MAX_TOTAL", "99999999T"},
    {"WARMPIPE_LOG", "verbose"},
    {"WARMPIPE_LOG", "warning"},
    {"WARMPIPE_LOG", "debug:"},
    {"WARMPIPE_LOG", ":/tmp/log"},
    {"WARMPIPE_LOG", "loud:/tmp/log"},
};

INSTANTIATE_TEST_SUITE_P(Values, ConfigBad, testing::ValuesIn(bad));

// A setting that no bad value is tried of has none: these take any text.
TEST(Config, EveryOtherSettingIsAmongTheBad)
{
    std::map<std::string, int> tried = {
        {"WARMPIPE_APP", 1}, {"WARMPIPE_POLICY", 1}, {"WARMPIPE_STATS", 1}, {"WARMPIPE_TRACE", 1}};
    for (const Bad &one : bad) {
        tried[one.name]++;
    }
#define SETTING(id, kind, from, name, ...) EXPECT_EQ(tried.count(name), 1u) << name;
#include "common/settings/settings.def"
#undef SETTING
}

TEST(Config, ManyBadValuesAreNamedEach)
{
    Variables variables = {{"HOME", "/usr"}};
    for (const Bad &one : bad) {
        variables[one.name] = one.value;
    }
    EXPECT_EQ(read_with(variables, expect_defaults).size(), variables.size() - 1);
}

// A settings file, named by VK_LAYER_SETTINGS_PATH.
std::vector<std::string> read_file_with(const std::string &content, Variables variables,
                                        void (*check)(const struct config &config))
{
    Scratch scratch;
    std::ofstream(scratch.path("vk_layer_settings.txt")) << content;
    variables["VK_LAYER_SETTINGS_PATH"] = scratch.path(".");
    variables.emplace("HOME", "/usr");
    return read_with(variables, check);
}

TEST(Config, AFileSaysWhatVariablesDoNot)
{
    const std::string content = "warmpipe_pipeline_cache.dedup = modules,pipelines\n"
                                "warmpipe_pipeline_cache.summary = true\n"
                                "warmpipe_pipeline_cache.prewarm = off\n"
                                "warmpipe_pipeline_cache.flush_idle_ms = 5\n"
                                "warmpipe_pipeline_cache.app_cache =\n"
                                "khronos_validation.dedup = none\n";
    EXPECT_TRUE(
        read_file_with(content, {{"WARMPIPE_PREWARM", "on"}, {"WARMPIPE_FLUSH_IDLE_MS", ""}},
                       [](const struct config &config) {
                           EXPECT_EQ(config.dedup,
                                     static_cast<unsigned>(DEDUP_MODULES | DEDUP_PIPELINES));
                           EXPECT_TRUE(config.summary);
                           EXPECT_EQ(config.prewarm, PREWARM_ON); // the variable wins
                           EXPECT_EQ(config.flush_idle_ms, 5u);
                           EXPECT_EQ(config.app_cache, APP_CACHE_AUTO);
                       })
            .empty());
}

// It may lie in the directory that a program happens to run in, and then must not delete what other
// programs have, nor say where files lie.
TEST(Config, AFileSaysNothingThatReachesBeyondItsProgram)
{
    const auto said = read_file_with("# Who wrote this?\n"
                                     "warmpipe_pipeline_cache.dir = /tmp/x\n"
                                     "warmpipe_pipeline_cache.policy = none\n"
                                     "warmpipe_pipeline_cache.stats = /tmp/x\n"
                                     "warmpipe_pipeline_cache.trace = /tmp/x\n"
                                     "warmpipe_pipeline_cache.log = info:/tmp/x\n"
                                     "warmpipe_pipeline_cache.app = other\n"
                                     "warmpipe_pipeline_cache.readonly = 1\n"
                                     "warmpipe_pipeline_cache.max_size = 1\n"
                                     "warmpipe_pipeline_cache.max_total = 1\n",
                                     {}, expect_defaults);
    ASSERT_EQ(said.size(), 9u);
    for (size_t i = 0; i < said.size(); i++) {
        EXPECT_NE(said[i].find("' line " + std::to_string(i + 2) + ": "), std::string::npos)
            << said[i];
        EXPECT_NE(said[i].find("is ignored: only the variable WARMPIPE_"), std::string::npos)
            << said[i];
    }
    EXPECT_TRUE(read_file_with("warmpipe_pipeline_cache.log = debug\n", {},
                               [](const struct config &config) {
                                   EXPECT_EQ(config.log_level, LOG_LEVEL_DEBUG);
                                   EXPECT_EQ(config.log_path, nullptr);
                               })
                    .empty());
}

// What a program sets itself.
using Given = std::vector<std::pair<std::string, std::string>>;

void each_given(const void *given, config_take_fn take, void *user)
{
    for (const auto &[key, value] : *static_cast<const Given *>(given)) {
        take(key.c_str(), value.c_str(), user);
    }
}

std::vector<std::string> read_given(const Given &given, Variables variables,
                                    void (*check)(const struct config &config))
{
    variables.emplace("HOME", "/usr");
    environment = std::move(variables);
    return run_in_child([&] {
               for (int twice = 0; twice < 2; twice++) {
                   struct config config;
                   config_read_given(look_up, each_given, &given, &config);
                   check(config);
                   config_free(&config);
               }
           })
        .lines();
}

TEST(Config, TheProgramSaysWhatNeitherVariablesNorTheFileDo)
{
    Scratch scratch;
    std::ofstream(scratch.path("vk_layer_settings.txt"))
        << "warmpipe_pipeline_cache.prewarm = off\nwarmpipe_pipeline_cache.app_cache =\n";
    const Given given = {{"dedup", "modules,pipelines"},
                         {"dedup", "none"},
                         {"summary", "true"},
                         {"prewarm", "on"},
                         {"app_cache", "ignore"},
                         {"flush_idle_ms", "5"},
                         {"unknown", "1"}};
    EXPECT_TRUE(
        read_given(
            given, {{"WARMPIPE_FLUSH_IDLE_MS", "6"}, {"VK_LAYER_SETTINGS_PATH", scratch.path("")}},
            [](const struct config &config) {
                EXPECT_EQ(config.dedup, static_cast<unsigned>(DEDUP_MODULES | DEDUP_PIPELINES));
                EXPECT_TRUE(config.summary);
                EXPECT_EQ(config.prewarm, PREWARM_OFF);        // the file wins
                EXPECT_EQ(config.flush_idle_ms, 6u);           // the variable wins
                EXPECT_EQ(config.app_cache, APP_CACHE_IGNORE); // an empty line says nothing
            })
            .empty());
}

TEST(Config, TheProgramSaysNothingThatReachesBeyondIt)
{
    const auto said = read_given({{"dir", "/tmp/x"},
                                  {"policy", "none"},
                                  {"stats", "/tmp/x"},
                                  {"trace", "/tmp/x"},
                                  {"log", "info:/tmp/x"},
                                  {"app", "other"},
                                  {"readonly", "1"},
                                  {"max_size", "1"},
                                  {"max_total", "1"}},
                                 {}, expect_defaults);
    ASSERT_EQ(said.size(), 9u);
    for (const std::string &line : said) {
        EXPECT_NE(line.find("is ignored: only the variable WARMPIPE_"), std::string::npos) << line;
    }
}

TEST(Config, WhatIsWrongInTheProgramsSettingsIsNamedWithItsSource)
{
    const auto said = read_given({{"prewarm", "maybe"}}, {}, expect_defaults);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0].rfind("warmpipe: warn: VkLayerSettingsCreateInfoEXT: "
                            "warmpipe_pipeline_cache.prewarm='maybe': expected ",
                            0),
              0u)
        << said[0];
}

TEST(Config, AFileThatOthersMayWriteIsNotRead)
{
    Scratch scratch;
    const std::string path = scratch.path("vk_layer_settings.txt");
    std::ofstream(path) << "warmpipe_pipeline_cache.dedup = none\n";
    std::filesystem::permissions(path, std::filesystem::perms(0646));
    const auto said =
        read_with({{"HOME", "/usr"}, {"VK_LAYER_SETTINGS_PATH", path}}, expect_defaults);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0], "warmpipe: warn: '" + path +
                           "' is not read: the file can be written by group or others (file_mode)");
}

TEST(Config, AFileOfAnotherUserIsNotRead)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give a file away";
    }
    Scratch scratch;
    const std::string path = scratch.path("vk_layer_settings.txt");
    std::ofstream(path) << "warmpipe_pipeline_cache.dedup = none\n";
    ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
    const auto said =
        read_with({{"HOME", "/usr"}, {"VK_LAYER_SETTINGS_PATH", path}}, expect_defaults);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_NE(said[0].find("(file_owner)"), std::string::npos) << said[0];
}

// In a user namespace all users without a number there are shown as one, and the program is that
// one.
TEST(Config, AFileOfAUserWithoutANumberIsNotRead)
{
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer has a thread of its own: no user namespace";
#endif
    if (getenv("WARMPIPE_UNIT_EMULATOR")) {
        GTEST_SKIP() << "the emulator has threads of its own: no user namespace";
    }
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give a file away";
    }
    if (system("unshare -U true 2>/dev/null") != 0) {
        GTEST_SKIP() << "no user namespaces here";
    }
    Scratch scratch;
    const std::string path = scratch.path("vk_layer_settings.txt");
    std::ofstream(path) << "warmpipe_pipeline_cache.dedup = none\n";
    ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
    std::filesystem::permissions(scratch.path(""), std::filesystem::perms(0755));
    run_in_child([&] {
        ASSERT_EQ(unshare(CLONE_NEWUSER), 0);
        std::ofstream("/proc/self/uid_map") << "65534 0 1";
        ASSERT_EQ(geteuid(), 65534u);
        const auto said =
            read_with({{"HOME", "/usr"}, {"VK_LAYER_SETTINGS_PATH", path}}, expect_defaults);
        ASSERT_EQ(said.size(), 1u);
        EXPECT_NE(said[0].find("(file_owner)"), std::string::npos) << said[0];
    });
}

TEST(Config, WhatIsWrongInAFileIsNamedOnce)
{
    const auto said = read_file_with("warmpipe_pipeline_cache.dedupe = all\n"
                                     "warmpipe_pipeline_cache.prewarm = maybe\n"
                                     "warmpipe_pipeline_cache.dedup none # no '='\n",
                                     {}, expect_defaults);
    ASSERT_EQ(said.size(), 3u);
    EXPECT_NE(said[0].find("no setting warmpipe_pipeline_cache.dedupe (bad_setting)"),
              std::string::npos);
    EXPECT_NE(said[0].find("' line 1: "), std::string::npos) << said[0];
    EXPECT_NE(said[1].find("' line 3: no setting warmpipe_pipeline_cache.dedup none (bad_setting)"),
              std::string::npos)
        << said[1];
    EXPECT_NE(said[2].find("' line 2: warmpipe_pipeline_cache.prewarm='maybe': expected "),
              std::string::npos)
        << said[2];
}

TEST(Config, LogIsConfiguredBeforeAnythingIsSaid)
{
    Scratch scratch;
    const auto said =
        read_with({{"WARMPIPE_LOG", "warn:" + scratch.path("log")}, {"WARMPIPE_DIR", "relative"}},
                  [](const struct config &) {});
    EXPECT_TRUE(said.empty());
    EXPECT_NE(scratch.read("log").find("WARMPIPE_DIR='relative'"), std::string::npos);

    EXPECT_TRUE(read_with({{"WARMPIPE_LOG", "error"}, {"WARMPIPE_DIR", "relative"}},
                          [](const struct config &) {})
                    .empty());
}

TEST(Config, RelativePathsStartAtTheWorkingDirectoryOfThatMoment)
{
    Scratch scratch;
    std::filesystem::create_directory(scratch.path("d"));
    const std::string directory = std::filesystem::canonical(scratch.path("d"));
    environment = {{"WARMPIPE_STATS", "s.json"},
                   {"WARMPIPE_TRACE", "t.json"},
                   {"WARMPIPE_POLICY", "./p"},
                   {"WARMPIPE_LOG", "warn:log"}};
    run_in_child([&] {
        struct config config;
        ASSERT_EQ(chdir(directory.c_str()), 0);
        config_read(look_up, &config);
        ASSERT_EQ(chdir("/"), 0);
        EXPECT_EQ(text(config.stats_path), directory + "/s.json");
        EXPECT_EQ(text(config.trace_path), directory + "/t.json");
        EXPECT_EQ(text(config.policy_path), directory + "/./p");
        EXPECT_EQ(text(config.log_path), directory + "/log");
        log_warn("text");
        config_free(&config);
    });
    EXPECT_EQ(scratch.read("d/log"), "warmpipe: warn: text\n");
}

TEST(Config, ValuesCannotForgeLogLines)
{
    const auto said =
        read_with({{"WARMPIPE_PREWARM", "x\nwarmpipe: error: y"}}, [](const struct config &) {});
    ASSERT_EQ(said.size(), 1u);
    EXPECT_NE(said[0].find("x\\nwarmpipe: error: y"), std::string::npos);
}

TEST(Config, AnEndlessValueLeavesRoomForTheReason)
{
    const auto said =
        read_with({{"WARMPIPE_PREWARM", std::string(100000, 'x')}}, [](const struct config &) {});
    ASSERT_EQ(said.size(), 1u);
    EXPECT_NE(said[0].find("(bad_setting)"), std::string::npos);
}

TEST(Config, WithoutMemoryNothingIsReadOrWritten)
{
    environment = {{"WARMPIPE_DIR", "/w"},      {"HOME", "/etc"},         {"WARMPIPE_APP", "a"},
                   {"WARMPIPE_STATS", "/s"},    {"WARMPIPE_TRACE", "/t"}, {"WARMPIPE_POLICY", "/p"},
                   {"WARMPIPE_LOG", "error:/l"}};
    run_in_child([] {
        struct config config;
        memory_is_out = true;
        config_read(look_up, &config);
        memory_is_out = false;
        for (const char *path : {config.root, config.app, config.stats_path, config.trace_path,
                                 config.policy_path, config.log_path}) {
            EXPECT_EQ(path, nullptr);
        }
        EXPECT_EQ(config.log_level, LOG_LEVEL_ERROR);
        config_free(&config);
    });
}

} // namespace
