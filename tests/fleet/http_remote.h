// SPDX-License-Identifier: Apache-2.0
// A machine, and an HTTP server that it asks.
#ifndef WARMPIPE_TESTS_FLEET_HTTP_REMOTE_H
#define WARMPIPE_TESTS_FLEET_HTTP_REMOTE_H

#include "fleet.h"
#include "scripted_servers.h"

class HttpRemote : public testing::Test {
  protected:
    Keys keys;
    Machine machine;

    ToolResult pull(const std::string &url, std::vector<std::string> more = {})
    {
        std::vector<std::string> words = {"pull",         "--json",  "--remote", url,
                                          "--public-key", keys.open, "--dir",    machine.root,
                                          "--app",        "demo"};
        words.insert(words.end(), more.begin(), more.end());
        return machine.tool(words);
    }

    ToolResult push_from(const Machine &from, const std::string &url,
                         std::vector<std::string> more = {})
    {
        std::vector<std::string> words = {"push",         "--json",    "--remote", url,
                                          "--secret-key", keys.secret, "--dir",    from.root};
        words.insert(words.end(), more.begin(), more.end());
        return from.tool(words);
    }

    ToolResult push(const std::string &url, std::vector<std::string> more = {})
    {
        return push_from(machine, url, std::move(more));
    }

    // A line that says why, of each head where it is of that alone, and nothing taken.
    void expect_refused(const std::string &url, const std::string &reason, size_t lines = 1)
    {
        const ToolResult result = pull(url);
        EXPECT_EQ(result.exit_status, 1) << reason;
        EXPECT_TRUE(contains(result.err, "(" + reason + ")")) << result.err;
        EXPECT_EQ(lines_of(result.err).size(), lines) << result.err;
        std::filesystem::create_directories(machine.root);
        EXPECT_EQ(machine.caches(), std::vector<std::string>());
    }

    void expect_refused(ScriptedServer::Script script, const std::string &reason, size_t lines = 1)
    {
        ScriptedServer server(std::move(script));
        expect_refused(server.url(), reason, lines);
    }
};

#endif
