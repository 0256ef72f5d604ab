// SPDX-License-Identifier: Apache-2.0
// warmpipe warm, on devices of the test driver. Recipes are those of a program that ran under the
// layer with an older driver.
#include <algorithm>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <set>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "child.h"
#include "warm_fixture.h"

extern "C" {
#include "common/recipes/recipes.h"
}

namespace {

TEST_F(Warm, TheProgramFindsAllOfIt)
{
    record();
    json cache = caches({}).at(0);
    EXPECT_EQ(cache["name"], "program");
    EXPECT_EQ(cache["device"], "Warmpipe test device");
    EXPECT_EQ(cache["state"], "warmed");
    EXPECT_EQ(cache["recipes"], PIPELINES);
    EXPECT_EQ(cache["compiled"], PIPELINES);
    EXPECT_EQ(cache["skipped"], 0);
    EXPECT_GT(cache["saved"], 64 * PIPELINES);

    json program = run_client();
    EXPECT_EQ(program["cache"]["state"], "loaded");
    EXPECT_EQ(program["pipelines"]["driver_hits"], PIPELINES);
    EXPECT_EQ(program["pipelines"]["driver_misses"], 0);
}

// Of processes that ended at once, each after its last compile.
TEST_F(Warm, TakesUpTheSavesThatLieBesideTheCache)
{
    record();
    caches({});
    const std::filesystem::path program = root + "/program";
    const auto cache_of = [](const std::filesystem::path &of) {
        for (const auto &entry : std::filesystem::directory_iterator(of)) {
            if (entry.path().extension() == ".wpcache") {
                return entry.path();
            }
        }
        return std::filesystem::path();
    };
    const std::vector<std::string> others = {"--compute", "5", "--graphics", "0", "--seed", "9"};
    const std::string elsewhere = folder.path + "/elsewhere";
    run_client({{"WARMPIPE_DIR", elsewhere}}, others);
    std::filesystem::path part = program / cache_of(elsewhere + "/program").filename();
    part.replace_extension(".0123456789abcdef.part");
    std::filesystem::copy(cache_of(elsewhere + "/program"), part);

    const json cache = caches({}).at(0);
    EXPECT_EQ(cache["state"], "warmed");
    EXPECT_EQ(cache["compiled"], 0);
    EXPECT_FALSE(std::filesystem::exists(part));
    EXPECT_EQ(run_client({}, others)["pipelines"]["driver_hits"], 5);
    EXPECT_EQ(run_client()["pipelines"]["driver_hits"], PIPELINES);
    EXPECT_EQ(caches({}).at(0)["state"], "ready");

    // One that is damaged behind its header goes.
    std::string damaged = read_file(cache_of(program).string());
    damaged.back() ^= 1;
    write_file(part.string(), damaged);
    std::filesystem::permissions(part, std::filesystem::perms(0600));
    EXPECT_EQ(caches({}).at(0)["compiled"], 0);
    EXPECT_FALSE(std::filesystem::exists(part));
    EXPECT_EQ(caches({}).at(0)["state"], "ready");
    EXPECT_EQ(run_client()["pipelines"]["driver_hits"], PIPELINES);
}

// A driver reads the settings of a program but once: an only program's it has from the beginning.
TEST_F(Warm, TheDriverIsLoadedByOneProcessForAnOnlyProgram)
{
    record();
    for (const std::string argument : {"--jobs=1", "--app=program", "--force"}) {
        std::filesystem::remove(log);
        EXPECT_EQ(caches({argument}).at(0)["compiled"], PIPELINES);
        EXPECT_EQ(processes().size(), 1u) << argument;
        EXPECT_EQ(event_count("vkCreateInstance"), 2) << "one to ask for devices, one to replay";
        remove_caches("program");
    }
}

TEST_F(Warm, TheDriverIsLoadedAnewForTheSettingsOfSeveralPrograms)
{
    record();
    std::filesystem::copy(root + "/program", root + "/sibling",
                          std::filesystem::copy_options::recursive);
    for (const size_t count : {3u, 2u}) {
        std::filesystem::remove(log);
        EXPECT_EQ(caches({}).at(1)["compiled"], PIPELINES);
        EXPECT_EQ(processes().size(), count);
        for (const std::string program : {"program", "sibling"}) {
            remove_caches(program);
            std::filesystem::remove(root + "/" + program + "/program.json"); // with the settings
        }
    }
}

// What the first program's process has is of no use for the second's.
TEST_F(Warm, OfSeveralProgramsAndDevicesEachHasItsRecipes)
{
    record();
    std::filesystem::copy(root + "/program", root + "/sibling",
                          std::filesystem::copy_options::recursive);
    std::filesystem::create_directory(root + "/another"); // without any
    json all = caches({}, {{"WPTEST_ICD_DEVICES", "2"}});
    ASSERT_EQ(all.size(), 4u);
    for (const json &cache : all) {
        EXPECT_EQ(cache["state"], "warmed") << cache;
        EXPECT_EQ(cache["compiled"], PIPELINES) << cache;
    }
}

TEST_F(Warm, OneCompleteCacheWhateverTheNumberOfThreads)
{
    record();
    caches({"--jobs", "1"});
    uint64_t alone = caches({"--force"}).at(0)["saved"];
    std::filesystem::remove_all(root);
    record();
    json together = caches({"--jobs", "8"}).at(0);
    EXPECT_EQ(together["compiled"], PIPELINES);
    EXPECT_EQ(together["saved"], alone);
}

TEST_F(Warm, WhereThereIsACacheNothingIsDone)
{
    record();
    caches({});
    json ready = caches({}).at(0);
    EXPECT_EQ(ready["state"], "ready");
    EXPECT_EQ(ready["compiled"], 0);
    json forced = caches({"--force"}).at(0);
    EXPECT_EQ(forced["state"], "warmed");
    EXPECT_EQ(forced["hit"], PIPELINES);
}

TEST_F(Warm, WhatAProgramCompiledAndNeverSavedIsCompiled)
{
    run_client({}, {"--compute", "6", "--graphics", "0"});
    EXPECT_EQ(caches({}).at(0)["state"], "ready");
    run_client_until_killed();
    const json cache = caches({}).at(0);
    EXPECT_EQ(cache["hit"], 6) << cache;
    EXPECT_EQ(cache["compiled"], PIPELINES - 6) << cache;
    EXPECT_EQ(caches({}).at(0)["state"], "ready");
    EXPECT_EQ(caches({"--dry-run"}).at(0)["state"], "ready");
    EXPECT_EQ(run_client()["pipelines"]["driver_hits"], PIPELINES);
}

// It is not tried again, and fails no later run.
TEST_F(Warm, WhatWasNeverSavedAndCrashesLeavesTheCacheReady)
{
    run_client({}, {"--compute", "6", "--graphics", "0"});
    const std::vector<std::string> saved = contents();
    run_client_until_killed();
    std::string crashing;
    for (const std::string &content : contents()) {
        crashing = std::count(saved.begin(), saved.end(), content) > 0 ? crashing : content;
    }
    EXPECT_EQ(caches({}, {{"WPTEST_ICD_CRASH", crashing}}, 1).at(0)["crashed"], 1);
    EXPECT_EQ(caches({}).at(0)["state"], "ready");
}

// An init container with little memory must not keep the pod from starting: nothing could be saved.
TEST_F(Warm, ACacheThatMemoryCannotHoldIsThere)
{
    const Environment large = {{"WPTEST_ICD_RECORD_BYTES", std::to_string(1 << 20)}};
    run_client(large);
    const std::string meminfo = folder.path + "/meminfo";
    write_file(meminfo, "MemTotal: 20000 kB\nMemAvailable: 20000 kB\n");
    // In a mount namespace of this process and its children; it ends with them.
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(meminfo.c_str(), "/proc/meminfo", nullptr, MS_BIND, nullptr) != 0) {
        GTEST_SKIP() << "may not mount here";
    }
    EXPECT_EQ(caches({}, large).at(0)["state"], "ready");
    const std::string note = "unfinished\n"; // recipes were imported beside it
    const std::string cache = names_in(root + "/program", ".wpcache").at(0);
    const std::string noted = root + "/program/" + cache.substr(0, cache.rfind('.')) + ".wanted";
    write_file(noted, note);
    EXPECT_EQ(caches({}, large).at(0)["state"], "ready");
    EXPECT_EQ(caches({"--force"}, large, 1).at(0)["state"], "not_saved");
    EXPECT_EQ(read_file(noted), note) << "it still lacks them";
    umount2("/proc/meminfo", MNT_DETACH);
}

TEST_F(Warm, ADryRunWritesNothing)
{
    record();
    auto before = names_in(root + "/program");
    auto recipes_before = names_in(root + "/program/recipes");
    json cache = caches({"--dry-run"}).at(0);
    EXPECT_EQ(cache["state"], "to_do");
    EXPECT_EQ(cache["recipes"], PIPELINES);
    EXPECT_EQ(names_in(root + "/program"), before);
    EXPECT_EQ(names_in(root + "/program/recipes"), recipes_before);
    // As an image of a container sets it (docs/CONTAINERS.md).
    EXPECT_EQ(caches({"--dry-run"}, {{"WARMPIPE_READONLY", "1"}}).at(0)["state"], "to_do");
}

// What a process died of is there to be read, and is written down by who may write.
TEST_F(Warm, ADryRunLeavesTheNotesOfTheDead)
{
    record();
    const std::string older = names_in(root + "/program", ".wpcache").at(0);
    caches({});
    digest driver = {};
    for (const std::string &name : names_in(root + "/program", ".wpcache")) {
        if (name != older) {
            ASSERT_TRUE(digest_parse(name.substr(0, 32).c_str(), &driver));
        }
    }
    const pid_t child = fork();
    if (child == 0) {
        recipe_crashes *crashes;
        if (recipe_crashes_open(root.c_str(), "program", driver, 1, &crashes) == STATUS_ok) {
            recipe_crashes_begin(crashes, 0, digest{1, 2});
        }
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    const auto before = names_in(root + "/program/recipes");
    ASSERT_EQ(names_in(root + "/program/recipes", ".replaying").size(), 1u);
    caches({"--dry-run"}, {{"WARMPIPE_READONLY", "1"}});
    EXPECT_EQ(names_in(root + "/program/recipes"), before);
    caches({});
    EXPECT_EQ(names_in(root + "/program/recipes", ".replaying").size(), 0u);
}

TEST_F(Warm, ThePolicyIsObeyed)
{
    record();
    write_file(folder.path + "/policy", "[nobody]\npersist = no\n");
    json cache = caches({}, {{"WARMPIPE_POLICY", folder.path + "/policy"}}).at(0);
    EXPECT_EQ(cache["state"], "denied");
}

TEST_F(Warm, ADriverThatKeepsNothingIsTold)
{
    record();
    json cache = caches({}, {{"WPTEST_ICD_DATA", "header"}}).at(0);
    EXPECT_EQ(cache["state"], "ineffective");
    EXPECT_EQ(cache["saved"], 0);
    // Once that is known, the rest is not compiled: such a device is there at each start.
    const auto in_vain = [&] {
        return json::parse(warm({"--json", "--jobs", "1"}, {{"WPTEST_ICD_DATA", "header"}}).out);
    };
    const json few = in_vain();
    EXPECT_EQ(few["caches"][0]["compiled"], 8);
    EXPECT_EQ(few["coverage"][0]["covered"], PIPELINES) << "for all that is known";
    // Where something has crashed, what else does so is looked for.
    warm({}, {{"WPTEST_ICD_CRASH", contents().at(3)}});
    for (const std::string &name : names_in(root + "/program", ".wpcache")) {
        std::filesystem::remove(root + "/program/" + name);
    }
    EXPECT_EQ(in_vain()["caches"][0]["compiled"], PIPELINES - 1);
}

TEST_F(Warm, TheSizeThatADriverDoesNotTellIsNotBelieved)
{
    record();
    uint64_t right = caches({}).at(0)["saved"];
    for (const char *fault : {"stale_size", "overreport"}) {
        std::filesystem::remove_all(root);
        record();
        EXPECT_EQ(caches({}, {{"WPTEST_ICD_DATA", fault}}).at(0)["saved"], right) << fault;
    }
}

TEST_F(Warm, EveryDeviceHasALine)
{
    record();
    ToolResult result = warm({}, {{"WPTEST_ICD_DEVICES", "2"}});
    EXPECT_EQ(lines_of(result.out).size(), 3u) << result.out;
    EXPECT_EQ(caches({"--device", "1"}, {{"WPTEST_ICD_DEVICES", "3"}}).size(), 1u);
    EXPECT_EQ(warm({"--device", "2"}, {{"WPTEST_ICD_DEVICES", "2"}}).exit_status, 2);
}

TEST_F(Warm, OnlyWhatTheDeviceOffers)
{
    record();
    json cache = caches({}, {{"WPTEST_ICD_API", "1.1"}}).at(0);
    EXPECT_EQ(cache["state"], "nothing");
    EXPECT_EQ(cache["not_offered"], PIPELINES);
    const json lacks = json::array({{{"name", "program"},
                                     {"device", "Warmpipe test device"},
                                     {"lacks", "the Vulkan version"},
                                     {"pipelines", PIPELINES}}});
    for (const char *option : {"--force", "--dry-run"}) {
        const json told = document({option}, {{"WPTEST_ICD_API", "1.1"}});
        ASSERT_EQ(told["coverage"].size(), 1u) << told;
        EXPECT_EQ(told["coverage"][0]["pipelines"], PIPELINES);
        EXPECT_EQ(told["coverage"][0]["covered"], 0);
        EXPECT_EQ(told["lacks"], lacks) << option;
    }
    EXPECT_TRUE(contains(warm({}, {{"WPTEST_ICD_API", "1.1"}}).out, "the Vulkan version"));
}

TEST_F(Warm, TellsHowManyPipelinesTheDeviceCovers)
{
    record();
    for (const char *option : {"--dry-run", "--force"}) {
        const json told = document({option});
        EXPECT_EQ(told["coverage"][0]["covered"], PIPELINES) << told;
        EXPECT_EQ(told["lacks"], json::array());
    }
    EXPECT_FALSE(contains(warm({"--force"}).out, "covered")) << "nothing is lacking";
    // A cache is there, and nothing was looked at.
    EXPECT_EQ(document({})["coverage"], json::array());
}

// What a process of its own has said stands in the document too.
TEST_F(Warm, WhyThereAreNoDevicesIsJsonToo)
{
    record();
    write_file(folder.path + "/libvulkan.so.1", "no loader");
    const ToolResult result = warm({"--json"}, {{"LD_LIBRARY_PATH", folder.path}});
    EXPECT_EQ(result.exit_status, 2);
    const json told = json::parse(result.out);
    ASSERT_TRUE(told.contains("error")) << result.out;
    EXPECT_EQ("warmpipe: " + std::string(told["error"]) + "\n", result.err);
}

TEST_F(Warm, WhatAnotherProcessSavedMeanwhileStays)
{
    record();
    run_client({{"WARMPIPE_PREWARM", "off"}}); // with the new driver
    json forced = caches({"--force"}).at(0);
    EXPECT_EQ(forced["hit"], PIPELINES);
    EXPECT_EQ(run_client()["pipelines"]["driver_hits"], PIPELINES);
}

// Of the program's own start; `warm` compiles more than it can save.
TEST_F(Warm, ACacheAboveTheLimitStays)
{
    record();
    run_client({{"WARMPIPE_PREWARM", "off"}}, {"--compute", "5", "--graphics", "0"});
    const json cache = caches({"--force"}, {{"WARMPIPE_MAX_SIZE", "700"}}, 1).at(0);
    EXPECT_EQ(cache["state"], "not_saved") << cache;
    EXPECT_GT(run_client({{"WARMPIPE_PREWARM", "off"}})["pipelines"]["driver_hits"], 0);
}

TEST_F(Warm, TheLayerIsNotInTheToolItself)
{
    record();
    const std::string share = std::filesystem::canonical(WARMPIPE_BUILD_DIR).string() + "/share";
    std::filesystem::remove(stats);
    EXPECT_EQ(caches({}, {{"WARMPIPE_STATS", stats},
                          {"WARMPIPE_ENABLE", "1"},
                          {"VK_INSTANCE_LAYERS", "VK_LAYER_WARMPIPE_pipeline_cache"},
                          {"VK_ADD_LAYER_PATH", share + "/vulkan/explicit_layer.d"},
                          {"XDG_DATA_HOME", share}})
                  .at(0)["compiled"],
              PIPELINES);
    EXPECT_FALSE(std::filesystem::exists(stats));
}

// An init container on a volume that is still empty, or on a node without a device: the pod starts.
TEST_F(Warm, NothingToDoIsNoFailure)
{
    const std::string missing = folder.path + "/missing";
    std::filesystem::create_directories(root);
    const Environment nowhere = {{"VK_DRIVER_FILES", "/nowhere"}, {"VK_ICD_FILENAMES", "/nowhere"}};
    for (const auto &[words, more] : std::vector<std::pair<std::vector<std::string>, Environment>>{
             {{}, {}},
             {{"--app", "service"}, {}},
             {{"--dir", missing}, {}},
             {{"--dir", missing, "--app", "service", "--json"}, {}},
             {{"--app", "service"}, nowhere}}) {
        ToolResult result = warm(words, more);
        EXPECT_EQ(result.exit_status, 0) << result.err;
        EXPECT_TRUE(contains(result.err, "nothing to do: no recipes")) << result.err;
    }
    EXPECT_FALSE(std::filesystem::exists(missing)) << "and nothing is made";
    record();
    // The driver is in the image and finds no GPU: the loader calls that a failure.
    const Environment no_gpu = {{"WPTEST_ICD_DEVICES", "0"}};
    for (const Environment &more : {nowhere, no_gpu}) {
        ToolResult result = warm({}, more);
        EXPECT_EQ(result.exit_status, 0) << result.err;
        EXPECT_TRUE(contains(result.err, "nothing to do: no Vulkan device")) << result.err;
    }
}

// Lustre has no flock(2) unless it is mounted with it.
TEST_F(Warm, AFileSystemWithoutLocks)
{
    record();
    run_in_child([&] {
        sock_filter filter[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog program = {4, filter};
        ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
        json cache = caches({}).at(0);
        EXPECT_EQ(cache["state"], "warmed") << cache;
        EXPECT_EQ(cache["compiled"], PIPELINES);
        // What kills the driver is skipped there, too.
        cache =
            caches({"--force"},
                   {{"WPTEST_ICD_CRASH", contents().at(0)}, {"WPTEST_ICD_DRIVER_VERSION", "3"}}, 1)
                .at(0);
        EXPECT_EQ(cache["crashed"], 1) << cache;
        EXPECT_EQ(caches({"--force"}, {{"WPTEST_ICD_DRIVER_VERSION", "3"}}, 1).at(0)["crashed"], 1);
    });
    EXPECT_EQ(run_client()["pipelines"]["driver_hits"], PIPELINES);
}

TEST_F(Warm, WrongUsage)
{
    record();
    for (std::vector<std::string> arguments :
         std::vector<std::vector<std::string>>{{"--jobs", "0"},
                                               {"--jobs", "65"},
                                               {"--jobs", "-1"},
                                               {"--timeout", "x"},
                                               {"--device", "1"}}) {
        ToolResult result = warm(arguments);
        EXPECT_EQ(result.exit_status, 2) << arguments[0];
        EXPECT_FALSE(result.err.empty());
    }
    const ToolResult refused = warm({}, {{"WARMPIPE_READONLY", "1"}});
    EXPECT_EQ(refused.exit_status, 2);
    EXPECT_EQ(refused.err.rfind("warmpipe: warm: WARMPIPE_READONLY is set", 0), 0u) << refused.err;
}

} // namespace
