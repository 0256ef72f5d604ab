#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

/* O_NONBLOCK: opening a fifo that somebody has put there must not wait for its other end. */
#define OPEN_FLAGS (O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

static bool trusted_owner(const struct stat *status)
{
    return status->st_uid == geteuid() || status->st_uid == 0;
}

static bool writable_by_others(const struct stat *status)
{
    return (status->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

bool file_make_directory(int directory_fd, const char *name)
{
    if (mkdirat(directory_fd, name, 0700) != 0) {
        return errno == EEXIST;
    }
    /* A umask such as 0177 would leave a directory that we could not enter. */
    return fchmodat(directory_fd, name, 0700, 0) == 0;
}

/* Makes every directory on the way to `path`, itself included. The text is put back as it was. */
static bool make_directories(char *path)
{
    int first_error = 0;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (!file_make_directory(AT_FDCWD, path) && first_error == 0) {
            first_error = errno;
        }
        *slash = '/';
    }
    if (file_make_directory(AT_FDCWD, path)) {
        return true;
    }
    /* What failed on the way matters only if the end could not be made for it. */
    errno = errno == ENOENT && first_error ? first_error : errno;
    return false;
}

static enum reason directory_reason(int error)
{
    switch (error) {
    case ENOENT:
        return REASON_no_file;
    case ENOSPC:
    case EDQUOT:
    case EROFS:
    case ENOMEM:
        return reason_from_errno(error);
    default:
        return REASON_directory_unusable;
    }
}

static int open_directory(const char *path)
{
    int fd;
    do {
        fd = open(path, O_RDONLY | O_DIRECTORY | OPEN_FLAGS);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

static enum reason check_directory(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return REASON_directory_unusable;
    }
    if (!trusted_owner(&status)) {
        return REASON_directory_owner;
    }
    return writable_by_others(&status) ? REASON_directory_mode : REASON_ok;
}

/* Why the directory at `path` could not be opened. */
static enum reason open_reason(const char *path, int error)
{
    struct stat status;
    enum reason reason = directory_reason(error);
    /* With O_DIRECTORY a link gives ENOTDIR, not ELOOP. */
    if (reason == REASON_directory_unusable && lstat(path, &status) == 0 &&
        S_ISLNK(status.st_mode)) {
        return REASON_symlink;
    }
    return reason;
}

enum reason file_open_directory(const char *root, const char *name, bool create, int *ret_fd)
{
    size_t size = strlen(root) + 1 + strlen(name) + 1;
    char *path = malloc(size);
    if (!path) {
        return REASON_out_of_memory;
    }
    snprintf(path, size, "%s/%s", root, name);

    enum reason reason = REASON_ok;
    int fd = open_directory(path);
    if (fd < 0 && errno == ENOENT && create) {
        fd = make_directories(path) ? open_directory(path) : -1;
        /* Made and gone again, or in /proc: it is not the file that is missing. */
        reason = fd >= 0 || errno != ENOENT ? REASON_ok : REASON_directory_unusable;
    }
    if (fd < 0 && reason == REASON_ok) {
        reason = open_reason(path, errno);
    }
    if (fd >= 0) {
        reason = check_directory(fd);
    }
    if (reason == REASON_ok) {
        *ret_fd = fd;
    } else if (fd >= 0) {
        close(fd);
    }
    free(path);
    return reason;
}

static int open_subdirectory(int directory_fd, const char *name)
{
    int fd;
    do {
        fd = openat(directory_fd, name, O_RDONLY | O_DIRECTORY | OPEN_FLAGS);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

enum reason file_open_subdirectory(int directory_fd, const char *name, bool create, int *ret_fd)
{
    int fd = open_subdirectory(directory_fd, name);
    if (fd < 0 && errno == ENOENT && create && file_make_directory(directory_fd, name)) {
        fd = open_subdirectory(directory_fd, name);
    }
    if (fd < 0) {
        struct stat status;
        const enum reason reason = directory_reason(errno);
        /* With O_DIRECTORY a link gives ENOTDIR, not ELOOP. */
        return reason == REASON_directory_unusable &&
                       fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                       S_ISLNK(status.st_mode)
                   ? REASON_symlink
                   : reason;
    }
    const enum reason reason = check_directory(fd);
    if (reason != REASON_ok) {
        close(fd);
        return reason;
    }
    *ret_fd = fd;
    return REASON_ok;
}

static enum reason check_file(const struct stat *status)
{
    if (!S_ISREG(status->st_mode)) {
        return REASON_not_a_file;
    }
    if (!trusted_owner(status)) {
        return REASON_file_owner;
    }
    return writable_by_others(status) ? REASON_file_mode : REASON_ok;
}

static enum reason open_checked(int directory_fd, const char *name, int access, int *ret_fd,
                                uint64_t *ret_size)
{
    int fd;
    do {
        fd = openat(directory_fd, name, access | OPEN_FLAGS);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        /* A socket, or a device without a driver. */
        return errno == ENXIO ? REASON_not_a_file : reason_from_errno(errno);
    }
    struct stat status;
    enum reason reason = fstat(fd, &status) == 0 ? check_file(&status) : REASON_io_error;
    if (reason != REASON_ok) {
        close(fd);
        return reason;
    }
    *ret_fd = fd;
    *ret_size = (uint64_t)status.st_size;
    return REASON_ok;
}

enum reason file_open(int directory_fd, const char *name, int *ret_fd, uint64_t *ret_size)
{
    return open_checked(directory_fd, name, O_RDONLY, ret_fd, ret_size);
}

enum reason file_overwrite(int directory_fd, const char *name, const void *data, size_t size)
{
    int fd = -1;
    uint64_t old_size = 0;
    if (!file_size_allowed(size)) {
        return REASON_disk_full;
    }
    enum reason reason = open_checked(directory_fd, name, O_WRONLY, &fd, &old_size);
    if (reason != REASON_ok) {
        return reason;
    }
    if (old_size != size) {
        reason = REASON_truncated;
    } else if (pwrite(fd, data, size, 0) != (ssize_t)size) {
        reason = REASON_io_error;
    }
    close(fd);
    return reason;
}

static enum reason read_some(int fd, void *data, size_t size, size_t *ret_read)
{
    const ssize_t count = io_read(fd, data, size, IO_HERE);
    if (count < 0) {
        return REASON_io_error;
    }
    *ret_read = (size_t)count;
    return REASON_ok;
}

/* Reads a whole file of `size` bytes, and closes it. */
static enum reason read_whole(int fd, uint64_t size, uint64_t limit, uint8_t **ret_data,
                              size_t *ret_size)
{
    /* At least one byte, and room to round up. */
    const size_t alignment = 64;
    uint8_t *data = NULL;
    enum reason reason = REASON_too_large;
    if (size <= limit && size <= SIZE_MAX - alignment) {
        data = aligned_alloc(alignment, ((size_t)size / alignment + 1) * alignment);
        reason = data ? read_some(fd, data, (size_t)size, ret_size) : REASON_out_of_memory;
    }
    close(fd);
    if (reason != REASON_ok) {
        free(data);
        return reason;
    }
    *ret_data = data;
    return REASON_ok;
}

enum reason file_read(int directory_fd, const char *name, uint64_t limit, uint8_t **ret_data,
                      size_t *ret_size)
{
    int fd;
    uint64_t size;
    enum reason reason = file_open(directory_fd, name, &fd, &size);
    return reason == REASON_ok ? read_whole(fd, size, limit, ret_data, ret_size) : reason;
}

enum reason file_read_any(const char *path, uint64_t limit, uint8_t **ret_data, size_t *ret_size)
{
    struct stat status;
    int fd;
    do {
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        return reason_from_errno(errno);
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        return REASON_not_a_file;
    }
    return read_whole(fd, (uint64_t)status.st_size, limit, ret_data, ret_size);
}

enum reason file_read_head(int directory_fd, const char *name, void *buffer, size_t capacity,
                           size_t *ret_read, uint64_t *ret_size)
{
    int fd;
    uint64_t size;
    enum reason reason = file_open(directory_fd, name, &fd, &size);
    if (reason != REASON_ok) {
        return reason;
    }
    reason = read_some(fd, buffer, capacity, ret_read);
    close(fd);
    if (reason == REASON_ok) {
        *ret_size = size;
    }
    return reason;
}
