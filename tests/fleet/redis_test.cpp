// SPDX-License-Identifier: Apache-2.0
// Redis: passwords, databases and sockets, and what it drops when it is full.
#ifdef WARMPIPE_HAVE_HIREDIS
#include <atomic>

#include "fleet.h"
#include "scripted_servers.h"

namespace {

std::string repeat(int count, const std::string &text)
{
    std::string all;
    for (int i = 0; i < count; i++) {
        all += text;
    }
    return all;
}

class RedisRemote : public testing::Test {
  protected:
    Keys keys;
    Machine machine;

    ToolResult push(const std::string &url)
    {
        return machine.tool({"push", "--json", "--remote", url, "--secret-key", keys.secret,
                             "--dir", machine.root});
    }

    ToolResult pull(const std::string &url)
    {
        return machine.tool({"pull", "--json", "--app", "demo", "--remote", url, "--public-key",
                             keys.open, "--dir", machine.root});
    }

    // One line that says why, and nothing taken.
    void expect_refused(RawServer::Script script, const std::string &reason)
    {
        RawServer server(std::move(script));
        const ToolResult result = pull("redis://localhost:" + std::to_string(server.port()));
        EXPECT_EQ(result.exit_status, 1) << reason;
        EXPECT_TRUE(contains(result.err, "(" + reason + ")")) << result.err;
        EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
        EXPECT_LE(server.requests(), 10);
        std::filesystem::create_directories(machine.root);
        EXPECT_EQ(machine.caches(), std::vector<std::string>());
    }

    void expect_refused(const std::string &answer, const std::string &reason)
    {
        expect_refused([answer](const std::string &) { return answer; }, reason);
    }

    ToolResult check(const std::string &url)
    {
        return machine.tool({"remote", "check", "--remote", url, "--secret-key", keys.secret});
    }
};

// A program takes a while until it asks for a cache.
TEST_F(RedisRemote, WhoRunsAProgramLogsInAsItStarts)
{
    RawServer server([](const std::string &) { return "+OK\r\n"; });
    machine.more["REDISCLI_AUTH"] = "secret";
    run_until(machine,
              {"--remote", "redis://localhost:" + std::to_string(server.port()), "--public-key",
               keys.open, "--remote-wait", "20s"},
              [&] { return server.requests() > 0; });
    EXPECT_EQ(server.requests(), 1);
}

// Redis has ten thousand connections, and may have more machines, whose programs run for days.
TEST_F(RedisRemote, WhoHasNothingToAskKeepsNoConnection)
{
    auto place = redis_place();
    if (!place) {
        GTEST_SKIP() << "redis-server is not installed";
    }
    const std::string port = std::to_string(place->server->port());
    auto connections = [&] {
        const std::string text =
            run_program({"/usr/bin/redis-cli", "-p", port, "info", "clients"}).out;
        return std::stoi(text.substr(text.find("connected_clients:") + 18)) - 1;
    };
    auto came_and_went = [&, came = false]() mutable {
        const int now = connections();
        came = came || now > 0;
        return came && now == 0;
    };
    run_until(machine, {"--remote", place->url, "--public-key", keys.open, "--remote-wait", "20s"},
              came_and_went);
    ToolResult result;
    const std::string pid = machine.folder.path + "/pid";
    std::thread sidecar([&] {
        result = run_program(
            {"/bin/sh", "-c",
             "echo $$ > " + pid +
                 "; exec " WARMPIPE_TOOL " sync --json --app demo --interval 1h --remote " +
                 place->url + " --public-key " + keys.open + " --dir " + machine.root},
            machine.environment());
    });
    auto commands = [&] {
        const std::string text =
            run_program({"/usr/bin/redis-cli", "-p", port, "info", "commandstats"}).out;
        return contains(text, "cmdstat_getrange:");
    };
    while (!commands() || connections() > 0) {
        usleep(10000);
    }
    kill(std::stoi(read_file(pid)), SIGTERM);
    sidecar.join();
    EXPECT_EQ(result.exit_status, 0) << result.err;
}

// A host that takes no connection and refuses none keeps nobody who was asked to end.
TEST_F(RedisRemote, WhoAsksForItWaitsForNoConnection)
{
    machine.run(2);
    int port;
    const int full = listen_somewhere(&port);
    ASSERT_EQ(listen(full, 0), 0);
    const int queued = connect_to(port); // the only one that there is room for
    ASSERT_GE(queued, 0);
    char waits[32];
    snprintf(waits, sizeof waits, "0100007F:%04X 02", port);
    const std::string pid = machine.folder.path + "/pid";
    ToolResult result;
    std::thread sidecar([&] {
        result = run_program(
            {"/bin/sh", "-c",
             "echo $$ > " + pid +
                 "; exec " WARMPIPE_TOOL " sync --app demo --remote redis://127.0.0.1:" +
                 std::to_string(port) + " --secret-key " + keys.secret + " --dir " + machine.root},
            machine.environment());
    });
    while (!contains(read_file("/proc/net/tcp"), waits)) {
        usleep(10000);
    }
    const auto start = std::chrono::steady_clock::now();
    kill(std::stoi(read_file(pid)), SIGTERM);
    sidecar.join();
    EXPECT_LE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(8500));
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_timeout)")) << result.err;
    close(queued);
    close(full);
}

TEST_F(RedisRemote, ThePasswordIsThatOfRedisCli)
{
    auto place = redis_place({"--requirepass", "hunter2"});
    if (!place) {
        GTEST_SKIP() << "redis-server is not installed";
    }
    machine.run(4);
    ToolResult result = push(place->url);
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_forbidden)")) << result.err;
    machine.more["REDISCLI_AUTH"] = "wrong";
    result = push(place->url);
    EXPECT_TRUE(contains(result.err, "(remote_forbidden)")) << result.err;
    machine.more["REDISCLI_AUTH"] = "hunter2";
    result = push(place->url);
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pushed"}) << result.err;
    EXPECT_EQ(check(place->url).exit_status, 0);
}

TEST_F(RedisRemote, DatabasesAndSocketsAreOnesOwn)
{
    auto place = redis_place();
    if (!place) {
        GTEST_SKIP() << "redis-server is not installed";
    }
    machine.run(4);
    ASSERT_EQ(push(place->url + "/3").exit_status, 0);
    std::filesystem::remove_all(machine.root);
    EXPECT_EQ(rows_of(pull(place->url).out), Rows()) << "another database";
    EXPECT_EQ(rows_of(pull(place->url + "/3").out), Rows{"demo blob pulled"});
    const std::string socket = "unix:" + place->folder.path + "/socket";
    ToolResult result = push(socket);
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pushed"}) << result.err;
    place->server->stop();
    EXPECT_TRUE(contains(pull(socket).err, "(remote_unreachable)"));
    EXPECT_TRUE(contains(pull(place->url).err, "(remote_unreachable)"));
    result = pull("rediss://localhost:" + std::to_string(place->server->port()));
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "(remote_unsupported)")) << result.err;
}

TEST_F(RedisRemote, AServerThatForgetsIsTold)
{
    auto place = redis_place({"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"});
    if (!place) {
        GTEST_SKIP() << "redis-server is not installed";
    }
    const ToolResult result = check(place->url);
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.out, "(remote_evicts)")) << result.out;
    EXPECT_TRUE(contains(result.out, "allkeys-lru")) << result.out;
}

TEST_F(RedisRemote, AServerThatIsFullSaysSo)
{
    auto place = redis_place({"--maxmemory", "1", "--maxmemory-policy", "noeviction"});
    if (!place) {
        GTEST_SKIP() << "redis-server is not installed";
    }
    machine.run(4);
    const ToolResult result = push(place->url);
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_full)")) << result.err;
}

// All keys lie on one node; whichever is asked says which.
TEST_F(RedisRemote, AClusterIsFollowed)
{
    RedisCluster cluster({"--requirepass", "hunter2"});
    if (!cluster.is_made) {
        GTEST_SKIP() << "redis-server is not installed";
    }
    machine.more["REDISCLI_AUTH"] = "hunter2";
    machine.run(4);
    for (const auto &node : cluster.nodes) {
        ToolResult result = push(node->url);
        EXPECT_EQ(result.exit_status, 0) << result.err;
        EXPECT_EQ(rows_of(result.out),
                  Rows{&node == &cluster.nodes[0] ? "demo blob pushed" : "demo blob unchanged"});
        Machine other;
        other.more["REDISCLI_AUTH"] = "hunter2";
        result = other.tool({"pull", "--json", "--remote", node->url, "--public-key", keys.open,
                             "--dir", other.root});
        EXPECT_EQ(rows_of(result.out), Rows{"demo blob pulled"}) << result.err;
        result = check(node->url);
        EXPECT_EQ(result.exit_status, 0) << result.out;
        EXPECT_TRUE(contains(result.out, "; a cluster")) << result.out;
        EXPECT_TRUE(contains(result.out, "1 head")) << result.out;
    }
    // While the slot moves, the node that it leaves names the other for one question at a time.
    std::string owner;
    std::string other;
    for (const auto &node : cluster.nodes) {
        const std::string port = std::to_string(node->server->port());
        auto cli = [&](const std::string &words) {
            return run_shell("REDISCLI_AUTH=hunter2 redis-cli -p " + port + " " + words).out;
        };
        (contains(cli("exists '{warmpipe}:v1/probe'"), "MOVED") ? other : owner) = port;
    }
    const std::string move = "export REDISCLI_AUTH=hunter2; slot=$(redis-cli -p " + owner +
                             " cluster keyslot '{warmpipe}')\n"
                             "to=$(redis-cli -p " +
                             other + " cluster myid); from=$(redis-cli -p " + owner +
                             " cluster myid)\n"
                             "redis-cli -p " +
                             other +
                             " cluster setslot $slot importing $from\n"
                             "redis-cli -p " +
                             owner + " cluster setslot $slot migrating $to\n";
    const ToolResult moved = run_shell("set -e; " + move);
    EXPECT_EQ(moved.exit_status, 0) << moved.err;
    Machine late;
    late.more["REDISCLI_AUTH"] = "hunter2";
    late.run(6);
    const ToolResult result = late.tool({"push", "--json", "--remote", cluster.nodes[0]->url,
                                         "--secret-key", keys.secret, "--dir", late.root});
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pushed"}) << result.err;
    const ToolResult there = run_shell("export REDISCLI_AUTH=hunter2; redis-cli -p " + other +
                                       " cluster countkeysinslot $(redis-cli -p " + other +
                                       " cluster keyslot '{warmpipe}')");
    EXPECT_GE(std::stoi("0" + there.out), 1) << "what is new lies on the other: " << there.err;
}

TEST_F(RedisRemote, APasswordGoesToNoOtherHost)
{
    RawServer node([](const std::string &request) {
        return contains(request, "AUTH") ? "+OK\r\n" : "-MOVED 1 192.0.2.1:6379\r\n";
    });
    machine.more["REDISCLI_AUTH"] = "hunter2";
    const ToolResult result = pull("redis://localhost:" + std::to_string(node.port()));
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_forbidden)")) << result.err;
    EXPECT_TRUE(contains(result.err, "192.0.2.1:6379")) << result.err;
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

TEST_F(RedisRemote, AListingWithoutAnEndIsNone)
{
    RawServer server([](const std::string &request) {
        return contains(request, "SCAN") ? "*2\r\n$1\r\n5\r\n*0\r\n" : ":0\r\n";
    });
    const ToolResult result = machine.tool({"remote", "ls", "--remote",
                                            "redis://localhost:" + std::to_string(server.port()),
                                            "--public-key", keys.open});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_bad_answer)")) << result.err;
    EXPECT_LE(server.requests(), 5);
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
