// SPDX-License-Identifier: Apache-2.0
// What a program asks the process beside it, and how long it waits for the answer.
#include <chrono>
#include <fcntl.h>
#include <sys/file.h>

#include "run_remote.h"
#include "scripted_servers.h"

namespace {

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

#ifdef WARMPIPE_HAVE_CURL

// Several devices wait for a remote that is gone no longer than one does, and hear of it once: one
// that says nothing, one that refuses, one that says how much there is and no more.
TEST_F(RunRemote, DevicesWaitOnceForARemoteThatIsGone)
{
    const std::string programs = "for i in 1 2 3 4; do WPTEST_ICD_DRIVER_VERSION=$i " +
                                 the_program +
                                 "; sleep 0.4; done"; // what is late is pulled meanwhile
    auto expect_one_wait = [&](const std::string &url) {
        Machine machine;
        const auto start = std::chrono::steady_clock::now();
        const ToolResult result = machine.tool(
            {"run", "--quiet", "--dir", machine.root, "--app", "demo", "--remote", url,
             "--public-key", keys.open, "--remote-wait", "8s", "--", "/bin/sh", "-c", programs});
        EXPECT_LE(std::chrono::steady_clock::now() - start, std::chrono::seconds(24)) << url;
        EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
    };
    int port;
    const int silent = listen_somewhere(&port);
    expect_one_wait("http://localhost:" + std::to_string(port));
    close(silent);
    expect_one_wait("http://localhost:" + std::to_string(free_port()));

    first.tool({"run", "--dir", first.root, "--app", "demo", "--remote", place->url, "--secret-key",
                keys.secret, "--", "/bin/sh", "-c", programs});
    ASSERT_EQ(first.caches().size(), 4u);
    std::atomic_bool ended = false;
    ScriptedServer slow([&](const std::string &request) {
        while (contains(request, "GET /v1/obj/") && !ended) {
            usleep(10000);
        }
        const std::string file = place->data + request.substr(4, request.find(' ', 4) - 4);
        return std::filesystem::exists(file)
                   ? http_answer("200 OK", read_file(file), "ETag: \"x\"\r\n")
                   : http_answer("404 Not Found");
    });
    expect_one_wait(slow.url());
    ended = true;
}

// S3 refuses what is not there, unless one may list.
TEST_F(RunRemote, ARefusalIsOfOneDevice)
{
    first.run(4, writer());
    ScriptedServer server([&](const std::string &request) {
        const std::string file = place->data + request.substr(4, request.find(' ', 4) - 4);
        return std::filesystem::exists(file)
                   ? http_answer("200 OK", read_file(file), "ETag: \"x\"\r\n")
                   : http_answer("403 Forbidden");
    });
    const ToolResult result =
        second.tool({"run", "--dir", second.root, "--app", "demo", "--remote", server.url(),
                     "--public-key", keys.open, "--remote-wait", "20s", "--", "/bin/sh", "-c",
                     "WPTEST_ICD_DRIVER_VERSION=9 " + the_program + "; " + the_program});
    EXPECT_TRUE(contains(result.err, "(remote_forbidden)")) << result.err;
    EXPECT_TRUE(contains(result.err, " 4 hits, 0 misses")) << result.err;
}

#endif

// More than an hour is an hour, not nothing.
TEST_F(RunRemote, ALongWaitIsAWait)
{
    first.run(4, writer());
    std::vector<std::string> options = reader();
    options.insert(options.end(), {"--lease-wait", "2h", "--remote-wait", "2h"});
    EXPECT_TRUE(contains(second.run(4, options), " 4 hits, 0 misses"));
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

} // namespace
