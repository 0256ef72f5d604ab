#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unique.h"

#define MAX_PARTS 8

/* A temporary file is locked while its maker lives, so that what a dead process left can be told
 * from what is being written. The maker may lose a race against a sweeper that looks at the file
 * before it is locked; then it takes another name. */
static int make_temporary(int directory_fd, char ret_name[NAME_MAX + 1], const char *name)
{
    for (int attempt = 0; attempt < 16; attempt++) {
        char random[UNIQUE_HEX_SIZE];
        unique_format(unique_draw(), random);
        int length =
            snprintf(ret_name, NAME_MAX + 1, "%s.%s%s", name, random, FILE_TEMPORARY_SUFFIX);
        if (length > NAME_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = openat(directory_fd, ret_name,
                        O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0) {
            if (errno == EINTR || errno == EEXIST) {
                continue;
            }
            return -1;
        }
        struct stat status;
        bool swept = (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) ||
                     (fstat(fd, &status) == 0 && status.st_nlink == 0);
        if (!swept) {
            return fd;
        }
        close(fd);
    }
    errno = EAGAIN;
    return -1;
}

void file_sweep_temporary(int directory_fd, const char *name)
{
    int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return;
    }
    if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
        unlinkat(directory_fd, name, 0);
    }
    close(fd);
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

static bool write_fully(int fd, const struct iovec *parts, int count)
{
    struct iovec left[MAX_PARTS];
    memcpy(left, parts, (size_t)count * sizeof(*left));
    int first = 0;
    while (first < count) {
        if (left[first].iov_len == 0) {
            first++;
            continue;
        }
        ssize_t written = writev(fd, left + first, count - first);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return false;
        }
        for (size_t done = (size_t)written; done > 0;) {
            size_t step = done < left[first].iov_len ? done : left[first].iov_len;
            left[first].iov_base = (char *)left[first].iov_base + step;
            left[first].iov_len -= step;
            done -= step;
            if (left[first].iov_len == 0) {
                first++;
            }
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

enum reason file_replace(int directory_fd, const char *name, const struct iovec *parts, int count)
{
    if (count < 0 || count > MAX_PARTS) {
        return REASON_io_error;
    }
    if (!file_size_allowed(total_size(parts, count))) {
        return REASON_disk_full;
    }
    char temporary[NAME_MAX + 1];
    int fd = make_temporary(directory_fd, temporary, name);
    if (fd < 0) {
        return write_reason(errno);
    }
    /* fchmod: a umask may have taken even our own bits. */
    enum reason reason = REASON_ok;
    if (fchmod(fd, 0600) != 0 || !write_fully(fd, parts, count) || !sync_fully(fd) ||
        renameat(directory_fd, temporary, directory_fd, name) != 0) {
        reason = write_reason(errno);
        unlinkat(directory_fd, temporary, 0);
    } else {
        /* The new file stands, whole; should this fail, a power cut may still bring back the old
         * one, which is whole too. */
        sync_fully(directory_fd);
    }
    flock(fd, LOCK_UN);
    close(fd);
    return reason;
}
