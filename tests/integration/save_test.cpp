// SPDX-License-Identifier: Apache-2.0
// What is written to disk, and when.
#include "harness.hpp"
#include "program.hpp"

#include <sys/stat.h>

namespace fs = std::filesystem;

namespace {

class SaveTest : public LayerTest {
  protected:
    static void program()
    {
        Program().create_compute(0, 4);
    }
};

struct Stamp {
    explicit Stamp(const fs::path &path)
    {
        stat(path.c_str(), &status);
    }
    bool operator==(const Stamp &other) const
    {
        return status.st_ino == other.status.st_ino && status.st_size == other.status.st_size &&
               status.st_mtim.tv_sec == other.status.st_mtim.tv_sec &&
               status.st_mtim.tv_nsec == other.status.st_mtim.tv_nsec;
    }
    struct stat status;
};

TEST_F(SaveTest, WritesNothingWithoutPipelines)
{
    run([] { Program program; });
    EXPECT_FALSE(fs::exists(cache_root()));
}

TEST_F(SaveTest, WritesNothingWhenNothingIsNew)
{
    run(program);
    const Stamp before(cache_file());
    const Outcome warm = run(program);
    EXPECT_EQ(warm.stats_of()["cache"]["saved_bytes"], 0);
    EXPECT_TRUE(Stamp(cache_file()) == before);

    environment["WPTEST_ICD_NO_FEEDBACK"] = "1";
    run(program);
    EXPECT_TRUE(Stamp(cache_file()) == before) << "the data itself tells where feedback does not";
}

TEST_F(SaveTest, ReplacesTheFileWhole)
{
    run(program);
    const Stamp before(cache_file());
    const Outcome outcome = run([] { Program().create_compute(0, 6); });
    const Stamp after(cache_file());
    EXPECT_NE(before.status.st_ino, after.status.st_ino);
    EXPECT_GT(outcome.stats_of()["cache"]["saved_bytes"], 0);
    EXPECT_EQ(run([] { Program().create_compute(0, 6); }).hits(), 6u);
}

TEST_F(SaveTest, LeavesNothingElseBehind)
{
    for (int start = 0; start < 3; ++start) {
        run([=] { Program().create_compute(0, 4 + 2u * static_cast<unsigned>(start)); });
    }
    size_t files = 0;
    for (const auto &entry : fs::recursive_directory_iterator(cache_root())) {
        const std::string name = entry.path().filename().string();
        const bool is_count = name.rfind(".limits.", 0) == 0 || name == "program.json";
        if (entry.is_regular_file() && fs::file_size(entry) != 0 && !is_count) {
            const bool is_recipe = entry.path().parent_path().filename() == "recipes";
            EXPECT_EQ(entry.path().extension(), is_recipe ? ".wprecipes" : ".wpcache") << entry;
            files += !is_recipe;
        }
    }
    EXPECT_EQ(files, 1u);
}

TEST_F(SaveTest, OnlyTheOwnerMayLookAtIt)
{
    run(program);
    const mode_t all = S_IRWXU | S_IRWXG | S_IRWXO;
    EXPECT_EQ(Stamp(cache_root()).status.st_mode & all, 0700u);
    for (const auto &entry : fs::recursive_directory_iterator(cache_root())) {
        EXPECT_EQ(Stamp(entry.path()).status.st_mode & all, entry.is_directory() ? 0700u : 0600u)
            << entry;
    }
}

TEST_F(SaveTest, SavesAtEachDevicesEnd)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000"; // on a busy machine a save comes before that
    const Outcome outcome = run([] {
        Program().create_compute(0, 4);
        Program().create_compute(0, 8);
        Program().create_compute(0, 8);
    });
    ASSERT_EQ(outcome.stats.size(), 3u);
    EXPECT_EQ(outcome.stats[0]["event"], "destroy");
    EXPECT_EQ(outcome.stats[1]["pipelines"]["driver_hits"], 4);
    EXPECT_EQ(outcome.stats[2]["pipelines"]["driver_hits"], 8);
}

TEST_F(SaveTest, SavesWhatAProgramLeaks)
{
    run([] {
        Program program;
        Batch batch(program, Kind::compute, {1, 2});
        EXPECT_EQ(batch.create(), VK_SUCCESS);
        batch.pipelines.clear(); // never destroyed
    });
    EXPECT_EQ(run([] { Program().create_compute(1, 3); }).hits(), 2u);
}

TEST_F(SaveTest, ReadOnlyUsesAndDoesNotWrite)
{
    environment["WARMPIPE_READONLY"] = "1";
    run(program);
    EXPECT_FALSE(fs::exists(cache_root()));

    environment.erase("WARMPIPE_READONLY");
    run(program);
    std::map<fs::path, fs::file_time_type> before;
    for (const auto &entry : fs::recursive_directory_iterator(cache_root())) {
        before[entry.path()] = entry.last_write_time();
    }
    environment["WARMPIPE_READONLY"] = "1";
    const Outcome outcome = run([] { Program().create_compute(0, 6); });
    EXPECT_EQ(outcome.hits(), 4u);
    EXPECT_EQ(outcome.stats_of()["cache"]["state"], "loaded");
    EXPECT_EQ(outcome.stats_of()["cache"]["saved_bytes"], 0);
    EXPECT_EQ(outcome.log(), std::vector<std::string>());
    std::map<fs::path, fs::file_time_type> after;
    for (const auto &entry : fs::recursive_directory_iterator(cache_root())) {
        after[entry.path()] = entry.last_write_time();
    }
    EXPECT_EQ(after, before);
}

// A device that began with the same file as another must not undo what that one saved.
TEST_F(SaveTest, UnitesWithWhatOthersSavedMeanwhile)
{
    run(program);
    run([] {
        Program first, second;
        first.create_compute(10, 12);
        second.create_compute(20, 23);
    });
    EXPECT_EQ(run([] {
                  Program program;
                  program.create_compute(0, 4);
                  program.create_compute(10, 12);
                  program.create_compute(20, 23);
              }).hits(),
              9u);
}

TEST_F(SaveTest, DataOfMegabytes)
{
    environment["WPTEST_ICD_RECORD_BYTES"] = "1000000";
    const auto big = [] { Program().create_compute(0, 20); };
    const Outcome cold = run(big);
    EXPECT_GT(cold.stats_of()["cache"]["saved_bytes"], 20000000);
    EXPECT_EQ(run(big).hits(), 20u);
}

} // namespace
