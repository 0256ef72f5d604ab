// SPDX-License-Identifier: Apache-2.0
// warmpipe clear: what it removes, and what it leaves.
#include <sys/file.h>

#include "root_fixture.h"

namespace {

using json = nlohmann::json;

class Clear : public RootTest {
  protected:
    // The programs that clear tells of while another process holds the lock of this file.
    json clear_while_locked(const std::string &file)
    {
        const int fd = open(file.c_str(), O_RDWR | O_CLOEXEC);
        EXPECT_EQ(flock(fd, LOCK_EX), 0);
        const ToolResult result = tool({"clear", "--yes", "--json"});
        close(fd);
        EXPECT_EQ(result.exit_status, 1);
        return json::parse(result.out)["programs"];
    }
};

TEST_F(Clear, RemovesAllThatIsOurs)
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
    write_file(root + "/.limits.54321", "1 1\n");
    write_file(root + "/.limits.txt", "mine");

    ToolResult result = tool({"clear", "--dry-run", "--app", "app"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(names_in(root).size(), 5u);
    result = tool({"clear", "--app", "app"});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "not a terminal; use --yes")) << result.err;
    EXPECT_EQ(names_in(root).size(), 5u);

    result = tool({"clear", "--yes", "--app", "app"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(names_in(root + "/app").size(), 0u);
    EXPECT_EQ(names_in(root).size(), 4u);
    EXPECT_EQ(tool({"clear", "-y"}).exit_status, 0);
    EXPECT_EQ(names_in(root), std::vector<std::string>{".limits.txt"});
}

TEST_F(Clear, NeitherItNorTheOtherVerbsThatChangeCachesWriteWhereNothingMayBe)
{
    put("app", cache, cache_file());
    put("app", "program.json", "{\"format\":1}\n");
    const Environment settings = {{"WARMPIPE_DIR", root}, {"WARMPIPE_READONLY", "1"}};
    for (const std::vector<std::string> &arguments :
         {std::vector<std::string>{"clear", "--yes"}, {"prune"}, {"stats", "--zero"}}) {
        const ToolResult result = run_tool(arguments, settings);
        EXPECT_EQ(result.exit_status, 2) << arguments[0];
        EXPECT_TRUE(contains(result.err, "(read_only)")) << arguments[0] << ": " << result.err;
        EXPECT_EQ(names_in(root + "/app").size(), 2u) << arguments[0];
    }
    EXPECT_EQ(run_tool({"clear", "--dry-run"}, settings).exit_status, 0);
    EXPECT_EQ(run_tool({"prune", "--dry-run"}, settings).exit_status, 0);
    EXPECT_EQ(run_tool({"stats"}, settings).exit_status, 0);
}

// A folder that the user has named may be a volume; the usual one the layer has made.
TEST_F(Clear, RemovesTheUsualFolderToo)
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

TEST_F(Clear, LeavesWhatIsInUseOrNotOurs)
{
    put("busy", cache, cache_file());
    std::string lock = put("busy", name + ".lock", "");
    put("mixed", cache, cache_file());
    put("mixed", "notes.txt", "mine");
    const json programs = clear_while_locked(lock);
    EXPECT_EQ(programs[0]["state"], "locked");
    EXPECT_EQ(programs[1]["state"], "foreign_files");
    EXPECT_TRUE(std::filesystem::exists(root + "/busy/" + cache));
    EXPECT_EQ(names_in(root + "/mixed"), std::vector<std::string>{"notes.txt"});
}

TEST_F(Clear, RemovesADamagedFileAmongOurs)
{
    put("app", cache, cache_file());
    put("app", "program.json", "");
    EXPECT_EQ(tool({"clear", "--yes"}).exit_status, 0);
    EXPECT_EQ(names_in(root).size(), 0u);
}

TEST_F(Clear, TellsThatAProgramStillRecords)
{
    const std::string segment = put("app", "recipes/0123456789abcdef.wprecipes", "x");
    put("app", "recipes/fedcba9876543210.wprecipes", "x");
    const json programs = clear_while_locked(segment);
    EXPECT_EQ(programs[0]["state"], "locked");
    EXPECT_EQ(names_in(root + "/app/recipes"),
              std::vector<std::string>{"0123456789abcdef.wprecipes"});
    EXPECT_EQ(tool({"clear", "--yes"}).exit_status, 0);
    EXPECT_EQ(names_in(root).size(), 0u);
}

TEST_F(Clear, TakesNoProjectOfOthersForOurs)
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
TEST_F(Clear, TellsOfAFolderThatItCannotWrite)
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

// Nor are its own files those of others.
TEST_F(Clear, TellsOfRecipesThatItCannotRemove)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    put("app", cache, cache_file());
    put("app", "recipes/0123456789abcdef.wprecipes", "x");
    run_shell("chmod a+rX " + folder.path + "; chown -R 54321:54321 " + root + "; chmod 500 " +
              root + "/app/recipes");
    const ToolResult result =
        run_tool_as_another(folder.path + "/warmpipe", {"clear", "--yes", "--json", "--dir", root});
    EXPECT_EQ(result.exit_status, 1) << result.err;
    EXPECT_EQ(json::parse(result.out)["programs"][0]["state"], "unreadable") << result.out;
}

TEST_F(Clear, AsksOnATerminal)
{
    put("app", cache, cache_file());
    const std::string command = " | script -qec '$tool clear --dir " + root + "' /dev/null";
    run_shell("echo n" + command);
    EXPECT_EQ(names_in(root).size(), 1u);
    ToolResult result = run_shell("echo y" + command);
    EXPECT_EQ(names_in(root).size(), 0u) << result.out;
}

} // namespace
