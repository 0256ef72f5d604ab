#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "file_owned.h"

#define CHUNK_SIZE ((size_t)8 << 20)

/* Of a longer name, which none of ours has, the temporary file has nothing in its own. */
#define MAX_PREFIX 192

void file_sweep_temporary(int directory_fd, const char *name)
{
    int fd = file_open_abandoned(directory_fd, name);
    if (fd >= 0) {
        unlinkat(directory_fd, name, 0);
        close(fd);
    }
}

bool file_size_allowed(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           size <= limit.rlim_cur;
}

static uint64_t total_size(const struct iovec *parts, int count)
{
    uint64_t total = 0;
    for (int i = 0; i < count; i++) {
        total += parts[i].iov_len;
    }
    return total;
}

/* Of a large file the disk begins while the rest is still being copied: fsync then finds little
 * left to wait for. */
static bool write_part(int fd, const uint8_t *data, size_t size)
{
    for (; size > CHUNK_SIZE; data += CHUNK_SIZE, size -= CHUNK_SIZE) {
        if (!io_write(fd, data, CHUNK_SIZE, IO_HERE)) {
            return false;
        }
        sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    }
    return io_write(fd, data, size, IO_HERE);
}

static bool write_parts(int fd, const struct iovec *parts, int count)
{
    for (int i = 0; i < count; i++) {
        if (!write_part(fd, parts[i].iov_base, parts[i].iov_len)) {
            return false;
        }
    }
    return true;
}

static bool sync_fully(int fd)
{
    int result;
    do {
        result = fsync(fd);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

static enum reason write_reason(int error)
{
    switch (error) {
    case EISDIR:
        return REASON_not_a_file;
    case EFBIG:
        return REASON_disk_full;
    case ENOENT: /* the directory was removed meanwhile */
        return REASON_directory_unusable;
    default:
        return reason_from_errno(error);
    }
}

static enum reason replace(int directory_fd, const char *name, const struct iovec *parts, int count,
                           bool sync)
{
    if (!file_size_allowed(total_size(parts, count))) {
        return REASON_disk_full;
    }
    struct file_owned temporary;
    const char *prefix = strlen(name) <= MAX_PREFIX ? name : NULL;
    if (!file_create_owned(directory_fd, prefix, FILE_TEMPORARY_SUFFIX, &temporary)) {
        return write_reason(errno);
    }
    /* fchmod: a umask may have taken even our own bits. */
    enum reason reason = REASON_ok;
    if (fchmod(temporary.fd, 0600) != 0 || !write_parts(temporary.fd, parts, count) ||
        (sync && !sync_fully(temporary.fd)) ||
        renameat(directory_fd, temporary.name, directory_fd, name) != 0) {
        reason = write_reason(errno);
        unlinkat(directory_fd, temporary.name, 0);
    } else if (sync) {
        /* The new file stands, whole; should this fail, a power cut may still bring back the old
         * one, which is whole too. */
        sync_fully(directory_fd);
    }
    /* Explicitly: the child of a fork may share the description. */
    flock(temporary.fd, LOCK_UN);
    close(temporary.fd);
    return reason;
}

enum reason file_replace(int directory_fd, const char *name, const struct iovec *parts, int count)
{
    return replace(directory_fd, name, parts, count, true);
}

enum reason file_replace_unsynced(int directory_fd, const char *name, const struct iovec *parts,
                                  int count)
{
    return replace(directory_fd, name, parts, count, false);
}
