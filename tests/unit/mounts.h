// SPDX-License-Identifier: Apache-2.0
// File systems of a test's own, in a mount namespace of its own.
#ifndef WARMPIPE_TESTS_UNIT_MOUNTS_H
#define WARMPIPE_TESTS_UNIT_MOUNTS_H

#include <cstdlib>
#include <filesystem>
#include <string>

#include <sched.h>
#include <sys/mount.h>

#include "child.h"

// Runs the body in a process for which `path` is a tmpfs with these mount options. False: this user
// may not mount, and nothing was run.
template <typename Body> bool run_on_disk(const std::string &path, const char *options, Body body)
{
    bool mounted = false;
    int ends[2];
    std::filesystem::create_directory(path);
    EXPECT_EQ(pipe(ends), 0);
    run_in_child([&] {
        mounted = unshare(CLONE_NEWNS) == 0 &&
                  mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                  mount("warmpipe", path.c_str(), "tmpfs", 0, options) == 0;
        ASSERT_EQ(write(ends[1], &mounted, sizeof(mounted)), static_cast<ssize_t>(sizeof(mounted)));
        if (mounted) {
            body();
        }
    });
    EXPECT_EQ(read(ends[0], &mounted, sizeof(mounted)), static_cast<ssize_t>(sizeof(mounted)));
    close(ends[0]);
    close(ends[1]);
    return mounted;
}

// Runs the body in a process that sees one folder as path/one and as path/two, each by a FUSE of
// its own, whose locks the other knows nothing of: as two virtual machines see a shared folder. At
// the end of a test: it is skipped where this user may not mount, or there is no bindfs.
template <typename Body> void on_two_machines(const std::string &path, Body body)
{
    bool has_run = false;
    const auto bind = [&](const std::string &as) {
        std::filesystem::create_directory(path + as);
        const std::string command = "bindfs -o attr_timeout=0,entry_timeout=0,negative_timeout=0 " +
                                    path + "/disk " + path + as + " 2>/dev/null";
        return std::system(command.c_str()) == 0;
    };
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const bool mounted = run_on_disk(path, "", [&] {
        std::filesystem::create_directory(path + "/disk");
        has_run = bind("/one") && bind("/two");
        EXPECT_EQ(write(ends[1], &has_run, sizeof(has_run)), static_cast<ssize_t>(sizeof(has_run)));
        if (has_run) {
            body(path + "/one", path + "/two");
        }
        umount2((path + "/one").c_str(), MNT_DETACH);
        umount2((path + "/two").c_str(), MNT_DETACH);
    });
    close(ends[1]);
    EXPECT_GE(read(ends[0], &has_run, sizeof(has_run)), 0);
    close(ends[0]);
    if (!has_run) {
        GTEST_SKIP() << (mounted ? "cannot run bindfs" : "may not mount here");
    }
}

// What run_on_disk has mounted can only be read from now on.
inline void make_read_only(const std::string &path)
{
    ASSERT_EQ(mount(nullptr, path.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
}

#endif
