// SPDX-License-Identifier: Apache-2.0
#include "common/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/text.h"

/* How long the lines of a process wait at most for a full pipe, which may never be read again. */
#define ROOM_MS 250

/* A program gets the lowest free numbers. Up to 64 descriptors the kernel needs no larger table
 * (decision 0310). */
#define LOWEST_OWN_FD 44

static _Thread_local int io_lowest = STDERR_FILENO + 1;

void io_set_own_thread(void)
{
    io_lowest = LOWEST_OWN_FD;
}

/* Whether both are of one file; false: one of them is not open any more. */
static __attribute__((cold)) bool io_is_same_file(int fd, int other)
{
    struct stat status, other_status;
    return fstat(fd, &status) == 0 && fstat(other, &other_status) == 0 &&
           status.st_dev == other_status.st_dev && status.st_ino == other_status.st_ino;
}

/* To a number from `lowest` on, where RLIMIT_NOFILE allows it, and never a standard stream. The
 * program may put a file of its own in the place meanwhile (dup2), which nobody must write to,
 * change the mode of, or close: it is known by its flags, and once more right before that. Cold:
 * small rather than fast. */
static __attribute__((cold)) int io_lift(int fd, int flags, int lowest)
{
    if (fd < 0 || fd >= lowest) {
        return fd;
    }
    int above = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
    if (above < 0 && errno == EBADF) {
        return -1;
    }
    if (above < 0 && fd > STDERR_FILENO) {
        return fd;
    }
    if (above < 0) {
        above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    }
    if (above >= 0 &&
        ((fcntl(above, F_GETFL) ^ flags) & (O_ACCMODE | O_APPEND | O_NONBLOCK)) != 0) {
        close(above);
        errno = EINTR;
        return -1;
    }
    if (above < 0 || io_is_same_file(fd, above)) {
        close(fd);
    }
    return above;
}

int io_open(int directory_fd, const char *name, int flags)
{
    flags |= O_CLOEXEC | O_NOCTTY | O_NONBLOCK; /* what a program opens seldom has the last */
    return io_lift(openat(directory_fd, name, flags, 0600), flags, io_lowest);
}

int io_open_kept(int directory_fd, const char *name, int flags)
{
    return io_lift(io_open(directory_fd, name, flags), flags | O_NONBLOCK, LOWEST_OWN_FD);
}

/* What a user namespace shows in place of each owner that it has no number for (the default of
 * /proc/sys/kernel/overflowuid). A program may run as that user there. */
#define ANY_UNKNOWN_USER 65534

bool io_is_trusted_owner(int fd, const struct stat *status)
{
    return status->st_uid == 0 ||
           (status->st_uid == geteuid() &&
            /* Its owner alone may ask for this, also on a disk that cannot be written. */
            (status->st_uid != ANY_UNKNOWN_USER || fcntl(fd, F_SETFL, O_NOATIME) == 0));
}

ssize_t io_read(int fd, void *data, size_t size, off_t offset)
{
    size_t done = 0;
    while (done < size) {
        uint8_t *next = (uint8_t *)data + done;
        const ssize_t count = offset == IO_HERE
                                  ? read(fd, next, size - done)
                                  : pread(fd, next, size - done, offset + (off_t)done);
        if (count == 0) {
            break;
        }
        if (count < 0 && errno != EINTR) {
            return -1;
        }
        done += count > 0 ? (size_t)count : 0;
    }
    return (ssize_t)done;
}

bool io_write(int fd, const void *data, size_t size, off_t offset)
{
    size_t done = 0;
    while (done < size) {
        const uint8_t *next = (const uint8_t *)data + done;
        const ssize_t count = offset == IO_HERE
                                  ? write(fd, next, size - done)
                                  : pwrite(fd, next, size - done, offset + (off_t)done);
        if (count == 0) {
            errno = EIO;
            return false;
        }
        if (count < 0 && errno != EINTR) {
            return false;
        }
        done += count > 0 ? (size_t)count : 0;
    }
    return true;
}

void io_close(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

/* *ret_part: bytes of a part that was written; else untouched. */
static int io_write_once(int fd, const void *data, size_t size, off_t *ret_part)
{
    ssize_t written;
    do {
        written = write(fd, data, size);
    } while (written < 0 && errno == EINTR);
    if (written < 0) {
        return errno;
    }
    if ((size_t)written < size) {
        *ret_part = written;
        return EIO;
    }
    return 0;
}

static int io_write_held(int fd, const void *data, size_t size, off_t *ret_part)
{
    /* SIGPIPE: the pipe has no reader. SIGXFSZ: the file is at the limit of RLIMIT_FSIZE. */
    sigset_t held;
    sigset_t before;
    sigset_t pending;
    sigemptyset(&held);
    sigaddset(&held, SIGPIPE);
    sigaddset(&held, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &held, &before);

    const int error = io_write_once(fd, data, size, ret_part);

    /* Consume the signal of our own write before the program can see it. */
    const int raised = error == EPIPE ? SIGPIPE : error == EFBIG ? SIGXFSZ : 0;
    if (raised && sigismember(&pending, raised) == 0) {
        const struct timespec at_once = {0};
        sigset_t own;
        sigemptyset(&own);
        sigaddset(&own, raised);
        while (sigtimedwait(&own, NULL, &at_once) < 0 && errno == EINTR) {
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int io_write_line(int fd, const void *data, size_t size)
{
    static atomic_bool was_stuck; /* its reader may have stopped: the next line waits no more */
    off_t part;
    struct pollfd writable = {.fd = fd, .events = POLLOUT};
    const int ready = poll(&writable, 1, atomic_load(&was_stuck) ? 0 : ROOM_MS);
    if (ready == 0) {
        atomic_store(&was_stuck, true);
    }
    /* Where a filter refuses to wait, it is written all the same. */
    return ready > 0 || (ready < 0 && errno != EINTR) ? io_write_held(fd, data, size, &part)
                                                      : EAGAIN;
}

/* Takes back the part of a line for which the disk, or the limit of RLIMIT_FSIZE, had room: the
 * next line, perhaps of another process, would go on behind it. Not where one has done so. */
static void io_take_back(int fd, off_t part)
{
    struct stat status;
    const off_t end = part > 0 ? lseek(fd, 0, SEEK_CUR) : -1;
    if (end >= part && fstat(fd, &status) == 0 && status.st_size == end &&
        ftruncate(fd, end - part) == 0) {
        lseek(fd, end - part, SEEK_SET);
    }
}

/* The descriptor of this process that a link made by the system stands for; -1: it is no such link.
 */
static int io_own_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0) {
        return STDOUT_FILENO;
    }
    if (strcmp(path, "/dev/stderr") == 0) {
        return STDERR_FILENO;
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const size_t length = strlen(folders[i]);
        const char *digits = path + length;
        uint64_t number;
        if (strncmp(path, folders[i], length) == 0 &&
            text_parse_digits(&digits, INT_MAX, &number) && !*digits) {
            return (int)number;
        }
    }
    return -1;
}

int io_append(const char *path, const void *data, size_t size)
{
    const int own = io_own_descriptor(path);
    struct stat status;
    /* Opened anew, a file would have another offset: the program, which need not append, would
     * overwrite what stands behind its own. */
    const bool is_file = own >= 0 && fstat(own, &status) == 0 && S_ISREG(status.st_mode);
    const int fd = is_file ? own
                           : io_open(AT_FDCWD, path,
                                     O_WRONLY | O_APPEND | O_CREAT | (own >= 0 ? 0 : O_NOFOLLOW));
    if (fd < 0) {
        return errno;
    }
    off_t part = 0;
    const int error = size ? io_write_held(fd, data, size, &part) : 0;
    io_take_back(fd, part);
    if (!is_file) {
        close(fd);
    }
    return error;
}
