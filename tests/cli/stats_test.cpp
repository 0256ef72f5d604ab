// SPDX-License-Identifier: Apache-2.0
// warmpipe stats: the counters of program.json, added up.
#include <nlohmann/json.hpp>

#include "tool.h"

namespace {

using json = nlohmann::json;

class Stats : public ::testing::Test {
  protected:
    void put(const std::string &app, const std::string &content)
    {
        std::filesystem::create_directories(root + "/" + app);
        chmod((root + "/" + app).c_str(), 0700);
        write_file(root + "/" + app + "/program.json", content);
        chmod((root + "/" + app + "/program.json").c_str(), 0600);
    }

    ToolResult tool(std::vector<std::string> words)
    {
        words.insert(words.begin(), "stats");
        return run_tool(std::move(words), {{"WARMPIPE_DIR", root}});
    }

    json document(std::vector<std::string> words = {}, int status = 0)
    {
        words.push_back("--json");
        ToolResult result = tool(words);
        EXPECT_EQ(result.exit_status, status) << result.err;
        return json::parse(result.out);
    }

    TemporaryFolder folder;
    std::string root = folder.path + "/root";
    // Ten misses of a second each; 30 others took 400 ms in all.
    const std::string alpha = R"({"format":1,"since":1700000000,"starts":2,"requests":40,
        "shared":10,"driver_hits":20,"driver_misses":10,"create_ns":10400000000,
        "compile_ns":10000000000})";
    const std::string beta = R"({"format":1,"since":1600000000,"starts":1,"requests":5,
        "driver_hits":5,"create_ns":1000})";
};

TEST_F(Stats, OfNothingHaveNoTime)
{
    std::filesystem::create_directories(root);
    EXPECT_EQ(document()["total"]["since"], "");
}

// Columns that few need are not in everybody's way.
TEST_F(Stats, SaysWhatWasPulledWhereSomethingWas)
{
    put("alpha", alpha);
    EXPECT_FALSE(contains(tool({}).out, "pulled"));
    EXPECT_EQ(document()["total"]["pulled"], 0);
    put("beta", R"({"format":1,"since":1600000000,"starts":1,"pulled":2,"pulled_bytes":4096})");
    EXPECT_TRUE(contains(tool({}).out, "pulled bytes")) << tool({}).out;
}

// A program of Vulkan 1.0: its driver does not say what it has compiled.
TEST_F(Stats, CallsUnknownWhatTheDriverDidNotSay)
{
    put("alpha", R"({"format":1,"since":1600000000,"starts":1,"requests":5,"shared":1})");
    EXPECT_TRUE(contains(tool({}).out, "unknown")) << tool({}).out;
    EXPECT_FALSE(contains(tool({}).out, "0 (0.0%)")) << tool({}).out;
    EXPECT_EQ(document()["total"]["driver_hits"], 0);
    put("beta", R"({"format":1,"since":1600000000,"starts":1,"requests":5,"shared":5})");
    EXPECT_FALSE(contains(tool({"--app", "beta"}).out, "unknown")) << "none was the driver's";
}

TEST_F(Stats, AddsUpAllPrograms)
{
    put("alpha", alpha);
    put("beta", beta);
    put("silent", R"({"format":1})");
    json all = document();
    EXPECT_EQ(all["total"]["programs"], 2);
    EXPECT_EQ(all["total"]["requests"], 45);
    EXPECT_EQ(all["total"]["driver_hits"], 25);
    EXPECT_EQ(all["total"]["since"], "2020-09-13T12:26:40Z");
    ASSERT_EQ(all["programs"].size(), 2u);
    EXPECT_EQ(all["programs"][0]["name"], "alpha");
    EXPECT_EQ(all["programs"][0]["spent_ns"], 10400000000u);
    EXPECT_EQ(all["programs"][0]["saved_ns"], 29600000000u); // 30 s less what they took
    EXPECT_EQ(all["programs"][1]["saved_ns"], 0u);           // nothing is known of its misses
    EXPECT_EQ(document({"--app", "beta"})["total"]["requests"], 5);
    EXPECT_EQ(tool({"--app", "gamma"}).exit_status, 2);
}

TEST_F(Stats, TextAndJsonAgree)
{
    put("alpha", alpha.substr(0, alpha.size() - 1) + R"(,"pulled":1})");
    std::vector<std::string> lines = lines_of(tool({}).out);
    ASSERT_EQ(lines.size(), 17u);
    EXPECT_EQ(lines[0], "total");
    EXPECT_EQ(lines[4], "  requests            40");
    EXPECT_EQ(lines[5], "  shared              10 (25.0%)");
    EXPECT_EQ(lines[8], "  prewarmed           0");
    EXPECT_EQ(lines[9], "  spent               10.4 s");
    EXPECT_EQ(lines[10], "  saved               29.6 s");
    json total = document()["total"];
    EXPECT_EQ(total.size(), 13u); // a line each
}

TEST_F(Stats, ZeroBeginsAnew)
{
    put("alpha", alpha);
    put("beta", beta);
    EXPECT_EQ(document({"--zero", "--app", "alpha"})["total"]["requests"], 0);
    EXPECT_EQ(document()["total"]["requests"], 5);
    EXPECT_EQ(document({"-z"})["total"]["starts"], 0);
}

TEST_F(Stats, DamageIsNamedAndTheRestIsShown)
{
    put("alpha", alpha);
    put("broken", "{");
    ToolResult result = tool({});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_EQ(lines_of(result.err).size(), 1u);
    EXPECT_TRUE(contains(result.err, "'broken'"));
    EXPECT_TRUE(contains(result.err, "(bad_program_file)"));
    const auto told = document({}, 1);
    EXPECT_EQ(told["total"]["requests"], 40);
    EXPECT_EQ("warmpipe: " + std::string(told["error"]) + "\n", result.err);
}

TEST_F(Stats, ZeroChangesNoFileOfOthersAndMakesNone)
{
    put("alpha", alpha);
    put("theirs", "{\"name\":\"my own thing\"}");
    std::filesystem::create_directory(root + "/empty");
    chmod((root + "/empty").c_str(), 0700);
    EXPECT_EQ(document({"--zero"}, 1)["total"]["requests"], 0);
    EXPECT_EQ(read_file(root + "/theirs/program.json"), "{\"name\":\"my own thing\"}");
    EXPECT_TRUE(names_in(root + "/empty").empty());
}

TEST_F(Stats, NothingCountedIsNoFinding)
{
    ToolResult result = tool({});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_TRUE(contains(result.err, "nothing counted yet"));
    EXPECT_EQ(document()["programs"].size(), 0u);
}

} // namespace
