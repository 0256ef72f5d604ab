// SPDX-License-Identifier: Apache-2.0
// warmpipe export, import and merge of recipes.
#include <algorithm>
#include <fcntl.h>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>

#include "recipe_files.h"

namespace {

// "run --dir" keeps the driver's own cache beside the programs.
TEST_F(RecipeFiles, AFolderOfTheDriverIsNoProgram)
{
    write(a);
    std::filesystem::create_directories(root + "/driver/mesa_shader_cache/00");
    EXPECT_EQ(report({"export", file})["name"], "app");
}

// Nor is one of somebody else's that has a name of ours in it.
TEST_F(RecipeFiles, AFolderOfOthersIsNoProgram)
{
    write(a);
    std::filesystem::create_directories(root + "/cooking/recipes");
    write_file(root + "/cooking/recipes/pie.txt", "apples");
    std::filesystem::create_directories(root + "/web");
    write_file(root + "/web/program.json", "{}");
    std::filesystem::create_directories(root + "/empty/quarantine");
    EXPECT_EQ(tool({"export", file}).exit_status, 0);
    EXPECT_EQ(tool({"import", file}).exit_status, 0);
}

// Recipes that an author ships come before the first start.
TEST_F(RecipeFiles, WithoutAProgramYetOneIsToBeNamed)
{
    write(a);
    EXPECT_EQ(report({"export", file})["name"], "app");
    std::filesystem::remove_all(root + "/app");
    const ToolResult result = run_tool({"import", file}, {{"WARMPIPE_DIR", root}});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_EQ(result.err,
              "warmpipe: import: no program in '" + root + "' yet: name one with --app\n");
    EXPECT_EQ(run_tool({"export", file}, {{"WARMPIPE_DIR", root}}).err,
              "warmpipe: export: no program in '" + root + "' yet\n");
}

TEST_F(RecipeFiles, AFileOfOthersIsNoRecipeFile)
{
    write_file(folder.path + "/text", std::string(1000, 'x'));
    EXPECT_EQ(tool({"import", "--app", "app", folder.path + "/text"}).err,
              "warmpipe: import: '" + folder.path +
                  "/text': not a recipe file of warmpipe (bad_magic)\n");
}

TEST_F(RecipeFiles, APathOrTitleNamesAProgramAsTheLayerDoes)
{
    write(a);
    EXPECT_EQ(report({"export", "--app", "app", file})["pipelines"], 1);
    EXPECT_EQ(report({"import", "--app", "my game", file})["pipelines"], 1);
    const std::string name = report({"export", "--app", "my game", file})["name"];
    EXPECT_EQ(name.rfind("hash_", 0), 0u) << name;
}

TEST_F(RecipeFiles, TravelFromOneProgramToAnother)
{
    write(a);
    write(b);
    const json exported = report({"export", "--app", "app", file});
    EXPECT_EQ(exported["pipelines"], 2);
    EXPECT_EQ(exported["modules"], 2);
    EXPECT_EQ(exported["size"], std::filesystem::file_size(file));
    const json imported = report({"import", "--app", "other", file});
    EXPECT_EQ(imported["pipelines"], 2);
    EXPECT_EQ(imported["refused"], json::array());
    EXPECT_TRUE(has(a, "other"));
    EXPECT_TRUE(has(b, "other"));
}

// Of each use, microseconds.
static std::multiset<int> times(const json &inspected)
{
    std::multiset<int> times;
    for (const json &use : inspected["uses"]) {
        times.insert(use["compile_us"].get<int>());
    }
    return times;
}

// Who wrote the file may say that what takes minutes takes none; what was measured here is kept.
TEST_F(RecipeFiles, TimesOfOthersAreNotBelieved)
{
    write(a);
    write(b);
    EXPECT_EQ(tool({"export", "--app", "app", file}).exit_status, 0);
    const std::string merged = file + ".merged";
    EXPECT_EQ(tool({"merge", merged, file}).exit_status, 0);
    EXPECT_EQ(times(report({"inspect", "-v", file})), (std::multiset<int>{100, 100}));
    EXPECT_EQ(times(report({"inspect", "-v", merged})), (std::multiset<int>{0, 0}));
    write(a, "other");
    EXPECT_EQ(tool({"import", "--app", "other", file}).exit_status, 0);
    EXPECT_EQ(tool({"export", "--app", "other", file}).exit_status, 0);
    EXPECT_EQ(times(report({"inspect", "-v", file})), (std::multiset<int>{0, 100}));
}

TEST_F(RecipeFiles, WhatCannotBeReadIsNotSaidToBeWritten)
{
    write(a);
    write(b);
    write_file(root + "/app/recipes/0123456789abcdef.wprecipes", std::string(4096, '\0'));
    EXPECT_EQ(report({"export", "--app", "app", file}, 1)["unreadable_files"], 1);
    ASSERT_EQ(unlink((root + "/app/recipes/0123456789abcdef.wprecipes").c_str()), 0);
    ASSERT_EQ(chmod(segments().at(0).c_str(), 0660), 0);
    const json exported = report({"export", "--app", "app", file}, 1);
    EXPECT_EQ(exported["unreadable_files"], 1);
    EXPECT_EQ(exported["pipelines"], 1);
}

TEST_F(RecipeFiles, OneProgramNeedsNoName)
{
    write(a);
    EXPECT_EQ(tool({"export", file}).exit_status, 0);
    write(b, "other");
    ToolResult result = tool({"export", file});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "name one with --app")) << result.err;
    EXPECT_EQ(tool({"export", "--app", "../app", file}).exit_status, 2);
    EXPECT_EQ(tool({"import", "--app", "../..", file}).exit_status, 0) << "a name like any other";
    EXPECT_EQ(names_in(root).size(), 3u);
}

// As in the image of a container, which the layer reads as well.
TEST_F(RecipeFiles, RootsRecipesAreExportedByEverybody)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    write(a);
    write(b);
    run_shell("chmod -R a+rX " + folder.path + "; chmod 1777 " + folder.path);
    const ToolResult result =
        run_tool_as_another(folder.path + "/warmpipe", {"export", "--json", "--dir", root, file});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(json::parse(result.out)["pipelines"], 2);
}

TEST_F(RecipeFiles, ExportWithoutRecipesWritesNothing)
{
    EXPECT_EQ(tool({"export", "--app", "none", file}).exit_status, 2);
    EXPECT_FALSE(std::filesystem::exists(file));
    write(a);
    EXPECT_EQ(tool({"export", "--app", "app", folder.path + "/missing/file"}).exit_status, 2);
}

// A disk that is slow, and a user who has no patience.
TEST_F(RecipeFiles, WhoeverEndsAnExportLeavesNoPartOfIt)
{
    write(a);
    const ToolResult result = run_shell(
        "command -v strace >/dev/null || exit 77; mkdir out; set -m\n"
        "strace -o trace -e trace=fsync -e inject=fsync:delay_enter=1000000 $tool export --dir " +
            root + " out/file & sleep 0.5; kill -TERM -- -$!; wait $!; ls out",
        folder.path);
    if (result.exit_status == 77 || !contains(read_file(folder.path + "/trace"), "DELAYED")) {
        GTEST_SKIP() << "strace cannot delay a call here";
    }
    EXPECT_EQ(result.out, "file\n") << result.err;
}

// A running program makes one segment of many: what is read would be in none of those listed.
TEST_F(RecipeFiles, ExportWaitsForACompaction)
{
    write(a);
    const std::string segment = segments().at(0);
    const std::string away = folder.path + "/away";
    const int lock =
        ::open((root + "/app/recipes/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(flock(lock, LOCK_EX), 0);
    ASSERT_EQ(rename(segment.c_str(), away.c_str()), 0);
    std::thread compaction([&] {
        usleep(300000);
        EXPECT_EQ(rename(away.c_str(), segment.c_str()), 0);
        close(lock);
    });
    const ToolResult result = tool({"export", "--app", "app", file});
    compaction.join();
    EXPECT_EQ(result.exit_status, 0) << result.err;
}

TEST_F(RecipeFiles, WhatIsNoFileIsWrittenToAndNotReplaced)
{
    write(a);
    EXPECT_EQ(tool({"export", file}).exit_status, 0);
    // Without times of its own, so that a merge changes nothing.
    EXPECT_EQ(tool({"merge", file + ".merged", file}).exit_status, 0);
    std::filesystem::remove_all(root);
    EXPECT_EQ(tool({"import", "--app", "app", file + ".merged"}).exit_status, 0);
    EXPECT_EQ(tool({"export", file}).exit_status, 0);
    const std::string whole = read_file(file);
    const std::string pipe = folder.path + "/pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const std::string tool_here = "WARMPIPE_DIR=" + root + " $tool ";
    for (const std::string verb : {"export pipe", "merge pipe recipes.file"}) {
        const ToolResult piped =
            run_shell(tool_here + verb + " >/dev/null & cat pipe; wait; test -p pipe", folder.path);
        EXPECT_EQ(piped.exit_status, 0) << piped.err;
        EXPECT_EQ(piped.out, whole) << verb;
    }
    EXPECT_EQ(tool({"export", "/dev/full"}).exit_status, 2);
    EXPECT_EQ(tool({"export", folder.path}).exit_status, 2);
    // Then nothing else is written there.
    for (const std::string out : {"/dev/stdout", "-"}) {
        EXPECT_EQ(run_shell(tool_here + "export " + out + " | cat").out, whole) << out;
        EXPECT_EQ(run_shell("(echo before; " + tool_here + "export " + out + ")").out,
                  "before\n" + whole);
    }
}

TEST_F(RecipeFiles, GoThroughAPipeToAnotherMachine)
{
    write(a);
    write(b);
    const std::string there = "WARMPIPE_DIR=" + folder.path + "/there $tool ";
    const std::string here = "WARMPIPE_DIR=" + root + " $tool ";
    const ToolResult piped =
        run_shell(here + "export - | " + there + "import --json --app app -", folder.path);
    EXPECT_EQ(piped.exit_status, 0) << piped.err;
    EXPECT_EQ(json::parse(piped.out)["new_pipelines"], 2);
    EXPECT_EQ(run_shell(here + "export f; $tool merge one f; $tool merge other - <f; cmp one other",
                        folder.path)
                  .exit_status,
              0);
    for (const std::string nothing : {"</dev/null", "<.", "<&-", "<<<nonsense"}) {
        const ToolResult result = run_shell(there + "import --app app - " + nothing, folder.path);
        EXPECT_EQ(result.exit_status, 2) << nothing;
        EXPECT_EQ(lines_of(result.err).size(), 1u) << nothing << result.err;
    }
}

TEST_F(RecipeFiles, ALinkKeepsItsPlaceAndAFileItsMode)
{
    write(a);
    write_file(file, "before");
    chmod(file.c_str(), 0644);
    const std::string link = folder.path + "/link";
    std::filesystem::create_symlink("recipes.file", link);
    EXPECT_EQ(tool({"export", link}).exit_status, 0);
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_EQ(tool({"inspect", file}).exit_status, 0);
    struct stat status;
    ASSERT_EQ(stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0644u);

    std::filesystem::remove(file);
    EXPECT_EQ(tool({"export", link}).exit_status, 0) << "a link to nothing";
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_EQ(tool({"inspect", file}).exit_status, 0);
}

TEST_F(RecipeFiles, ANameMayBeAsLongAsTheFileSystemTakesIt)
{
    write(a);
    const std::string longest = folder.path + "/" + std::string(255, 'x');
    EXPECT_EQ(tool({"export", longest}).exit_status, 0);
    EXPECT_EQ(tool({"inspect", longest}).exit_status, 0);
    EXPECT_EQ(tool({"export", longest + "x"}).exit_status, 2);
}

TEST_F(RecipeFiles, ExportLeavesTheSegmentsAsTheyAre)
{
    write(a);
    write(b);
    const std::vector<std::string> before = segments();
    EXPECT_EQ(tool({"export", file}).exit_status, 0);
    EXPECT_EQ(segments(), before);
}

TEST_F(RecipeFiles, MergeAddsUp)
{
    write(a);
    const std::string first = folder.path + "/first";
    EXPECT_EQ(tool({"export", first}).exit_status, 0);
    write(b);
    EXPECT_EQ(tool({"export", file}).exit_status, 0);
    const std::string out = folder.path + "/out";
    EXPECT_EQ(report({"merge", out, first, file})["pipelines"], 2);
    EXPECT_EQ(read_file(out).size(), read_file(file).size());
    EXPECT_EQ(tool({"merge", out, folder.path + "/missing"}).exit_status, 2);
    write_file(first, "something else, and longer than a header is");
    EXPECT_EQ(tool({"merge", out, first}).exit_status, 2);
}

TEST_F(RecipeFiles, ImportKeepsToTheLimitAndADryRunTakesNothing)
{
    Batch batch;
    put_pipeline(batch, a, today(), 9);
    put_pipeline(batch, b);
    ship(batch);
    EXPECT_EQ(report({"import", "--app", "app", "--dry-run", file})["pipelines"], 2);
    EXPECT_FALSE(std::filesystem::exists(root + "/app"));
    ToolResult result = run_tool({"import", "--app", "app", file},
                                 {{"WARMPIPE_DIR", root}, {"WARMPIPE_MAX_SIZE", "4K"}});
    EXPECT_EQ(result.exit_status, 1) << result.err;
    EXPECT_TRUE(has(a));
    EXPECT_FALSE(has(b));
}

// What three programs ship fits one by one, but not together.
TEST_F(RecipeFiles, ImportCountsWhatIsThereAlready)
{
    const Environment settings = {{"WARMPIPE_DIR", root}, {"WARMPIPE_MAX_SIZE", "4K"}};
    std::vector<ToolResult> results;
    for (uint32_t i = 0; i < 3; i++) {
        Batch batch;
        put_pipeline(batch, Samples::pipeline(10 + i, 250), today(), 1 + i);
        ship(batch);
        results.push_back(run_tool({"import", "--app", "app", "--json", file}, settings));
    }
    uint64_t bytes = 0;
    for (const std::string &path : segments()) {
        bytes += std::filesystem::file_size(path);
    }
    EXPECT_LE(bytes, 4096u);
    EXPECT_EQ(results.front().exit_status, 0) << results.front().out;
    EXPECT_EQ(results.back().exit_status, 1);
    EXPECT_GE(json::parse(results.back().out)["left_out_for_size"], 1);
    EXPECT_TRUE(has(Samples::pipeline(12, 250))) << "the least used goes first";
}

TEST_F(RecipeFiles, ImportedAgainNothingIsAdded)
{
    Batch batch;
    put_pipeline(batch, a);
    put_pipeline(batch, b);
    ship(batch);
    EXPECT_EQ(report({"import", "--app", "app", file})["new_pipelines"], 2);
    const auto before = segments();
    EXPECT_EQ(report({"import", "--app", "app", file})["new_pipelines"], 0);
    EXPECT_EQ(segments(), before);
    EXPECT_TRUE(contains(tool({"import", "--app", "app", file}).err, "nothing is new"));

    put_pipeline(batch, Samples::pipeline(77));
    ship(batch);
    EXPECT_EQ(report({"import", "--app", "app", file})["new_pipelines"], 1);
    EXPECT_NE(segments(), before);
}

TEST_F(RecipeFiles, ManyAreImportedTwice)
{
    Batch batch;
    for (uint32_t i = 0; i < 20; i++) {
        put_pipeline(batch, Samples::pipeline(100 + i, 5000));
    }
    ship(batch);
    ASSERT_GT(std::filesystem::file_size(file), 256u << 10);
    EXPECT_EQ(report({"import", "--app", "app", file})["new_pipelines"], 20);
    EXPECT_EQ(report({"import", "--app", "app", file})["new_pipelines"], 0);
}

TEST_F(RecipeFiles, ImportWritesNothingWhereNothingIsToBeWritten)
{
    Batch batch;
    put_pipeline(batch, a);
    ship(batch);
    const Environment settings = {{"WARMPIPE_DIR", root}, {"WARMPIPE_READONLY", "1"}};
    ToolResult result = run_tool({"import", "--app", "app", file}, settings);
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "(read_only)")) << result.err;
    EXPECT_FALSE(std::filesystem::exists(root + "/app"));
    EXPECT_EQ(run_tool({"import", "--app", "app", "--dry-run", file}, settings).exit_status, 0);
}

// Else list and clear find a folder that they do not know as one of ours.
TEST_F(RecipeFiles, ImportOntoAFullDiskLeavesNothing)
{
    Batch batch;
    put_pipeline(batch, Samples::pipeline(3, 5000));
    ship(batch);
    const ToolResult result = run_program({"/bin/sh", "-c", "ulimit -f 2; exec \"$@\"", "sh",
                                           WARMPIPE_TOOL, "import", "--app", "app", file},
                                          {{"WARMPIPE_DIR", root}});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "(disk_full)")) << result.err;
    EXPECT_FALSE(std::filesystem::exists(root + "/app"));
    EXPECT_EQ(tool({"list"}).exit_status, 0);
}

TEST_F(RecipeFiles, ImportMakesTheFolderThatItIsGiven)
{
    Batch batch;
    put_pipeline(batch, a);
    ship(batch);
    for (const std::string &dir : {folder.path + "/new/one", std::string("here")}) {
        EXPECT_EQ(
            run_tool({"import", "--app", "app", "--dir", dir, file}, {}, folder.path).exit_status,
            0);
    }
    EXPECT_EQ(names_in(folder.path + "/new/one/app/recipes", ".wprecipes").size(), 1u);
    EXPECT_EQ(names_in(folder.path + "/here/app/recipes", ".wprecipes").size(), 1u);
    EXPECT_EQ(tool({"import", "--app", "app", "--dir", folder.path + "/never", root}).exit_status,
              2);
    EXPECT_FALSE(std::filesystem::exists(folder.path + "/never"));
}

} // namespace
