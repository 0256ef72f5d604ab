// SPDX-License-Identifier: Apache-2.0
// Machines that share a folder, where a test can damage all of it.
#ifndef WARMPIPE_TESTS_FLEET_FILE_REMOTE_H
#define WARMPIPE_TESTS_FLEET_FILE_REMOTE_H

#include "fleet.h"

inline const std::string minisign = "/usr/bin/minisign";

class FileRemote : public testing::Test {
  protected:
    Keys keys;
    Machine first;
    Machine second;
    std::unique_ptr<Place> place = file_place();

    ToolResult push(const Machine &machine, std::vector<std::string> more = {})
    {
        std::vector<std::string> words = {"push",         "--json",    "--remote", place->url,
                                          "--secret-key", keys.secret, "--dir",    machine.root};
        words.insert(words.end(), more.begin(), more.end());
        return machine.tool(words);
    }

    ToolResult pull(const Machine &machine, std::vector<std::string> more = {})
    {
        std::vector<std::string> words = {"pull",         "--json",  "--remote", place->url,
                                          "--public-key", keys.open, "--dir",    machine.root};
        words.insert(words.end(), more.begin(), more.end());
        return machine.tool(words);
    }

    // What one machine has compiled lies at the remote.
    void share(int pipelines = 4)
    {
        ASSERT_TRUE(contains(first.run(pipelines), " misses; saved "));
        const ToolResult result = push(first);
        ASSERT_EQ(result.exit_status, 0) << result.err;
    }

    std::vector<std::string> files(const std::string &folder)
    {
        std::vector<std::string> found;
        for (const auto &entry :
             std::filesystem::recursive_directory_iterator(place->data + "/v1/" + folder)) {
            if (entry.is_regular_file()) {
                found.push_back(entry.path());
            }
        }
        return found;
    }

    std::string head_file()
    {
        for (const std::string &file : files("head/demo")) {
            if (!contains(file, "recipes")) {
                return file;
            }
        }
        return "";
    }

    json head_json()
    {
        return remote_head(head_file());
    }

    static json remote_head(const std::string &file)
    {
        std::string text = read_file(file);
        for (int line = 0; line < 4; line++) {
            text = text.substr(text.find('\n') + 1);
        }
        return json::parse(text);
    }

    // Nothing is taken, for this reason alone.
    void expect_refused(const std::string &reason)
    {
        Machine machine;
        const ToolResult result = pull(machine, {"--app", "demo"});
        EXPECT_EQ(result.exit_status, 1);
        EXPECT_TRUE(contains(result.err, "(" + reason + ")")) << result.err;
        EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
        std::filesystem::create_directories(machine.root);
        EXPECT_EQ(machine.caches(), std::vector<std::string>());
    }
};

#endif
