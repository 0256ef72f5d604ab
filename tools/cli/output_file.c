// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files/file.h"

bool output_file_is_standard(const char *path)
{
    struct stat named;
    struct stat standard;
    return strcmp(path, "-") == 0 ||
           (stat(path, &named) == 0 && fstat(STDOUT_FILENO, &standard) == 0 &&
            named.st_dev == standard.st_dev && named.st_ino == standard.st_ino);
}

bool output_is_one_file(const char *a, const char *b)
{
    struct stat of_a;
    struct stat of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

/* 0, or errno. */
static int output_file_write_parts(int fd, const struct iovec *parts, int count)
{
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < count; i++) {
        if (!io_write(fd, parts[i].iov_base, parts[i].iov_len, IO_HERE)) {
            return errno == EPIPE ? 0 : errno;
        }
    }
    return 0;
}

static bool output_file_fail(const char *path, const char *text)
{
    output_message("cannot write '%s': %s", path, text);
    return false;
}

bool output_file_replace(const char *path, mode_t mode, const struct iovec *parts, int count)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    AUTO_FREE char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    AUTO_CLOSE const int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return output_file_fail(path, strerror(errno));
    }
    /* Who asks for the end meanwhile gets it then: else a part of the file would be left. */
    sigset_t ends;
    sigset_t before;
    sigemptyset(&ends);
    sigaddset(&ends, SIGHUP);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, &before);
    const enum status reason = file_replace(fd, name, parts, count);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (reason == STATUS_ok) {
        (void)!fchmodat(fd, name, mode, 0);
    } else {
        output_reason(reason, "cannot write '%s'", path);
    }
    return reason == STATUS_ok;
}

bool output_file_write(const char *path, const struct iovec *parts, int count)
{
    struct stat named;
    struct stat link;
    int error = 0;
    if (output_file_is_standard(path)) {
        error = output_file_write_parts(STDOUT_FILENO, parts, count);
        return error == 0 || output_file_fail("standard output", strerror(error));
    }
    const bool exists = stat(path, &named) == 0;
    if (exists ? !S_ISREG(named.st_mode) : lstat(path, &link) == 0) {
        /* O_CREAT for a dangling link only: the sysctl fs.protected_fifos may refuse it for others.
         */
        const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | (exists ? 0 : O_CREAT);
        AUTO_CLOSE const int fd = open(path, flags, 0666);
        error = fd < 0 ? errno : output_file_write_parts(fd, parts, count);
        return error == 0 || output_file_fail(path, strerror(error));
    }
    AUTO_FREE char *target = exists ? realpath(path, NULL) : NULL;
    const mode_t mask = umask(0);
    umask(mask);
    return output_file_replace(target ? target : path,
                               exists ? named.st_mode & 07777 : 0666 & ~mask, parts, count);
}

bool output_file_read(const char *path, uint64_t limit, uint8_t **ret_data, size_t *ret_size)
{
    const enum status reason = file_read_any(path, limit, ret_data, ret_size);
    if (reason == STATUS_too_large) {
        output_message("cannot read '%s': larger than %" PRIu64 " MiB (%s)", path, limit >> 20,
                       status_id(reason));
    } else if (reason != STATUS_ok) {
        output_message("cannot read '%s': %s (%s)", path,
                       reason == STATUS_no_file ? strerror(ENOENT) : status_text(reason),
                       status_id(reason));
    }
    return reason == STATUS_ok;
}
