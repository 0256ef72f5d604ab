// SPDX-License-Identifier: Apache-2.0
// Saves in the background: what was compiled is kept however the program ends, and no process's
// save is lost to another's.
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <linux/seccomp.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "background.hpp"
#include "paths.h"
#include "sandbox.hpp"
#include "test_icd.h"
#include "things.hpp"

namespace {

TEST_F(BackgroundTest, AProgramThatIsKilledAfterItsBurstHasKeptAll)
{
    run(
        [&] {
            auto *owner = new Program;
            create_at_once(*owner, 0, 5);
            wait_for_flush();
            die();
        },
        {Layer::works, true, -SIGKILL});
    EXPECT_EQ(hits(0, 5), 5u);
}

// Threads of the program's have room for it as well.
TEST_F(BackgroundTest, AProgramMayKeepMuchForEachThread)
{
#ifdef WARMPIPE_SANITIZED
    GTEST_SKIP() << "the sanitizer must be loaded first";
#endif
    environment["LD_PRELOAD"] = LARGE_THREAD_LOCALS;
    execute({PIPELINES_CLIENT, "--compute", "3", "--graphics", "0"});
    const Outcome warm = execute({PIPELINES_CLIENT, "--compute", "3", "--graphics", "0"});
    EXPECT_EQ(warm.hits(), 3u);
}

// Chromium on a driver without a cache is ended by a signal.
TEST_F(BackgroundTest, StatisticsAreToldWhereNothingIsSaved)
{
    const auto program = [&](unsigned count) {
        return run(
            [&] {
                auto *owner = new Program;
                create_at_once(*owner, 0, count);
                wait_for_flush();
                die();
            },
            {Layer::works, true, -SIGKILL});
    };
    program(5);
    const Outcome warm = program(5);
    EXPECT_EQ(warm.stats_of()["pipelines"]["requested"], 5);
    EXPECT_EQ(warm.stats_of()["pipelines"]["driver_hits"], 5);
    environment["WPTEST_ICD_DATA"] = "header";
    environment["WARMPIPE_APP"] = "another";
    EXPECT_EQ(program(5).stats_of()["pipelines"]["requested"], 5);
}

// What it compiles takes next to nothing, and never has it been quiet.
TEST_F(BackgroundTest, AProgramThatIsNeverQuietIsSaved)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1000";
    run(
        [&] {
            auto *owner = new Program;
            unsigned next = 0;
            wait_until([&] {
                owner->create_compute(next, next + 1);
                ++next;
                return !cache_files().empty();
            });
            wait_for_flush();
            die();
        },
        {Layer::works, true, -SIGKILL});
    EXPECT_GT(hits(0, 5), 0u);
}

TEST_F(BackgroundTest, AProgramThatCallsExitAtOnceAfterTheSaveHasKeptAll)
{
    run([&] {
        auto *owner = new Program;
        create_at_once(*owner, 0, 5);
        wait_for_flush();
        _exit(HasFailure());
    });
    EXPECT_EQ(hits(0, 5), 5u);
}

TEST_F(BackgroundTest, ASnapshotThatIsNotOnDiskYetIsWrittenAtTheEnd)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000";
    const Outcome outcome = run([&] {
        leak_from_here_on();
        auto *owner = new Program;
        create_at_once(*owner, 0, 5);
        wait_for_log("took a snapshot");
        EXPECT_TRUE(cache_files().empty());
    });
    EXPECT_EQ(outcome.stats_of()["event"], "exit");
    EXPECT_GT(outcome.stats_of()["cache"]["saved_bytes"], 0);
    EXPECT_EQ(hits(0, 5), 5u);
}

// A save that has not got the lock, in time for the end, is a part: the first of a program, too.
TEST_F(BackgroundTest, ASaveThatIsAPartAloneIsLoaded)
{
    const std::filesystem::path program = cache_root() / "program";
    EXPECT_EQ(hits(0, 1), 0u);
    remove_caches();
    const auto holds = [&](const std::function<void()> &what) {
        for (const auto &entry : std::filesystem::directory_iterator(program)) {
            if (entry.path().extension() == ".lock") {
                const int lock = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
                ASSERT_EQ(flock(lock, LOCK_EX), 0);
                what();
                close(lock);
                return;
            }
        }
        FAIL() << "no lock";
    };
    holds([&] { EXPECT_EQ(hits(0, 5), 0u); });
    EXPECT_TRUE(cache_files().empty());
    EXPECT_EQ(hits(0, 5), 5u);
}

// Some drivers empty what they merge from: the program's cache must not be among it.
TEST_F(BackgroundTest, ASaveLeavesTheProgramsOwnCacheWhole)
{
    environment["WPTEST_ICD_MERGE_MOVES"] = "1";
    environment["WARMPIPE_APP_CACHE"] = "harvest";
    const std::filesystem::path own = folder() / "own";
    run([&] {
        Program owner;
        const VkPipelineCache cache = owner.create_cache();
        owner.create_compute(0, 5, cache);
        wait_for_flush();
        owner.create_compute(5, 7, cache);
        write_bytes(own, owner.cache_data(cache));
        owner.destroy_cache(cache);
    });
    EXPECT_EQ(hits(0, 7), 7u) << "what was harvested is kept, too";
    const Outcome outcome = run([&] {
        Program owner;
        const VkPipelineCache cache = owner.create_cache(read_bytes(own));
        owner.create_compute(0, 7, cache);
        owner.destroy_cache(cache);
    });
    EXPECT_EQ(outcome.hits(), 7u);
}

// Filling a served cache leaves the device cache whole, likewise.
TEST_F(BackgroundTest, AFilledCacheLeavesTheHotOneWhole)
{
    environment["WPTEST_ICD_MERGE_MOVES"] = "1";
    environment["WARMPIPE_APP_CACHE"] = "serve";
    run([&] {
        Program owner;
        const VkPipelineCache cache = owner.create_cache();
        owner.create_compute(0, 5, cache);
        EXPECT_FALSE(owner.cache_data(cache).empty());
        owner.destroy_cache(cache);
        owner.create_compute(5, 7);
    });
    EXPECT_EQ(hits(0, 7), 7u);
}

TEST_F(BackgroundTest, EightProcessesAtOnceLeaveTheUnionHoweverTheyEnd)
{
    run([&] {
        std::vector<pid_t> children;
        for (unsigned i = 0; i < 8; ++i) {
            const pid_t child = fork_in_quiet();
            if (child == 0) {
                auto *owner = new Program;
                create_at_once(*owner, i * 4, i * 4 + 4);
                if (i % 2 == 0) {
                    wait_for_flush();
                    die();
                }
                delete owner;
                std::exit(HasFailure());
            }
            children.push_back(child);
        }
        for (size_t i = 0; i < children.size(); ++i) {
            int status = 0;
            waitpid(children[i], &status, 0);
            EXPECT_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                      i % 2 == 0 ? SIGKILL : 0);
        }
    });
    hits(100, 101); // takes up what parts are left
    EXPECT_EQ(hits(0, 32), 32u);
}

TEST_F(BackgroundTest, NothingIsWrittenWhereNothingWasCompiled)
{
    run([&] {
        Program owner;
        owner.create_compute(0, 5);
    });
    const auto written = std::filesystem::last_write_time(cache_file());
    const Outcome outcome = run([&] {
        Program owner;
        owner.create_compute(0, 5);
    });
    EXPECT_EQ(outcome.stats_of()["cache"]["saved_bytes"], 0);
    EXPECT_EQ(std::filesystem::last_write_time(cache_file()), written);
}

TEST_F(BackgroundTest, AForkedChildLeavesItsParentsFilesAlone)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000"; // the parent's worker does not write either
    run([&] {
        leak_from_here_on(); // a thread of ours may be allocating while it forks
        Program owner;
        owner.create_compute(0, 5);
        fork_and_exit();
        EXPECT_TRUE(cache_files().empty()) << "the child wrote";
    });
    EXPECT_EQ(hits(0, 5), 5u);
}

TEST_F(BackgroundTest, AForkedChildMayUseVulkanAnew)
{
    run([&] {
        leak_from_here_on(); // a thread of ours may be allocating while it forks
        Program owner;
        owner.create_compute(0, 5);
        const pid_t child = fork_in_quiet();
        if (child == 0) {
            {
                Program own;
                own.create_compute(5, 10);
            }
            std::exit(HasFailure());
        }
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    });
    EXPECT_EQ(hits(0, 10), 10u);
}

TEST_F(BackgroundTest, AProgramInAClosedSandboxGoesOnUncached)
{
    environment["WARMPIPE_LOG"] = "warn";
    // The driver and the statistics cannot write either: the process's own word is all there is.
    const Outcome outcome = run(
        [&] {
            leak_from_here_on();
            Program owner;
            close_sandbox({calls_of_files_and_threads(), SECCOMP_RET_ERRNO | EPERM});
            owner.create_compute(0, 5);
        },
        {Layer::any, false, 0});
    EXPECT_LE(outcome.log().size(), 2u) << outcome.errors;
    EXPECT_TRUE(cache_files().empty());
    EXPECT_EQ(hits(0, 5), 0u);
    EXPECT_EQ(hits(0, 5), 5u);
}

// The allocator of a device may be called by the program's threads alone. It serves what a driver
// keeps of a cache that is loaded or read, with whatever the cache was made (all of Mesa since
// 2023). The program's threads read what the worker writes, and at the end what was collected.
TEST_F(BackgroundTest, ADevicesAllocatorIsNotCalledByTheWorker)
{
    environment["WARMPIPE_APP_CACHE"] = "harvest";
    environment["WPTEST_ICD_COMPILE_US"] = "2000";
    for (unsigned start = 0; start < 2; ++start) {
        run([&] {
            CountingAllocator allocator;
            ProgramOptions options;
            options.allocator = allocator.get();
            {
                Program one(options), two(options);
                one.create_compute(start, start + 5);
                wait_until([&] { return !cache_files().empty(); });
                const VkPipelineCache cache = two.create_cache();
                two.create_compute(start + 5, start + 10);
                two.create_compute(start + 10, start + 15, cache);
                two.destroy_cache(cache);
            }
            EXPECT_EQ(allocator.live(), 0);
        });
    }
    EXPECT_EQ(hits(0, 16), 16u);
}

// A driver that takes long to serialize its cache is waited for: the device must not go meanwhile.
TEST_F(BackgroundTest, TheDeviceGoesWhenTheWorkerHasLeftTheDriver)
{
    environment["WPTEST_ICD_DATA_US"] = "2700000"; // twice, for the size and the data
    const Outcome outcome = run([] {
        Program owner;
        owner.create_compute(0, 5);
        wait_until([] { return test_icd_calls("vkGetPipelineCacheData") >= 1; });
    });
    EXPECT_GT(outcome.stats_of()["cache"]["saved_bytes"], 0);
    environment.erase("WPTEST_ICD_DATA_US");
    EXPECT_EQ(hits(0, 5), 5u);
}

// However often the driver's cache is found empty.
TEST_F(BackgroundTest, AnIneffectiveCacheIsToldOnce)
{
    const std::string told = "not saved (ineffective)";
    environment["WPTEST_ICD_DATA"] = "header";
    run([&] {
        Program owner;
        owner.create_compute(0, 20);
        wait_for_log(told);
        owner.create_compute(20, 40);
    });
    const std::string log = read_text(log_path());
    EXPECT_EQ(log.find(told), log.rfind(told)) << log;
}

} // namespace
