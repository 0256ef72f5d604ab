// SPDX-License-Identifier: Apache-2.0
// warmpipe report, of what the layer itself writes.
#include <nlohmann/json.hpp>

#include "paths.h"
#include "tool.h"

namespace {

using json = nlohmann::json;

class ReportOfTheLayer : public ::testing::Test {
  protected:
    Environment environment(Environment more = {}) const
    {
        more.insert({{"HOME", folder.path},
                     {"WARMPIPE_DIR", folder.path + "/root"},
                     {"WARMPIPE_TRACE", trace},
                     {"WARMPIPE_STATS", folder.path + "/stats"},
                     {"VK_DRIVER_FILES", TEST_ICD_MANIFEST},
                     {"VK_ICD_FILENAMES", TEST_ICD_MANIFEST},
                     {"WPTEST_ICD_ABORT", "1"},
                     {"WPTEST_ICD_COMPILE_US", "200"},
                     {"ASAN_OPTIONS", "detect_leaks=0"}});
        return more;
    }

    // What the statistics say of one start of a program.
    json run_client(Environment more = {})
    {
        std::filesystem::remove(folder.path + "/stats");
        const ToolResult result =
            run_tool({"run", "--quiet", "--app", "program", "--", PIPELINES_CLIENT, "--compute",
                      "12", "--graphics", "4", "--repeat", "2", "--threads", "3"},
                     environment(std::move(more)));
        EXPECT_EQ(result.exit_status, 0) << result.err;
        const std::vector<std::string> lines = lines_of(read_file(folder.path + "/stats"));
        EXPECT_FALSE(lines.empty()) << "the layer was not there";
        return lines.empty() ? json() : json::parse(lines.back());
    }

    ToolResult tool(const std::vector<std::string> &words)
    {
        const ToolResult result = run_tool(words, environment());
        EXPECT_EQ(result.exit_status, 0) << result.err;
        return result;
    }

    json report()
    {
        return json::parse(tool({"report", "--json"}).out)["programs"];
    }

    static void expect_same(const json &run, const json &stats)
    {
        const json &pipelines = stats["pipelines"];
        EXPECT_EQ(run["cache"], stats["cache"]["state"]);
        EXPECT_EQ(run["requests"], pipelines["requested"]);
        EXPECT_EQ(run["shared"], pipelines["deduplicated"]);
        EXPECT_EQ(run["hit"], pipelines["driver_hits"]);
        EXPECT_EQ(run["miss"], pipelines["driver_misses"]);
        EXPECT_EQ(run["loaded"], stats["cache"]["loaded_bytes"]);
        EXPECT_EQ(run["events_dropped"], 0);
    }

    TemporaryFolder folder;
    const std::string trace = folder.path + "/trace.json";
};

TEST_F(ReportOfTheLayer, SaysWhatTheStatisticsSay)
{
    const json cold = run_client();
    const json warm = run_client();
    const json programs = report();
    ASSERT_EQ(programs.size(), 1u);
    EXPECT_EQ(programs[0]["name"], "program");
    EXPECT_EQ(programs[0]["device"], cold["device"]);
    EXPECT_EQ(programs[0]["identity"], cold["identity"]);
    expect_same(programs[0]["cold"], cold);
    expect_same(programs[0]["warm"], warm);
    EXPECT_EQ(programs[0]["different_pipelines"], 16);
    EXPECT_TRUE(programs[0].contains("ratio"));
}

TEST_F(ReportOfTheLayer, TheSlowestPipelineCanBeInspected)
{
    run_client();
    const std::string digest = report()[0]["dearest_pipelines"][0]["digest"];
    const std::string recipes = folder.path + "/recipes";
    tool({"export", recipes});
    EXPECT_TRUE(contains(tool({"inspect", "--pipeline", digest, recipes}).out, "stage"));
}

TEST_F(ReportOfTheLayer, AnUpdateOfTheDriverIsAProgramOfItsOwn)
{
    run_client();
    run_client({{"WPTEST_ICD_DRIVER_VERSION", "2"}, {"WARMPIPE_PREWARM", "on"}});
    const json programs = report();
    ASSERT_EQ(programs.size(), 2u);
    EXPECT_EQ(programs[0]["name"], programs[1]["name"]);
    EXPECT_NE(programs[0]["identity"], programs[1]["identity"]);
    EXPECT_EQ(programs[0]["cold"]["prewarmed"], 0);
}

} // namespace
