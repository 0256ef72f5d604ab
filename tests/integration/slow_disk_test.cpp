// SPDX-License-Identifier: Apache-2.0
// A disk that does not answer keeps nobody: neither vkDestroyDevice, at none of its steps, nor the
// process that ends behind it; and what it had taken is given back when it answers.
#include "slow_disk.hpp"

#include <atomic>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string_view>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "during.hpp"
#include "recipes.hpp"
#include "test_icd.h"

namespace {

class SlowDiskTest : public RecipesTest {
  protected:
    SlowDiskTest()
    {
        environment["WARMPIPE_PREWARM"] = "off";
        environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000"; // so that the end of the device saves
    }

    // The disk hangs, and the device is destroyed all the same.
    static void expect_destroyed(Program &program)
    {
        program.destroy_device();
        EXPECT_TRUE(disk_has_hung()) << "the layer was at work";
        EXPECT_EQ(test_icd_calls("vkDestroyDevice"), 1u);
    }

    // Pipelines from this number on, until somebody waits for the disk. Returns the next one.
    static unsigned compile_until_the_disk_hangs(Program &program, unsigned next)
    {
        wait_until([&] {
            program.create_compute(next, next + 1);
            ++next;
            return disk_has_hung();
        });
        return next;
    }

    // With a messenger it is the program's thread that looks: here while the worker saves.
    void expect_saved_beside_a_save(int status, const std::function<void(unsigned pipelines)> &end)
    {
        environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
        environment["WPTEST_ICD_COMPILE_US"] = "250000"; // what a look costs is a small part
        environment["WPTEST_ICD_RECORD_BYTES"] = "1024";
        run(
            [&] {
                auto *program = new Program(with_messenger());
                leak_from_here_on();
                disk_hangs("openat", ".lock");
                const unsigned next = compile_until_the_disk_hangs(*program, 0);
                program->create_compute(1000, 1004);
                disk_answers();
                end(next + 4);
            },
            {Layer::any, true, status});
        EXPECT_EQ(run([] { Program().create_compute(1000, 1004); }).hits(), 4u);
    }

    static size_t resident_bytes()
    {
        size_t size = 0;
        size_t resident = 0;
        std::ifstream("/proc/self/statm") >> size >> resident;
        return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
    }

    int starts() const
    {
        return nlohmann::json::parse(read_text(cache_root() / "program/program.json"))["starts"];
    }

    Outcome run_at_hanging_disk(const std::function<void()> &program)
    {
        return run(program, {Layer::any});
    }
};

TEST_F(SlowDiskTest, AWriteKeepsNobody)
{
    run_at_hanging_disk([] {
        Program program;
        program.create_compute(0, 2);
        disk_hangs("fsync");
        expect_destroyed(program);
    });
}

// Or a program that is short would start cold for ever.
TEST_F(SlowDiskTest, TheFirstSaveIsThereForTheNextStart)
{
    const Outcome outcome = run_at_hanging_disk([] {
        Program program;
        program.create_compute(0, 2);
        disk_hangs("fsync");
        expect_destroyed(program);
    });
    EXPECT_EQ(outcome.log().size(), 0u) << outcome.errors;
    EXPECT_EQ(run([] { Program().create_compute(0, 2); }).hits(), 2u);
}

// Each start knows less than it could then: nobody would find out why.
TEST_F(SlowDiskTest, ASaveThatIsNotWaitedForIsTold)
{
    run([] { Program().create_compute(0, 2); });
    const Outcome outcome = run_at_hanging_disk([] {
        Program program;
        program.create_compute(2, 4);
        disk_hangs("fsync");
        expect_destroyed(program);
    });
    ASSERT_EQ(outcome.log().size(), 1u) << outcome.errors;
    EXPECT_NE(outcome.log()[0].find("not saved (locked)"), std::string::npos) << outcome.errors;
}

// A daemon closes every descriptor that it does not know, and opens files of its own, while a save
// waits for the disk.
TEST_F(SlowDiskTest, ASaveTouchesNoFileOfAProgramThatClosesItsDescriptors)
{
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "a number that is closed and given anew is a race to the sanitizer";
#endif
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    const std::string own = folder() / "own";
    run_at_hanging_disk([&] {
        leak_from_here_on();
        Program program;
        disk_hangs("fsync");
        compile_until_the_disk_hangs(program, 0);
        for (int fd = STDERR_FILENO + 1; fd < 256; ++fd) {
            close(fd);
        }
        std::vector<int> fds(24);
        for (int &fd : fds) {
            fd = open(own.c_str(), O_RDWR | O_CREAT, 0600);
        }
        struct stat file = {};
        EXPECT_EQ(fstat(fds.front(), &file), 0);
        disk_answers();
        program.destroy_device();
        for (const int fd : fds) {
            struct stat now = {};
            EXPECT_EQ(fstat(fd, &now), 0) << fd << " was closed";
            EXPECT_EQ(now.st_ino, file.st_ino) << fd << " is another file";
            EXPECT_EQ(now.st_size, 0) << fd << " was written";
        }
    });
}

TEST_F(SlowDiskTest, WhatIsKnownOfTheDriverKeepsNobody)
{
    run_at_hanging_disk([] {
        Program program;
        program.create_compute(0, 2);
        disk_hangs("openat", "program.json");
        expect_destroyed(program);
    });
}

// With a messenger it is the program's thread that looks, and the worker that holds what was seen
// against the file.
TEST_F(SlowDiskTest, TheFileThatIsHeldAgainstKeepsNoCreation)
{
    environment["WPTEST_ICD_FEEDBACK"] = "miss";
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    run([] { Program().create_compute(0, 60); });
    environment["WPTEST_ICD_COMPILE_US"] = "10000";
    run([] {
        Program program(with_messenger());
        leak_from_here_on();
        program.create_compute(0, 1);
        disk_hangs("openat", ".wpcache");
        const unsigned next = compile_until_the_disk_hangs(program, 60);
        program.create_compute(next, next + 30);
        disk_answers();
    });
}

// The program's thread loads, since the driver has once taken long for that, while the worker saves
// what was compiled into a cache of the program's.
class SlowFirstLoadTest : public SlowDiskTest, public ::testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(Of, SlowFirstLoadTest, ::testing::Bool(), [](const auto &refused) {
    return std::string(refused.param ? "a_blob_that_the_driver_refuses" : "a_good_blob");
});

TEST_P(SlowFirstLoadTest, BesideASaveKeepsNoCreation)
{
    run([] { Program().create_compute(0, 2); });
    // For how long the thread lacked a core before the load is taken off (own_wait.h).
    for (unsigned sleep_us = 400000; sleep_us < 8000000 && !is_remembered(); sleep_us *= 2) {
        run([sleep_us] {
            const DuringCalls slow([sleep_us](const char *command) {
                if (std::string_view(command) == "vkCreatePipelineCache") {
                    usleep(sleep_us);
                }
            });
            Program().create_compute(0, 2);
        });
    }
    ASSERT_TRUE(is_remembered());
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    if (GetParam()) {
        environment["WPTEST_ICD_FAIL"] = "vkCreatePipelineCache:3=-1";
    }
    const Outcome outcome = run([] {
        const std::thread::id main = std::this_thread::get_id();
        Program program;
        leak_from_here_on();
        const VkPipelineCache own = program.create_cache();
        const DuringCalls calls([&](const char *command) {
            if (std::string_view(command) == "vkCreatePipelineCache" &&
                std::this_thread::get_id() == main) {
                disk_hangs("fsync");
                std::thread([&] { program.create_compute(10, 14, own); }).join();
                wait_until([] { return disk_has_hung(); });
            }
        });
        program.create_compute(0, 1);
        EXPECT_TRUE(disk_has_hung()) << "the layer was at work";
        disk_answers();
        program.destroy_cache(own);
    });
    EXPECT_EQ(outcome.hits(), GetParam() ? 0u : 1u);
}

// Nobody creates anything after that, nor destroys the device.
TEST_F(SlowDiskTest, WhatIsCompiledBesideAMessengerAndASaveIsSavedToo)
{
    expect_saved_beside_a_save(0, [](unsigned) {});
}

TEST_F(SlowDiskTest, SoItIsWhereTheProcessIsKilledLater)
{
    expect_saved_beside_a_save(-SIGKILL, [this](unsigned pipelines) {
        const auto size = [&] {
            const auto files = cache_files();
            return files.empty() ? 0 : std::filesystem::file_size(files.front());
        };
        wait_until([&] { return size() >= pipelines * std::uintmax_t{1024}; });
        die();
    });
}

// What it reads meanwhile costs more than it did before.
TEST_F(SlowDiskTest, ReadsBesideAMessengerAndASaveAreAsFewAsOthers)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    environment["WPTEST_ICD_COMPILE_US"] = "5000";
    run([] {
        auto *program = new Program(with_messenger());
        leak_from_here_on();
        static std::atomic<bool> is_slow{false};
        const DuringCalls calls([](const char *command) {
            if (is_slow && std::string_view(command) == "vkGetPipelineCacheData") {
                usleep(10000);
            }
        });
        disk_hangs("openat", ".lock");
        compile_until_the_disk_hangs(*program, 0);
        is_slow = true;
        const uint64_t before = test_icd_calls("vkGetPipelineCacheData");
        program->create_compute(1000, 1100);
        EXPECT_LT(test_icd_calls("vkGetPipelineCacheData") - before, 100u);
        is_slow = false;
        disk_answers();
    });
}

TEST_F(SlowDiskTest, ADeviceGoesBesideAWorkerThatIsAtTheDisk)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    run_at_hanging_disk([] {
        Program program;
        disk_hangs("fsync");
        program.create_compute(0, 2);
        wait_until(disk_has_hung);
        expect_destroyed(program); // and its cache before it, or the driver would complain
    });
}

// With what it has collected of the program's own caches.
TEST_F(SlowDiskTest, SoDoesOneWithCachesOfItsOwn)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    environment["WARMPIPE_APP_CACHE"] = "harvest";
    run([] { Program().create_compute(0, 60); });
    environment["WPTEST_ICD_WANDER"] = "1";
    run_at_hanging_disk([] {
        Program program;
        program.create_compute(0, 1);
        disk_hangs("openat", ".wpcache"); // held against the file
        VkPipelineCache cache = program.create_cache();
        program.create_compute(1, 60, cache);
        wait_until(disk_has_hung);
        program.destroy_cache(cache);
        expect_destroyed(program);
    });
}

// The worker holds what it has read against the file, and that takes long. It is no driver that has
// to be spared.
TEST_F(SlowDiskTest, ASlowDiskMakesNoDriverSlow)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    environment["WPTEST_ICD_FEEDBACK"] = "miss";
    run([] { Program().create_compute(0, 5); });
    environment["WPTEST_ICD_WANDER"] = "1";
    run([] {
        std::atomic<bool> is_read{false};
        const DuringCalls reads([&](const char *command) {
            if (std::string_view(command) == "vkGetPipelineCacheData" && !is_read.exchange(true)) {
                disk_hangs("openat", ".wpcache");
            }
        });
        Program program;
        program.create_compute(0, 5);
        wait_until(disk_has_hung);
        usleep(600000); // a driver would be remembered for it
        disk_answers();
        program.create_compute(5, 6);
    });
    EXPECT_EQ(run([] { Program().create_compute(5, 6); }).hits(), 1u) << "it was read again";
    EXPECT_FALSE(is_remembered());
}

// The last look holds what the driver has against the file.
TEST_F(SlowDiskTest, TheFileThatIsReadAgainKeepsNobody)
{
    environment["WPTEST_ICD_FEEDBACK"] = "miss";
    run([] { Program().create_compute(0, 5); });
    environment["WPTEST_ICD_WANDER"] = "1";
    run_at_hanging_disk([] {
        Program program;
        program.create_compute(0, 5);
        disk_hangs("openat", ".wpcache");
        expect_destroyed(program);
        EXPECT_GE(test_icd_calls("vkGetPipelineCacheData"), 2u) << "size and data were read";
    });
}

// A read at the end has taken long, which is to be remembered.
TEST_F(SlowDiskTest, WhatIsLearntOfTheDriverKeepsNobody)
{
    run([] { Program().create_compute(0, 1); });
    run_at_hanging_disk([] {
        const DuringCalls slow([](const char *command) {
            if (std::string_view(command) == "vkGetPipelineCacheData") {
                usleep(300000);
                disk_hangs("openat", "program.json");
            }
        });
        Program program;
        program.create_compute(0, 2);
        expect_destroyed(program);
    });
}

// The same while vkDestroyDevice waits for the worker, which is in the driver.
TEST_F(SlowDiskTest, WhatIsLearntWhileTheDriverIsWaitedForKeepsNobody)
{
    run_at_hanging_disk([] {
        std::atomic<bool> is_reading{false};
        const DuringCalls slow([&](const char *command) {
            if (std::string_view(command) == "vkGetPipelineCacheData" && !is_reading) {
                disk_hangs("openat", "program.json");
                is_reading = true;
                wait_until([] { return disk_has_hung(); });
            }
        });
        Program program;
        program.create_compute(0, 2);
        wait_until([&] { return is_reading.load(); });
        expect_destroyed(program);
    });
}

// What a warm start writes at its end: the driver destroys the device while the disk hangs, and it
// is waited for behind that, and once more behind the instance.
TEST_F(SlowDiskTest, TheCountOfAWarmStartKeepsNoDevice)
{
    run([] { Program().create_compute(0, 2); });
    const Outcome outcome = run_at_hanging_disk([this] {
        {
            Program program;
            program.create_compute(0, 2);
            disk_hangs("openat", "program.json");
            program.destroy_device();
            EXPECT_EQ(test_icd_calls("vkDestroyDevice"), 1u);
            wait_until(disk_has_hung);
            EXPECT_EQ(starts(), 1);
            disk_answers();
        }
        EXPECT_EQ(starts(), 2);
    });
    EXPECT_EQ(outcome.log().size(), 0u) << "all of it is saved: " << outcome.errors;
}

// The recorder has not been answered, so that the device's memory is never freed.
TEST_F(SlowDiskTest, AStartIsCountedAlsoWhereItsRecorderIsLeft)
{
    run([] { Program().create_compute(0, 2); });
    run_at_hanging_disk([this] {
        Program program;
        program.create_compute(0, 3);
        disk_hangs("openat", "recipes");
        expect_destroyed(program);
        disk_answers();
        wait_until([this] { return starts() == 2; });
    });
}

TEST_F(SlowDiskTest, TheLineOfAWarmStartIsThereWhenItsDeviceIsGone)
{
    run([] { Program().create_compute(0, 2); });
    run([] {
        Program program;
        program.create_compute(0, 2);
        program.destroy_device();
        EXPECT_NE(read_text(getenv("WARMPIPE_STATS")).find("\"destroy\""), std::string::npos);
    });
}

// Nor does it keep a thread of ours: a program that makes device after device would have ever more.
TEST_F(SlowDiskTest, WhoWaitedForItEndsWhenTheDiskAnswers)
{
#ifdef WARMPIPE_SANITIZED
    GTEST_SKIP() << "a sanitizer begins threads of its own";
#endif
    const auto threads = [] {
        const std::filesystem::directory_iterator tasks("/proc/self/task");
        return std::distance(begin(tasks), end(tasks));
    };
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    run_at_hanging_disk([&] {
        const auto before = threads();
        Program program;
        program.create_compute(0, 2);
        wait_until([&] { return threads() >= before + 2; }); // the worker's, and maintenance
        disk_hangs("fsync");
        compile_until_the_disk_hangs(program, 2);
        expect_destroyed(program);
        disk_answers();
        wait_until([&] { return threads() == before; });
    });
}

// The end of the process alone.
TEST_F(SlowDiskTest, AWriteKeepsNoProcess)
{
    run_at_hanging_disk([this] {
        leak_from_here_on();
        environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000";
        auto *program = new Program;
        program->create_compute(0, 2);
        wait_until([] { return test_icd_calls("vkGetPipelineCacheData") >= 2; });
        disk_hangs("fsync");
    });
}

// Others can save when the disk has answered at last, and what was compiled is there.
TEST_F(SlowDiskTest, WhatWasBegunIsEndedWhenTheDiskAnswers)
{
    const auto is_free = [this] {
        for (const auto &entry : std::filesystem::directory_iterator(cache_root() / "program")) {
            if (entry.path().extension() == ".lock") {
                const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
                const bool locked = flock(file, LOCK_EX | LOCK_NB) == 0;
                close(file);
                return locked;
            }
        }
        return false;
    };
    run_at_hanging_disk([&] {
        Program program;
        program.create_compute(0, 2);
        disk_hangs("openat", ".wpcache"); // behind the lock
        expect_destroyed(program);
        EXPECT_FALSE(is_free());
        EXPECT_EQ(cache_files().size(), 0u);
        disk_answers();
        wait_until(is_free);
        EXPECT_EQ(cache_files().size(), 1u);
    });
    EXPECT_EQ(run([] { Program().create_compute(0, 2); }).hits(), 2u);
}

// A program may make one device after the other. What is given up is never freed, but for what was
// to be written.
TEST_F(SlowDiskTest, ASaveThatIsNotWaitedForGivesItsMemoryBack)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer keeps memory of its own";
#endif
    environment["WPTEST_ICD_RECORD_BYTES"] = "16000000";
    for (const bool is_at_begin : {true, false}) {
        run_at_hanging_disk([&] {
            Program program;
            program.create_compute(is_at_begin, is_at_begin + 1u);
            disk_hangs(is_at_begin ? "openat" : "fsync", is_at_begin ? ".lock" : "");
            expect_destroyed(program);
            const size_t held = resident_bytes();
            disk_answers();
            wait_until([&] { return resident_bytes() + 15000000 < held; });
        });
    }
}

} // namespace
