// SPDX-License-Identifier: Apache-2.0
// Servers that answer as no Redis does, or too much.
#ifdef WARMPIPE_HAVE_HIREDIS
#include <atomic>

#include "redis_remote.h"

namespace {

std::string repeat(int count, const std::string &text)
{
    std::string all;
    for (int i = 0; i < count; i++) {
        all += text;
    }
    return all;
}

TEST_F(RedisRemote, AnswersThatAreNoneAreNotTaken)
{
    std::atomic<int> port = 0;
    RawServer round([&port](const std::string &) {
        return "-MOVED 1 127.0.0.1:" + std::to_string(port) + "\r\n";
    });
    port = round.port();
    const ToolResult result = pull("redis://localhost:" + std::to_string(port));
    EXPECT_TRUE(contains(result.err, "(remote_bad_answer)")) << result.err;
    EXPECT_LE(round.requests(), 8);

    expect_refused("-MOVED x\r\n", "remote_error");
    expect_refused("-ERR what\r\n", "remote_error");
    expect_refused("-NOAUTH no\r\n", "remote_forbidden");
    expect_refused("-LOADING wait\r\n", "remote_busy");
    expect_refused("-CLUSTERDOWN no\r\n", "remote_busy");
    expect_refused(":1\r\n", "remote_bad_answer");
    expect_refused("*2\r\n$1\r\na\r\n*1\r\n:1\r\n", "remote_bad_answer");
    expect_refused("HTTP/1.1 400 Bad Request\r\n\r\n", "remote_bad_answer");
    // Gone, in the middle too; more than it may be, announced and not.
    expect_refused("hang up", "remote_unreachable");
    expect_refused("$1000\r\nshorthang up", "remote_unreachable");
    expect_refused("$200000\r\n" + std::string(200000, 'x') + "\r\n", "remote_bad_answer");
    expect_refused("$99999999999\r\n" + std::string(200000, 'x'), "remote_bad_answer");
    expect_refused("*2147483647\r\n", "remote_bad_answer");
    expect_refused("*2\r\n*10001\r\n" + repeat(10001, ":1\r\n") + "*10001\r\n" +
                       repeat(10001, ":1\r\n"),
                   "remote_bad_answer");
}

// hiredis forgets what it has parsed, so that its buffer does not tell how much came.
TEST_F(RedisRemote, AnAnswerOfManyPiecesMayNotBeLarger)
{
    const std::string piece = "$10000\r\n" + std::string(10000, 'x') + "\r\n";
    RawServer server([&](const std::string &) { return "*200\r\n" + repeat(200, piece); });
    const ToolResult result = pull("redis://localhost:" + std::to_string(server.port()));
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "larger than it may be")) << result.err;
}

// A write to a socket that the server has closed is SIGPIPE; the connection is made anew instead.
TEST_F(RedisRemote, AServerThatHangsUpAfterEachAnswerKillsNobody)
{
    const std::string path = machine.folder.path + "/socket";
    RawServer server(
        [](const std::string &request) {
            return std::string(contains(request, "GETRANGE") ? "$0\r\n\r\n" : ":1\r\n") + "hang up";
        },
        path);
    const std::string err = machine.run(
        4, {"--remote", "unix:" + path, "--secret-key", keys.secret, "--remote-wait", "20s"});
    EXPECT_TRUE(contains(err, "(remote_no_conditions)")) << err;
}

TEST_F(RedisRemote, AListingOfTooManyProgramsIsRefused)
{
    std::string keys_there = "*2\r\n$1\r\n0\r\n*10001\r\n";
    for (int i = 0; i < 10001; i++) {
        const std::string key = "{warmpipe}:v1/head/p" + std::to_string(i) + "/recipes";
        keys_there += "$" + std::to_string(key.size()) + "\r\n" + key + "\r\n";
    }
    RawServer server([&](const std::string &request) {
        return contains(request, "SCAN")       ? keys_there
               : contains(request, "GETRANGE") ? "$0\r\n\r\n"
                                               : ":0\r\n";
    });
    const ToolResult result =
        machine.tool({"pull", "--remote", "redis://localhost:" + std::to_string(server.port()),
                      "--public-key", keys.open, "--dir", machine.root});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_bad_answer)")) << result.err;
    EXPECT_TRUE(contains(result.err, "too many programs")) << result.err;
}

// SCAN may give a key more than once, while a server's table grows or shrinks.
TEST_F(RedisRemote, AKeyThatIsListedTwiceCountsOnce)
{
    RawServer server([](const std::string &request) {
        if (!contains(request, "SCAN")) {
            return std::string(contains(request, "GETRANGE") ? "$0\r\n\r\n" : ":1\r\n");
        }
        const std::string key =
            "{warmpipe}:v1/" +
            (contains(request, "v1/head/") ? "head/demo/recipes" : "obj/" + std::string(64, '0'));
        return "*2\r\n$1\r\n0\r\n*2\r\n" +
               repeat(2, "$" + std::to_string(key.size()) + "\r\n" + key + "\r\n");
    });
    auto result_of = [&](std::vector<std::string> words) {
        words.insert(words.end(), {"--dry-run", "--json", "--public-key", keys.open, "--remote",
                                   "redis://localhost:" + std::to_string(server.port())});
        const ToolResult result = machine.tool(words);
        EXPECT_EQ(result.exit_status, 0) << result.err;
        return nlohmann::json::parse(result.out);
    };
    EXPECT_EQ(result_of({"remote", "rm", "--app", "demo"})["removed"].size(), 1u);
    EXPECT_EQ(result_of({"remote", "gc"})["objects"], 1);
}

// A server that lists for ever fills no memory: neither of heads nor of objects.
TEST_F(RedisRemote, AListingThatIsTooLongIsRefused)
{
    auto refuses = [&](const std::string &folder, int a_page, std::vector<std::string> words) {
        int count = 0;
        int pages = 0;
        RawServer server([&](const std::string &request) {
            if (!contains(request, "SCAN")) {
                return std::string(contains(request, "GETRANGE") ? "$0\r\n\r\n" : ":0\r\n");
            }
            const std::string cursor = std::to_string(++pages);
            std::string page = "*2\r\n$" + std::to_string(cursor.size()) + "\r\n" + cursor +
                               "\r\n*" + std::to_string(a_page) + "\r\n";
            for (int i = 0; i < a_page; i++) {
                std::string number = std::to_string(count++);
                number.insert(0, 32 - number.size(), '0');
                const std::string key = "{warmpipe}:v1/" + folder + number;
                page += "$" + std::to_string(key.size()) + "\r\n" + key + "\r\n";
            }
            return page;
        });
        words.insert(words.end(), {"--remote", "redis://localhost:" + std::to_string(server.port()),
                                   "--public-key", keys.open});
        const ToolResult result = machine.tool(words);
        EXPECT_EQ(result.exit_status, 1);
        EXPECT_TRUE(contains(result.err, "(remote_bad_answer)")) << result.err;
        EXPECT_TRUE(contains(result.err, "a listing that is too long")) << result.err;
    };
    refuses("head/demo/", 10000, {"remote", "ls"});
    refuses("head/demo/", 10000, {"remote", "rm", "--app", "demo"});
    refuses("head/demo/", 10000, {"pull", "--dir", machine.root});
#ifndef WARMPIPE_SANITIZED // a million names take minutes there
    refuses("obj/", 10000, {"remote", "gc"});
#endif
}

// A cursor that was given before: the same one at once, or in a circle of several steps.
TEST_F(RedisRemote, AListingWithoutAnEndIsNone)
{
    for (const int circle : {1, 2, 5}) {
        int step = 0;
        RawServer server([&](const std::string &request) {
            const std::string cursor = std::to_string(3 + step++ % circle);
            return contains(request, "SCAN") ? "*2\r\n$1\r\n" + cursor + "\r\n*0\r\n" : ":0\r\n";
        });
        const ToolResult result = machine.tool(
            {"remote", "ls", "--remote", "redis://localhost:" + std::to_string(server.port()),
             "--public-key", keys.open});
        EXPECT_EQ(result.exit_status, 1);
        EXPECT_TRUE(contains(result.err, "(remote_bad_answer)")) << result.err;
        EXPECT_LE(server.requests(), 2 + 3 * circle);
    }
}

TEST_F(RedisRemote, WhatIsNoRedisIsNotBelieved)
{
    ScriptedServer page([](const std::string &) { return "HTTP/1.1 400 Bad Request\r\n\r\n"; });
    auto url = [](const ScriptedServer &server) {
        return "redis" + server.url().substr(strlen("http"));
    };
    // What a scripted server of HTTP waits for does not come: it answers when we have gone.
    machine.more["WARMPIPE_REMOTE"] = url(page);
    const ToolResult result =
        machine.tool({"run", "--quiet", "--app", "demo", "--dir", machine.root, "--remote-wait",
                      "300ms", "--", PIPELINES_CLIENT, "--graphics", "0", "--compute", "2"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
    EXPECT_TRUE(contains(result.err, "(remote_")) << result.err;
}

} // namespace
#endif
