// SPDX-License-Identifier: Apache-2.0
// Files of one process, and locks: whose process is dead is told from whose lives.
#include <thread>

#include "child.h"
#include "disk_fixture.h"
#include "file_fixture.h"
#include "holder.h"

extern "C" {
#include "common/files/file.h"
}

namespace {

TEST(FileOwned, IsAbandonedWhenItsProcessIsDead)
{
    Folder folder;
    std::string name;
    {
        Holder holder([&] {
            file_owned file = {};
            ASSERT_TRUE(file_create_owned(folder.fd.fd, nullptr, "", &file));
        });
        name = names_in(folder.path()).front();
        EXPECT_EQ(name.size(), 16u);
        EXPECT_EQ(file_open_abandoned(folder.fd.fd, name.c_str()), -1);
    }
    // Two that look at once must not take each other for the owner.
    Fd first;
    Fd second;
    first.fd = file_open_abandoned(folder.fd.fd, name.c_str());
    second.fd = file_open_abandoned(folder.fd.fd, name.c_str());
    EXPECT_GE(first.fd, 0);
    EXPECT_GE(second.fd, 0);
    EXPECT_EQ(file_open_abandoned(folder.fd.fd, "missing"), -1);
}

TEST(FileLock, IsHeldByOneAtATime)
{
    Folder folder;
    int fd = -1;
    ASSERT_EQ(file_lock(folder.fd.fd, "lock", 0, &fd), STATUS_ok);
    int other = -1;
    EXPECT_EQ(file_lock(folder.fd.fd, "lock", 0, &other), STATUS_locked);
    EXPECT_EQ(file_lock(folder.fd.fd, "lock", 5, &other), STATUS_locked);
    EXPECT_EQ(other, -1);
    file_unlock(fd);
    ASSERT_EQ(file_lock(folder.fd.fd, "lock", 0, &other), STATUS_ok);
    file_unlock(other);
}

TEST(FileLock, IsWaitedForWithinTheBound)
{
    Folder folder;
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    Holder holder([&] {
        int fd = -1;
        ASSERT_EQ(file_lock(folder.fd.fd, "lock", 0, &fd), STATUS_ok);
        std::thread([fd, ends] {
            char asked = 0;
            if (read(ends[0], &asked, 1) == 1) {
                file_unlock(fd);
            }
        }).detach();
    });
    int fd = -1;
    EXPECT_EQ(file_lock(folder.fd.fd, "lock", 0, &fd), STATUS_locked);
    ASSERT_EQ(write(ends[1], "x", 1), 1);
    EXPECT_EQ(file_lock(folder.fd.fd, "lock", 60000, &fd), STATUS_ok);
    file_unlock(fd);
    close(ends[0]);
    close(ends[1]);
}

TEST(FileLock, EndsWithItsProcess)
{
    Folder folder;
    Holder holder([&] {
        int fd = -1;
        ASSERT_EQ(file_lock(folder.fd.fd, "lock", 0, &fd), STATUS_ok);
    });
    int fd = -1;
    EXPECT_EQ(file_lock(folder.fd.fd, "lock", 0, &fd), STATUS_locked);
    holder.end();
    ASSERT_EQ(file_lock(folder.fd.fd, "lock", 0, &fd), STATUS_ok);
    file_unlock(fd);
}

TEST(FileLock, IsGivenBackThoughAForkedChildLives)
{
    Folder folder;
    int fd = -1;
    ASSERT_EQ(file_lock(folder.fd.fd, "lock", 0, &fd), STATUS_ok);
    Holder child([] {}); // shares the description
    file_unlock(fd);
    ASSERT_EQ(file_lock(folder.fd.fd, "lock", 0, &fd), STATUS_ok);
    file_unlock(fd);
}

TEST(FileLock, CanBeTakenAgainWhateverTheUmask)
{
    Folder folder;
    Umask umask(0777);
    int fd = -1;
    ASSERT_EQ(file_lock(folder.fd.fd, "lock", 0, &fd), STATUS_ok);
    file_unlock(fd);
    EXPECT_EQ(mode_of(folder.path("lock")), 0600u);
}

TEST(FileLock, DoesNotFollowALink)
{
    Folder folder;
    std::filesystem::create_symlink("elsewhere", folder.path("lock"));
    int fd = -1;
    EXPECT_EQ(file_lock(folder.fd.fd, "lock", 0, &fd), STATUS_symlink);
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"lock"});
}

} // namespace
