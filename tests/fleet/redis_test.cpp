// SPDX-License-Identifier: Apache-2.0
// Redis: connections, passwords, databases and sockets, clusters, and what it drops when it is
// full.
#ifdef WARMPIPE_HAVE_HIREDIS
#include "redis_remote.h"

namespace {

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

// Whatever garbage there is: what has no room in the notes of gc is noted later.
TEST_F(RedisRemote, GarbageBeyondTheNotesIsNoEnd)
{
    auto place = redis_place();
    if (!place) {
        GTEST_SKIP() << "redis-server is not installed";
    }
    run_program({"/usr/bin/redis-cli", "-p", std::to_string(place->server->port()), "eval",
                 "for i = 1, 181000 do redis.call('SET', '{warmpipe}:v1/obj/' .. "
                 "string.format('%064x-%016x', i, i), 'x') end",
                 "0"});
    for (int run = 0; run < 2; run++) {
        const ToolResult result = machine.tool({"remote", "gc", "--json", "--remote", place->url});
        ASSERT_EQ(result.exit_status, 0) << result.err;
        EXPECT_EQ(json::parse(result.out)["unused"], 181000);
    }
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
    std::filesystem::create_directory_symlink(place->folder.path, machine.root + "/a link");
    const std::string socket = "unix:" + machine.root + "/a%20link/socket";
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

TEST_F(RedisRemote, AServerThatDoesNotSayWhetherItForgetsIsNoProblem)
{
    auto place = redis_place({"--user", "default", "on", "nopass", "~*", "&*", "+@all", "-info"});
    if (!place) {
        GTEST_SKIP() << "redis-server is not installed";
    }
    const ToolResult result = check(place->url);
    EXPECT_EQ(result.exit_status, 0) << result.out;
    EXPECT_TRUE(contains(result.out, "may not be asked (INFO)")) << result.out;
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
    // Each of the two lists a part of the keys: an object whose head lies on the other is no
    // garbage.
    const std::vector<std::string> where = {"--remote", cluster.nodes[0]->url, "--public-key",
                                            keys.open};
    for (const char *verb : {"ls", "gc"}) {
        std::vector<std::string> words = {"remote", verb};
        words.insert(words.end(), where.begin(), where.end());
        const ToolResult half = late.tool(words);
        EXPECT_EQ(half.exit_status, 1) << verb << ": " << half.out;
        EXPECT_TRUE(contains(half.err, "(remote_busy)")) << verb << ": " << half.err;
    }
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

// What is said where standard error is closed goes to no server, whose answers would be out of
// step.
TEST_F(RedisRemote, NoConnectionIsTakenForAClosedStream)
{
    auto place = redis_place();
    if (!place) {
        GTEST_SKIP() << "redis-server is not installed";
    }
    machine.run(2);
    ASSERT_EQ(push(place->url).exit_status, 0);
    const std::string path = machine.root + "/demo";
    for (const auto &entry : std::filesystem::directory_iterator(path)) {
        if (entry.path().extension() == ".wpcache") {
            const std::string key = "{warmpipe}:v1/head/bad/" + entry.path().stem().string();
            run_program({"/usr/bin/redis-cli", "-s", place->folder.path + "/socket", "set", key,
                         "no head"});
        }
    }
    Machine second;
    const ToolResult result =
        run_program({"/bin/sh", "-c",
                     "exec " WARMPIPE_TOOL " pull --json --remote unix:" + place->folder.path +
                         "/socket --public-key " + keys.open + " --app bad --app demo --dir " +
                         second.root + " 2>&-"},
                    second.environment());
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_EQ(rows_of(result.out), (Rows{"bad blob failed", "demo blob pulled"})) << result.out;
}

TEST_F(RedisRemote, AnAddressOfIPv6StandsInBrackets)
{
    auto place = redis_place({"--bind", "127.0.0.1", "-::1"});
    if (!place || read_file("/proc/net/if_inet6").empty()) {
        GTEST_SKIP() << "redis-server is not installed, or there is no IPv6";
    }
    machine.run(2);
    const ToolResult result = push("redis://[::1]:" + std::to_string(place->server->port()));
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pushed"});
}

} // namespace
#endif
