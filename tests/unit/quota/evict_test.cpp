// SPDX-License-Identifier: Apache-2.0
// Removing an identity: under its lock, whole, and only if nobody has used it meanwhile.
#include <sched.h>

#include "child.h"
#include "holder.h"
#include "quota_fixture.h"

extern "C" {
#include "common/blobs/identity_files.h"
#include "common/files/file.h"
#include "common/quota/quota.h"
}

namespace {

class Folder : public testing::Test {
  protected:
    Folder()
    {
        root.add("app/" + id('a') + ".wpcache", 1000, 9 * day);
        EXPECT_EQ(file_open_directory(root.path.c_str(), "app", false, &fd), STATUS_ok);
    }
    ~Folder() override
    {
        close(fd);
    }
    static int64_t ago(time_t seconds)
    {
        return (time(nullptr) - seconds) * int64_t(1000000000);
    }

    Root root;
    int fd = -1;
};

TEST_F(Folder, EvictsOnlyWhatWasNotUsedMeanwhile)
{
    uint64_t bytes = 4711;
    EXPECT_FALSE(evict_identity(fd, id('a').c_str(), ago(10 * day), &bytes));
    EXPECT_EQ(bytes, 4711u);
    root.add("app/" + id('a') + "." + random_number + ".part", 10, 1 * day);
    EXPECT_FALSE(evict_identity(fd, id('a').c_str(), ago(8 * day), &bytes)) << "a new part";
    root.set_age("app/" + id('a') + "." + random_number + ".part", 9 * day);
    std::filesystem::create_directory(root.path + "/app/" + id('a') + ".loading");
    EXPECT_FALSE(evict_identity(fd, id('a').c_str(), ago(8 * day), &bytes)) << "a new load";
    root.set_age("app/" + id('a') + ".loading", 9 * day);
    root.add("app/" + id('a') + ".wanted", 0, 0);
    root.add("app/" + id('a') + "." + random_number + ".asked", 0, 0);
    EXPECT_TRUE(evict_identity(fd, id('a').c_str(), ago(8 * day), &bytes));
    EXPECT_EQ(bytes, 1010u);
    EXPECT_TRUE(root.names("app").empty());
}

TEST_F(Folder, WhatWasLearntMeanwhileStays)
{
    root.add_program("app", 20, 5 * day);
    EXPECT_EQ(evict_program(fd, ago(6 * day), false), 0u);
    EXPECT_TRUE(root.has("app/program.json"));
    EXPECT_EQ(evict_program(fd, ago(4 * day), false), 20u);
    EXPECT_FALSE(root.has("app/program.json"));
}

TEST_F(Folder, SomebodyElsesProgramFileStays)
{
    const std::string theirs = "{\"name\":\"my own thing\"}";
    root.add_text("app/program.json", theirs, 5 * day);
    EXPECT_EQ(evict_program(fd, INT64_MAX, false), 0u);
    EXPECT_TRUE(root.has("app/program.json"));
}

TEST_F(Folder, AnEmptyQuarantineThatNothingWasTakenFromStays)
{
    std::filesystem::create_directory(root.path + "/app/quarantine");
    evict_quarantine(fd, INT64_MAX);
    EXPECT_TRUE(root.has("app/quarantine"));
    root.add("app/quarantine/" + id('a') + ".wpcache", 10);
    evict_quarantine(fd, INT64_MAX);
    EXPECT_FALSE(root.has("app/quarantine"));
}

TEST_F(Folder, ALinkInTheFilesPlaceStays)
{
    const std::string link = root.path + "/app/" + id('b') + ".wpcache";
    root.add("app/" + id('b') + "." + random_number + ".part", 10, 9 * day);
    std::filesystem::create_symlink(id('a') + ".wpcache", link);
    root.set_age("app/" + id('b') + ".wpcache", 9 * day);
    uint64_t bytes;
    EXPECT_TRUE(evict_identity(fd, id('b').c_str(), ago(8 * day), &bytes));
    EXPECT_EQ(bytes, 10u);
    EXPECT_EQ(root.names("app"), (Names{id('a') + ".wpcache", id('b') + ".wpcache"}));
}

TEST_F(Folder, AMarkerOfALivingProcessStays)
{
    run_in_child([&] { ASSERT_EQ(Store(root.path).commit("words"), STATUS_ok); });
    Holder loading([&] {
        Store *store = new Store(root.path); // never closed
        EXPECT_EQ(store->load(), "words");
    });
    uint64_t bytes;
    EXPECT_TRUE(evict_identity(fd, sample_id().c_str(), ago(-day), &bytes));
    EXPECT_EQ(names_in(root.path + "/app/" + sample_id() + ".loading").size(), 1u);
    EXPECT_FALSE(root.has("app/" + sample_id() + ".wpcache"));
}

TEST_F(Folder, ALockThatIsRemovedIsMadeAnewAndLocksOnce)
{
    const std::string name = id('a') + ".lock";
    int held;
    ASSERT_EQ(file_lock(fd, name.c_str(), 0, &held), STATUS_ok);
    ASSERT_EQ(unlinkat(fd, name.c_str(), 0), 0);
    int second;
    ASSERT_EQ(file_lock(fd, name.c_str(), 0, &second), STATUS_ok);
    int third;
    EXPECT_EQ(file_lock(fd, name.c_str(), 0, &third), STATUS_locked);
    file_unlock(second);
    file_unlock(held);
}

// Whether a process has the file open.
bool has_open(pid_t process, const std::string &path)
{
    std::error_code ignored;
    const std::string folder = "/proc/" + std::to_string(process) + "/fd";
    for (const auto &entry : std::filesystem::directory_iterator(folder, ignored)) {
        if (std::filesystem::read_symlink(entry.path(), ignored) == path) {
            return true;
        }
    }
    return false;
}

TEST_F(Folder, AWaiterFollowsTheLockToItsNewFile)
{
    const std::string name = id('a') + ".lock";
    int held;
    ASSERT_EQ(file_lock(fd, name.c_str(), 0, &held), STATUS_ok);
    const std::string path = std::filesystem::canonical(root.path + "/app/" + name);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    pid_t waiter = fork();
    if (waiter == 0) {
        close(held);
        EXPECT_EQ(write(ends[1], "", 1), 1);
        int lock_fd;
        EXPECT_EQ(file_lock(fd, name.c_str(), 60000, &lock_fd), STATUS_ok);
        struct stat named;
        struct stat opened;
        EXPECT_EQ(fstatat(fd, name.c_str(), &named, 0), 0);
        EXPECT_EQ(fstat(lock_fd, &opened), 0);
        EXPECT_EQ(named.st_ino, opened.st_ino);
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    char ready;
    ASSERT_EQ(read(ends[0], &ready, 1), 1);
    close(ends[0]);
    close(ends[1]);
    while (!has_open(waiter, path)) {
        sched_yield();
    }
    ASSERT_EQ(unlinkat(fd, name.c_str(), 0), 0);
    file_unlock(held);
    int status = -1;
    ASSERT_EQ(waitpid(waiter, &status, 0), waiter);
    EXPECT_EQ(status, 0);
}

TEST_F(Folder, UsageTellsBytesAndLastUse)
{
    root.add("app/" + id('a') + "." + random_number + ".part", 100, 5 * day);
    root.add("app/" + id('b') + ".lock", 0);
    root.add_program("app", 20, 7 * day);
    root.add("app/notes.txt", 5000);
    size_t entries = 100;
    usage found;
    ASSERT_EQ(usage_read(fd, &entries, &found), STATUS_ok);
    EXPECT_EQ(entries, 95u);
    EXPECT_EQ(usage_bytes(&found), 1120u);
    EXPECT_EQ(found.other_bytes, 20u);
    ASSERT_EQ(found.count, 2u);
    const usage_identity *a = &found.identities[0];
    const usage_identity *b = &found.identities[1];
    if (a->bytes == 0) {
        std::swap(a, b);
    }
    EXPECT_EQ(a->identity, id('a'));
    EXPECT_EQ(a->bytes, 1100u);
    EXPECT_NEAR(static_cast<double>(a->last_use), static_cast<double>(ago(5 * day)), 1e11);
    EXPECT_EQ(b->identity, id('b'));
    EXPECT_EQ(b->last_use, INT64_MIN) << "a lock is no use";
    EXPECT_EQ(found.last_use, a->last_use);
    usage_free(&found);

    entries = 2;
    ASSERT_EQ(usage_read(fd, &entries, &found), STATUS_ok);
    EXPECT_EQ(entries, 0u);
    EXPECT_LE(found.count, 2u);
    usage_free(&found);
}

TEST(InUse, RemembersForAsLongAsTheProcessLives)
{
    if (ran_in_new_process()) {
        return;
    }
    EXPECT_FALSE(in_use_contains("/a"));
    in_use_add("/a");
    in_use_add("/a");
    EXPECT_TRUE(in_use_contains("/a"));
    EXPECT_FALSE(in_use_contains("/b"));
    for (int i = 0; i < 1000; i++) {
        in_use_add(std::to_string(i).c_str());
    }
    EXPECT_TRUE(in_use_contains("62"));
    EXPECT_FALSE(in_use_contains("63")) << "bounded";
    EXPECT_TRUE(in_use_contains("/a"));
}

} // namespace
