// SPDX-License-Identifier: Apache-2.0
// A machine, or a container, whose memory does not hold the cache file (docs/decisions/0303).
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "program.hpp"
#include "recipes.hpp"

namespace {

class SmallMemoryTest : public RecipesTest {
  protected:
    static constexpr unsigned count = 9; // MiB of cache

    void SetUp() override
    {
        RecipesTest::SetUp();
        environment["WPTEST_ICD_RECORD_BYTES"] = std::to_string(1 << 20);
        environment.erase("WARMPIPE_PREWARM");
        write_meminfo(64);
        // In a mount namespace of this process and its children; it ends with them.
        if (unshare(CLONE_NEWNS) != 0 ||
            mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mount(meminfo().c_str(), "/proc/meminfo", nullptr, MS_BIND, nullptr) != 0) {
            GTEST_SKIP() << "may not mount here";
        }
    }

    void TearDown() override
    {
        umount2("/proc/meminfo", MNT_DETACH);
    }

    std::filesystem::path meminfo() const
    {
        return folder() / "meminfo";
    }

    void write_meminfo(unsigned free_mib) const
    {
        const std::string kib = std::to_string(free_mib * 1024) + " kB\n";
        const std::string text = "MemTotal: " + kib + "MemAvailable: " + kib;
        write_bytes(meminfo(), std::vector<uint8_t>(text.begin(), text.end()));
    }
};

TEST_F(SmallMemoryTest, ACacheThatDoesNotFitIsNeitherReadNorReplacedNorCompiledAhead)
{
    EXPECT_EQ(run([] { Program().create_compute(0, count); }).hits(), 0u);
    const auto files = cache_files();
    const auto bytes = read_bytes(files.at(0));
    environment["WARMPIPE_LOG"] = "info";
    write_meminfo(2 * count - 1);
    const Outcome outcome = run([] { Program().create_compute(0, count + 1); });
    EXPECT_EQ(outcome.hits(), 0u);
    EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "out_of_memory");
    EXPECT_EQ(outcome.stats_of()["cache"]["saved_bytes"], 0);
    EXPECT_EQ(outcome.errors.find("prewarm"), std::string::npos) << outcome.errors;
    EXPECT_EQ(cache_files(), files);
    EXPECT_EQ(read_bytes(files.at(0)), bytes);
    write_meminfo(2 * count + 1);
    EXPECT_EQ(run([] { Program().create_compute(0, count); }).hits(), count);
}

// Recipes were imported beside it, or an earlier start did not come to their end.
TEST_F(SmallMemoryTest, OneThatDoesNotFitAndIsUnfinishedIsNotCompiledAheadAndStaysSo)
{
    EXPECT_EQ(run([] { Program().create_compute(0, count); }).hits(), 0u);
    const std::filesystem::path note = cache_file().replace_extension(".wanted");
    const std::string text = "unfinished\n";
    write_bytes(note, std::vector<uint8_t>(text.begin(), text.end()));
    write_meminfo(2 * count - 1);
    const Outcome outcome = run([] {
        Program waits;
        waits.create_compute(0, 1);
        usleep(300000); // longer than it takes to compile the others
    });
    EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "out_of_memory");
    EXPECT_EQ(outcome.stats_of()["pipelines"]["prewarmed"], 0);
    EXPECT_EQ(std::filesystem::file_size(note), text.size());
}

// The program has grown since: a copy of the cache, for the save, would have it killed.
TEST_F(SmallMemoryTest, NoCopyIsMadeOfACacheThatDoesNotFitTwice)
{
    constexpr unsigned much = 13; // from here on it is asked
    environment["WARMPIPE_PREWARM"] = "off";
    environment["WARMPIPE_APP_CACHE"] = "harvest";
    EXPECT_EQ(run([] { Program().create_compute(0, much); }).hits(), 0u);
    const auto bytes = read_bytes(cache_file());
    const auto grow_behind_the_load = [&](bool is_called_back, bool has_cache,
                                          unsigned free_at_end) {
        write_meminfo(64);
        return run([&] {
            Program grows(is_called_back ? with_messenger() : ProgramOptions{});
            grows.create_compute(0, much);
            write_meminfo(much);
            VkPipelineCache cache = has_cache ? grows.create_cache() : VK_NULL_HANDLE;
            grows.create_compute(much, much + 1, cache);
            grows.destroy_cache(cache);
            usleep(300000); // longer than the worker waits to save
            write_meminfo(free_at_end);
        });
    };
    for (const auto &[is_called_back, has_cache] :
         {std::pair(false, false), std::pair(false, true), std::pair(true, false),
          std::pair(true, true)}) {
        const Outcome outcome = grow_behind_the_load(is_called_back, has_cache, much);
        EXPECT_EQ(outcome.hits(), much) << is_called_back << has_cache;
        EXPECT_EQ(outcome.stats_of()["cache"]["saved_bytes"], 0) << is_called_back << has_cache;
        EXPECT_NE(outcome.errors.find("not saved (out_of_memory)"), std::string::npos)
            << outcome.errors;
        EXPECT_TRUE(read_bytes(cache_file()) == bytes);
    }
    // It is tried again.
    for (const bool has_cache : {false, true}) {
        write_bytes(cache_file(), bytes);
        EXPECT_EQ(grow_behind_the_load(false, has_cache, 64).hits(), much);
        EXPECT_EQ(run([] { Program().create_compute(0, much + 1); }).hits(), much + 1) << has_cache;
    }
}

// Nor is what another process has saved meanwhile merged.
TEST_F(SmallMemoryTest, NothingIsMergedThatDoesNotFit)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000"; // saved at the ends alone
    environment["WARMPIPE_PREWARM"] = "off"; // else the other may get what the first recorded
    const Outcome outcome = run([&] {
        Program saves_last;
        saves_last.create_compute(0, count - 1);
        Program().create_compute(10, 10 + count);
        write_meminfo(2 * count + 1); // it may be read
        saves_last.create_compute(count - 1, count);
    });
    EXPECT_NE(outcome.errors.find("not saved (out_of_memory)"), std::string::npos)
        << outcome.errors;
    write_meminfo(64);
    EXPECT_EQ(run([] { Program().create_compute(10, 10 + count); }).hits(), count);
}

} // namespace
