// SPDX-License-Identifier: Apache-2.0
// The driver's key of a device: a replay whose device has another one compiles nothing, for the
// program would find none of it.
#include <fstream>

#include <sys/wait.h>

#include "paths.h"
#include "recipes.hpp"

extern "C" {
#include "common/recipes/recipes.h"
}

namespace {

constexpr unsigned PIPELINES = 3;

class PipelineKeyTest : public RecipesTest {
  protected:
    // A program that has the extension enabled, or has not.
    Outcome program(bool enabled = true)
    {
        environment["WARMPIPE_PREWARM"] = "off";
        ProgramOptions options;
        if (enabled) {
            options.device_extensions = {"VK_KHR_pipeline_binary"};
        }
        return run([&] { Program(options).create_compute(0, PIPELINES); });
    }

    // What the tool says of the one device, where there is no cache any more.
    json warm(int status, const std::vector<std::string> &options = {})
    {
        remove_caches();
        return warm_further(status, options);
    }

    // The same beside the cache.
    json warm_further(int status, const std::vector<std::string> &options = {})
    {
        std::vector<std::string> command = {WARMPIPE_TOOL, "warm", "--json"};
        command.insert(command.end(), options.begin(), options.end());
        const Outcome outcome = execute(command, {Layer::absent, true, status});
        errors = outcome.errors;
        const json document = json::parse(outcome.output, nullptr, false);
        EXPECT_TRUE(document.is_object()) << outcome.output;
        return document.value("caches", json::array({json::object()})).at(0);
    }

    std::string settings_kept() const
    {
        const json kept =
            json::parse(read_text(cache_root() / "program" / "program.json"), nullptr, false);
        return kept.is_object() ? kept.value("driver_settings", "none") : "damaged";
    }

    std::string errors;
};

TEST_F(PipelineKeyTest, TheSameKeyIsReplayed)
{
    EXPECT_EQ(program().calls("vkGetPipelineKeyKHR"), 1u);
    const json cache = warm(0);
    EXPECT_EQ(cache["state"], "warmed");
    EXPECT_EQ(cache["compiled"], PIPELINES);
    EXPECT_EQ(cache["other_pipeline_key"], 0);
}

TEST_F(PipelineKeyTest, NothingIsCompiledForAnotherKey)
{
    program();
    environment["WPTEST_ICD_KEY"] = "2";
    json cache = warm(1);
    EXPECT_EQ(cache["state"], "nothing");
    EXPECT_EQ(cache["compiled"], 0);
    EXPECT_EQ(cache["other_pipeline_key"], PIPELINES);
    EXPECT_NE(errors.find("use --force"), std::string::npos) << errors;
    EXPECT_NE(errors.find("other_pipeline_key"), std::string::npos) << errors;
    EXPECT_TRUE(cache_files().empty());

    cache = warm(0, {"--force"});
    EXPECT_EQ(cache["compiled"], PIPELINES);
}

// Such as a cache for which recipes were imported: the program's next start compiles them, or the
// next `warm`.
TEST_F(PipelineKeyTest, WhatIsNotCompiledForAnotherKeyIsNotFinished)
{
    program();
    ASSERT_EQ(cache_files().size(), 1u);
    const std::filesystem::path note = cache_files().at(0).replace_extension(".wanted");
    std::ofstream(note) << "unfinished\n";
    environment["WPTEST_ICD_KEY"] = "2";
    EXPECT_EQ(warm_further(1)["other_pipeline_key"], PIPELINES);
    EXPECT_EQ(read_text(note), "unfinished\n");
    environment.erase("WPTEST_ICD_KEY");
    EXPECT_EQ(warm_further(0)["hit"], PIPELINES);
    EXPECT_EQ(warm_further(0)["state"], "ready");
}

// Nothing was gone through where it does not kill the program.
TEST_F(PipelineKeyTest, DeathsAreNotForgottenForAnotherKey)
{
    program();
    const std::string name = cache_files().at(0).stem();
    digest identity;
    ASSERT_TRUE(digest_parse(name.c_str(), &identity));
    for (uint64_t i = 1; i <= 2; i++) {
        const pid_t child = fork();
        if (child == 0) {
            recipe_crashes *crashes;
            if (recipe_crashes_open(cache_root().c_str(), "program", identity, 1, &crashes) ==
                STATUS_ok) {
                recipe_crashes_begin(crashes, 0, digest{i, i});
            }
            _exit(0);
        }
        waitpid(child, nullptr, 0);
    }
    const auto are_many = [&] {
        return recipe_crashes_are_many_of(cache_root().c_str(), "program", identity);
    };
    ASSERT_TRUE(are_many());
    environment["WPTEST_ICD_KEY"] = "2";
    EXPECT_EQ(warm(1)["other_pipeline_key"], PIPELINES);
    EXPECT_TRUE(are_many());
    environment.erase("WPTEST_ICD_KEY");
    warm(0);
    EXPECT_FALSE(are_many());
}

// The settings of the program have changed, too.
TEST_F(PipelineKeyTest, TheLatestKeyCounts)
{
    program();
    environment["WPTEST_ICD_KEY"] = "2";
    remove_caches();
    run([&] {
        ProgramOptions options;
        options.device_extensions = {"VK_KHR_pipeline_binary"};
        Program(options).create_compute(0, PIPELINES + 1);
    });
    EXPECT_EQ(warm(0)["compiled"], PIPELINES + 1);
    environment.erase("WPTEST_ICD_KEY");
    EXPECT_EQ(warm(1)["other_pipeline_key"], PIPELINES + 1);
}

// The driver reads its settings once: a replay with the program's needs a process of its own.
TEST_F(PipelineKeyTest, TheDriversSettingsAreTheProgramsOwn)
{
    environment["RADV_PERFTEST"] = "a";
    program();
    environment.erase("RADV_PERFTEST");
    EXPECT_EQ(warm(0)["compiled"], PIPELINES);
    environment["RADV_PERFTEST"] = "abc";
    EXPECT_EQ(warm(0)["compiled"], PIPELINES);
    EXPECT_EQ(warm(0, {"--force"})["compiled"], PIPELINES) << "with the tool's own";
}

// Whatever the program has enabled. The latest of its runs counts, also one that records nothing.
TEST_F(PipelineKeyTest, TheLatestSettingsCount)
{
    program(false);
    environment["RADV_PERFTEST"] = "a";
    program(false);
    const std::string settings = settings_kept();
    EXPECT_EQ(settings.rfind("RADV_PERFTEST=a;MESA_DRICONF_EXECUTABLE_OVERRIDE=", 0), 0u)
        << settings;
    EXPECT_GT(settings.size(), settings.find("OVERRIDE=") + 9) << "the program's name";
    environment.erase("RADV_PERFTEST");
    program(false);
    EXPECT_EQ(settings_kept().find("RADV_PERFTEST"), std::string::npos) << settings_kept();
}

// Its caches have another name with them.
TEST_F(PipelineKeyTest, SettingsThatMakeAnotherDriverOfIt)
{
    environment["RADV_PERFTEST"] = "uuid";
    program(false);
    environment.erase("RADV_PERFTEST");
    EXPECT_EQ(warm(0)["compiled"], PIPELINES);
    environment["RADV_PERFTEST"] = "uuid";
    EXPECT_EQ(program(false).hits(), PIPELINES);
}

// Of several programs each is warmed where the tool's own settings make the same driver of it.
TEST_F(PipelineKeyTest, SettingsThatMakeAnotherDriverOfOneOfTwo)
{
    environment["RADV_PERFTEST"] = "uuid";
    program(false);
    std::filesystem::copy(cache_root() / "program", cache_root() / "sibling",
                          std::filesystem::copy_options::recursive);
    environment.erase("RADV_PERFTEST");
    const json cache = warm(1);
    EXPECT_EQ(cache["compiled"], 0);
    EXPECT_EQ(cache["other_pipeline_key"], PIPELINES);
}

TEST_F(PipelineKeyTest, AnotherDriverIsNotCompared)
{
    program();
    environment["WPTEST_ICD_KEY"] = "2";
    update_driver();
    EXPECT_EQ(warm(0)["compiled"], PIPELINES);
}

// The layer enables nothing by itself.
TEST_F(PipelineKeyTest, IsNotAskedForWhereTheProgramHasNotEnabledIt)
{
    EXPECT_EQ(program(false).calls("vkGetPipelineKeyKHR"), 0u);
    environment["WPTEST_ICD_KEY"] = "2";
    EXPECT_EQ(warm(0)["compiled"], PIPELINES);
}

TEST_F(PipelineKeyTest, IsNotAskedForWhereThePolicyBarsIt)
{
    const std::string nvidia = std::to_string(0x10de);
    environment["WPTEST_ICD_VENDOR_ID"] = nvidia;
    environment["WPTEST_ICD_DRIVER_ID"] = "4";
    EXPECT_EQ(program().calls("vkGetPipelineKeyKHR"), 0u);
    environment["WPTEST_ICD_KEY"] = "2";
    EXPECT_EQ(warm(0)["compiled"], PIPELINES);
}

TEST_F(PipelineKeyTest, ADriverThatDoesNotTellIsNotCompared)
{
    program();
    environment["WPTEST_ICD_FAIL"] = "vkGetPipelineKeyKHR:*=-1";
    EXPECT_EQ(warm(0)["compiled"], PIPELINES);
}

} // namespace
