// SPDX-License-Identifier: Apache-2.0
// A cache from elsewhere that kills the program in its driver.
#include <csignal>
#include <cstring>

#include <unistd.h>

#include "run_remote.h"

extern "C" {
#include "common/blobs/crash_page.h"
}

namespace {

// The living process whose marker this is, if it is in a long call, by docs/FORMAT.md; else 0.
pid_t in_long_call(const std::filesystem::path &marker)
{
    const std::string elsewhere = "/dev/shm/warmpipe-" + marker.filename().string();
    const std::string page =
        read_file(access(elsewhere.c_str(), F_OK) == 0 ? elsewhere : marker.string());
    crash_finding finding = {};
    int32_t process = 0;
    if (page.size() == sizeof(crash_page)) {
        crash_page_read(page.data(), &finding);
        std::memcpy(&process, page.data() + 40, sizeof process);
    }
    return finding.died && finding.is_long && kill(process, 0) == 0 ? process : 0;
}

// Ends a program of this root by the signal, once it is in a long call.
void end_in_long_call(const std::string &root, int signal)
{
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    pid_t process = 0;
    while (process == 0 && std::chrono::steady_clock::now() < until) {
        std::error_code gone;
        usleep(1000);
        for (const auto &entry : std::filesystem::directory_iterator(root + "/demo", gone)) {
            for (const auto &marker : entry.path().extension() == ".loading"
                                          ? std::filesystem::directory_iterator(entry, gone)
                                          : std::filesystem::directory_iterator()) {
                process = process != 0 ? process : in_long_call(marker.path());
            }
        }
    }
    ASSERT_NE(process, 0) << "no long call";
    kill(process, signal);
}

// What kills the program in its driver is put away at once, told to the others by who can push, and
// not pulled again, whatever becomes of the folder.
TEST_F(RunRemote, WhatKillsTheProgramIsNotPulledAgain)
{
    // Recipes are pulled all the same, and may be compiled before the program asks: a start without
    // the cache is told by what it saves.
    first.run(4, writer());
    auto die = [&](const Machine &machine, std::vector<std::string> options) {
        std::vector<std::string> words = {"run",   "--quiet",    "--remote-wait", "20s",
                                          "--dir", machine.root, "--app",         "demo"};
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {"--", PIPELINES_CLIENT, "--graphics", "0", "--compute", "4"});
        Environment environment = machine.environment();
        environment["WPTEST_ICD_CACHE_CREATE"] = "abort_data";
        return run_tool(words, environment);
    };
    ToolResult result = die(second, reader());
    EXPECT_EQ(result.exit_status, 128 + SIGABRT);
    EXPECT_TRUE(contains(result.err, "died in the driver with a cache from the remote"));
    EXPECT_TRUE(contains(result.err, "(quarantined)")) << result.err;
    ASSERT_EQ(second.caches().size(), 1u);
    EXPECT_TRUE(std::filesystem::exists(second.root + "/demo/quarantine/" + second.caches()[0]));
    EXPECT_TRUE(contains(second.run(4, reader()), "; saved "));
    std::filesystem::remove_all(second.root);
    EXPECT_TRUE(contains(second.run(4, reader()), "; saved ")) << "its state is left";

    // With a key it is blocked there, and nobody else takes it.
    Machine third;
    result = die(third, writer());
    EXPECT_EQ(result.exit_status, 128 + SIGABRT) << result.err;
    Machine fourth;
    const std::string fresh = fourth.run(4, reader());
    EXPECT_TRUE(contains(fresh, "; saved ")) << result.err << fresh;

    // What was compiled here is the layer's affair, and so is a death elsewhere.
    Machine fifth;
    fifth.run(6);
    EXPECT_FALSE(contains(die(fifth, {"--remote", "file:///no/such/folder"}).err, "quarantined"));
    result = fourth.tool({"run", "--quiet", "--dir", fourth.root, "--app", "demo", "--remote",
                          place->url, "--public-key", keys.open, "--", "/bin/sh", "-c",
                          "kill -SEGV $$"});
    EXPECT_EQ(result.exit_status, 128 + SIGSEGV);
    EXPECT_FALSE(contains(result.err, "died")) << result.err;
}

// A driver that dies after a while is told from somebody who ends what takes long by the signal.
TEST_F(RunRemote, WhatKillsTheProgramInALongCallIsNotPulledAgain)
{
    first.run(4, writer());
    second.more["WPTEST_ICD_COMPILE_US"] = "100000000";
    second.more["WARMPIPE_PREWARM"] = "off";
    for (const int signal : {SIGTERM, SIGABRT}) {
        std::thread killer([&] { end_in_long_call(second.root, signal); });
        const ToolResult result =
            second.tool({"run", "--quiet", "--dir", second.root, "--app", "demo", "--remote",
                         place->url, "--public-key", keys.open, "--", PIPELINES_CLIENT,
                         "--graphics", "0", "--compute", "5"});
        killer.join();
        EXPECT_EQ(result.exit_status, 128 + signal) << result.err;
        EXPECT_EQ(contains(result.err, "(quarantined)"), signal == SIGABRT) << result.err;
    }
}

// What is remembered may lie where a container keeps it.
TEST_F(RunRemote, AStateFolderOfOnesOwnIsRemembered)
{
    first.run(4, writer());
    TemporaryFolder kept;
    auto run = [&](const Machine &machine, bool dies) {
        Environment environment = machine.environment();
        if (dies) {
            environment["WPTEST_ICD_CACHE_CREATE"] = "abort_data";
        }
        return run_tool({"run", "--dir", machine.root, "--app", "demo", "--remote", place->url,
                         "--public-key", keys.open, "--state", kept.path + "/state", "--",
                         PIPELINES_CLIENT, "--graphics", "0", "--compute", "4"},
                        environment);
    };
    EXPECT_EQ(run(second, true).exit_status, 128 + SIGABRT);
    Machine third;
    const ToolResult result = run(third, false);
    EXPECT_TRUE(contains(result.err, "; saved ")) << result.err;
    EXPECT_FALSE(std::filesystem::exists(third.folder.path + "/.local/state/warmpipe/remote"));
}

// A part that kills as it is merged is the one to blame, not the file that was loaded before.
TEST_F(RunRemote, APartThatKillsInTheMergeIsPutAwayAlone)
{
    first.run(4, writer());
    const std::string cache = first.caches().at(0);
    const std::string before = read_file(first.root + "/demo/" + cache);
    second.run(6, writer());
    // Before the start: what is pulled beside it may come too late for its one save.
    ASSERT_EQ(first.pull(place->url, keys.open).exit_status, 0);
    first.more["WPTEST_ICD_CACHE_CREATE"] = "abort_second";
    const ToolResult result =
        first.tool({"run", "--quiet", "--remote-wait", "20s", "--dir", first.root, "--app", "demo",
                    "--remote", place->url, "--public-key", keys.open, "--", PIPELINES_CLIENT,
                    "--graphics", "0", "--compute", "8"});
    first.more.erase("WPTEST_ICD_CACHE_CREATE");
    EXPECT_EQ(result.exit_status, 128 + SIGABRT) << result.err;
    EXPECT_TRUE(contains(result.err, "(quarantined)")) << result.err;
    EXPECT_EQ(read_file(first.root + "/demo/" + cache), before);
    EXPECT_TRUE(
        contains(read_file(first.root + "/demo/quarantine/" + cache + ".txt"), " (pipelines)\n"));
    // The layer, which sees both deaths, goes without the file for one start.
    first.run(6, reader());
    first.run(6, reader());
    EXPECT_TRUE(contains(first.run(6, reader()), " 6 hits, 0 misses"));
}

// What was pulled and merged is neither pushed nor kept before a program has lived with it: a good
// one is after one clean end.
TEST_F(RunRemote, WhatWasPulledIsSentOnAfterOneCleanEnd)
{
    second.run(6, writer());
    first.run(4);
    ASSERT_EQ(first.pull(place->url, keys.open).exit_status, 0);
    first.run(8, writer()); // merges what lies beside its file
    Machine third;
    EXPECT_TRUE(contains(third.run(8, reader()), " 6 hits, 2 misses")) << "it was sent unproven";
    first.run(8, writer());
    Machine fourth;
    EXPECT_TRUE(contains(fourth.run(8, reader()), " 8 hits, 0 misses"));
    EXPECT_EQ(first.caches().size(), 1u) << "the file from before is left";
}

// One that kills never leaves the machine, which has again what it had before.
TEST_F(RunRemote, WhatWasPulledAndKillsIsUndone)
{
    second.run(6, writer());
    first.run(4);
    const std::string cache = first.root + "/demo/" + first.caches().at(0);
    const std::string before = read_file(cache);
    ASSERT_EQ(first.pull(place->url, keys.open).exit_status, 0);
    first.run(8, writer());
    ASSERT_NE(read_file(cache), before);
    first.more["WPTEST_ICD_CACHE_CREATE"] = "abort_data";
    const ToolResult result = first.tool({"run", "--quiet", "--dir", first.root, "--app", "demo",
                                          "--remote", place->url, "--secret-key", keys.secret, "--",
                                          PIPELINES_CLIENT, "--graphics", "0", "--compute", "8"});
    first.more.erase("WPTEST_ICD_CACHE_CREATE");
    EXPECT_EQ(result.exit_status, 128 + SIGABRT) << result.err;
    EXPECT_TRUE(contains(result.err, "(quarantined)")) << result.err;
    EXPECT_EQ(read_file(cache), before);
    EXPECT_TRUE(contains(first.run(4, reader()), " 4 hits, 0 misses"));
    EXPECT_EQ(first.caches().size(), 2u) << "beside the one in quarantine another was pulled";
    Machine third;
    EXPECT_TRUE(contains(third.run(8, reader()), " 4 hits, 4 misses")) << "it is not blocked";
}

// The same where no run is the program's parent: the layer puts it away at the second death.
TEST_F(RunRemote, WhatWasPulledAndKillsIsUndoneByTheLayer)
{
    second.run(6, writer());
    first.run(4);
    const std::string cache = first.root + "/demo/" + first.caches().at(0);
    const std::string before = read_file(cache);
    ASSERT_EQ(first.pull(place->url, keys.open).exit_status, 0);
    first.run(8);
    for (int death = 0; death < 2; death++) {
        first.more["WPTEST_ICD_CACHE_CREATE"] = "abort_data";
        EXPECT_EQ(first
                      .tool({"run", "--quiet", "--dir", first.root, "--app", "demo", "--",
                             PIPELINES_CLIENT, "--graphics", "0", "--compute", "8"})
                      .exit_status,
                  128 + SIGABRT);
        first.more.erase("WPTEST_ICD_CACHE_CREATE");
        first.run(8); // without it, which then judges
    }
    first.run(4);
    EXPECT_EQ(read_file(first.root + "/demo/quarantine/" + first.caches().at(0)).empty(), false);
    ASSERT_EQ(first.pull(place->url, keys.open).exit_status, 0);
    ASSERT_EQ(first
                  .tool({"push", "--remote", place->url, "--secret-key", keys.secret, "--app",
                         "demo", "--dir", first.root})
                  .exit_status,
              0);
    Machine third;
    const std::string err = third.run(8, reader());
    EXPECT_FALSE(contains(err, " 6 hits")) << err;
}

} // namespace
