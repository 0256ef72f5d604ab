// SPDX-License-Identifier: Apache-2.0
// Recipes that kill the driver: the program starts all the same. It asks for them once, with a
// driver that does not mind, so that every digest of them is right.
#include <sched.h>

#include "paths.h"
#include "recipes.hpp"
#include "test_icd.h"

namespace {

constexpr unsigned HOSTILE = 40;

class HostileRecipesTest : public RecipesTest {
  protected:
    const std::string log = (folder() / "log").string();

    // Pipelines of `entry`, which the code has, or has not. What the driver knows one of them by.
    std::string record(const std::string &entry, bool code_has_it)
    {
        environment["WARMPIPE_PREWARM"] = "off";
        const Outcome outcome = run([&] {
            Program program;
            program.create_compute(0, 2);
            std::vector<unsigned> numbers;
            for (unsigned i = 0; i < HOSTILE; ++i) {
                numbers.push_back(100 + i);
            }
            Batch batch(program, Kind::compute, numbers);
            std::vector<VkShaderModule> modules;
            for (unsigned i = 0; i < HOSTILE; ++i) {
                batch.stage(i).pName = entry.c_str();
                if (code_has_it) {
                    batch.stage(i).module = modules.emplace_back(named(program, 100 + i, entry));
                }
            }
            EXPECT_EQ(batch.create(), VK_SUCCESS);
            for (const VkShaderModule module : modules) {
                vkDestroyShaderModule(program.device, module, nullptr);
            }
        });
        environment.erase("WARMPIPE_PREWARM");
        environment["WPTEST_ICD_CRASH_ENTRY"] = entry;
        environment["WARMPIPE_LOG"] = "info:" + log;
        update_driver();
        return outcome.pipelines().back()["content"];
    }

    // The shortest shader, whose entry point has another name of four letters.
    static VkShaderModule named(Program &program, unsigned number, const std::string &entry)
    {
        std::vector<uint32_t> code = shader_code(Kind::compute, number);
        for (uint32_t &word : code) {
            if (word == 0x6e69616d) {
                memcpy(&word, entry.data(), sizeof word);
            }
        }
        VkShaderModuleCreateInfo info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        info.codeSize = code.size() * sizeof code[0];
        info.pCode = code.data();
        VkShaderModule module = VK_NULL_HANDLE;
        EXPECT_EQ(vkCreateShaderModule(program.device, &info, nullptr, &module), VK_SUCCESS);
        return module;
    }

    // The same in another program's recipes, which this program's take in beside its own two. What
    // the driver knows one of them by.
    std::string import(const std::string &entry)
    {
        const std::string file = (folder() / "theirs").string();
        environment["WARMPIPE_APP"] = "author";
        const std::string one = record(entry, true);
        execute({WARMPIPE_TOOL, "export", "--app", "author", file}, {Layer::absent, true, 0});
        environment["WARMPIPE_APP"] = "program";
        environment["WARMPIPE_PREWARM"] = "off";
        run([] { Program().create_compute(0, 2); });
        environment.erase("WARMPIPE_PREWARM");
        execute({WARMPIPE_TOOL, "import", "--app", "program", file}, {Layer::absent, true, 0});
        remove_caches();
        return one;
    }

    // A program that lives until its recipes were gone through, or until it dies of them.
    Outcome start(int status, const std::string &line)
    {
        std::filesystem::remove(log);
        return run(
            [&] {
                cpu_set_t set; // one thread compiles ahead
                sched_getaffinity(0, sizeof set, &set);
                for (int core = 0, seen = 0; core < CPU_SETSIZE; ++core) {
                    if (CPU_ISSET(core, &set) && seen++ > 0) {
                        CPU_CLR(core, &set);
                    }
                }
                sched_setaffinity(0, sizeof set, &set);
                Program program;
                wait_until([&] { return read_text(log).find(line) != std::string::npos; });
                program.create_compute(0, 2);
            },
            {Layer::any, true, status});
    }

    // In what doctor says on a machine with two such devices.
    int count_in_doctor(const std::string &text)
    {
        const std::filesystem::path manifest = environment["VK_DRIVER_FILES"];
        const std::filesystem::path second = folder() / "second";
        if (!std::filesystem::exists(second)) {
            std::filesystem::create_directory_symlink(manifest.parent_path(), second);
        }
        environment["VK_DRIVER_FILES"] =
            manifest.string() + ":" + (second / manifest.filename()).string();
        const std::string told =
            execute({WARMPIPE_TOOL, "doctor"}, {Layer::any, true, 0, true}).output;
        environment["VK_DRIVER_FILES"] = manifest;
        EXPECT_NE(told.find("\ndevice                ok       1: "), std::string::npos) << told;
        int count = 0;
        for (size_t at = told.find(text); at != std::string::npos; at = told.find(text, at + 1)) {
            count++;
        }
        return count;
    }

    json warm(int status)
    {
        const Outcome outcome = execute({WARMPIPE_TOOL, "warm", "--json", "--jobs", "1"},
                                        {Layer::absent, true, status});
        const json document = json::parse(outcome.output, nullptr, false);
        EXPECT_TRUE(document.is_object()) << outcome.output;
        return document.value("caches", json::array({json::object()})).at(0);
    }
};

// An entry point renamed: no driver sees any of them.
TEST_F(HostileRecipesTest, WhatCanBeSeenIsNeverGivenToADriver)
{
    record("fail", false);
    const Outcome outcome = start(0, "prewarmed 2 of");
    EXPECT_NE(read_text(log).find("40 recipes of 'program' not given to the driver "
                                  "(bad_entry_point)"),
              std::string::npos)
        << read_text(log);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["prewarmed"], 2);
    remove_caches();
    const json cache = warm(0);
    EXPECT_EQ(cache["bad_entry_point"], HOSTILE) << cache;
    EXPECT_EQ(cache["compiled"], 2) << cache;
}

// What passes every check, and kills: two starts are lost, then none, and after `warm` there is
// prewarm again.
TEST_F(HostileRecipesTest, TwoStartsAreLostAtMostAndNoneAfterWarm)
{
    record("fail", true);
    unsigned lost = 0;
    for (int i = 0; i < 4; ++i) {
        std::filesystem::remove(log);
        const bool dies = lost < 2;
        const Outcome outcome = start(dies ? -SIGABRT : 0, dies ? "prewarmed " : "prewarm_died");
        lost += dies;
        remove_caches();
        EXPECT_EQ(count_in_doctor("'program': processes died of what was compiled ahead"),
                  lost == 2 ? 1 : 0);
    }
    EXPECT_EQ(count_in_doctor("(prewarm_died)"), 1);
    EXPECT_EQ(count_in_doctor("'warmpipe warm --app program'"), 1);
    const json cache = warm(1);
    EXPECT_EQ(cache["crashed"], HOSTILE) << cache;
    EXPECT_EQ(count_in_doctor("prewarm_died"), 0);
    EXPECT_EQ(cache["compiled"], 2) << cache;
    remove_caches();
    EXPECT_EQ(start(0, "prewarmed 2 of 2").stats_of()["pipelines"]["prewarmed"], 2)
        << read_text(log);
}

// Nothing is left to be compiled ahead for a start that finds its cache: no thread looks, and no
// line is logged.
TEST_F(HostileRecipesTest, AWarmStartIsNotToldThatTheyKilled)
{
    record("fail", true);
    for (int i = 0; i < 2; ++i) {
        start(-SIGABRT, "prewarmed ");
        remove_caches(); // where it took its time, it has saved what came before
    }
    EXPECT_EQ(start(0, "prewarm_died").stats_of()["cache"]["state"], "cold");
    std::filesystem::remove(log);
    const Outcome warm = run([] { Program().create_compute(0, 2); });
    EXPECT_EQ(warm.stats_of()["cache"]["state"], "loaded");
    EXPECT_EQ(read_text(log).find("prewarm"), std::string::npos) << read_text(log);
    for (const auto &file : std::filesystem::recursive_directory_iterator(cache_root())) {
        EXPECT_TRUE(file.path().extension() != ".wanted" || file.file_size() == 0)
            << "it waits for a prewarm that never comes";
    }
}

// Of what comes from elsewhere, one.
TEST_F(HostileRecipesTest, AnImportCostsOneStart)
{
    import("fail");
    start(-SIGABRT, "prewarmed ");
    for (int i = 0; i < 2; ++i) {
        remove_caches(); // where it took its time, it has saved what came before
        EXPECT_EQ(start(0, "prewarmed 2 of 2").stats_of()["pipelines"]["prewarmed"], 2);
    }
}

// A driver that crashes only sometimes has let some of them pass in the children of `warm`.
TEST_F(HostileRecipesTest, WhatWarmHasSurvivedMayKillLater)
{
    environment["WPTEST_ICD_CRASH"] = "0x" + import("fail");
    environment.erase("WPTEST_ICD_CRASH_ENTRY");
    EXPECT_EQ(warm(1)["crashed"], 1);
    environment["WPTEST_ICD_CRASH_ENTRY"] = "fail";
    remove_caches();
    EXPECT_EQ(start(0, "prewarmed 2 of 2").stats_of()["pipelines"]["prewarmed"], 2);
}

} // namespace
