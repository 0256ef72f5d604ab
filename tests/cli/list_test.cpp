// SPDX-License-Identifier: Apache-2.0
// warmpipe list and clear: what is kept, and removing it.
#include <algorithm>

#include <nlohmann/json.hpp>
#include <sys/file.h>

#include "paths.h"
#include "tool.h"

namespace {

using json = nlohmann::json;

class List : public ::testing::Test {
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
        const json document = json::parse(result.out);
        for (const json &program : document["programs"]) {
            states[program["name"]] = program["state"];
        }
        return states;
    }

    TemporaryFolder folder;
    std::string root = folder.path + "/root";
    const std::string name = hex_of(sample_identity());
    const std::string cache = name + ".wpcache";
};

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
    put("struck", name + ".loading/0123456789abcdef.strike", "");
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

TEST_F(List, FindsAProgramByTheNameThatRunWasGiven)
{
    ToolResult result =
        run_tool({"run", "--app", "my game", "--", PIPELINES_CLIENT, "--compute", "4"},
                 {{"WARMPIPE_DIR", root},
                  {"VK_DRIVER_FILES", TEST_ICD_MANIFEST},
                  {"VK_ICD_FILENAMES", TEST_ICD_MANIFEST},
                  {"ASAN_OPTIONS", "detect_leaks=0"}});
    ASSERT_EQ(result.exit_status, 0) << result.err;
    json programs = json::parse(tool({"list", "--app", "my game", "--json"}).out)["programs"];
    ASSERT_EQ(programs.size(), 1u);
    EXPECT_EQ(tool({"list", "--app", "another game"}).exit_status, 2);
}

TEST_F(List, AnEmptyRootIsNoFinding)
{
    ToolResult result = tool({"list"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(contains(result.err, "no warmpipe data in"));
    EXPECT_EQ(json::parse(tool({"list", "--json"}).out)["programs"].size(), 0u);
}

// As a run leaves it whose program has created no pipeline.
TEST_F(List, WhatRunHasMadeForTheDriverIsNoPlaceOfOthers)
{
    const std::string made = folder.path + "/made";
    ASSERT_EQ(run_tool({"run", "--dir", made, "--", "true"}).exit_status, 0);
    for (std::vector<std::string> words :
         {std::vector<std::string>{"list", "--dir", made}, {"clear", "--yes", "--dir", made}}) {
        const ToolResult result = tool(words);
        EXPECT_EQ(result.exit_status, 0) << words[0];
        EXPECT_TRUE(contains(result.err, "no warmpipe data in")) << result.err;
    }
}

TEST_F(List, APlaceThatIsNotOursIsMisuse)
{
    std::filesystem::create_directories(folder.path + "/home/music");
    write_file(folder.path + "/home/music/song", "la");
    for (std::vector<std::string> words :
         {std::vector<std::string>{"list", "--dir", folder.path + "/home"},
          {"clear", "--yes", "--dir", folder.path + "/home"},
          {"list", "--dir", folder.path + "/missing"},
          {"list", "--app", "missing"},
          {"clear", "--yes", "--app", "missing"}}) {
        EXPECT_EQ(tool(words).exit_status, 2) << words[0];
    }
    // Other words than where there is nothing at all.
    EXPECT_TRUE(contains(tool({"list", "--dir", folder.path + "/home"}).err, "not of warmpipe"));
    EXPECT_TRUE(
        contains(tool({"clear", "--yes", "--dir", folder.path + "/home"}).err, "not of warmpipe"));
    EXPECT_EQ(names_in(folder.path + "/home/music"), std::vector<std::string>{"song"});
}

// As if the caches were to lie on another disk.
TEST_F(List, WhatStandsInAProgramsPlaceIsNamed)
{
    put("elsewhere/q", cache, cache_file());
    std::filesystem::rename(root + "/elsewhere", folder.path + "/elsewhere");
    std::filesystem::create_directory_symlink(folder.path + "/elsewhere/q", root + "/link");
    write_file(root + "/file", "");
    write_file(root + "/.limits.54321", "1 1\n");
    write_file(root + "/notes.txt", "");
    const std::map<std::string, std::string> told = {{"link", "symlink"},
                                                     {"file", "directory_unusable"}};
    EXPECT_EQ(states(1), told);
    for (const auto &[app, reason] : told) {
        for (std::vector<std::string> words : {std::vector<std::string>{"warm"},
                                               {"stats"},
                                               {"prune"},
                                               {"clear", "--yes"},
                                               {"list"}}) {
            words.insert(words.end(), {"--app", app});
            const ToolResult result = tool(words);
            EXPECT_EQ(result.exit_status, words[0] == "warm" ? 2 : 1) << words[0];
            EXPECT_TRUE(contains(result.out + result.err, reason)) << words[0] << result.err;
        }
    }
    EXPECT_EQ(tool({"clear", "--yes"}).exit_status, 0) << "nothing of ours";
    EXPECT_EQ(names_in(root).size(), 4u);
    EXPECT_EQ(names_in(folder.path + "/elsewhere/q").size(), 1u) << "no link is followed";
}

TEST_F(List, AFileAmongFoldersOfOthersStandsInNobodysPlace)
{
    put("music", "song", "la");
    write_file(root + "/file", "");
    const ToolResult result = tool({"list"});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "not of warmpipe")) << result.err;
    EXPECT_FALSE(contains(result.err, "file"));
}

// On a volume that others use as well.
TEST_F(List, AFolderThatHoldsNothingOfOursIsNoProgram)
{
    put("app", cache, cache_file());
    put("foreign", "x", "hi");
    put("driver", "mesa_shader_cache_db", "x");
    chmod((root + "/foreign").c_str(), 0777);
    chmod((root + "/driver").c_str(), 0777);
    EXPECT_EQ(states(), (std::map<std::string, std::string>{{"app", "ok"}}));
    for (std::vector<std::string> words :
         {std::vector<std::string>{"stats"}, {"prune"}, {"warm"}, {"clear", "--yes"}}) {
        const ToolResult result = tool(words);
        EXPECT_EQ(result.exit_status, 0) << words[0];
        EXPECT_FALSE(contains(result.out + result.err, "foreign")) << result.out << result.err;
        EXPECT_FALSE(contains(result.out + result.err, "driver'")) << result.out << result.err;
    }
    EXPECT_EQ(tool({"list"}).exit_status, 2) << "as where all folders are of others";
    // It stays empty: a program of this name cannot use it.
    std::filesystem::create_directory(root + "/empty");
    chmod((root + "/empty").c_str(), 0777);
    EXPECT_EQ(states(1), (std::map<std::string, std::string>{{"empty", "directory_mode"}}));
    EXPECT_EQ(tool({"warm"}).exit_status, 0);
    EXPECT_EQ(tool({"warm", "--app", "empty"}).exit_status, 2);
    // Whatever of ours is in it: it is a program's that is not used.
    for (const std::string &ours :
         {cache, name + ".v2.wpcache", name + ".lock", std::string("program.json"),
          std::string("recipes/lock"), std::string("quarantine/x")}) {
        const std::string app = "open" + std::to_string(ours.size());
        put(app, ours, "");
        chmod((root + "/" + app).c_str(), 0777);
        EXPECT_EQ(states(1)[app], "directory_mode") << ours;
        EXPECT_EQ(tool({"warm"}).exit_status, 2) << ours;
        std::filesystem::remove_all(root + "/" + app);
    }
}

// Nobody can tell what is in it.
TEST_F(List, AFolderThatCannotBeLookedIntoFailsNoWarm)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    for (const char *closed : {"closed", "driver", "lost+found"}) {
        put(closed, "x", "");
    }
    put("app", cache, cache_file());
    run_shell("chown -R 54321 " + root + "/app && chmod a+rx " + folder.path + " " + root);
    const auto as_user = [&](std::vector<std::string> words) {
        return run_tool_as_another(folder.path + "/warmpipe", std::move(words),
                                   {{"WARMPIPE_DIR", root}});
    };
    ToolResult result = as_user({"list"});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "'closed'"));
    EXPECT_FALSE(contains(result.out, "\ndriver ")) << result.out;
    result = as_user({"warm"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_TRUE(contains(result.err, "'closed'")) << result.err;
    EXPECT_EQ(as_user({"warm", "--app", "closed"}).exit_status, 2);
    EXPECT_EQ(as_user({"verify", root}).exit_status, 2) << "what if it were a program's?";
    std::filesystem::remove_all(root + "/closed");
    result = as_user({"verify", root});
    EXPECT_EQ(result.exit_status, 0) << result.err << result.out;
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

TEST_F(List, ClearRemovesAllThatIsOurs)
{
    put("app", cache, cache_file());
    put("app", name + ".0123456789abcdef.part", cache_file());
    put("app", name + ".lock", "");
    put("app", name + ".loading/0123456789abcdef.strike", "");
    put("app", "quarantine/" + cache, "x");
    put("app", "quarantine/" + cache + ".txt", "x");
    put("app", "program.json", "{\"format\":1}\n");
    put("app", "recipes/lock", ""); // all that a limit has left of them
    put("kept", cache, cache_file());
    write_file(root + "/.limits." + std::to_string(geteuid()), "1 1\n");

    ToolResult result = tool({"clear", "--dry-run", "--app", "app"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(names_in(root).size(), 3u);
    result = tool({"clear", "--app", "app"});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "not a terminal; use --yes")) << result.err;
    EXPECT_EQ(names_in(root).size(), 3u);

    result = tool({"clear", "--yes", "--app", "app"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(names_in(root + "/app").size(), 0u);
    EXPECT_EQ(names_in(root).size(), 2u);
    EXPECT_EQ(tool({"clear", "-y"}).exit_status, 0);
    EXPECT_EQ(names_in(root).size(), 0u);
}

// A folder that the user has named may be a volume; the usual one the layer has made.
TEST_F(List, ClearRemovesTheUsualFolderToo)
{
    put("warmpipe/app", cache, cache_file());
    const auto clear = [&] { return run_tool({"clear", "-y"}, {{"XDG_CACHE_HOME", root}}); };
    write_file(root + "/warmpipe/other", "");
    EXPECT_EQ(clear().exit_status, 0);
    EXPECT_EQ(names_in(root + "/warmpipe").size(), 1u);
    put("warmpipe/app", cache, cache_file());
    std::filesystem::remove(root + "/warmpipe/other");
    EXPECT_EQ(clear().exit_status, 0);
    EXPECT_FALSE(std::filesystem::exists(root + "/warmpipe"));
}

TEST_F(List, ClearLeavesWhatIsInUseOrNotOurs)
{
    put("busy", cache, cache_file());
    std::string lock = put("busy", name + ".lock", "");
    put("mixed", cache, cache_file());
    put("mixed", "notes.txt", "mine");
    int fd = open(lock.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    ToolResult result = tool({"clear", "--yes", "--json"});
    close(fd);
    EXPECT_EQ(result.exit_status, 1);
    json programs = json::parse(result.out)["programs"];
    EXPECT_EQ(programs[0]["state"], "locked");
    EXPECT_EQ(programs[1]["state"], "foreign_files");
    EXPECT_TRUE(std::filesystem::exists(root + "/busy/" + cache));
    EXPECT_EQ(names_in(root + "/mixed"), std::vector<std::string>{"notes.txt"});
}

TEST_F(List, ClearRemovesADamagedFileAmongOurs)
{
    put("app", cache, cache_file());
    put("app", "program.json", "");
    EXPECT_EQ(tool({"clear", "--yes"}).exit_status, 0);
    EXPECT_EQ(names_in(root).size(), 0u);
}

TEST_F(List, ClearTellsThatAProgramStillRecords)
{
    const std::string segment = put("app", "recipes/0123456789abcdef.wprecipes", "x");
    put("app", "recipes/fedcba9876543210.wprecipes", "x");
    int fd = open(segment.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    ToolResult result = tool({"clear", "--yes", "--json"});
    close(fd);
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_EQ(json::parse(result.out)["programs"][0]["state"], "locked");
    EXPECT_EQ(names_in(root + "/app/recipes"),
              std::vector<std::string>{"0123456789abcdef.wprecipes"});
    EXPECT_EQ(tool({"clear", "--yes"}).exit_status, 0);
    EXPECT_EQ(names_in(root).size(), 0u);
}

TEST_F(List, ClearTakesNoProjectOfOthersForOurs)
{
    put("project", "program.json", "{\"name\":\"my own thing\"}");
    std::filesystem::create_directory(root + "/project/quarantine");
    std::filesystem::create_directory(root + "/project/recipes");
    EXPECT_EQ(tool({"list"}).exit_status, 2);
    EXPECT_EQ(tool({"clear", "--yes"}).exit_status, 2);
    EXPECT_EQ(names_in(root + "/project").size(), 3u);
    put("app", cache, cache_file());
    EXPECT_EQ(tool({"clear", "--yes"}).exit_status, 0);
    EXPECT_EQ(names_in(root + "/project").size(), 3u);
}

// As root's is for a user, and each on a file system that is read-only.
TEST_F(List, ClearTellsOfAFolderThatItCannotWrite)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    put("roots", cache, cache_file());
    run_shell("chmod -R a+rX " + folder.path);
    const ToolResult result =
        run_tool_as_another(folder.path + "/warmpipe", {"clear", "--yes", "--json", "--dir", root});
    EXPECT_EQ(result.exit_status, 1) << result.err;
    EXPECT_EQ(json::parse(result.out)["programs"][0]["state"], "unreadable") << result.out;
}

TEST_F(List, ClearAsksOnATerminal)
{
    put("app", cache, cache_file());
    const std::string command = " | script -qec '$tool clear --dir " + root + "' /dev/null";
    run_shell("echo n" + command);
    EXPECT_EQ(names_in(root).size(), 1u);
    ToolResult result = run_shell("echo y" + command);
    EXPECT_EQ(names_in(root).size(), 0u) << result.out;
}

} // namespace
