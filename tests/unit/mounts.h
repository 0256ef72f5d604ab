// SPDX-License-Identifier: Apache-2.0
// File systems of a test's own, in a mount namespace of its own.
#ifndef WARMPIPE_TESTS_UNIT_MOUNTS_H
#define WARMPIPE_TESTS_UNIT_MOUNTS_H

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

// What run_on_disk has mounted can only be read from now on.
inline void make_read_only(const std::string &path)
{
    ASSERT_EQ(mount(nullptr, path.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
}

#endif
