// SPDX-License-Identifier: Apache-2.0
#include "common/files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/io.h"
#include "common/base/machine.h"

/* From so many bytes on the pages of what is read are asked for at once. */
#define POPULATE_BYTES ((size_t)128 << 10)

/* Before so much is used at once, it is asked how much memory is free, which takes some files. */
#define MEMORY_ASKED_BYTES (16 << 20)

static bool file_is_writable_by_others(const struct stat *status)
{
    return (status->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

static int file_open_retrying(int directory_fd, const char *name, int flags)
{
    int fd;
    do {
        fd = io_open(directory_fd, name, flags);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

/* Directories. */

int file_open_folder(int directory_fd, const char *name)
{
    return file_open_retrying(directory_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

bool file_make_directory(int directory_fd, const char *name)
{
    if (mkdirat(directory_fd, name, 0700) != 0) {
        return errno == EEXIST;
    }
    /* A umask such as 0177 would leave a directory that we could not enter. By now it may be a link
     * of somebody else's. */
    (void)!fchmodat(directory_fd, name, 0700, AT_SYMLINK_NOFOLLOW);
    return true;
}

/* Makes every directory on the way to `path`, and `path` itself. The text is changed during the
 * call only. */
static bool file_make_directories(char *path)
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
    /* An error on the way matters only if the last directory could not be made because of it. */
    errno = errno == ENOENT && first_error ? first_error : errno;
    return false;
}

/* Why a directory could not be opened or made. */
static enum status file_directory_failure(int directory_fd, const char *path, int error)
{
    struct stat status;
    switch (error) {
    case ENOENT:
        return STATUS_no_file;
    case ENOSPC:
    case EDQUOT:
    case EROFS:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return status_from_errno(error);
    default:
        /* With O_DIRECTORY a link gives ENOTDIR, not ELOOP. A folder of another user is closed. */
        return fstatat(directory_fd, path, &status, AT_SYMLINK_NOFOLLOW) != 0
                   ? STATUS_directory_unusable
               : S_ISLNK(status.st_mode) ? STATUS_symlink
               : S_ISDIR(status.st_mode) && status.st_uid != 0 && status.st_uid != geteuid()
                   ? STATUS_directory_owner
                   : STATUS_directory_unusable;
    }
}

static enum status file_check_directory(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return STATUS_directory_unusable;
    }
    if (!io_is_trusted_owner(fd, &status)) {
        return STATUS_directory_owner;
    }
    return file_is_writable_by_others(&status) ? STATUS_directory_mode : STATUS_ok;
}

static enum status file_open_checked_directory(int directory_fd, const char *path, int *ret_fd)
{
    const int fd = file_open_folder(directory_fd, path);
    if (fd < 0) {
        return file_directory_failure(directory_fd, path, errno);
    }
    const enum status reason = file_check_directory(fd);
    if (reason != STATUS_ok) {
        close(fd);
        return reason;
    }
    *ret_fd = fd;
    return STATUS_ok;
}

enum status file_open_directory(const char *root, const char *name, bool create, int *ret_fd)
{
    char *path;
    if (asprintf(&path, "%s/%s", root, name) < 0) {
        return STATUS_out_of_memory;
    }
    enum status reason = file_open_checked_directory(AT_FDCWD, path, ret_fd);
    if (reason == STATUS_no_file && create) {
        reason = file_make_directories(path) ? file_open_checked_directory(AT_FDCWD, path, ret_fd)
                                             : file_directory_failure(AT_FDCWD, path, errno);
        /* Made and removed again, or in /proc: the missing thing is not the file. */
        reason = reason == STATUS_no_file ? STATUS_directory_unusable : reason;
    }
    free(path);
    return reason;
}

enum status file_open_subdirectory(int directory_fd, const char *name, bool create, int *ret_fd)
{
    enum status reason = file_open_checked_directory(directory_fd, name, ret_fd);
    if (reason == STATUS_no_file && create) {
        reason = file_make_directory(directory_fd, name)
                     ? file_open_checked_directory(directory_fd, name, ret_fd)
                     : file_directory_failure(directory_fd, name, errno);
    }
    return reason;
}

DIR *listing_open(int directory_fd, const char *name)
{
    const int fd = file_open_folder(directory_fd, name);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (!listing && fd >= 0) {
        const int error = errno;
        close(fd);
        errno = error;
    }
    return listing;
}

const char *listing_next(DIR *listing)
{
    const struct dirent *entry;
    errno = 0;
    do {
        entry = listing ? readdir(listing) : NULL;
    } while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry ? entry->d_name : NULL;
}

void listing_close(DIR *const *listing)
{
    if (*listing) {
        closedir(*listing);
    }
}

/* Files. */

/* How a file is opened and read. */
enum { FILE_LARGE = 1 << 0, FILE_ANYONES = 1 << 1 };

static enum status file_check(int fd, const struct stat *status, unsigned how)
{
    if (!S_ISREG(status->st_mode)) {
        return STATUS_not_a_file;
    }
    if (how & FILE_ANYONES) {
        return STATUS_ok;
    }
    if (!io_is_trusted_owner(fd, status)) {
        return STATUS_file_owner;
    }
    return file_is_writable_by_others(status) ? STATUS_file_mode : STATUS_ok;
}

static enum status file_open_checked(int directory_fd, const char *name, int access, unsigned how,
                                     int *ret_fd, uint64_t *ret_size)
{
    const int links = how & FILE_ANYONES ? 0 : O_NOFOLLOW;
    const int fd = file_open_retrying(directory_fd, name, access | links);
    if (fd < 0) {
        return status_from_errno(errno);
    }
    struct stat status;
    const enum status reason =
        fstat(fd, &status) == 0 ? file_check(fd, &status, how) : STATUS_io_error;
    if (reason != STATUS_ok) {
        close(fd);
        return reason;
    }
    *ret_fd = fd;
    *ret_size = (uint64_t)status.st_size;
    return STATUS_ok;
}

enum status file_open(int directory_fd, const char *name, int *ret_fd, uint64_t *ret_size)
{
    return file_open_checked(directory_fd, name, O_RDONLY, 0, ret_fd, ret_size);
}

bool file_size_allowed(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           size <= limit.rlim_cur;
}

enum status file_overwrite(int directory_fd, const char *name, const void *data, size_t size)
{
    AUTO_CLOSE int fd = -1;
    uint64_t old_size = 0;
    if (!file_size_allowed(size)) {
        return STATUS_disk_full;
    }
    const enum status reason = file_open_checked(directory_fd, name, O_WRONLY, 0, &fd, &old_size);
    if (reason != STATUS_ok) {
        return reason;
    }
    return old_size != size                             ? STATUS_truncated
           : pwrite(fd, data, size, 0) != (ssize_t)size ? STATUS_io_error
                                                        : STATUS_ok;
}

static enum status file_read_some(int fd, void *data, size_t size, size_t *ret_read)
{
    const ssize_t count = io_read(fd, data, size, IO_HERE);
    if (count < 0) {
        return STATUS_io_error;
    }
    *ret_read = (size_t)count;
    return STATUS_ok;
}

static void *file_small_new(size_t size)
{
    const size_t alignment = 64;
    return size <= SIZE_MAX - alignment
               ? aligned_alloc(alignment, (size / alignment + 1) * alignment)
               : NULL;
}

/* Has the kernel give all pages at once: a fault for each takes longer, while the file is copied
 * into them. Kernels before 5.14 do not know it. */
static void file_populate(void *data, size_t size)
{
#ifdef MADV_POPULATE_WRITE
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *start = (char *)data - (uintptr_t)data % page;
    madvise(start, (size_t)((char *)data + size - start), MADV_POPULATE_WRITE);
#else
    (void)data;
    (void)size;
#endif
}

bool file_fits_memory(uint64_t size)
{
    uint64_t total;
    return size < MEMORY_ASKED_BYTES || size <= machine_free_memory("", &total);
}

/* FILE_LARGE: into memory of large_new. */
static enum status file_read_once(int directory_fd, const char *name, uint64_t limit, unsigned how,
                                  uint8_t **ret_data, size_t *ret_size)
{
    const bool is_large = how & FILE_LARGE;
    uint8_t *data = NULL;
    AUTO_CLOSE int fd = -1;
    uint64_t size;
    enum status reason = file_open_checked(directory_fd, name, O_RDONLY, how, &fd, &size);
    if (reason != STATUS_ok) {
        return reason;
    }
    reason = STATUS_too_large;
    if (size <= limit && size <= SIZE_MAX) {
        if (!is_large) {
            data = file_small_new((size_t)size);
        } else if (file_fits_memory(2 * size)) { /* the driver makes a copy */
            data = large_new((size_t)size);
        }
        if (data && size >= POPULATE_BYTES) {
            file_populate(data, (size_t)size);
        }
        reason = data ? file_read_some(fd, data, (size_t)size, ret_size) : STATUS_out_of_memory;
    }
    if (reason == STATUS_ok) {
        *ret_data = data;
    } else if (is_large) {
        large_free(data);
    } else {
        free(data);
    }
    return reason;
}

/* ESTALE (NFS): another machine has replaced the file since it was opened. The one that is there
 * now can be read. */
static enum status file_read_named(int directory_fd, const char *name, uint64_t limit, unsigned how,
                                   uint8_t **ret_data, size_t *ret_size)
{
    enum status reason = file_read_once(directory_fd, name, limit, how, ret_data, ret_size);
    if (reason == STATUS_io_error && errno == ESTALE) {
        reason = file_read_once(directory_fd, name, limit, how, ret_data, ret_size);
    }
    return reason;
}

enum status file_read(int directory_fd, const char *name, uint64_t limit, uint8_t **ret_data,
                      size_t *ret_size)
{
    return file_read_named(directory_fd, name, limit, 0, ret_data, ret_size);
}

enum status file_read_large(int directory_fd, const char *name, uint64_t limit, uint8_t **ret_data,
                            size_t *ret_size)
{
    return file_read_named(directory_fd, name, limit, FILE_LARGE, ret_data, ret_size);
}

enum status file_read_any(const char *path, uint64_t limit, uint8_t **ret_data, size_t *ret_size)
{
    return file_read_named(AT_FDCWD, path, limit, FILE_ANYONES, ret_data, ret_size);
}

enum status file_read_head(int directory_fd, const char *name, void *buffer, size_t capacity,
                           size_t *ret_read, uint64_t *ret_size)
{
    AUTO_CLOSE int fd = -1;
    uint64_t size;
    enum status reason = file_open(directory_fd, name, &fd, &size);
    if (reason == STATUS_ok) {
        reason = file_read_some(fd, buffer, capacity, ret_read);
    }
    if (reason == STATUS_ok) {
        *ret_size = size;
    }
    return reason;
}
