// SPDX-License-Identifier: Apache-2.0
// warmpipe list: what is kept, by program and device.
#include "paths.h"
#include "root_fixture.h"

namespace {

using json = nlohmann::json;

class List : public RootTest {};

TEST_F(List, ALineForEachProgramAndDevice)
{
    driver_identity other = sample_identity();
    other.device_id = 1;
    std::strcpy(other.device_name, "Another");
    put("beta", cache, cache_file());
    put("alpha", hex_of(other) + ".wpcache", cache_file(other));
    put("alpha", cache, cache_file());
    json programs = json::parse(tool({"list", "--json"}).out)["programs"];
    ASSERT_EQ(programs.size(), 3u);
    EXPECT_EQ(programs[0]["name"], "alpha");
    EXPECT_EQ(programs[1]["name"], "alpha");
    EXPECT_EQ(programs[2]["name"], "beta");
    EXPECT_EQ(programs[2]["device"], "Sample device");
    EXPECT_EQ(programs[2]["driver"], "sample 22.3.6");
    EXPECT_EQ(programs[2]["size"], cache_file().size());
    EXPECT_EQ(programs[2]["state"], "ok");
    std::vector<std::string> lines = lines_of(tool({"list"}).out);
    ASSERT_EQ(lines.size(), 4u);
    EXPECT_EQ(lines[0].substr(0, 14), "name   device ");
    EXPECT_EQ(lines[3].substr(0, 20), "beta   Sample device");
    EXPECT_EQ(lines_of(tool({"list", "--app", "beta"}).out).size(), 2u);
}

TEST_F(List, CountsTheRecipesOfAProgram)
{
    put("one", cache, cache_file());
    put("one", "recipes/0123456789abcdef.wprecipes", std::string(5000, '\0'));
    chmod((root + "/one/recipes").c_str(), 0700);
    const json program = json::parse(tool({"list", "--json"}).out)["programs"][0];
    EXPECT_EQ(program["recipes"], 5000);
    EXPECT_EQ(program["size"], cache_file().size());
    EXPECT_TRUE(contains(tool({"list"}).out, "4.9 KiB"));
    // Without a cache there are recipes alone, and nothing is counted twice.
    std::filesystem::remove(root + "/one/" + cache);
    const json recipes = json::parse(tool({"list", "--json"}).out)["programs"][0];
    EXPECT_EQ(recipes["recipes"], 5000);
    EXPECT_EQ(recipes["size"], 0);
}

TEST_F(List, TextAndJsonSayTheSame)
{
    put("one", cache, cache_file());
    put("two", "program.json", "{\"format\":1}\n");
    ToolResult text = tool({"list", "-v"});
    json programs = json::parse(tool({"list", "-v", "--json"}).out)["programs"];
    ASSERT_EQ(programs.size(), 2u);
    std::vector<std::string> lines = lines_of(text.out);
    ASSERT_EQ(lines.size(), 3u);
    for (size_t i = 0; i < programs.size(); i++) {
        for (const auto &[key, value] : programs[i].items()) {
            EXPECT_TRUE(contains(lines[0], key == "last_use" ? "last use" : key));
            if (value.is_string()) {
                EXPECT_TRUE(contains(lines[i + 1], value)) << key;
            }
        }
    }
}

TEST_F(List, TellsWhatStateThingsAreIn)
{
    put("whole", cache, cache_file());
    put("damaged", cache, flipped(cache_file(), 50));
    put("renamed", std::string(32, 'a') + ".wpcache", cache_file());
    put("part", name + ".0123456789abcdef.part", cache_file());
    put("away", "quarantine/" + cache, "whatever");
    put("struck", cache, cache_file());
    const std::string failure = name + ".loading/0123456789abcdef.strike";
    const std::string number(8, '\1');
    put("struck", failure, std::string("wpmark\n\1") + number + std::string(60, '\0'));
    // A page of a death in the compile of what the cache does not hold: no start goes without it.
    put("spared", cache, cache_file());
    put("spared", failure, std::string("wpmark\n\2") + number + std::string(2160, '\0'));
    put("nothing", "program.json", "{\"format\":1}\n");
    put("foreign", "notes.txt", "mine");
    put("open", cache, cache_file());
    chmod((root + "/open").c_str(), 0777);
    EXPECT_EQ(states(1), (std::map<std::string, std::string>{{"whole", "ok"},
                                                             {"damaged", "bad_header_digest"},
                                                             {"renamed", "renamed"},
                                                             {"part", "ok"},
                                                             {"away", "quarantined"},
                                                             {"struck", "suspect"},
                                                             {"spared", "ok"},
                                                             {"nothing", "no_file"},
                                                             {"open", "directory_mode"}}));
    ToolResult result = tool({"list"});
    EXPECT_EQ(lines_of(result.err).size(), 3u) << result.err;
    EXPECT_TRUE(contains(result.err, "'damaged'"));
    EXPECT_TRUE(contains(result.err, "(bad_header_digest)"));
}

// Recorded by the layer: six pipelines, on one of two devices.
TEST_F(List, CountsThePipelinesThatRecipesTellOf)
{
    ToolResult result = run_tool(
        {"run", "--app", "app", "--", PIPELINES_CLIENT, "--compute", "4", "--graphics", "2"},
        {{"WARMPIPE_DIR", root},
         {"VK_DRIVER_FILES", TEST_ICD_MANIFEST},
         {"VK_ICD_FILENAMES", TEST_ICD_MANIFEST},
         {"ASAN_OPTIONS", "detect_leaks=0"}});
    ASSERT_EQ(result.exit_status, 0) << result.err;
    put("app", cache, cache_file()); // of a device that nothing was recorded on
    put("bare", cache, cache_file());
    json programs = json::parse(tool({"list", "--json"}).out)["programs"];
    ASSERT_EQ(programs.size(), 3u);
    for (const json &program : programs) {
        EXPECT_EQ(program["pipelines"], program["device"] == "Sample device" ? 0 : 6) << program;
    }
}

// As of a machine whose clock was wrong.
TEST_F(List, ATimeBeforeAllTimesIsNone)
{
    const std::string file = put("one", cache, cache_file());
    for (const time_t seconds : {time_t(-1), time_t(-1000000000)}) {
        const timespec times[2] = {{seconds, 0}, {seconds, 0}};
        ASSERT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
        EXPECT_EQ(json::parse(tool({"list", "--json"}).out)["programs"][0]["last_use"], "");
    }
}

TEST_F(List, AnEmptyCacheFileIsTruncated)
{
    put("app", cache, "");
    put("other", name + ".wanted", "");
    EXPECT_EQ(states(1),
              (std::map<std::string, std::string>{{"app", "truncated"}, {"other", "no_file"}}));
}

TEST_F(List, ANarrowTerminalGetsBlocks)
{
    put("alpha", cache, cache_file());
    put("beta", cache, cache_file());
    for (const auto &[columns, lines] :
         std::map<std::string, size_t>{{"40", 17}, {"200", 3}}) { // 2 × 8 and an empty line
        ToolResult result = run_shell("script -qec 'stty cols " + columns + "; $tool list --dir " +
                                      root + "' /dev/null < /dev/null");
        EXPECT_EQ(lines_of(result.out).size(), lines) << result.out;
    }
}

} // namespace
