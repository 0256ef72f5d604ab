// SPDX-License-Identifier: Apache-2.0
// warmpipe prune and clear of recipes.
#include <sys/stat.h>

#include "recipe_files.h"

namespace {

TEST_F(RecipeFiles, PruneByAgeAndSize)
{
    write(a, "app", 100);
    write(b, "app", 10);
    write(b, "other", 10);
    const json dry = report({"prune", "--older-than", "90d", "--dry-run", "--app", "app"});
    ASSERT_EQ(dry["programs"].size(), 1u);
    EXPECT_EQ(dry["programs"][0]["old"], 1);
    EXPECT_TRUE(has(a));
    const json pruned = report({"prune", "--older-than", "90d"})["programs"];
    EXPECT_EQ(pruned.size(), 2u);
    EXPECT_EQ(pruned[0]["after"], dry["programs"][0]["after"]);
    EXPECT_FALSE(has(a));
    EXPECT_TRUE(has(b));
    EXPECT_TRUE(has(b, "other"));
    EXPECT_EQ(report({"prune", "--max-size", "1K", "--app", "other"})["programs"][0]["after"], 0);
    EXPECT_FALSE(std::filesystem::exists(root + "/other")) << "nor its lock, nor its folder";
    EXPECT_TRUE(has(b));
    EXPECT_EQ(report({"prune", "--older-than", "1w"})["programs"][0]["old"], 1);
    EXPECT_FALSE(has(b));
}

TEST_F(RecipeFiles, ADryRunOfPruneRemovesNothing)
{
    write(a, "app", 100);
    const std::string recipes = root + "/app/recipes/";
    close(creat((recipes + "0000000000000001.wprecipes").c_str(), 0600)); // its process has died
    const std::string temporary = recipes + "0000000000000002.wprecipes.0123456789abcdef.tmp";
    close(creat(temporary.c_str(), 0600));
    const timespec old[2] = {{1, 0}, {1, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, temporary.c_str(), old, 0), 0);
    close(creat((recipes + "lock").c_str(), 0600));
    const std::vector<std::string> before = names_in(recipes);
    report({"prune", "--dry-run"});
    EXPECT_EQ(names_in(recipes), before);
    report({"prune"});
    EXPECT_NE(names_in(recipes), before);
}

TEST_F(RecipeFiles, WhatOnlyReadsMakesNoLockWhereNothingMayBeWritten)
{
    write(a);
    const std::vector<std::string> before = names_in(root + "/app/recipes");
    ASSERT_EQ(before.size(), 1u);
    const Environment settings = {{"WARMPIPE_DIR", root}, {"WARMPIPE_READONLY", "1"}};
    for (const std::vector<std::string> &words : std::vector<std::vector<std::string>>{
             {"prune", "--dry-run"}, {"export", file}, {"verify", root}}) {
        EXPECT_EQ(run_tool(words, settings).exit_status, 0) << words[0];
        EXPECT_EQ(names_in(root + "/app/recipes"), before) << words[0];
    }
    EXPECT_GT(std::filesystem::file_size(file), 0u);
}

TEST_F(RecipeFiles, PruneTakesTimesAndSizesAsTheyAreWritten)
{
    for (const char *words :
         {"d", "-1d", "90dd", "-1", "90days", "99999999999999999999d", "1y", ""}) {
        EXPECT_EQ(tool({"prune", "--older-than=" + std::string(words)}).exit_status, 2) << words;
    }
    write(a, "app", 100);
    for (const auto &[words, old] : std::map<std::string, int>{
             {"99", 1}, {"99d", 1}, {"14w", 1}, {"101", 0}, {"101d", 0}, {"15w", 0}}) {
        EXPECT_EQ(report({"prune", "--dry-run", "--older-than", words})["programs"][0]["old"], old)
            << words;
    }
    EXPECT_EQ(tool({"prune", "--max-size", "much"}).exit_status, 2);
    const ToolResult bytes = tool({"prune", "--max-size", "200"});
    EXPECT_EQ(bytes.exit_status, 2) << "without its M";
    EXPECT_TRUE(contains(bytes.err, "invalid size '200' (for example 200M, 2G; 1K or more"));
    EXPECT_EQ(tool({"prune", "--max-size", "0", "--app", "none"}).err,
              "warmpipe: prune: no program 'none' in '" + root + "'\n");
    EXPECT_EQ(tool({"prune", "--older-than", "4000000000d"}).exit_status, 0);
    EXPECT_EQ(tool({"prune", "--app", "none"}).exit_status, 2);
}

TEST_F(RecipeFiles, PruneLeavesNothingInFoldersOfOthers)
{
    std::filesystem::create_directories(root + "/cookbook/recipes");
    chmod((root + "/cookbook").c_str(), 0700);
    chmod((root + "/cookbook/recipes").c_str(), 0700);
    EXPECT_EQ(report({"prune"})["programs"], json::array());
    EXPECT_TRUE(names_in(root + "/cookbook/recipes").empty());
}

TEST_F(RecipeFiles, ClearRemovesThem)
{
    write(a);
    EXPECT_EQ(tool({"clear", "--yes"}).exit_status, 0);
    EXPECT_FALSE(std::filesystem::exists(root + "/app"));
}

} // namespace
