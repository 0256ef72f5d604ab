// SPDX-License-Identifier: Apache-2.0
// Traces as programs write them, and what warmpipe report makes of them.
#ifndef WARMPIPE_TESTS_CLI_REPORT_FIXTURE_H
#define WARMPIPE_TESTS_CLI_REPORT_FIXTURE_H

#include <nlohmann/json.hpp>

#include "tool.h"

using nlohmann::ordered_json;

inline const std::string digest_a(32, 'a');
inline const std::string digest_b(32, 'b');

class Report : public ::testing::Test {
  protected:
    // Events of a process, as WARMPIPE_TRACE writes them.
    void device(int process, const std::string &cache, double at_us,
                const std::string &app = "alpha", int number = 0)
    {
        events.push_back({{"name", "device"},
                          {"cat", "device"},
                          {"ph", "i"},
                          {"s", "p"},
                          {"ts", at_us},
                          {"pid", process},
                          {"tid", process},
                          {"args",
                           {{"app", app},
                            {"device", "Sample device"},
                            {"driver", "sample 1.2"},
                            {"identity", digest_b},
                            {"dev", number},
                            {"cache", cache}}}});
    }

    void span(int process, const std::string &category, const std::string &name, double at_us,
              double length_us, ordered_json arguments = ordered_json::object(), int thread = 0)
    {
        arguments["dev"] = 0;
        events.push_back({{"name", name},
                          {"cat", category},
                          {"ph", "X"},
                          {"ts", at_us},
                          {"dur", length_us},
                          {"pid", process},
                          {"tid", thread ? thread : process},
                          {"args", arguments}});
    }

    void pipeline(int process, double at_us, double length_us, const std::string &digest,
                  const std::string &result, const std::string &kind = "graphics")
    {
        span(process, "pipeline", kind, at_us, length_us, {{"digest", digest}, {"result", result}});
    }

    // A cold start and a warm one, of a program that asks for `a` twice and for `b` once.
    void cold_and_warm()
    {
        device(10, "cold", 1000);
        span(10, "cache", "load", 1000, 20,
             {{"bytes", 0}, {"state", "cold"}, {"reason", "no_file"}});
        span(10, "object", "module", 1030, 4, {{"digest", digest_b}, {"result", "created"}});
        span(10, "object", "module", 1040, 2, {{"digest", digest_b}, {"result", "shared"}});
        pipeline(10, 1100, 8000, digest_a, "miss");
        pipeline(10, 9200, 1, digest_a, "shared");
        pipeline(10, 9300, 1999, digest_b, "miss", "compute");
        span(10, "cache", "save", 20000, 500, {{"bytes", 4096}});
        device(20, "loaded", 50000);
        span(20, "cache", "load", 50000, 300,
             {{"bytes", 4096}, {"state", "loaded"}, {"reason", "ok"}});
        pipeline(20, 51000, 180.5, digest_a, "hit");
        pipeline(20, 51200, 1, digest_a, "shared");
        pipeline(20, 51300, 18.5, digest_b, "hit", "compute");
    }

    // The trace in hand, one event a line.
    std::string put(const std::string &name = "trace.json")
    {
        std::string text = "[";
        for (const ordered_json &event : events) {
            text += (text.size() == 1 ? "\n" : ",\n") + event.dump();
        }
        return put_text(text + "\n]\n", name);
    }

    std::string put_text(const std::string &text, const std::string &name = "trace.json")
    {
        write_file(folder.path + "/" + name, text);
        return folder.path + "/" + name;
    }

    ToolResult tool(std::vector<std::string> words)
    {
        words.insert(words.begin(), "report");
        return run_tool(std::move(words), environment, folder.path);
    }

    ordered_json document(std::vector<std::string> words, int status = 0)
    {
        words.push_back("--json");
        const ToolResult result = tool(words);
        EXPECT_EQ(result.exit_status, status) << result.err;
        return ordered_json::parse(result.out);
    }

    std::string page(std::vector<std::string> words)
    {
        words.insert(words.end(), {"--html", "-"});
        const ToolResult result = tool(words);
        EXPECT_EQ(result.exit_status, 0) << result.err;
        EXPECT_EQ(result.err, "");
        return result.out;
    }

    TemporaryFolder folder;
    Environment environment{{"WARMPIPE_DIR", folder.path + "/root"}};
    std::vector<ordered_json> events;
};

#endif
