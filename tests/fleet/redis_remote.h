// SPDX-License-Identifier: Apache-2.0
// A machine that shares by Redis.
#ifndef WARMPIPE_TESTS_REDIS_REMOTE_H
#define WARMPIPE_TESTS_REDIS_REMOTE_H

#include "fleet.h"
#include "scripted_servers.h"

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

#endif
