// SPDX-License-Identifier: Apache-2.0
// Disks that recipes and cache do not fit on together: the cache comes first (hazard 81).
#include <filesystem>

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "harness.hpp"
#include "program.hpp"
#include "slow_disk.hpp"

namespace {

class SmallDiskTest : public LayerTest {
  protected:
    static constexpr unsigned record_bytes = 256;
    static constexpr unsigned disk_bytes = 600 << 10;
    static constexpr unsigned few = 600;
    static constexpr unsigned many = 1600; // two thirds of the disk
    static constexpr size_t npos = std::string::npos;

    void SetUp() override
    {
        environment["WARMPIPE_APP"] = "program";
        environment["WPTEST_ICD_RECORD_BYTES"] = std::to_string(record_bytes);
        std::filesystem::create_directory(cache_root());
        // In a mount namespace of this process and its children; it ends with them.
        if (unshare(CLONE_NEWNS) != 0 ||
            mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mount("warmpipe", cache_root().c_str(), "tmpfs", 0, "size=600k") != 0) {
            GTEST_SKIP() << "may not mount here";
        }
    }

    void TearDown() override
    {
        umount2(cache_root().c_str(), MNT_DETACH);
    }

    template <typename Condition> static void wait_until(const Condition &condition)
    {
        for (int i = 0; i < 10000 && !condition(); ++i) {
            usleep(1000);
        }
        EXPECT_TRUE(condition());
    }

    uintmax_t recipe_bytes() const
    {
        uintmax_t bytes = 0;
        std::error_code ignored;
        for (const auto &file :
             std::filesystem::directory_iterator(cache_root() / "program/recipes", ignored)) {
            bytes += file.file_size(ignored);
        }
        return bytes;
    }

    // So many pipelines that their recipes take a third of the disk.
    void create_few(Program &program) const
    {
        program.create_compute(0, few);
        wait_until([&] { return recipe_bytes() > disk_bytes / 3; });
    }

    // Of the last snapshot that the log tells of.
    size_t snapshot_bytes() const
    {
        const std::string log = read_text(folder() / "log");
        const std::string words = "took a snapshot of ";
        const size_t at = log.rfind(words);
        return at == npos ? 0 : std::stoul(log.substr(at + words.size()));
    }

    size_t hits(unsigned end)
    {
        return run([&] { Program().create_compute(0, end); }).hits();
    }
};

// What is compiled for some time is saved several times, beside recipes that are on disk first.
TEST_F(SmallDiskTest, RecipesLeaveRoomForTheCache)
{
    environment["WPTEST_ICD_COMPILE_US"] = "500";
    const unsigned count = disk_bytes / 3 / record_bytes;
    const Outcome first = run([&] { Program().create_compute(0, count); });
    ASSERT_EQ(first.log().size(), 1u) << first.errors;
    EXPECT_NE(first.log()[0].find("not recorded (disk_full)"), std::string::npos) << first.errors;
    EXPECT_EQ(hits(count), count);
}

// The cache needs more than the half that recipes leave it: they give way.
TEST_F(SmallDiskTest, RecipesGiveWayToTheCache)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "100000"; // saved at the end alone
    const Outcome first = run([&] {
        Program program;
        create_few(program);
        program.create_compute(few, many);
    });
    EXPECT_EQ(first.log().size(), 1u) << first.errors;
    EXPECT_EQ(recipe_bytes(), 0u);
    EXPECT_EQ(hits(many), many);
}

// Neither has room: that what was compiled is lost is not told by a line about recipes.
TEST_F(SmallDiskTest, BothAreTold)
{
    const std::string log = (folder() / "log").string();
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "100000"; // saved at the end alone
    environment["WARMPIPE_LOG"] = "warn:" + log;
    run([&] {
        Program program;
        program.create_compute(0, disk_bytes / record_bytes + few);
        wait_until([&] { return read_text(log).find("not recorded (disk_full)") != npos; });
    });
    EXPECT_NE(read_text(log).find("not saved (disk_full)"), npos) << read_text(log);
}

// A disk that does not answer to that keeps no device.
TEST_F(SmallDiskTest, RecipesThatGiveWayKeepNobody)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "100000";
    run(
        [&] {
            leak_from_here_on();
            Program program;
            create_few(program);
            program.create_compute(few, many);
            disk_hangs("unlinkat", ".wprecipes");
            program.destroy_device();
            EXPECT_TRUE(disk_has_hung());
        },
        {Layer::any});
}

// The same where the process ends before the device, with a snapshot that is not on disk.
TEST_F(SmallDiskTest, RecipesGiveWayAtTheEndOfTheProcess)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "100000";
    environment["WARMPIPE_LOG"] = "debug:" + (folder() / "log").string();
    run([&] {
        leak_from_here_on();
        auto *program = new Program;
        create_few(*program);
        program->create_compute(few, many);
        wait_until([&] { return snapshot_bytes() > size_t{many} * record_bytes; });
    });
    EXPECT_EQ(hits(many), many);
}

// A save that has failed puts the next one off no longer than a small one does.
TEST_F(SmallDiskTest, WhatIsLargeIsSavedOnceThereIsRoom)
{
#ifdef WARMPIPE_SANITIZED
    GTEST_SKIP() << "a sanitizer reads so much for too long";
#endif
    const std::string log = (folder() / "log").string();
    environment["WPTEST_ICD_RECORD_BYTES"] = std::to_string(1 << 20);
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    environment["WARMPIPE_LOG"] = "info:" + log;
    run([&] {
        leak_from_here_on();
        auto *program = new Program;
        program->create_compute(0, 24);
        wait_until([&] { return read_text(log).find("not saved (disk_full)") != npos; });
        ASSERT_EQ(mount(nullptr, cache_root().c_str(), nullptr, MS_REMOUNT, "size=100m"), 0);
        program->create_compute(24, 25);
        wait_until([&] { return read_text(log).find("saved 262") != npos; }); // 25 MiB
    });
}

} // namespace
