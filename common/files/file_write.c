// SPDX-License-Identifier: Apache-2.0
/* The writing half of file.h: replacing a file, linking one, and locks. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/clock.h"
#include "common/base/io.h"
#include "common/files/file.h"
#include "common/files/names.h"

#define CHUNK_SIZE ((size_t)8 << 20)

/* A longer name (none of ours is) does not become part of its temporary file's name. */
#define MAX_PREFIX 192

#define MAX_LOCK_ATTEMPTS 16

void file_sweep_temporary(int directory_fd, const char *name)
{
    AUTO_CLOSE const int fd = file_open_abandoned(directory_fd, name);
    flock(fd, LOCK_UN); /* which would be in the way, on SMB */
    if (fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) == 0 || !file_is_locked_by_other(fd))) {
        unlinkat(directory_fd, name, 0);
    }
}

static uint64_t file_total_size(const struct iovec *parts, int count)
{
    uint64_t total = 0;
    for (int i = 0; i < count; i++) {
        total += parts[i].iov_len;
    }
    return total;
}

/* Starts writing a large file to disk while the rest is still being copied, so that fsync has
 * little left to wait for. */
static bool write_chunks(int fd, const uint8_t *data, size_t size)
{
    for (; size > CHUNK_SIZE; data += CHUNK_SIZE, size -= CHUNK_SIZE) {
        if (!io_write(fd, data, CHUNK_SIZE, IO_HERE)) {
            return false;
        }
        sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    }
    return io_write(fd, data, size, IO_HERE);
}

static bool write_all_parts(int fd, const struct iovec *parts, int count)
{
    for (int i = 0; i < count; i++) {
        if (!write_chunks(fd, parts[i].iov_base, parts[i].iov_len)) {
            return false;
        }
    }
    return true;
}

static bool file_sync_fully(int fd)
{
    int result;
    do {
        result = fsync(fd);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

static enum status write_failure(int error)
{
    switch (error) {
    case EFBIG:
        return STATUS_disk_full;
    case ENOENT: /* the directory was removed meanwhile */
        return STATUS_directory_unusable;
    default:
        return status_from_errno(error);
    }
}

static bool file_is_missing(int directory_fd, const char *name)
{
    return faccessat(directory_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

enum status file_replace_as(int directory_fd, const char *name, const struct iovec *parts,
                            int count, enum file_replacing how)
{
    if (!file_size_allowed(file_total_size(parts, count))) {
        return STATUS_disk_full;
    }
    struct file_owned temporary;
    const char *prefix = strlen(name) <= MAX_PREFIX ? name : NULL;
    if (!file_create_owned(directory_fd, prefix, TEMPORARY_SUFFIX, &temporary)) {
        return write_failure(errno);
    }
    enum status reason = STATUS_ok;
    const bool is_written = write_all_parts(temporary.fd, parts, count);
    const bool is_first =
        is_written && how == FILE_NAMED_FIRST && file_is_missing(directory_fd, name);
    const bool is_named = is_written &&
                          (how == FILE_UNSYNCED || is_first || file_sync_fully(temporary.fd)) &&
                          renameat(directory_fd, temporary.name, directory_fd, name) == 0;
    if (!is_named || (is_first && !file_sync_fully(temporary.fd))) {
        reason = write_failure(errno);
        const char *of_ours = is_named ? name : temporary.name;
        if ((!is_named || file_is_still_named(directory_fd, name, temporary.fd)) &&
            unlinkat(directory_fd, of_ours, 0) != 0 &&
            file_is_still_named(directory_fd, of_ours, temporary.fd)) {
            (void)!ftruncate(temporary.fd, 0); /* a folder that can only be added to (chattr +a) */
        }
    } else if (how != FILE_UNSYNCED) {
        /* The new file is in place. If this fails, a power cut may bring back the old one, which is
         * complete too. */
        file_sync_fully(directory_fd);
    }
    file_unlock(temporary.fd);
    return reason;
}

enum status file_replace(int directory_fd, const char *name, const struct iovec *parts, int count)
{
    return file_replace_as(directory_fd, name, parts, count, FILE_SYNCED);
}

enum status file_link(int directory_fd, const char *name, const char *as, uint64_t limit)
{
    uint8_t *data;
    size_t size;
    if (linkat(directory_fd, name, directory_fd, as, 0) == 0) {
        return STATUS_ok;
    }
    if (errno == ENOENT) {
        return STATUS_no_file;
    }
    enum status reason = file_read_large(directory_fd, name, limit, &data, &size);
    if (reason == STATUS_ok) {
        const struct iovec part = {.iov_base = data, .iov_len = size};
        reason = file_replace(directory_fd, as, &part, 1);
        large_free(data);
    }
    return reason;
}

/* Locks. */

static bool file_has_no_locks(int error)
{
    /* EBADF: NFS requires a descriptor that may write; a directory's may not. EACCES, EPERM: a
     * security module or a filter of system calls forbids locks. */
    return error == EBADF || error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS ||
           error == EINVAL || error == EACCES || error == EPERM;
}

/* Polls: only a signal could end a blocking flock, and signals belong to the program. */
static enum status lock_poll(int fd, uint64_t deadline)
{
    const uint64_t longest_pause_ns = 4 * CLOCK_MS;
    uint64_t pause_ns = CLOCK_MS / 4;
    for (;;) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            return STATUS_ok;
        }
        if (errno == EINTR) {
            continue;
        }
        if (!file_is_locked_by_other(fd)) {
            return file_has_no_locks(errno) ? STATUS_ok : STATUS_locked;
        }
        if (clock_now_ns() >= deadline) {
            return STATUS_locked;
        }
        clock_pause(pause_ns);
        pause_ns = pause_ns * 2 < longest_pause_ns ? pause_ns * 2 : longest_pause_ns;
    }
}

static enum status lock_until(int fd, uint64_t deadline)
{
    const uint64_t start_ns = clock_now_ns();
    const enum status reason = lock_poll(fd, deadline);
    patience_spend(clock_now_ns() - start_ns, 0);
    return reason;
}

void file_touch(int directory_fd, const char *name)
{
    AUTO_CLOSE const int fd = io_open(directory_fd, name, O_WRONLY | O_CREAT | O_EXCL);
    if (fd >= 0) {
        fchmod(fd, 0600); /* a umask may have taken our own bits */
    } else {
        utimensat(directory_fd, name, NULL, AT_SYMLINK_NOFOLLOW);
    }
}

static uint64_t lock_deadline(unsigned wait_ms)
{
    return clock_now_ns() + patience_limit((uint64_t)wait_ms * CLOCK_MS);
}

static int file_open_lock(int directory_fd, const char *name)
{
    const int flags = O_RDWR | O_NOFOLLOW;
    int fd = io_open(directory_fd, name, flags);
    if (fd >= 0 || errno != ENOENT) {
        return fd;
    }
    fd = io_open(directory_fd, name, flags | O_CREAT);
    if (fd >= 0) {
        /* A umask may have taken our own bits, and nobody could open it again. */
        fchmod(fd, 0600);
    }
    return fd;
}

enum status file_lock(int directory_fd, const char *name, unsigned wait_ms, int *ret_fd)
{
    const uint64_t deadline = lock_deadline(wait_ms);
    for (int attempt = 0; attempt < MAX_LOCK_ATTEMPTS; attempt++) {
        const int fd = file_open_lock(directory_fd, name);
        if (fd < 0 && errno == EINTR) {
            continue;
        }
        if (fd < 0) {
            return status_from_errno(errno);
        }
        const enum status reason = lock_until(fd, deadline);
        /* Else the previous holder has removed the file, and this lock excludes nobody. */
        if (reason == STATUS_ok && file_is_still_named(directory_fd, name, fd)) {
            *ret_fd = fd;
            return STATUS_ok;
        }
        close(fd);
        if (reason != STATUS_ok) {
            return reason;
        }
    }
    return STATUS_locked;
}

enum status file_lock_directory(int directory_fd, unsigned wait_ms)
{
    return lock_until(directory_fd, lock_deadline(wait_ms));
}

void file_unlock(int fd)
{
    flock(fd, LOCK_UN);
    close(fd);
}

void file_auto_unlock(const int *fd)
{
    if (*fd >= 0) {
        file_unlock(*fd);
    }
}
