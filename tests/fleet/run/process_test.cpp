// SPDX-License-Identifier: Apache-2.0
// The tool as the parent of a program: its end, its signals, its streams.
#include <csignal>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_remote.h"

namespace {

TEST_F(RunRemote, TheProgramsEndIsItsOwn)
{
    auto run = [&](const std::string &script) {
        return first
            .tool({"run", "--dir", first.root, "--app", "demo", "--remote", place->url,
                   "--secret-key", keys.secret, "--", "/bin/sh", "-c", script})
            .exit_status;
    };
    EXPECT_EQ(run("exit 7"), 7);
    EXPECT_EQ(run("kill -TERM $$"), 128 + SIGTERM);
    EXPECT_EQ(run("kill -SEGV $$"), 128 + SIGSEGV);
    // What is sent to the one that waits reaches the program, which may go on.
    EXPECT_EQ(run("trap 'exit 3' TERM; kill -TERM $PPID; while :; do sleep 0.05; done"), 3);
    EXPECT_EQ(first
                  .tool({"run", "--app", "demo", "--dir", first.root, "--remote", place->url,
                         "--secret-key", keys.secret, "no-such-program"})
                  .exit_status,
              127);
}

// As without the tool, the shell of the terminal goes on then.
TEST_F(RunRemote, AProgramThatStopsItselfStopsTheTool)
{
    int terminal;
    const pid_t tool = forkpty(&terminal, nullptr, nullptr, nullptr);
    ASSERT_GE(tool, 0);
    if (tool == 0) {
        for (const auto &[name, value] : first.environment()) {
            setenv(name.c_str(), value.c_str(), 1);
        }
        execl(WARMPIPE_TOOL, "warmpipe", "run", "--dir", first.root.c_str(), "--app", "demo",
              "--remote", place->url.c_str(), "--public-key", keys.open.c_str(), "--", "/bin/sh",
              "-c", "(sleep 20; kill -CONT $$) & kill -STOP $$; exit 7", nullptr);
        _exit(127);
    }
    int status;
    ASSERT_EQ(waitpid(tool, &status, WUNTRACED), tool);
    EXPECT_TRUE(WIFSTOPPED(status)) << status;
    kill(-tool, SIGCONT);
    if (WIFSTOPPED(status)) {
        EXPECT_EQ(waitpid(tool, &status, 0), tool);
    }
    EXPECT_EQ(WEXITSTATUS(status), 7);
    close(terminal);
}

// Whoever ignores SIGCHLD has its children ignore it: the tool waits for the program all the same,
// which gets its signals as they were.
TEST_F(RunRemote, AnIgnoredSignalOfChildrenHidesNoEnd)
{
    auto run = [&](std::vector<std::string> command, bool with_tool = true) {
        std::vector<std::string> words = {"/usr/bin/env", "--ignore-signal=CHLD"};
        if (with_tool) {
            words.insert(words.end(),
                         {WARMPIPE_TOOL, "run", "--quiet", "--dir", first.root, "--app", "demo",
                          "--remote", place->url, "--public-key", keys.open, "--"});
        }
        words.insert(words.end(), command.begin(), command.end());
        return run_program(words, first.environment());
    };
    EXPECT_EQ(run({"/bin/false"}).exit_status, 1);
    EXPECT_EQ(run({"/bin/sh", "-c", "exit 7"}).exit_status, 7);
    const std::vector<std::string> ignored = {"/bin/grep", "SigIgn", "/proc/self/status"};
    EXPECT_EQ(run(ignored).out, run(ignored, false).out);
}

// The same of the processes in which other verbs try a driver.
TEST_F(RunRemote, AnIgnoredSignalOfChildrenHidesNoCrash)
{
    first.run(4);
    auto tool = [&](std::vector<std::string> words, const std::string &name,
                    const std::string &value) {
        words.insert(words.begin(), {"/usr/bin/env", "--ignore-signal=CHLD", WARMPIPE_TOOL});
        words.insert(words.end(), "--json");
        Environment environment = first.environment();
        environment["WARMPIPE_DIR"] = first.root;
        environment["WPTEST_ICD_DRIVER_VERSION"] = "2";
        environment[name] = value;
        return run_program(words, environment);
    };
    ToolResult result = tool({"doctor"}, "WPTEST_ICD_CACHE_CREATE", "abort_data");
    EXPECT_EQ(result.exit_status, 1) << result.err;
    EXPECT_TRUE(contains(result.out, "dies")) << result.out;
    result = tool({"warm", "--force"}, "WPTEST_ICD_CRASH_ENTRY", "main");
    EXPECT_EQ(result.exit_status, 1) << result.out << result.err;
    EXPECT_EQ(json::parse(result.out)["caches"][0]["crashed"], 4) << result.out;
    result = tool({"warm"}, "WPTEST_ICD_API", "nonsense"); // the driver aborts
    EXPECT_TRUE(contains(result.err, "crashed when it was asked for its devices")) << result.err;
}

// Where the tool cannot hand on what it is sent, the program ends with it.
TEST_F(RunRemote, WhoKillsTheToolKillsTheProgram)
{
    const std::string pid = first.folder.path + "/pid";
    const ToolResult result =
        first.tool({"run", "--dir", first.root, "--app", "demo", "--remote", place->url,
                    "--public-key", keys.open, "--", "/bin/sh", "-c",
                    "echo $$ >" + pid + "; kill -KILL $PPID; exec sleep 20"});
    EXPECT_EQ(result.exit_status, 128 + SIGKILL);
    // Nobody may have waited for it yet.
    const std::string shell = "for i in $(seq 100); do grep -q '^State:.[A-Y]' /proc/$(cat " + pid +
                              ")/status || exit 0; sleep 0.1; done; exit 1";
    EXPECT_EQ(run_shell(shell).exit_status, 0);
}

// Where the standard streams are closed, no file of the tool's takes their place: messages would be
// written into it.
TEST_F(RunRemote, NoFileIsTakenForAClosedStream)
{
    const std::string done = second.folder.path + "/done";
    const ToolResult result = run_program(
        {"/bin/sh", "-c",
         "exec " WARMPIPE_TOOL " run --quiet --dir " + second.root + " --app demo --remote " +
             place->url + " --public-key /no/such/key -- /bin/sh -c '" + the_program + "; cat " +
             second.root + "/demo/asked.*.tmp > " + done + "' >&- 2>&-"},
        second.environment());
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(second.caches().size(), 1u);
    EXPECT_EQ(read_file(done), "");
}

} // namespace
