// SPDX-License-Identifier: Apache-2.0
// warmpipe warm, where the driver crashes, hangs or the user interrupts it.
#include <fstream>
#include <set>

#include "warm_fixture.h"

namespace {

TEST_F(Warm, ACrashCostsOneRecipe)
{
    record();
    std::string culprit = contents().at(3);
    for (const char *jobs : {"1", "8"}) {
        Environment crash = {{"WPTEST_ICD_CRASH", culprit},
                             {"WPTEST_ICD_COMPILE_US", "1000"},
                             {"WPTEST_ICD_DRIVER_VERSION", std::string("1") + jobs}};
        json cache = caches({"--jobs", jobs}, crash, 1).at(0);
        EXPECT_EQ(cache["state"], "warmed");
        EXPECT_EQ(cache["crashed"], 1) << cache;
        EXPECT_EQ(cache["compiled"].get<unsigned>() + cache["hit"].get<unsigned>(), PIPELINES - 1)
            << cache;
        // Never again on this driver, though it would not crash any more.
        crash.erase("WPTEST_ICD_CRASH");
        EXPECT_EQ(caches({"--force"}, crash, 1).at(0)["crashed"], 1);
    }
}

// It is listed by a name that holds the driver's, and nothing else ends that.
TEST_F(Warm, ACrashIsSaidToBePassedOverAndHowItIsTriedAgain)
{
    record();
    const Environment crash = {{"WPTEST_ICD_CRASH", contents().at(3)}};
    const std::string first = warm({}, crash).err;
    const std::string list =
        root + "/program/recipes/" + names_in(root + "/program/recipes", ".crashed").at(0);
    for (const std::string &told : {first, warm({"--force"}).err}) {
        EXPECT_TRUE(contains(told, "1 crashed: what a process died of is passed over")) << told;
        EXPECT_TRUE(contains(told, "remove '" + list + "'")) << told;
    }
    std::filesystem::remove(list);
    EXPECT_EQ(warm({"--force"}).exit_status, 0);
}

// As by the kernel, where the container has no more memory: whoever compiles then is not to blame.
TEST_F(Warm, AKillFromOutsideCostsNoRecipe)
{
    record();
    const std::string file = folder.path + "/kill";
    for (const char *jobs : {"1", "8"}) {
        std::ofstream(file).put('\n');
        const Environment killed = {{"WPTEST_ICD_KILLED_BY", file},
                                    {"WPTEST_ICD_COMPILE_US", "1000"},
                                    {"WPTEST_ICD_DRIVER_VERSION", std::string("1") + jobs}};
        const json cache = caches({"--jobs", jobs}, killed).at(0);
        EXPECT_FALSE(std::filesystem::exists(file)) << "nobody was killed";
        EXPECT_EQ(cache["state"], "warmed");
        EXPECT_EQ(cache["crashed"], 0) << cache;
        EXPECT_EQ(cache["compiled"].get<unsigned>() + cache["hit"].get<unsigned>(), PIPELINES)
            << cache;
    }
}

// The container's memory is too small for one pipeline: it is left out, and compiled where there is
// more.
TEST_F(Warm, AKillAtEachTryCostsNoRecipe)
{
    record();
    for (const char *jobs : {"1", "8"}) {
        Environment killed = {{"WPTEST_ICD_KILLED_AT", contents().at(3)},
                              {"WPTEST_ICD_COMPILE_US", "1000"},
                              {"WPTEST_ICD_DRIVER_VERSION", std::string("1") + jobs}};
        json cache = caches({"--jobs", jobs}, killed, 1).at(0);
        EXPECT_EQ(cache["state"], "warmed") << cache;
        EXPECT_EQ(cache["crashed"], 0) << cache;
        EXPECT_EQ(cache["no_memory"], 1) << cache;
        killed.erase("WPTEST_ICD_KILLED_AT");
        cache = caches({"--force", "--jobs", jobs}, killed).at(0);
        EXPECT_EQ(cache["crashed"], 0) << cache;
        EXPECT_EQ(cache["compiled"].get<unsigned>() + cache["hit"].get<unsigned>(), PIPELINES)
            << cache;
    }
}

// Every one of forty crashes, whatever the number of threads: each is tried once, and remembered.
TEST_F(Warm, GoesOnAfterAnyNumberOfCrashes)
{
    ToolResult client = run_tool(
        {"run", "--app", "program", "--", PIPELINES_CLIENT, "--compute", "40", "--graphics", "0"},
        environment({{"WPTEST_ICD_DRIVER_VERSION", "1"}}));
    ASSERT_EQ(client.exit_status, 0) << client.err;
    const Environment deadly = {{"WPTEST_ICD_CRASH_ENTRY", "main"}};
    for (const char *jobs : {"1", "2"}) {
        Environment crash = deadly;
        crash["WPTEST_ICD_DRIVER_VERSION"] = std::string("2") + jobs;
        json cache = caches({"--jobs", jobs}, crash, 1).at(0);
        EXPECT_EQ(cache["state"], "nothing");
        EXPECT_EQ(cache["crashed"], 40) << cache;
        std::filesystem::remove(log);
        EXPECT_EQ(caches({"--jobs", jobs}, crash, 1).at(0)["crashed"], 40);
        EXPECT_EQ(event_count("vkCreateShaderModule"), 0) << "nothing is begun again";
    }
}

// What was compiled between the crashes, by processes that died, is in the cache all the same.
TEST_F(Warm, WhatIsBetweenCrashesIsSaved)
{
    record();
    Environment crash = {{"WPTEST_ICD_CRASH", contents().at(PIPELINES - 1)}};
    json cache = caches({"--jobs", "1"}, crash, 1).at(0);
    EXPECT_EQ(cache["crashed"], 1);
    EXPECT_EQ(run_client({{"WARMPIPE_PREWARM", "off"}})["pipelines"]["driver_hits"], PIPELINES - 1);
}

TEST_F(Warm, ACrashAtARecipeIsNoSuspicionAgainstTheCache)
{
    record();
    const Environment crash = {{"WPTEST_ICD_CRASH", contents().at(0)}};
    caches({}, crash, 1);
    for (int times = 0; times < 2; times++) {
        for (const std::string &name : names_in(root + "/program/recipes", ".crashed")) {
            std::filesystem::remove(root + "/program/recipes/" + name);
        }
        EXPECT_EQ(caches({"--force", "--jobs", "1"}, crash, 1).at(0)["crashed"], 1);
    }
    EXPECT_EQ(run_client({{"WARMPIPE_PREWARM", "off"}})["cache"]["state"], "loaded");
    EXPECT_FALSE(std::filesystem::exists(root + "/program/quarantine"));
}

TEST_F(Warm, ADriverThatHangsIsNotWaitedForForEver)
{
    record();
    json cache =
        caches({"--jobs", "2", "--timeout", "3"}, {{"WPTEST_ICD_HANG", contents().at(5)}}, 1).at(0);
    EXPECT_EQ(cache["state"], "warmed");
    EXPECT_EQ(cache["crashed"], 1);
    EXPECT_EQ(cache["compiled"].get<unsigned>() + cache["hit"].get<unsigned>(), PIPELINES - 1);
}

TEST_F(Warm, ADriverThatDiesBeforeAnyPipelineIsGivenUp)
{
    record();
    json cache = caches({}, {{"WPTEST_ICD_FAIL", "vkCreatePipelineCache:*=-1"}}, 1).at(0);
    EXPECT_EQ(cache["state"], "failed");
}

// Nobody has gone through the recipes then, and the next `warm` does.
TEST_F(Warm, ADeviceThatMemoryLacksForIsAFailure)
{
    record();
    for (const char *result : {"-1", "-2", "-4"}) { // host memory, device memory, device lost
        const Environment lacks = {{"WPTEST_ICD_FAIL", std::string("vkCreateDevice:*=") + result}};
        const ToolResult told = warm({}, lacks);
        EXPECT_EQ(told.exit_status, 1) << result;
        EXPECT_NE(told.err.find("the driver refuses the device (VkResult " + std::string(result)),
                  std::string::npos)
            << told.err;
        EXPECT_EQ(caches({}, lacks, 1).at(0)["state"], "failed") << result;
    }
    const json cache = caches({}, {{"WPTEST_ICD_FAIL", "vkCreateDevice:*=-3"}}).at(0);
    EXPECT_EQ(cache["not_offered"], PIPELINES) << "what a driver does not take is not offered";
}

class WarmCutShort : public Warm {
  protected:
    // One thread is at a pipeline that never ends while the other compiles all the rest; what
    // follows then is bash's, to which $pid is the command.
    ToolResult end_by(const std::string &script)
    {
        record();
        const std::string endless = contents().at(5);
        std::filesystem::remove(log);
        return run_program(
            {"/bin/bash", "-c",
             "\"$tool\" warm --jobs 2 --json & pid=$!\n"
             "until [ \"$(grep -c '\"event\":\"pipeline\"' \"$WPTEST_ICD_LOG\")\" = \"$rest\" ]\n"
             "do sleep 0.02; done 2>/dev/null\n" +
                 script},
            environment({{"tool", WARMPIPE_TOOL},
                         {"rest", std::to_string(PIPELINES - 1)},
                         {"WPTEST_ICD_HANG", endless}}));
    }
};

TEST_F(WarmCutShort, InterruptedItKeepsWhatItHas)
{
    const ToolResult result = end_by("kill -TERM $pid; wait $pid");
    EXPECT_EQ(result.exit_status, 1) << result.err;
    const json cache = json::parse(result.out)["caches"].at(0);
    EXPECT_EQ(cache["state"], "interrupted");
    EXPECT_EQ(cache["crashed"], 0);
    // The next one knows that there is more to do.
    const json rest = caches({}).at(0);
    EXPECT_EQ(rest["hit"], PIPELINES - 1);
    EXPECT_EQ(rest["compiled"], 1);
    EXPECT_EQ(caches({}).at(0)["state"], "ready");
}

// Nothing is begun after that, also where what hangs is being tried alone, after a kill.
TEST_F(WarmCutShort, InterruptedWhileItTriesASuspectItBeginsNothing)
{
    const ToolResult result =
        end_by("for stat in /proc/[0-9]*/stat; do\n"
               "  read -r child name state parent rest < $stat && [ \"$parent\" = $pid ] &&\n"
               "    kill -KILL $child\n"
               "done 2>/dev/null\n"
               "until [ \"$(grep -c '\"vkCreateDevice\"' \"$WPTEST_ICD_LOG\")\" = 2 ]\n"
               "do sleep 0.02; done\n"
               "kill -TERM $pid; wait $pid");
    EXPECT_EQ(result.exit_status, 1) << result.err;
    EXPECT_EQ(json::parse(result.out)["caches"].at(0)["state"], "interrupted");
    const std::vector<std::string> events = lines_of(read_file(log));
    EXPECT_EQ(
        std::count_if(events.begin(), events.end(),
                      [](const std::string &line) { return contains(line, "\"vkCreateDevice\""); }),
        2);
}

// It cannot say that itself.
TEST_F(WarmCutShort, WhatWasKilledIsBegunAgain)
{
    end_by("kill -KILL $pid; wait $pid\n"
           "until compgen -G \"$WARMPIPE_DIR/program/*.wpcache\"; do sleep 0.02; done");
    const json rest = caches({}).at(0);
    EXPECT_EQ(rest["compiled"].get<unsigned>() + rest["hit"].get<unsigned>(), PIPELINES) << rest;
    EXPECT_EQ(caches({}).at(0)["state"], "ready");
}

// ^Z, or a container that is frozen: for as long nothing is compiled, and nothing hangs.
TEST_F(Warm, WhoIsStoppedIsNotTakenForADriverThatHangs)
{
    record();
    std::filesystem::remove(log);
    const ToolResult result = run_program(
        {"/bin/bash", "-c",
         "setsid \"$tool\" warm --jobs 1 --timeout 3 --json & pid=$!\n"
         "until grep -q '\"event\":\"pipeline\"' \"$WPTEST_ICD_LOG\"; do sleep 0.02; done "
         "2>/dev/null\n"
         "kill -STOP -- -$pid\n"
         "sleep 4\n" // longer than a driver may take
         "slept() { awk '/^voluntary/ {print $2}' /proc/$pid/status; }\n"
         "before=$(slept)\n"
         "kill -CONT $pid\n" // it looks at the child first
         "until [ $(slept) -gt $((before + 2)) ]; do sleep 0.02; done\n"
         "kill -CONT -- -$pid\n"
         "wait $pid"},
        environment({{"tool", WARMPIPE_TOOL}, {"WPTEST_ICD_COMPILE_US", "200000"}}));
    EXPECT_EQ(result.exit_status, 0) << result.err;
    const json cache = json::parse(result.out)["caches"].at(0);
    EXPECT_EQ(cache["crashed"], 0) << cache;
    EXPECT_EQ(cache["compiled"], PIPELINES) << cache;
}

// In vkCreateDevice, say, or while its cache is read: that is not for want of memory.
TEST_F(Warm, ADriverThatHangsBesidePipelinesIsToldSo)
{
    record();
    for (const auto &hangs : {std::pair{"WPTEST_ICD_DEVICE_AFTER", "/nowhere/at/all"},
                              std::pair{"WPTEST_ICD_DATA_US", "60000000"}}) {
        const ToolResult result = warm({"--timeout", "1"}, {hangs});
        EXPECT_EQ(result.exit_status, 1) << result.err;
        EXPECT_TRUE(contains(result.err, "the driver hangs")) << result.err;
    }
}

// A library that is a pipe: who loads it waits for ever.
class WarmHanging : public Warm {
  protected:
    Environment hanging(Environment more = {}) const
    {
        const std::string library = folder.path + "/driver.so";
        const std::string manifest = folder.path + "/driver.json";
        EXPECT_EQ(mkfifo(library.c_str(), 0600), 0);
        write_file(manifest, json({{"file_format_version", "1.0.0"},
                                   {"ICD", {{"library_path", library}, {"api_version", "1.3.0"}}}})
                                 .dump());
        more.insert({{"VK_DRIVER_FILES", manifest}, {"VK_ICD_FILENAMES", manifest}});
        return more;
    }
};

TEST_F(WarmHanging, WhileItIsLoadedIsNotWaitedForForEver)
{
    record();
    ToolResult result = warm({"--timeout", "1"}, hanging());
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "a driver hangs")) << result.err;
}

TEST_F(WarmHanging, WhileItIsLoadedCanBeInterrupted)
{
    record();
    for (const char *number : {"INT", "TERM"}) {
        std::filesystem::remove(folder.path + "/driver.so");
        // The pipe is open as soon as the other end is: then the driver is being loaded.
        ToolResult result =
            run_program({"/bin/bash", "-c",
                         "\"$tool\" warm & pid=$!\n"
                         "exec 3> \"$library\"; kill -$number $pid; wait $pid"},
                        environment(hanging({{"tool", WARMPIPE_TOOL},
                                             {"library", folder.path + "/driver.so"},
                                             {"number", number}})));
        EXPECT_EQ(result.exit_status, 2) << number;
        EXPECT_TRUE(contains(result.err, "interrupted")) << result.err;
    }
}

} // namespace
