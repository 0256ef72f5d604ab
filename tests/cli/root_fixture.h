// SPDX-License-Identifier: Apache-2.0
// A root of caches with files as the layer makes them, and the tool that is to read it.
#ifndef WARMPIPE_TESTS_CLI_ROOT_FIXTURE_H
#define WARMPIPE_TESTS_CLI_ROOT_FIXTURE_H

#include <filesystem>
#include <map>

#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "tool.h"

class RootTest : public ::testing::Test {
  protected:
    // A file in a program's folder, which is made as the layer makes it.
    std::string put(const std::string &app, const std::string &file, const std::string &content)
    {
        std::string path = root + "/" + app + "/" + file;
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        chmod((root + "/" + app).c_str(), 0700);
        write_file(path, content);
        chmod(path.c_str(), 0600);
        return path;
    }

    ToolResult tool(std::vector<std::string> words)
    {
        return run_tool(std::move(words), {{"WARMPIPE_DIR", root}});
    }

    // state by name
    std::map<std::string, std::string> states(int status = 0)
    {
        ToolResult result = tool({"list", "--json"});
        EXPECT_EQ(result.exit_status, status) << result.err;
        std::map<std::string, std::string> states;
        const nlohmann::json document = nlohmann::json::parse(result.out);
        for (const nlohmann::json &program : document["programs"]) {
            states[program["name"]] = program["state"];
        }
        return states;
    }

    TemporaryFolder folder;
    std::string root = folder.path + "/root";
    const std::string name = hex_of(sample_identity());
    const std::string cache = name + ".wpcache";
};

#endif
