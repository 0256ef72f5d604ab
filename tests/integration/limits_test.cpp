// SPDX-License-Identifier: Apache-2.0
// Limits through the layer: after a save the longest unused is gone.
#include <chrono>

#include "harness.hpp"
#include "program.hpp"
#include "recipes.hpp"

namespace {

class LimitsTest : public RecipesTest {
  protected:
    // A program that compiles pipelines of these numbers.
    Outcome start(const std::string &app, unsigned first, unsigned end)
    {
        environment["WARMPIPE_APP"] = app;
        return run([=] { Program().create_compute(first, end); });
    }

    std::filesystem::path file_of(const std::string &app) const
    {
        for (const std::filesystem::path &path : cache_files()) {
            if (path.parent_path().filename() == app) {
                return path;
            }
        }
        return {};
    }

    uint64_t size_of(const std::string &app) const
    {
        uint64_t size = 0;
        for (const auto &entry :
             std::filesystem::recursive_directory_iterator(cache_root() / app)) {
            size += entry.is_regular_file() ? entry.file_size() : 0;
        }
        return size;
    }

    // As if nobody had used it since.
    void make_old(const std::string &app, int days)
    {
        const auto then =
            std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * days);
        for (const auto &entry :
             std::filesystem::recursive_directory_iterator(cache_root() / app)) {
            std::filesystem::last_write_time(entry.path(), then);
        }
    }
};

TEST_F(LimitsTest, TheLongestUnusedProgramGoesFirst)
{
    start("first", 0, 4);
    start("second", 0, 4);
    ASSERT_EQ(cache_files().size(), 2u);
    const uint64_t size = std::filesystem::file_size(file_of("first"));
    const uint64_t recipes = size_of("first") - size; // these stay
    make_old("first", 9);
    make_old("second", 5);
    // Loading is a use, though nothing is saved.
    EXPECT_EQ(start("first", 0, 4).stats_of()["cache"]["state"], "loaded");

    // Too little for the third, whose program.json may be written after the scan; enough without
    // the second's cache.
    environment["WARMPIPE_MAX_TOTAL"] =
        std::to_string(size_of("first") + size_of("second") + recipes + size / 3);
    start("third", 0, 4);
    EXPECT_EQ(file_of("second"), "");
    EXPECT_NE(file_of("first"), "");
    EXPECT_NE(file_of("third"), "");
}

TEST_F(LimitsTest, OfOneProgramTheLongestUnusedDriverGoesFirst)
{
    start("app", 0, 4);
    const std::filesystem::path old = file_of("app");
    make_old("app", 9);
    environment["WARMPIPE_MAX_SIZE"] = std::to_string(std::filesystem::file_size(old) * 3 / 2);
    environment["WPTEST_ICD_DRIVER_VERSION"] = "4711";
    start("app", 0, 4);
    EXPECT_FALSE(std::filesystem::exists(old));
    EXPECT_EQ(cache_files().size(), 1u);
    EXPECT_EQ(start("app", 0, 4).stats_of()["cache"]["state"], "loaded");
}

// lavapipe's cache is a header: nothing is ever saved, and recipes are recorded all the same.
TEST_F(LimitsTest, HoldForRecipesWhereTheDriverGivesNoCache)
{
    environment["WPTEST_ICD_DATA"] = "header";
    environment["WARMPIPE_MAX_SIZE"] = "64K";
    uint64_t most = 0;
    for (unsigned run = 0; run < 12; ++run) {
        start("app", run * 40, run * 40 + 40);
        most = std::max(most, size_of("app"));
    }
    EXPECT_TRUE(cache_files().empty());
    EXPECT_GT(most, 32u << 10) << "too little was recorded to tell";
    EXPECT_LE(size_of("app"), 64u << 10);
}

TEST_F(LimitsTest, WithMoreRecipesThanTheLimitAllowsNothingIsAdded)
{
    environment["WPTEST_ICD_DATA"] = "header";
    // It never destroys its device, and so leaves nobody to make room.
    environment["WARMPIPE_MAX_SIZE"] = "16K";
    environment["WARMPIPE_APP"] = "app";
    for (unsigned number = 0; number < 12; ++number) {
        run([=] {
            leak_from_here_on();
            (new Program)->create_compute(number * 15, number * 15 + 15);
        });
    }
    // 15 to 20 of them fit, and a run that began below the limit adds up to 15; so does one behind
    // a compaction that has made room. The bytes on disk are no measure: a run that ends while it
    // makes room leaves some twice.
    const size_t recorded = recipes("app").uses.size();
    EXPECT_GE(recorded, 15u) << "too little was recorded to tell";
    EXPECT_LE(recorded, 60u);
}

TEST_F(LimitsTest, AReadOnlyCacheIsLeftAsItIs)
{
    start("first", 0, 4);
    make_old("first", 9);
    environment["WARMPIPE_READONLY"] = "1";
    environment["WARMPIPE_MAX_TOTAL"] = "1";
    start("second", 0, 4);
    EXPECT_NE(file_of("first"), "");
}

} // namespace
