// SPDX-License-Identifier: Apache-2.0
// warmpipe doctor over the test driver, and what it found.
#ifndef WARMPIPE_TESTS_CLI_DOCTOR_FIXTURE_H
#define WARMPIPE_TESTS_CLI_DOCTOR_FIXTURE_H

#include <algorithm>

#include <nlohmann/json.hpp>

#include "paths.h"
#include "tool.h"

using json = nlohmann::json;

// Where the tests themselves run in a container, their folder dies with it, and doctor says so.
inline const bool in_container =
    std::filesystem::exists("/.dockerenv") || std::filesystem::exists("/run/.containerenv");
inline const int healthy = in_container ? 1 : 0;

constexpr const char *mesa = "3"; // VK_DRIVER_ID_MESA_RADV

class Doctor : public ::testing::Test {
  protected:
    Environment environment(Environment more = {})
    {
        more.insert({{"HOME", folder.path},
                     {"TMPDIR", folder.path},
                     {"WARMPIPE_DIR", folder.path + "/root"},
                     {"VK_DRIVER_FILES", TEST_ICD_MANIFEST},
                     {"VK_ICD_FILENAMES", TEST_ICD_MANIFEST}});
        return more;
    }

    // Findings by check, "verdict: finding".
    std::multimap<std::string, std::string> findings(const Environment &more, int status)
    {
        ToolResult result = run_tool({"doctor", "--json"}, environment(more));
        std::multimap<std::string, std::string> findings;
        const json document = json::parse(result.out);
        int problems = 0;
        int of_others = 0;
        for (const json &finding : document["findings"]) {
            const std::string verdict = finding["verdict"];
            const std::string told = finding["finding"];
            const bool has_advice = finding.contains("advice");
            const std::string advice = has_advice ? std::string(finding["advice"]) : "";
            findings.emplace(finding["check"], verdict + ": " + told + "; " + advice);
            EXPECT_TRUE(verdict == "ok" || has_advice) << finding;
            problems += verdict == "problem";
            // Other tests run such programs at the same time.
            of_others +=
                verdict == "problem" && finding["check"] == "program" && !contains(told, bypassing);
        }
        EXPECT_EQ(result.exit_status, problems > 0 ? 1 : 0) << result.out;
        EXPECT_EQ(problems > of_others ? 1 : 0, status) << result.out;
        return findings;
    }

    // The number of a process of this test that has loaded a driver without the layer.
    std::string bypassing = "no such process";

    static void expect(const std::multimap<std::string, std::string> &findings,
                       const std::string &check, const std::string &part)
    {
        auto [from, to] = findings.equal_range(check);
        bool found = std::any_of(
            from, to, [&](const auto &finding) { return contains(finding.second, part); });
        EXPECT_TRUE(found) << check << ": " << (from == to ? "nothing" : from->second);
    }

    TemporaryFolder folder;
};

#endif
