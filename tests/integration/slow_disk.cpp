// SPDX-License-Identifier: Apache-2.0
#include "slow_disk.hpp"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

std::atomic<const char *> hanging_call{nullptr};
std::atomic<const char *> hanging_text{""};
std::atomic<bool> has_hung{false};
std::atomic<bool> forbids_locks{false};

// Whoever waits for the disk waits for ever: then the process is ended, so that its test fails.
void wait_for_disk(const char *call, const char *path)
{
    for (int i = 0; i < 3000; ++i) {
        const char *hanging = hanging_call;
        if (!hanging || std::strcmp(hanging, call) != 0 || !std::strstr(path, hanging_text)) {
            return;
        }
        has_hung = true;
        usleep(10000); // so long that hardly any of it is a wait for a core
    }
    std::fprintf(stderr, "somebody waits for the disk: %s %s\n", call, path);
    std::abort();
}

} // namespace

void disk_hangs(const char *call, const char *text)
{
    has_hung = false;
    hanging_text = text;
    hanging_call = call;
}

void disk_answers()
{
    hanging_call = nullptr;
}

bool disk_has_hung()
{
    return has_hung;
}

void locks_are_forbidden()
{
    forbids_locks = true;
}

// The layer's own calls come here, too.
extern "C" {

__attribute__((visibility("default"))) int flock(int file, int operation) noexcept
{
    if (forbids_locks) {
        errno = EACCES;
        return -1;
    }
    return static_cast<int>(syscall(SYS_flock, file, operation));
}

// What a busy disk takes seconds for, no test here is about. A sandbox sees the call all the same.
__attribute__((visibility("default"))) int fsync(int)
{
    wait_for_disk("fsync", "");
    syscall(SYS_fsync, -1);
    return 0;
}

__attribute__((visibility("default"))) int openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    wait_for_disk("openat", path);
    return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}

__attribute__((visibility("default"))) int faccessat(int folder, const char *path, int mode,
                                                     int flags) noexcept
{
    wait_for_disk("faccessat", path);
    static const auto next =
        reinterpret_cast<int (*)(int, const char *, int, int)>(dlsym(RTLD_NEXT, "faccessat"));
    return next(folder, path, mode, flags);
}

__attribute__((visibility("default"))) int unlinkat(int folder, const char *path,
                                                    int flags) noexcept
{
    wait_for_disk("unlinkat", path);
    return static_cast<int>(syscall(SYS_unlinkat, folder, path, flags));
}

} // extern "C"
