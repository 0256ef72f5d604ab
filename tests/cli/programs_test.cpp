// SPDX-License-Identifier: Apache-2.0
// What in the root of the caches is a program's, to every verb.
#include "paths.h"
#include "root_fixture.h"

namespace {

using json = nlohmann::json;

class Programs : public RootTest {};

TEST_F(Programs, FindsAProgramByTheNameThatRunWasGiven)
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

TEST_F(Programs, AnEmptyRootIsNoFinding)
{
    ToolResult result = tool({"list"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(contains(result.err, "no warmpipe data in"));
    EXPECT_EQ(json::parse(tool({"list", "--json"}).out)["programs"].size(), 0u);
}

// As a run leaves it whose program has created no pipeline.
TEST_F(Programs, WhatRunHasMadeForTheDriverIsNoPlaceOfOthers)
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

TEST_F(Programs, APlaceThatIsNotOursIsMisuse)
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
TEST_F(Programs, WhatStandsInAProgramsPlaceIsNamed)
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
    EXPECT_EQ(tool({"clear", "--yes"}).exit_status, 0) << "nothing of ours but the stamp";
    EXPECT_EQ(names_in(root).size(), 3u);
    EXPECT_EQ(names_in(folder.path + "/elsewhere/q").size(), 1u) << "no link is followed";
}

TEST_F(Programs, AFileAmongFoldersOfOthersStandsInNobodysPlace)
{
    put("music", "song", "la");
    write_file(root + "/file", "");
    const ToolResult result = tool({"list"});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "not of warmpipe")) << result.err;
    EXPECT_FALSE(contains(result.err, "file"));
}

// On a volume that others use as well.
TEST_F(Programs, AFolderThatHoldsNothingOfOursIsNoProgram)
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
TEST_F(Programs, AFolderThatCannotBeLookedIntoFailsNoWarm)
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

} // namespace
