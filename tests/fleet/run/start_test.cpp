// SPDX-License-Identifier: Apache-2.0
// What a start takes from a remote, and what it says of one that it can take nothing from.
#include "run_remote.h"

namespace {

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
    options.insert(options.end(), {"--min-serial", "9000000000000000"});
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

} // namespace
