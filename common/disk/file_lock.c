#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define MAX_ATTEMPTS 16

static bool has_no_locks(int error)
{
    /* EBADF: NFS wants a descriptor that may write, which no directory's is. */
    return error == EBADF || error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS ||
           error == EINVAL;
}

/* Polled: a blocking flock cannot be bounded without a signal, and signals are the program's. */
static enum reason lock_until(int fd, uint64_t deadline)
{
    const uint64_t longest_pause = 4000000;
    uint64_t pause = 250000;
    for (;;) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 || has_no_locks(errno)) {
            return REASON_ok;
        }
        if (errno == EINTR) {
            continue;
        }
        if (errno != EWOULDBLOCK || clock_now_ns() >= deadline) {
            return REASON_locked;
        }
        struct timespec delay = {.tv_nsec = (long)pause};
        nanosleep(&delay, NULL);
        pause = pause * 2 < longest_pause ? pause * 2 : longest_pause;
    }
}

static int open_lock(int directory_fd, const char *name)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int fd = openat(directory_fd, name, flags);
    if (fd >= 0 || errno != ENOENT) {
        return fd;
    }
    fd = openat(directory_fd, name, flags | O_CREAT, 0600);
    if (fd >= 0) {
        /* A umask may have taken our own bits, and nobody could open it again. */
        fchmod(fd, 0600);
    }
    return fd;
}

/* False: whoever had the lock has removed the file, and the next one makes another. */
static bool still_stands(int directory_fd, const char *name, int fd)
{
    struct stat named;
    struct stat opened;
    return fstatat(directory_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
           named.st_ino == opened.st_ino;
}

enum reason file_lock(int directory_fd, const char *name, unsigned wait_ms, int *ret_fd)
{
    const uint64_t deadline = clock_now_ns() + (uint64_t)wait_ms * CLOCK_MS;
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        int fd = open_lock(directory_fd, name);
        if (fd < 0 && errno == EINTR) {
            continue;
        }
        if (fd < 0) {
            return reason_from_errno(errno);
        }
        enum reason reason = lock_until(fd, deadline);
        if (reason == REASON_ok && still_stands(directory_fd, name, fd)) {
            *ret_fd = fd;
            return REASON_ok;
        }
        close(fd);
        if (reason != REASON_ok) {
            return reason;
        }
    }
    return REASON_locked;
}

enum reason file_lock_directory(int directory_fd, unsigned wait_ms)
{
    return lock_until(directory_fd, clock_now_ns() + (uint64_t)wait_ms * CLOCK_MS);
}

void file_unlock(int fd)
{
    flock(fd, LOCK_UN);
    close(fd);
}
