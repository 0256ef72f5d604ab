// SPDX-License-Identifier: Apache-2.0
// Several processes at once, and processes that are killed: nothing saved is lost.
#include <algorithm>
#include <csignal>
#include <random>

#include <sys/wait.h>

#include "disk_fixture.h"
#include "scratch.h"
#include "store_fixture.h"

namespace {

class StoreProcesses : public StoreTest {
  protected:
    // Runs the body in this many processes that start together; each gets its number.
    template <typename Body> static void run_at_once(int count, Body body)
    {
        int start[2];
        fflush(nullptr);
        ASSERT_EQ(pipe(start), 0);
        for (int i = 0; i < count; i++) {
            if (fork() == 0) {
                close(start[1]);
                char nothing;
                EXPECT_EQ(read(start[0], &nothing, 1), 0); // until the other end is closed
                body(i);
                fflush(stdout);
                _exit(testing::Test::HasFailure() ? 1 : 0);
            }
        }
        close(start[0]);
        close(start[1]);
        for (int i = 0; i < count; i++) {
            int status = 0;
            ASSERT_GT(wait(&status), 0);
            EXPECT_EQ(status, 0);
        }
    }

    // As the layer saves: merged if the lock is to be had in time, else by itself.
    static void save(Store &store, const std::string &words)
    {
        enum status reason = store.commit(words);
        if (reason == STATUS_locked) {
            reason = store.commit_unmerged(words);
        }
        EXPECT_EQ(reason, STATUS_ok);
    }

    // What is there when the next process has taken up what lies beside the file.
    Words everything() const
    {
        Store store(root());
        store.load();
        EXPECT_EQ(store.commit(""), STATUS_ok);
        EXPECT_TRUE(names_in(root() + "/app", ".part").empty());
        return words_of(Store(root()).load());
    }
};

std::string word(int process, int number)
{
    return "p" + std::to_string(process) + "n" + std::to_string(number);
}

TEST_F(StoreProcesses, LeaveTheUnionOfWhatTheySavedAtOnce)
{
    Words expected;
    for (int i = 0; i < 8; i++) {
        expected.insert(word(i, 0));
    }
    run_at_once(8, [&](int process) {
        Store store(root());
        save(store, word(process, 0));
    });
    EXPECT_EQ(everything(), expected);
}

TEST_F(StoreProcesses, LeaveTheUnionOfManySaves)
{
    ASSERT_EQ(Store(root()).commit("before"), STATUS_ok);
    Words expected = {"before"};
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 6; j++) {
            expected.insert(word(i, j));
        }
    }
    run_at_once(8, [&](int process) {
        Store store(root());
        EXPECT_NE(words_of(store.load()).count("before"), 0u);
        store_survived(store.get());
        for (int j = 0; j < 6; j++) {
            save(store, word(process, j));
        }
    });
    EXPECT_EQ(everything(), expected);
}

TEST_F(StoreProcesses, LeaveTheUnionOfUnmergedSaves)
{
    Words expected;
    for (int i = 0; i < 8; i++) {
        expected.insert(word(i, 1));
        expected.insert(word(i, 0));
    }
    run_at_once(8, [&](int process) {
        Store store(root());
        for (int j = 0; j < 2; j++) {
            EXPECT_EQ(store.commit_unmerged(word(process, j)), STATUS_ok);
        }
    });
    EXPECT_EQ(everything(), expected);
}

TEST_F(StoreProcesses, LoadTheSameBlobAtOnce)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    for (int round = 0; round < 4; round++) {
        run_at_once(8, [&](int) {
            Store store(root());
            EXPECT_EQ(store.load(), "one");
            store_survived(store.get());
        });
    }
    EXPECT_EQ(Store(root()).load(), "one");
    EXPECT_FALSE(std::filesystem::exists(root() + "/app/quarantine"));
}

// Killed at any moment of a save: the file is whole, and holds at least what was reported saved.
TEST_F(StoreProcesses, KilledWhileTheySaveLoseNothingThatWasSaved)
{
    std::mt19937 random(1);
    Words saved;
    for (int round = 0; round < 200; round++) {
        int reports[2];
        ASSERT_EQ(pipe(reports), 0);
        fflush(nullptr);
        pid_t child = fork();
        if (child == 0) {
            close(reports[0]);
            Store store(root());
            store.load();
            store_survived(store.get());
            for (int j = 0;; j++) {
                bool merged = j % 2 == 0;
                enum status reason =
                    merged ? store.commit(word(round, j)) : store.commit_unmerged(word(round, j));
                if (reason != STATUS_ok || write(reports[1], &j, sizeof(j)) != sizeof(j)) {
                    _exit(1);
                }
            }
        }
        close(reports[1]);
        int last = -1;
        ASSERT_EQ(read(reports[0], &last, sizeof(last)), static_cast<ssize_t>(sizeof(last)));
        // Any moment will do, and each round takes another one.
        timespec moment = {0, static_cast<long>(random() % 2000000)};
        nanosleep(&moment, nullptr);
        kill(child, SIGKILL);
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << status;
        for (int next; read(reports[0], &next, sizeof(next)) == sizeof(next);) {
            last = next;
        }
        close(reports[0]);
        for (int j = 0; j <= last; j++) {
            saved.insert(word(round, j));
        }
        const Words found = words_of(Store(root()).load());
        ASSERT_TRUE(std::includes(found.begin(), found.end(), saved.begin(), saved.end()))
            << "round " << round;
        if (round % 20 == 19) {
            saved.clear(); // keeps the file small
            std::filesystem::remove_all(root());
        }
    }
    everything();
    EXPECT_TRUE(names_in(root() + "/app", ".tmp").empty());
}

} // namespace
