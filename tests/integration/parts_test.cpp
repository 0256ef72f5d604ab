// SPDX-License-Identifier: Apache-2.0
// Parts: saves that lie beside the file, since that was another process's, and who takes them up.
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "background.hpp"
#include "test_icd.h"

namespace {

// Of two processes: the file holds pipelines 10 to 14, the part those from 0 to 4.
class PartsTest : public BackgroundTest {
  protected:
    void leave_a_part()
    {
        std::filesystem::remove(log_path());
        environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000";
        run([&] {
            const std::filesystem::path ready = folder() / "ready";
            std::filesystem::remove(ready);
            const pid_t other = fork_in_quiet();
            if (other == 0) {
                wait_until([&] { return std::filesystem::exists(ready); });
                {
                    Program owner;
                    owner.create_compute(10, 15);
                }
                std::exit(HasFailure());
            }
            leak_from_here_on();
            auto *owner = new Program;
            create_at_once(*owner, 0, 5);
            wait_for_log("took a snapshot");
            write_bytes(ready, {1});
            int status = 0;
            EXPECT_EQ(waitpid(other, &status, 0), other);
            EXPECT_EQ(status, 0);
        });
        ASSERT_EQ(count_files(".part"), 1u);
    }

    // A start that asks for what the file holds.
    Outcome hits_of_the_file(bool by_return)
    {
        return run([&] {
            auto *owner = new Program;
            create_at_once(*owner, 10, 15);
            if (by_return) {
                leak_from_here_on();
            } else {
                delete owner;
            }
        });
    }
};

TEST_F(PartsTest, TheEndOfOneProcessIsNotWrittenOverTheSaveOfAnother)
{
    leave_a_part();
    // The next save takes the part up.
    EXPECT_EQ(hits(20, 21), 0u);
    EXPECT_EQ(count_files(".part"), 0u);
    EXPECT_EQ(hits(0, 5), 5u);
    EXPECT_EQ(hits(10, 15), 5u);
    EXPECT_EQ(hits(20, 21), 1u);
}

// The worker, where the program lives on, or the end of the device.
TEST_F(PartsTest, AStartThatCompilesNothingTakesAPartUp)
{
    for (const bool lives : {true, false}) {
        leave_a_part();
        environment["WARMPIPE_FLUSH_IDLE_MS"] = lives ? "50" : "60000";
        environment["WPTEST_ICD_WANDER"] = "2"; // the data are not the file's, byte by byte
        run(
            [&] {
                Program owner;
                create_at_once(owner, 10, 15);
                if (lives) {
                    wait_until([&] { return count_files(".part") == 0; });
                    wait_for_flush();
                    die();
                }
            },
            {Layer::works, true, lives ? -SIGKILL : 0});
        EXPECT_EQ(count_files(".part"), 0u);
        EXPECT_EQ(hits(0, 5), 5u);
        environment.erase("WPTEST_ICD_WANDER");
        remove_caches();
    }
}

// The worker has nothing else to do: nothing is recorded, compiled ahead, or told.
TEST_F(PartsTest, IsTakenUpThoughNothingElseIsToBeDone)
{
    environment["WARMPIPE_PREWARM"] = "off";
    leave_a_part();
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "50";
    run(
        [&] {
            unsetenv("WARMPIPE_STATS");
            auto *owner = new Program;
            create_at_once(*owner, 10, 15);
            wait_until([&] { return count_files(".part") == 0; }); // by the layer
            die();
        },
        {Layer::any, true, -SIGKILL});
    EXPECT_EQ(hits(0, 5), 5u);
}

// By the worker, or at the end of the device.
TEST_F(PartsTest, WhatDoesNotFitBesideTheFileGivesWay)
{
    const std::string policy = folder() / "policy";
    std::ofstream(policy) << "[test]\nmax-blob = 600\n";
    for (const bool lives : {true, false}) {
        leave_a_part();
        environment["WARMPIPE_FLUSH_IDLE_MS"] = lives ? "50" : "60000";
        environment["WARMPIPE_POLICY"] = policy;
        const Outcome outcome = run([&] {
            Program owner;
            create_at_once(owner, 10, 15);
            owner.create_compute(15, 16);
            if (lives) {
                wait_until([&] { return count_files(".part") == 0; });
            }
        });
        EXPECT_EQ(outcome.hits(), 5u);
        EXPECT_EQ(count_files(".part"), 0u);
        EXPECT_EQ(hits(10, 16), 6u) << "all that it had, and has compiled";
        environment.erase("WARMPIPE_POLICY");
        remove_caches();
    }
}

// The end of a device does not merge with it again and again.
TEST_F(PartsTest, WhatCannotBeRemovedGivesNoWay)
{
    const std::string policy = folder() / "policy";
    std::ofstream(policy) << "[test]\nmax-blob = 600\n";
    leave_a_part();
    const std::filesystem::path held = cache_file().parent_path();
    if (!become_unprivileged()) {
        GTEST_SKIP() << "the build tree is not open to other users";
    }
    environment["WARMPIPE_POLICY"] = policy;
    ASSERT_EQ(chmod(held.c_str(), 0555), 0);
    run([] {
        Program owner;
        create_at_once(owner, 10, 15);
        owner.create_compute(15, 16);
        owner.destroy_device();
        EXPECT_LE(test_icd_calls("vkMergePipelineCaches"), 2u);
    });
    ASSERT_EQ(chmod(held.c_str(), 0755), 0);
    EXPECT_EQ(count_files(".part"), 1u);
}

// Where a part cannot be merged, whatever the reason, the file is left as it is, no part is added,
// none is lost, and nothing is told.
TEST_F(PartsTest, WhatCannotBeMergedChangesNothing)
{
    struct Case {
        const char *name;
        std::map<std::string, std::string> environment;
    };
    const std::string policy = folder() / "policy";
    std::ofstream(policy) << "[test]\nsnapshot-at-exit = yes\n";
    const std::string single = folder() / "single";
    std::ofstream(single) << "[test]\nsingle-cache = yes\n";
    const std::string small = folder() / "small";
    std::ofstream(small) << "[test]\nmax-blob = 600\n";
    const Case cases[] = {
        {"the end of a process", {{"WARMPIPE_POLICY", policy}}},
        {"one cache object", {{"WARMPIPE_POLICY", single}}},
        {"the driver refuses", {{"WPTEST_ICD_FAIL", "vkMergePipelineCaches:*=-2"}}},
        {"both are too large", {{"WARMPIPE_POLICY", small}}},
        {"the lock is held", {}},
    };
    for (const Case &one : cases) {
        SCOPED_TRACE(one.name);
        leave_a_part();
        const auto before_environment = environment;
        environment.insert(one.environment.begin(), one.environment.end());
        const std::filesystem::path file = cache_file();
        const std::vector<uint8_t> before = read_bytes(file);
        int lock = -1;
        if (one.environment.empty()) {
            std::filesystem::path path = file;
            lock = open(path.replace_extension(".lock").c_str(), O_RDWR | O_CLOEXEC);
            ASSERT_EQ(flock(lock, LOCK_EX), 0);
        }
        for (const bool by_return : {true, false}) {
            if (&one == cases && !by_return) {
                continue; // the end of the device may
            }
            EXPECT_EQ(hits_of_the_file(by_return).hits(), 5u);
            const std::string told = read_text(log_path());
            EXPECT_EQ(told.find("not saved"), std::string::npos) << told;
            EXPECT_EQ(told.find("warmpipe: warn"), std::string::npos) << told;
            EXPECT_EQ(count_files(".part"), 1u);
            EXPECT_EQ(read_bytes(file), before);
        }
        close(lock);
        environment = before_environment;
        hits_of_the_file(false);
        EXPECT_EQ(count_files(".part"), 0u);
        EXPECT_EQ(hits(0, 5), 5u);
        remove_caches();
    }
}

} // namespace
