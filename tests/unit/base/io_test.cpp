// SPDX-License-Identifier: Apache-2.0
// Reads and writes that the kernel does in parts.
#include <cerrno>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "faults.h"
#include "scratch.h"

extern "C" {
#include "common/base/io.h"
}

namespace {

TEST(Io, APipeThatIsSmallerThanWhatGoesThrough)
{
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const std::string data(1 << 20, 'x');
    std::thread writer([&] {
        EXPECT_TRUE(io_write(ends[1], data.data(), data.size(), IO_HERE));
        close(ends[1]);
    });
    std::string got(data.size() + 1, '\0');
    EXPECT_EQ(io_read(ends[0], &got[0], got.size(), IO_HERE), static_cast<ssize_t>(data.size()));
    writer.join();
    close(ends[0]);
    got.pop_back();
    EXPECT_EQ(got, data);
}

TEST(Io, AtAnOffset)
{
    Scratch scratch;
    const int fd = open(scratch.path("file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_TRUE(io_write(fd, "0123456789", 10, 0));
    EXPECT_TRUE(io_write(fd, "ab", 2, 4));
    char text[8] = "";
    EXPECT_EQ(io_read(fd, text, 3, 3), 3);
    EXPECT_STREQ(text, "3ab");
    EXPECT_EQ(io_read(fd, text, 7, 8), 2) << "to the end";
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 0);
    close(fd);
}

// A program's own file, which it need not have opened to append: it goes on where its own bytes
// end.
TEST(Io, APartOfALineIsTakenBackWhereTheProgramWrites)
{
    Scratch scratch;
    const int fd = open(scratch.path("file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const std::string path = "/dev/fd/" + std::to_string(fd);
    const std::string line(50, 'x');
    rlimit before = {};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit small = {20, before.rlim_max};
    ASSERT_TRUE(io_write(fd, "mine\n", 5, IO_HERE));
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    EXPECT_EQ(io_append(path.c_str(), line.data(), line.size()), EIO);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_TRUE(io_write(fd, "mine\n", 5, IO_HERE));
    EXPECT_NE(io_append((path + "x").c_str(), line.data(), line.size()), 0) << "another name";
    EXPECT_EQ(scratch.read("file"), "mine\nmine\n");
    close(fd);
}

// A program that closes all it does not know gives the low ones to files of its own.
TEST(Io, OpensHighNumbersWhereItMay)
{
    int high = io_open_kept(AT_FDCWD, "/dev/null", O_RDONLY);
    EXPECT_GT(high, 40);
    EXPECT_EQ(fcntl(high, F_GETFD), FD_CLOEXEC);
    close(high);
    std::thread([&] {
        io_set_own_thread();
        high = io_open(AT_FDCWD, "/dev/null", O_RDONLY);
    }).join();
    EXPECT_GT(high, 40);
    EXPECT_EQ(fcntl(high, F_GETFD), FD_CLOEXEC);
    close(high);
    const int low = io_open(AT_FDCWD, "/dev/null", O_RDONLY);
    EXPECT_LT(low, 40) << "what the program waits for takes no time for that";
    close(low);

    rlimit before;
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const int free_number = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const rlimit few = {rlim_t(free_number) + 1, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    close(free_number);
    EXPECT_EQ(io_open_kept(AT_FDCWD, "/dev/null", O_RDONLY), free_number);
    close(free_number);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

// A program that has closed a standard stream, where no number is high enough.
TEST(Io, IsNeverAStandardStream)
{
    const ChildResult result = run_in_child([] {
        const rlimit few = {30, 30};
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
        close(STDIN_FILENO);
        std::thread([] {
            io_set_own_thread();
            const int fd = io_open(AT_FDCWD, "/dev/null", O_RDONLY);
            EXPECT_GT(fd, STDERR_FILENO);
            EXPECT_EQ(fcntl(STDIN_FILENO, F_GETFD), -1) << "closed again";
        }).join();
    });
    EXPECT_EQ(result.status, 0) << result.standard_error;
}

// A daemon's dup2, while what was opened has not yet got its high number: the program's own file
// would be written, or lose its mode (/dev/null did).
TEST(Io, WhatTheProgramPutsInThePlaceIsNotTaken)
{
    Scratch scratch;
    const std::string theirs = scratch.path("theirs");
    const int file = open(theirs.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    int place = -1;
    int found = 0;
    int error = 0;
    std::thread([&] {
        io_set_own_thread();
        faults.after_open = [&](int fd) {
            place = fd;
            dup2(file, fd);
        };
        found = io_open(AT_FDCWD, scratch.path("ours").c_str(), O_RDWR | O_CREAT | O_EXCL);
        error = errno;
    }).join();
    EXPECT_EQ(found, -1);
    EXPECT_EQ(error, EINTR);
    struct stat status = {};
    struct stat expected = {};
    EXPECT_EQ(fstat(place, &status), 0) << "it is the program's, and stays open";
    EXPECT_EQ(fstat(file, &expected), 0);
    EXPECT_EQ(status.st_ino, expected.st_ino);
    close(place);
    close(file);
}

TEST(Io, WhatTheProgramClosesMeanwhileIsNotTaken)
{
    Scratch scratch;
    int found = 0;
    int error = 0;
    std::thread([&] {
        io_set_own_thread();
        faults.after_open = [&](int fd) { close(fd); };
        found = io_open(AT_FDCWD, scratch.path("ours").c_str(), O_RDWR | O_CREAT | O_EXCL);
        error = errno;
    }).join();
    EXPECT_EQ(found, -1) << "the number is nobody's, or already another file's";
    EXPECT_EQ(error, EBADF);
}

TEST(Io, TellsWhatFails)
{
    char text[1];
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    EXPECT_FALSE(io_write(full, "x", 1, IO_HERE));
    EXPECT_EQ(errno, ENOSPC);
    EXPECT_EQ(io_read(full, text, 1, IO_HERE), -1);
    EXPECT_EQ(errno, EBADF);
    close(full);
}

} // namespace
