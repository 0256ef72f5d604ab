// SPDX-License-Identifier: Apache-2.0
// run --remote and sync: what happens around a program, with a real one under the layer.
#include <csignal>
#include <fcntl.h>
#include <sys/file.h>

#include "fleet.h"

namespace {

class RunRemote : public testing::Test {
  protected:
    Keys keys;
    Machine first;
    Machine second;
    std::unique_ptr<Place> place = file_place();

    std::vector<std::string> writer()
    {
        return {"--remote", place->url, "--secret-key", keys.secret};
    }

    std::vector<std::string> reader()
    {
        return {"--remote", place->url, "--public-key", keys.open};
    }
};

TEST_F(RunRemote, AFreshMachineStartsWithWhatAnotherHasLeft)
{
    EXPECT_TRUE(contains(first.run(4, writer()), " 0 hits, 4 misses"));
    EXPECT_TRUE(contains(second.run(4, reader()), " 4 hits, 0 misses"));
    EXPECT_TRUE(contains(second.run(6, writer()), " 4 hits, 2 misses"));
    EXPECT_TRUE(contains(first.run(6, reader()), " 2 misses")) << "a part is merged with the save";
    EXPECT_TRUE(contains(first.run(6), " 6 hits, 0 misses"));
    // What a secret key has signed is trusted by who has it.
    Machine third;
    EXPECT_TRUE(contains(third.run(6, writer()), " 6 hits, 0 misses"));
}

// What takes the driver long is not waited for first.
TEST_F(RunRemote, ADeviceIsAskedForBeforeTheDriverMakesIt)
{
    first.run(4, writer());
    second.more["WPTEST_ICD_DEVICE_AFTER"] = second.root + "/demo/" + first.caches().at(0);
    EXPECT_TRUE(contains(second.run(4, reader()), " 4 hits, 0 misses"));
}

// A sidecar has no driver: the layer has left word of what it looked for and did not find.
TEST_F(RunRemote, WhatAProgramLookedForIsPulledWithoutADriver)
{
    first.run(6, writer());
    second.run(2);
    for (const std::string &name : second.caches()) {
        std::filesystem::remove(second.root + "/demo/" + name);
    }
    const std::vector<std::string> pull = {"pull",         "--json",   "--app", "demo",
                                           "--remote",     place->url, "--dir", second.root,
                                           "--public-key", keys.open};
    second.lose_driver();
    EXPECT_EQ(rows_of(second.tool(pull).out), Rows{"demo blob pulled"});
    EXPECT_EQ(rows_of(second.tool(pull).out), Rows{"demo blob unchanged"});
    second.find_driver();
    EXPECT_TRUE(contains(second.run(6), " 6 hits, 0 misses"));
    EXPECT_EQ(rows_of(second.tool(pull).out), Rows{"demo blob unchanged"}) << "asked for once";

    // A wish of long ago is nobody's.
    second.lose_driver();
    for (const auto &entry : std::filesystem::directory_iterator(second.root + "/demo")) {
        if (entry.path().extension() == ".wanted") {
            std::filesystem::last_write_time(entry.path(),
                                             std::filesystem::file_time_type::clock::now() -
                                                 std::chrono::hours(31 * 24));
        }
    }
    EXPECT_EQ(rows_of(second.tool(pull).out), Rows{"demo recipes pulled"});
}

TEST_F(RunRemote, VariablesAreEnough)
{
    first.run(4, writer());
    second.more["WARMPIPE_REMOTE"] = place->url;
    second.more["WARMPIPE_REMOTE_KEY"] = keys.open;
    EXPECT_TRUE(contains(second.run(4), " 4 hits, 0 misses"));
}

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

TEST_F(RunRemote, NoRemoteKeepsAProgramFromStarting)
{
    auto expect_line = [&](std::vector<std::string> options, const std::string &reason) {
        options.insert(options.begin(), "--quiet");
        const std::string err = first.run(2, options);
        EXPECT_EQ(lines_of(err).size(), 1u) << err;
        EXPECT_TRUE(contains(err, reason)) << err;
    };
#ifdef WARMPIPE_HAVE_CURL
    expect_line({"--remote", "http://localhost:" + std::to_string(free_port())},
                "(remote_unreachable)");
    // It takes the connection, and never says a word.
    int port;
    const int silent = listen_somewhere(&port);
    expect_line({"--remote", "http://localhost:" + std::to_string(port), "--remote-wait", "200ms"},
                "(remote_timeout)");
    close(silent);
    // What it could not pull from, it cannot push to.
    expect_line({"--remote", "http://localhost:" + std::to_string(free_port()), "--secret-key",
                 keys.secret},
                "(remote_unreachable)");
#endif
    expect_line({"--secret-key", keys.secret}, "give --remote URL or set WARMPIPE_REMOTE");
    expect_line({"--remote", "gopher://x"}, "(remote_bad_url)");
    expect_line({"--remote", place->url, "--public-key", "/no/such/key"}, "/no/such/key");
    expect_line({"--remote", place->url, "--secret-key", "/no/such/key"}, "/no/such/key");
    std::filesystem::create_directories(place->data);
    std::vector<std::string> options = reader();
    options.insert(options.end(), {"--state", keys.open + "/state"});
    expect_line(options, "--state " + keys.open + "/state: ");
    const ToolResult result = first.tool({"run", "--remote", place->url, "--", "/bin/true"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_TRUE(contains(result.err, "--app NAME")) << result.err;
}

// The tool asks no driver: the program tells which device it is.
TEST_F(RunRemote, TheProgramAsksForItsDevice)
{
    first.run(4, writer());
    const std::string driver = TEST_ICD_MANIFEST;
    second.lose_driver();
    auto run = [&](const std::string &variables, const std::string &wait) {
        return second
            .tool({"run", "--dir", second.root, "--app", "demo", "--remote", place->url,
                   "--public-key", keys.open, "--remote-wait", wait, "--", "/bin/sh", "-c",
                   "VK_DRIVER_FILES=" + driver + " VK_ICD_FILENAMES=" + driver + " " + variables +
                       " " PIPELINES_CLIENT " --graphics 0 --compute 4"})
            .err;
    };
    // Nobody answers in another folder than the one that was named.
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(contains(run("WARMPIPE_APP=other", "60s"), " 0 hits, 4 misses"));
    EXPECT_LE(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
    EXPECT_TRUE(contains(run("", "60s"), " 4 hits, 0 misses"));
    for (const auto &entry : std::filesystem::directory_iterator(second.root + "/demo")) {
        EXPECT_NE(entry.path().extension(), ".asked") << "it was not answered";
    }
}

// The puller, as the program's shell sees it.
const std::string the_puller =
    "$(cat /proc/$PPID/task/$PPID/children | tr ' ' '\n' | grep -v \"^$$\\$\")";

const std::string the_program = PIPELINES_CLIENT " --graphics 0 --compute 4";

bool something_is_asked(const std::string &folder)
{
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename();
        if (entry.path().extension() == ".asked" || name.compare(0, 6, "asked.") == 0) {
            return true;
        }
    }
    return false;
}

// Who would have pulled does nothing: the program goes on when its wait is over, and waits once.
TEST_F(RunRemote, AProgramWaitsNoLongerThanWasSet)
{
    first.run(4, writer());
    const auto start = std::chrono::steady_clock::now();
    const ToolResult result =
        second.tool({"run", "--dir", second.root, "--app", "demo", "--remote", place->url,
                     "--public-key", keys.open, "--remote-wait", "1500ms", "--", "/bin/sh", "-c",
                     "kill -STOP " + the_puller + "; " + the_program});
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1500));
    EXPECT_TRUE(contains(result.err, " 0 hits, 4 misses")) << result.err;
    EXPECT_FALSE(something_is_asked(second.root + "/demo"));
}

// Who would have pulled is dead, or the folder was cleared: nobody is waited for.
TEST_F(RunRemote, NobodyWaitsWhereNobodyAnswers)
{
    first.run(4, writer());
    for (const std::string &before :
         {"kill -KILL " + the_puller, "rm -r " + second.root + "/demo"}) {
        std::vector<std::string> words = {"run", "--dir", second.root, "--app", "demo"};
        for (const std::string &word : reader()) {
            words.push_back(word);
        }
        words.insert(words.end(), {"--remote-wait", "300s", "--", "/bin/sh", "-c",
                                   before + "; WARMPIPE_LOG=info " + the_program});
        const ToolResult result = second.tool(words);
        EXPECT_TRUE(contains(result.err, " 0 hits, 4 misses")) << result.err;
        EXPECT_FALSE(contains(result.err, "nothing was pulled")) << result.err;
        EXPECT_FALSE(something_is_asked(second.root + "/demo"));
        std::filesystem::remove_all(second.root);
    }
}

// Launchers start the program and end.
TEST_F(RunRemote, AProgramThatOutlivesTheToolAsksNobody)
{
    const std::string done = second.folder.path + "/done";
    ASSERT_EQ(second
                  .tool({"run", "--dir", second.root, "--app", "demo", "--remote",
                         "file:///no/such/folder", "--public-key", keys.open, "--remote-wait",
                         "300s", "--quiet", "--", "/bin/sh", "-c",
                         "tool=$PPID; (while kill -0 $tool; do sleep 0.02; done; " + the_program +
                             "; echo > " + done + ") >/dev/null 2>&1 & exit 0"})
                  .exit_status,
              0);
    while (!std::filesystem::exists(done)) {
        usleep(10000);
    }
    EXPECT_EQ(second.caches().size(), 1u);
    EXPECT_FALSE(something_is_asked(second.root + "/demo"));
}

// A program that runs longer than one waits for the remote is no timeout.
TEST_F(RunRemote, NothingIsSaidOfAProgramThatRunsLong)
{
    first.run(4, writer());
    const ToolResult result = second.tool({"run", "--dir", second.root, "--app", "demo", "--remote",
                                           place->url, "--public-key", keys.open, "--remote-wait",
                                           "50ms", "--quiet", "--", "/bin/sleep", "0.2"});
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(result.exit_status, 0);
}

// More than an hour is an hour, not nothing.
TEST_F(RunRemote, ALongWaitIsAWait)
{
    first.run(4, writer());
    std::vector<std::string> options = reader();
    options.insert(options.end(), {"--lease-wait", "2h", "--remote-wait", "2h"});
    EXPECT_TRUE(contains(second.run(4, options), " 4 hits, 0 misses"));
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

const std::string held_lease = "warmpipe lease v1 0123456789abcdef 600\n";

// A device whose cache is at the remote does not wait for another one's lease.
TEST_F(RunRemote, WhoWaitsForALeaseKeepsNobodyElse)
{
    first.run(4, writer());
    const std::string ours = first.caches().at(0).substr(0, 32);
    first.more["WPTEST_ICD_DRIVER_VERSION"] = "2";
    first.run(4, writer());
    std::filesystem::remove(place->data + "/v1/head/demo/" + ours);
    std::filesystem::create_directories(place->data + "/v1/lease/demo");
    write_file(place->data + "/v1/lease/demo/" + ours, held_lease);
    std::vector<std::string> words = {"run", "--dir", second.root, "--app", "demo"};
    for (const std::string &word : reader()) {
        words.push_back(word);
    }
    const std::string lease = place->data + "/v1/lease/demo/" + ours;
    const std::string waits = second.folder.path + "/waits";
    words.insert(words.end(), {"--lease-wait", "300s", "--", "/bin/sh", "-c",
                               the_program + " 2>/dev/null & while ! ls " + second.root +
                                   "/demo/*.asked; do sleep 0.02; done >/dev/null 2>&1; "
                                   "WPTEST_ICD_DRIVER_VERSION=2 " +
                                   the_program + "; ls " + second.root + "/demo/*.asked > " +
                                   waits + "; rm " + lease + "; wait"});
    const ToolResult result = second.tool(words);
    EXPECT_TRUE(contains(result.err, " 4 hits, 0 misses")) << result.err;
    EXPECT_TRUE(contains(read_file(waits), ours)) << "it was to wait meanwhile";
    EXPECT_EQ(second.caches().size(), 2u);
}

// A program that is ended while it waits for a lease ends the tool.
TEST_F(RunRemote, ASignalEndsTheWaitForALease)
{
    first.run(4, writer());
    const std::string head = place->data + "/v1/head/demo";
    std::string identity;
    for (const auto &entry : std::filesystem::directory_iterator(head)) {
        const std::string name = entry.path().filename();
        identity = name == "recipes" ? identity : name;
    }
    std::filesystem::remove_all(head);
    std::filesystem::create_directories(place->data + "/v1/lease/demo");
    write_file(place->data + "/v1/lease/demo/" + identity, held_lease);
    std::vector<std::string> words = {"run", "--quiet", "--dir", second.root, "--app", "demo"};
    for (const std::string &word : reader()) {
        words.push_back(word);
    }
    // The program is ended when it has asked.
    words.insert(words.end(),
                 {"--lease-wait", "100s", "--", "/bin/sh", "-c",
                  the_program + " & until ls " + second.root +
                      "/demo/*.asked; do sleep 0.02; done >/dev/null 2>&1; kill -TERM $!; wait; "
                      "kill -TERM $$"});
    const auto start = std::chrono::steady_clock::now();
    const ToolResult result = second.tool(words);
    EXPECT_EQ(result.exit_status, 128 + SIGTERM);
    EXPECT_FALSE(contains(result.err, "remote_timeout")) << result.err;
    EXPECT_LE(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
    EXPECT_FALSE(something_is_asked(second.root + "/demo"));
}

// Another run in the folder answers for its own programs, and takes away what dead runs have left.
TEST_F(RunRemote, ARunAnswersItsOwnAlone)
{
    first.run(4, writer());
    second.run(1);
    const std::string folder = second.root + "/demo/";
    const std::string identity = second.caches().at(0).substr(0, 32);
    const std::string left = folder + identity + ".fedcba9876543210.asked";
    const std::string others = folder + identity + ".0123456789abcdef.asked";
    const std::string served = folder + "asked.0123456789abcdef.tmp";
    write_file(left, "");
    write_file(others, "");
    write_file(served, "");
    const int fd = open(served.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    second.run(4, reader());
    EXPECT_FALSE(std::filesystem::exists(left));
    EXPECT_TRUE(std::filesystem::exists(others));
    EXPECT_TRUE(std::filesystem::exists(served));
    close(fd);
    second.run(4, reader());
    EXPECT_FALSE(something_is_asked(folder));
}

// Who remembers nothing of what was pulled does not write it once more.
TEST_F(RunRemote, WhatIsThereIsNotTakenTwice)
{
    first.run(4, writer());
    second.run(6, writer());
    ASSERT_EQ(first.pull(place->url, keys.open).exit_status, 0);
    ASSERT_EQ(first.caches().size(), 2u) << "a file and a part";
    first.more["XDG_STATE_HOME"] = first.folder.path + "/other";
    ASSERT_EQ(first.pull(place->url, keys.open).exit_status, 0);
    EXPECT_EQ(first.caches().size(), 2u);
}

// What the tool tells the program is no variable that the doctor does not know.
TEST_F(RunRemote, TheDoctorKnowsWhatTheProgramIsTold)
{
    const ToolResult result =
        first.tool({"run", "--dir", first.root, "--app", "demo", "--remote", place->url,
                    "--public-key", keys.open, "--", WARMPIPE_TOOL, "doctor"});
    EXPECT_TRUE(contains(result.out, "WARMPIPE_ASK=")) << result.out;
    EXPECT_FALSE(contains(result.out, "unknown variable")) << result.out;
}

// A file of the name that is none is not opened, which could take for ever.
TEST_F(RunRemote, APipeInTheNameOfAQuestionIsNotWaitedFor)
{
    first.run(4, writer());
    const std::string pipe =
        second.root + "/demo/" + first.caches().at(0).substr(0, 32) + ".$TOKEN.asked";
    const ToolResult result =
        second.tool({"run", "--dir", second.root, "--app", "demo", "--remote", place->url,
                     "--public-key", keys.open, "--remote-wait", "300s", "--", "/bin/sh", "-c",
                     "PULLER=" + the_puller +
                         "; kill -STOP $PULLER; TOKEN=${WARMPIPE_ASK#*:}; "
                         "TOKEN=${TOKEN%%:*}; mkfifo " +
                         pipe + "; " + the_program + "; rm " + pipe + "; kill -CONT $PULLER"});
    EXPECT_TRUE(contains(result.err, "4 misses")) << result.err;
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

// The doctor looks at the remote that programs would be given.
TEST_F(RunRemote, TheDoctorAsksTheRemote)
{
    auto findings = [&] {
        std::vector<std::string> found;
        const json answer = json::parse(first.tool({"doctor", "--json"}).out);
        for (const json &row : answer["findings"]) {
            if (row["check"] == "remote") {
                found.push_back(row["verdict"].get<std::string>() + ": " +
                                row["finding"].get<std::string>());
            }
        }
        return found;
    };
    EXPECT_EQ(findings().size(), 0u);
    first.more["WARMPIPE_REMOTE"] = place->url;
    std::vector<std::string> found = findings();
    ASSERT_EQ(found.size(), 2u);
    EXPECT_TRUE(contains(found[0], "ok: " + place->url + " answers in ")) << found[0];
    EXPECT_TRUE(contains(found[1], "problem: no key is trusted")) << found[1];
    first.more["WARMPIPE_REMOTE_KEY"] = keys.open;
    EXPECT_EQ(findings().size(), 1u);
    first.more["WARMPIPE_REMOTE"] = "gopher://x";
    EXPECT_EQ(findings(), std::vector<std::string>{"problem: the remote cannot be used"});
#ifdef WARMPIPE_HAVE_CURL
    first.more["WARMPIPE_REMOTE"] = "http://localhost:" + std::to_string(free_port());
    found = findings();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(contains(found[0], "problem: http://localhost:")) << found[0];
    EXPECT_TRUE(contains(found[0], "(remote_unreachable)")) << found[0];
#endif
}

// A fresh container has seen no head: it may say how old one may be.
TEST_F(RunRemote, AHeadThatIsTooOldIsNotTaken)
{
    first.run(4, writer());
    std::vector<std::string> options = reader();
    options.insert(options.end(), {"--min-serial", "2"});
    const std::string err = second.run(4, options);
    EXPECT_TRUE(contains(err, "(remote_rolled_back)")) << err;
    EXPECT_TRUE(contains(err, " 0 hits, 4 misses")) << err;
    Machine third;
    options = reader();
    options.insert(options.end(), {"--min-serial", "1", "--max-age", "1h"});
    EXPECT_TRUE(contains(third.run(4, options), " 4 hits, 0 misses"));
    EXPECT_EQ(third
                  .tool({"run", "--app", "demo", "--remote", place->url, "--max-age", "x", "--",
                         "/bin/true"})
                  .exit_status,
              2);
}

TEST_F(RunRemote, AnIntervalThatIsNoneIsRefused)
{
    for (const char *time : {"2", "s", "-1s", "2 s", "99999999999s"}) {
        EXPECT_EQ(first.tool({"run", "--remote-wait", time, "--", "/bin/true"}).exit_status, 2)
            << time;
    }
}

// A lease is no lock: its time, or the time that one waits, ends it.
TEST_F(RunRemote, ALeaseEndsByItself)
{
    first.run(4, {"--remote", place->url, "--secret-key", keys.secret, "--lease-wait", "20s"});
    std::string identity;
    for (const auto &entry : std::filesystem::directory_iterator(place->data + "/v1/head/demo")) {
        const std::string name = entry.path().filename();
        identity = name == "recipes" ? identity : name;
    }
    const std::string path = place->data + "/v1/lease/demo/" + identity;
    EXPECT_FALSE(std::filesystem::exists(path)) << "it was not given back";
    std::filesystem::remove_all(place->data + "/v1/head/demo");

    // Held by a machine that died: readers and writers wait so long and no longer.
    std::filesystem::create_directories(place->data + "/v1/lease/demo");
    const std::string lease = "warmpipe lease v1 0123456789abcdef 600\n";
    write_file(path, lease);
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::string> options = reader();
    options.insert(options.end(), {"--lease-wait", "700ms"});
    EXPECT_TRUE(contains(second.run(4, options), " 0 hits, 4 misses"));
    const auto waited = std::chrono::steady_clock::now() - start;
    EXPECT_GE(waited, std::chrono::milliseconds(700));
    EXPECT_LE(waited, std::chrono::seconds(10));
    EXPECT_EQ(read_file(path), lease);

    // Its time is over, or it is nonsense: nobody waits.
    for (const std::string &text :
         {lease, std::string("warmpipe lease v1 0123456789abcdef 999999\n"), std::string("x")}) {
        Machine machine;
        write_file(path, text);
        if (text == lease) {
            std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() -
                                                       std::chrono::minutes(11));
        }
        options.back() = "60s";
        EXPECT_TRUE(contains(machine.run(4, options), " 0 hits, 4 misses")) << text;
    }
    options = writer();
    options.insert(options.end(), {"--lease-wait", "60s"});
    Machine machine;
    EXPECT_TRUE(contains(machine.run(4, options), " 0 hits, 4 misses"));
    EXPECT_FALSE(std::filesystem::exists(path)) << "it was taken over, and given back";
}

// Who cannot write a lease does not wait for one.
TEST_F(RunRemote, ALeaseThatCannotBeWrittenIsNotWaitedFor)
{
    std::filesystem::create_directories(place->data + "/v1");
    std::filesystem::create_symlink("/no/such/folder", place->data + "/v1/lease");
    std::vector<std::string> options = writer();
    options.insert(options.end(), {"--lease-wait", "60s"});
    const auto start = std::chrono::steady_clock::now();
    first.run(4, options);
    EXPECT_LE(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

// A sidecar that can push takes the lease of what a program looks for, until it has pushed it.
TEST_F(RunRemote, ASidecarHasTheLeaseOfWhatAProgramCompiles)
{
    first.run(4);
    const std::string folder = first.root + "/demo/";
    const std::string cache = first.caches().at(0);
    const std::string lease = place->data + "/v1/lease/demo/" + cache.substr(0, cache.find('.'));
    std::filesystem::rename(folder + cache, first.folder.path + "/later");
    first.lose_driver();
    ToolResult result;
    std::thread sidecar([&] {
        result = run_program({"/bin/sh", "-c",
                              "echo $$ > " + first.folder.path + "/pid; exec " + WARMPIPE_TOOL +
                                  " sync --json --app demo --interval 1h --remote " + place->url +
                                  " --secret-key " + keys.secret + " --dir " + first.root},
                             first.environment());
    });
    while (!std::filesystem::exists(lease)) {
        usleep(10000);
    }
    std::filesystem::rename(first.folder.path + "/later", folder + cache);
    while (std::filesystem::exists(lease)) {
        usleep(10000);
    }
    EXPECT_TRUE(std::filesystem::exists(place->data + "/v1/head/demo"));
    kill(std::stoi(read_file(first.folder.path + "/pid")), SIGTERM);
    sidecar.join();
    EXPECT_EQ(result.exit_status, 0) << result.err;
}

// A sidecar beside two starts of a program: what was saved is there, and a signal ends it.
TEST_F(RunRemote, SyncPushesWhatIsSavedAndEndsOnASignal)
{
    std::filesystem::create_directories(first.root);
    ToolResult result;
    std::thread sidecar([&] {
        result = run_program({"/bin/sh", "-c",
                              "echo $$ > " + first.folder.path + "/pid; exec " + WARMPIPE_TOOL +
                                  " sync --json --app demo --interval 1h --remote " + place->url +
                                  " --secret-key " + keys.secret + " --dir " + first.root},
                             first.environment());
    });
    first.run(4);
    while (!std::filesystem::exists(place->data + "/v1/head/demo")) {
        usleep(10000);
    }
    // Not yet seen, when the signal comes.
    first.run(6);
    kill(std::stoi(read_file(first.folder.path + "/pid")), SIGTERM);
    sidecar.join();
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_GE(json::parse(result.out)["pushes"], 2) << result.out;
    EXPECT_TRUE(contains(second.run(6, reader()), " 6 hits, 0 misses"));
}

} // namespace
