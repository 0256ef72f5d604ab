// SPDX-License-Identifier: Apache-2.0
#include "faults.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <gtest/gtest.h>

Faults faults;
bool has_hard_links = true;

namespace {

bool fails(const char *name)
{
    if (!faults.armed || (faults.only && std::strcmp(faults.only, name) != 0)) {
        return false;
    }
    int call = faults.calls++;
    if (call == faults.failing || (faults.all_from && call > faults.failing)) {
        errno = faults.error;
        return true;
    }
    return false;
}

// What one test arms or narrows is not there for the next one.
class ForgetFaults : public testing::EmptyTestEventListener {
    void OnTestEnd(const testing::TestInfo &) override
    {
        faults = {};
        has_hard_links = true;
    }
};

[[maybe_unused]] const bool forgets = [] {
    testing::UnitTest::GetInstance()->listeners().Append(new ForgetFaults);
    return true;
}();

thread_local int allocations_left = -1; // until one fails; -1: none will
thread_local bool allocation_failed = false;

bool starves()
{
    if (allocations_left < 0 || allocations_left-- > 0) {
        return false;
    }
    allocation_failed = true;
    errno = ENOMEM;
    return true;
}

} // namespace

Starve::Starve(int failing)
{
    allocations_left = failing;
    allocation_failed = false;
}

Starve::~Starve()
{
    allocations_left = -1;
}

bool Starve::has_failed() const
{
    return allocation_failed;
}

extern "C" {

int openat(int directory_fd, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (faults.before_open) {
        std::exchange(faults.before_open, nullptr)();
    }
    if (faults.gone == path) {
        faults.gone_calls++;
        errno = ENOENT;
        return -1;
    }
    if (!faults.meminfo.empty() && std::strcmp(path, "/proc/meminfo") == 0) {
        path = faults.meminfo.c_str();
    }
    if (!faults.mounts.empty() && std::strcmp(path, "/proc/self/mountinfo") == 0) {
        path = faults.mounts.c_str();
    }
    const int fd =
        fails("openat")
            ? -1
            : static_cast<int>(syscall(SYS_openat, directory_fd, path, flags | O_LARGEFILE, mode));
    if (faults.after_open) {
        std::exchange(faults.after_open, nullptr)(fd);
    }
    return fd;
}

int fstatfs(int fd, struct statfs *system)
{
    // Where a long has 64 bits, both are one.
    static const auto next =
        reinterpret_cast<int (*)(int, struct statfs *)>(dlsym(RTLD_NEXT, "fstatfs64"));
    const int result = next(fd, system);
    if (faults.system != 0) {
        system->f_type = static_cast<decltype(system->f_type)>(faults.system);
    }
    return result;
}

struct dirent *readdir(DIR *listing)
{
    // Where a long has 32 bits, the compiler calls this function by the second name.
    constexpr auto name = sizeof(long) < sizeof(off_t) ? "readdir64" : "readdir";
    static const auto next = reinterpret_cast<struct dirent *(*)(DIR *)>(dlsym(RTLD_NEXT, name));
    if (fails("readdir")) {
        return nullptr;
    }
    struct dirent *entry = next(listing);
    if (entry && !faults.unlisted.empty() && faults.unlisted == entry->d_name) {
        faults.unlisted.clear();
        faults.passed_s = faults.listing_s;
        entry = next(listing);
    }
    return entry;
}

time_t time(time_t *ret_time) noexcept
{
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec += faults.passed_s;
    if (ret_time) {
        *ret_time = now.tv_sec;
    }
    return now.tv_sec;
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    return fails("open")
               ? -1
               : static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode));
}

int fstatat(int directory_fd, const char *path, struct stat *status, int flags) noexcept
{
    constexpr auto name = sizeof(long) < sizeof(off_t) ? "fstatat64" : "fstatat";
    static const auto next =
        reinterpret_cast<int (*)(int, const char *, struct stat *, int)>(dlsym(RTLD_NEXT, name));
    return fails("fstatat") ? -1 : next(directory_fd, path, status, flags);
}

int mkdirat(int directory_fd, const char *path, mode_t mode)
{
    if (fails("mkdirat")) {
        return -1;
    }
    const int result = static_cast<int>(syscall(SYS_mkdirat, directory_fd, path, mode));
    if (result == 0 && faults.after_mkdir) {
        std::exchange(faults.after_mkdir, nullptr)();
    }
    return result;
}

int flock(int fd, int operation) noexcept
{
    if (faults.before_lock && (operation & LOCK_EX)) {
        std::exchange(faults.before_lock, nullptr)();
    }
    if (faults.before_shared_lock && (operation & LOCK_SH)) {
        std::exchange(faults.before_shared_lock, nullptr)();
    }
    auto held = std::find(faults.locked.begin(), faults.locked.end(), fd);
    if (held != faults.locked.end() && operation == LOCK_UN) {
        faults.locked.erase(held);
    } else if (held != faults.locked.end()) {
        faults.lock_waits += !(operation & LOCK_NB);
        errno = EACCES;
        return -1;
    }
    const int result = fails("flock") ? -1 : static_cast<int>(syscall(SYS_flock, fd, operation));
    if (faults.one_lock && result == 0 && operation != LOCK_UN) {
        faults.locked.push_back(fd);
    }
    return result;
}

int fchmod(int fd, mode_t mode) noexcept
{
    return fails("fchmod") ? -1 : static_cast<int>(syscall(SYS_fchmod, fd, mode));
}

// Of a disk that fails only its answer matters here, and without it the test takes seconds less.
int fsync(int fd)
{
    if (fails("fsync")) {
        return -1;
    }
    struct stat status = {};
    if (faults.armed && fstat(fd, &status) == 0) {
        faults.done.push_back(S_ISDIR(status.st_mode) ? "fsync folder" : "fsync file");
    }
    return 0;
}

ssize_t read(int fd, void *data, size_t size)
{
    if (size > faults.readable) {
        errno = EIO;
        return -1;
    }
    return fails("read") ? -1 : syscall(SYS_read, fd, data, std::min(size, faults.most));
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    return fails("pread") ? -1 : syscall(SYS_pread64, fd, data, size, offset);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    return fails("pwrite") ? -1
                           : syscall(SYS_pwrite64, fd, data, std::min(size, faults.most), offset);
}

ssize_t write(int fd, const void *data, size_t size)
{
    return fails("write") ? -1 : syscall(SYS_write, fd, data, std::min(size, faults.most));
}

int renameat(int from_fd, const char *from, int to_fd, const char *to) noexcept
{
    if (fails("renameat")) {
        return -1;
    }
    if (faults.armed) {
        faults.done.push_back("renameat");
    }
    return static_cast<int>(syscall(SYS_renameat2, from_fd, from, to_fd, to, 0));
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags) noexcept
{
    if (!has_hard_links) {
        errno = EPERM;
        return -1;
    }
    return static_cast<int>(syscall(SYS_linkat, from_fd, from, to_fd, to, flags));
}

// Only where it is named: a temporary file that cannot be removed stays.
int unlinkat(int fd, const char *path, int flags) noexcept
{
    return faults.only && fails("unlinkat")
               ? -1
               : static_cast<int>(syscall(SYS_unlinkat, fd, path, flags));
}

ssize_t getrandom(void *data, size_t size, unsigned flags)
{
    return fails("getrandom") ? -1 : syscall(SYS_getrandom, data, size, flags);
}

// Under these names the linker has the product's calls arrive here, and what they were before.
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_reallocarray(void *memory, size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return starves() ? nullptr : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return starves() ? nullptr : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return starves() ? nullptr : __real_realloc(memory, size);
}

void *__wrap_reallocarray(void *memory, size_t count, size_t size)
{
    return starves() ? nullptr : __real_reallocarray(memory, count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return starves() ? nullptr : __real_aligned_alloc(alignment, size);
}

char *__wrap_strdup(const char *text)
{
    return starves() ? nullptr : __real_strdup(text);
}

int __wrap_asprintf(char **text, const char *format, ...)
{
    if (starves()) {
        return -1;
    }
    va_list arguments;
    va_start(arguments, format);
    const int length = vasprintf(text, format, arguments);
    va_end(arguments);
    return length;
}

} // extern "C"
