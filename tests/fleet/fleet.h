// SPDX-License-Identifier: Apache-2.0
// Machines of the tests: each has a home, a root of caches and the test driver.
#ifndef WARMPIPE_TESTS_FLEET_FLEET_H
#define WARMPIPE_TESTS_FLEET_FLEET_H

#include <atomic>
#include <functional>
#include <thread>

#include <nlohmann/json.hpp>

#include "servers.h"

using json = nlohmann::json;

class Machine {
  public:
    TemporaryFolder folder;
    std::string root = folder.path + "/cache";
    Environment more; // further variables

    Environment environment() const
    {
        Environment all = more;
        all.insert({{"HOME", folder.path},
                    {"VK_DRIVER_FILES", TEST_ICD_MANIFEST},
                    {"VK_ICD_FILENAMES", TEST_ICD_MANIFEST},
                    {"ASAN_OPTIONS", "detect_leaks=0"},
                    {"WPTEST_ICD_RECORD_BYTES", "20000"}}); // a cache is too large for a head
        return all;
    }

    ToolResult tool(std::vector<std::string> words) const
    {
        return run_tool(std::move(words), environment());
    }

    // The test's program under the layer; what the layer says at its end.
    std::string run(int pipelines, std::vector<std::string> options = {}) const
    {
        std::vector<std::string> words = {"run", "--dir", root, "--app", "demo"};
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {"--", PIPELINES_CLIENT, "--graphics", "0", "--compute",
                                   std::to_string(pipelines)});
        const ToolResult result = tool(words);
        EXPECT_EQ(result.exit_status, 0) << result.err;
        return result.err;
    }

    ToolResult pull(const std::string &url, const std::string &key) const
    {
        return tool({"pull", "--remote", url, "--public-key", key, "--app", "demo", "--dir", root});
    }

    // From now on there is no driver for what is started here.
    void lose_driver()
    {
        more["VK_DRIVER_FILES"] = more["VK_ICD_FILENAMES"] = folder.path + "/none.json";
    }

    void find_driver()
    {
        more.erase("VK_DRIVER_FILES");
        more.erase("VK_ICD_FILENAMES");
    }

    // The cache files of a program.
    std::vector<std::string> caches(const std::string &app = "demo") const
    {
        std::vector<std::string> names;
        for (const auto &entry : std::filesystem::recursive_directory_iterator(root)) {
            const std::string name = entry.path().filename();
            const std::string ending = entry.path().extension();
            if (contains(entry.path(), "/" + app + "/") &&
                (ending == ".wpcache" || ending == ".part")) {
                names.push_back(name);
            }
        }
        return names;
    }
};

// `run` of a program that asks a remote for nothing, and ends once what `waits` for is there.
inline void run_until(const Machine &machine, std::vector<std::string> options,
                      const std::function<bool()> &waits)
{
    const std::string file = machine.folder.path + "/done";
    std::vector<std::string> words = {"run", "--quiet", "--dir", machine.root, "--app", "demo"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "/usr/bin/timeout", "20", "/bin/sh", "-c",
                               "until [ -e \"$0\" ]; do sleep 0.01; done", file});
    std::atomic_bool ended = false;
    std::thread waiter([&] {
        while (!ended && !waits()) {
            usleep(5000);
        }
        write_file(file, "");
    });
    const ToolResult result = machine.tool(words);
    ended = true;
    waiter.join();
    EXPECT_EQ(result.exit_status, 0) << result.err;
}

struct Keys {
    TemporaryFolder folder;
    std::string secret = folder.path + "/keys/warmpipe.key";
    std::string open = folder.path + "/keys/warmpipe.pub";

    Keys()
    {
        EXPECT_EQ(run_tool({"remote", "keygen", "--out", folder.path + "/keys"}).exit_status, 0);
    }
};

// The rows of a JSON answer, one a line: "demo blob pulled".
inline std::vector<std::string> rows_of(const std::string &out)
{
    std::vector<std::string> rows;
    const json answer = json::parse(out);
    for (const json &row : answer["results"]) {
        rows.push_back(row["name"].get<std::string>() + " " + row["kind"].get<std::string>() + " " +
                       row["result"].get<std::string>());
    }
    return rows;
}

using Rows = std::vector<std::string>;

#endif
