// SPDX-License-Identifier: Apache-2.0
// A program that ran under the layer with an older driver of the test devices, and warmpipe warm.
#ifndef WARMPIPE_TESTS_CLI_WARM_FIXTURE_H
#define WARMPIPE_TESTS_CLI_WARM_FIXTURE_H

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "paths.h"
#include "tool.h"

using json = nlohmann::json;

constexpr unsigned PIPELINES = 16;

class Warm : public ::testing::Test {
  protected:
    TemporaryFolder folder;
    const std::string log = folder.path + "/log";
    const std::string stats = folder.path + "/stats";
    const std::string root = folder.path + "/root";

    // Of the driver that programs meet from now on; anything that it must not be asked ends it.
    Environment environment(Environment more = {}) const
    {
        more.insert({{"HOME", folder.path},
                     {"WARMPIPE_DIR", root},
                     {"WPTEST_ICD_ABORT", "1"},
                     {"WPTEST_ICD_DRIVER_VERSION", "2"},
                     {"WPTEST_ICD_LOG", log},
                     {"VK_DRIVER_FILES", TEST_ICD_MANIFEST},
                     {"VK_ICD_FILENAMES", TEST_ICD_MANIFEST},
                     // A driver is unloaded before the program ends, and what it keeps looks lost.
                     {"ASAN_OPTIONS", "detect_leaks=0"}});
        return more;
    }

    // A program under the layer.
    json run_client(Environment more = {}, const std::vector<std::string> &arguments = {
                                               "--compute", "12", "--graphics", "4"})
    {
        std::filesystem::remove(stats);
        more.emplace("WARMPIPE_STATS", stats);
        std::vector<std::string> words = {"run", "--app", "program", "--", PIPELINES_CLIENT};
        words.insert(words.end(), arguments.begin(), arguments.end());
        ToolResult result = run_tool(words, environment(more));
        EXPECT_EQ(result.exit_status, 0) << result.err;
        std::vector<std::string> lines = lines_of(read_file(stats));
        EXPECT_FALSE(lines.empty()) << "the layer was not there";
        return lines.empty() ? json() : json::parse(lines.back());
    }

    // The same with all pipelines, killed when they are recorded and before a save.
    void run_client_until_killed()
    {
        const ToolResult killed =
            run_program({"/bin/bash", "-c",
                         "\"$tool\" run --app program -- \"$client\" --compute 12 --graphics 4 "
                         "--wait-ms 600000 &\n"
                         "until \"$tool\" list --json | grep -q '\"pipelines\":" +
                             std::to_string(PIPELINES) + "'; do sleep 0.02; done; kill -9 $!"},
                        environment({{"tool", WARMPIPE_TOOL},
                                     {"client", PIPELINES_CLIENT},
                                     {"WARMPIPE_FLUSH_IDLE_MS", "4294967295"}}));
        EXPECT_EQ(killed.exit_status, 0) << killed.err;
    }

    void record()
    {
        EXPECT_EQ(run_client({{"WPTEST_ICD_DRIVER_VERSION", "1"}})["cache"]["state"], "cold");
    }

    ToolResult warm(std::vector<std::string> arguments, const Environment &more = {})
    {
        arguments.insert(arguments.begin(), "warm");
        return run_tool(arguments, environment(more));
    }

    json document(std::vector<std::string> arguments, const Environment &more = {}, int status = 0)
    {
        arguments.push_back("--json");
        ToolResult result = warm(arguments, more);
        EXPECT_EQ(result.exit_status, status) << result.err;
        json document = json::parse(result.out, nullptr, false);
        EXPECT_TRUE(document.is_object()) << result.out;
        return document;
    }

    json caches(std::vector<std::string> arguments, const Environment &more = {}, int status = 0)
    {
        return document(std::move(arguments), more, status).value("caches", json());
    }

    long event_count(const std::string &name) const
    {
        std::vector<std::string> lines = lines_of(read_file(log));
        return std::count_if(lines.begin(), lines.end(), [&](const std::string &line) {
            return json::parse(line).value("event", "") == name;
        });
    }

    // That have loaded the driver.
    std::set<int> processes() const
    {
        std::set<int> found;
        for (const std::string &line : lines_of(read_file(log))) {
            found.insert(json::parse(line)["pid"].get<int>());
        }
        return found;
    }

    void remove_caches(const std::string &program) const
    {
        for (const std::string &name : names_in(root + "/" + program, ".wpcache")) {
            std::filesystem::remove(root + "/" + program + "/" + name);
        }
    }

    // What the driver calls the pipelines of the program, in the order in which they were made.
    std::vector<std::string> contents() const
    {
        std::vector<std::string> contents;
        for (const std::string &line : lines_of(read_file(log))) {
            json event = json::parse(line);
            if (event.value("event", "") == "pipeline") {
                contents.push_back("0x" + std::string(event["content"]));
            }
        }
        return contents;
    }
};

#endif
