// SPDX-License-Identifier: Apache-2.0
// Redis: passwords, databases and sockets, and what it drops when it is full.
#ifdef WARMPIPE_HAVE_HIREDIS
#include "fleet.h"

namespace {

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

    ToolResult check(const std::string &url)
    {
        return machine.tool({"remote", "check", "--remote", url, "--secret-key", keys.secret});
    }
};

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
                      "300ms", "--", "/bin/true"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
    EXPECT_TRUE(contains(result.err, "(remote_")) << result.err;
}

} // namespace
#endif
