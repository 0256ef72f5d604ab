// SPDX-License-Identifier: Apache-2.0
#include "common/files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/machine.h"
#include "common/base/text.h"
#include "common/files/names.h"

#define MAX_ATTEMPTS 16

/* For so long a file whose owner cannot be asked is taken for one that is in use: longer than a
 * program loads its data between a cache and the first pipeline. Clocks of machines may differ. */
#define ELSEWHERE_S 300

/* Not in linux/magic.h. */
#define VBOXSF_MAGIC 0x786f4256
#define BEEGFS_MAGIC 0x19830326

/* By whom locks on a file of this device are seen: all that this machine has mounted it for. 0: not
 * known. */
static uint32_t file_owned_domain(dev_t device)
{
    const struct digest start = machine_start();
    const uint64_t parts[] = {start.high, start.low, (uint64_t)device};
    return digest_equal(start, (struct digest){0}) ? 0
                                                   : (uint32_t)digest_of(parts, sizeof parts).low;
}

uint64_t file_draw_number(int directory_fd)
{
    struct stat folder;
    const uint64_t domain =
        fstat(directory_fd, &folder) == 0 ? file_owned_domain(folder.st_dev) : 0;
    const uint64_t number = unique_draw();
    return domain != 0 ? domain << 32 | (uint32_t)number : number;
}

static bool file_owned_draw_name(const char *prefix, const char *suffix, int directory_fd,
                                 struct file_owned *file)
{
    char digits[UNIQUE_HEX_SIZE];
    file->number = file_draw_number(directory_fd);
    unique_format(file->number, digits);
    int length = snprintf(file->name, sizeof file->name, "%s%s%s%s", prefix ? prefix : "",
                          prefix ? "." : "", digits, suffix);
    return length >= 0 && (size_t)length < sizeof file->name;
}

bool file_is_still_named(int directory_fd, const char *name, int fd)
{
    struct stat named;
    struct stat opened;
    return fstatat(directory_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
           named.st_ino == opened.st_ino;
}

/* EACCES: on SMB. There a lock may always be let go; a security module forbids that as well. */
bool file_is_locked_by_other(int fd)
{
    return errno == EWOULDBLOCK || (errno == EACCES && flock(fd, LOCK_UN) == 0);
}

/* False: another process is reading the new file, or has removed it as abandoned. */
static bool file_owned_become_owner(int directory_fd, struct file_owned *file)
{
    file->locked = flock(file->fd, LOCK_EX | LOCK_NB) == 0;
    return file->locked ? file_is_still_named(directory_fd, file->name, file->fd)
                        : !file_is_locked_by_other(file->fd);
}

bool file_create_owned(int directory_fd, const char *prefix, const char *suffix,
                       struct file_owned *ret_file)
{
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        struct file_owned file;
        if (!file_owned_draw_name(prefix, suffix, directory_fd, &file)) {
            errno = ENAMETOOLONG;
            return false;
        }
        file.fd = io_open(directory_fd, file.name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW);
        if (file.fd < 0) {
            if (errno == EEXIST || errno == EINTR) {
                continue;
            }
            return false;
        }
        /* A umask may have taken even our own bits. Some file systems know no modes. */
        fchmod(file.fd, 0600);
        if (file_owned_become_owner(directory_fd, &file)) {
            *ret_file = file;
            return true;
        }
        unlinkat(directory_fd, file.name, 0);
        close(file.fd);
    }
    errno = EAGAIN;
    return false;
}

/* Whether the name has the number that an owner whose locks are seen here has drawn: the last, for
 * before it there may be that of a part. */
static bool file_owned_is_of_domain(const char *name, uint32_t domain)
{
    const size_t digits = UNIQUE_HEX_SIZE - 1;
    uint64_t number = 0;
    for (const char *part = name; part; part = strchr(part, '.')) {
        part += *part == '.';
        if (names_is_hex(part, digits) && (part[digits] == '.' || !part[digits])) {
            number = text_parse_hex(part);
        }
    }
    return domain != 0 && number >> 32 == domain;
}

/* Each mount of these has its locks for itself, while others write the same files: FUSE and
 * virtiofs, 9p, VirtualBox's shared folders, User-mode Linux's, and BeeGFS unless it is told
 * otherwise. */
static bool file_system_locks_alone(long type)
{
    static const unsigned types[] = {FUSE_SUPER_MAGIC, V9FS_MAGIC, VBOXSF_MAGIC, HOSTFS_SUPER_MAGIC,
                                     BEEGFS_MAGIC};
    bool alone = false;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        alone |= (unsigned)type == types[i];
    }
    return alone;
}

/* So does a mount of NFS (nolock, local_lock), SMB (nobrl), Lustre, GFS2 or OCFS2 (localflock) that
 * was told so: its options say it. */
static bool file_mount_locks_alone(dev_t device)
{
    static const char *const options[] = {"local_lock=all", "local_lock=flock", "nobrl",
                                          "localflock"};
    char number[32];
    char *line = NULL;
    size_t capacity = 0;
    bool alone = false;
    const int fd = io_open(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY);
    FILE *mounts = fd < 0 ? NULL : fdopen(fd, "r");
    snprintf(number, sizeof number, " %u:%u ", major(device), minor(device));
    while (mounts && !alone && getline(&line, &capacity, mounts) > 0) {
        for (size_t i = 0; strstr(line, number) && i < sizeof options / sizeof options[0]; i++) {
            alone |= strstr(line, options[i]) != NULL;
        }
    }
    free(line);
    if (mounts) {
        fclose(mounts);
    } else {
        io_close(fd);
    }
    return alone;
}

bool file_may_be_owned_elsewhere(const char *name, int fd)
{
    struct statfs system;
    struct stat status;
    if (fstat(fd, &status) != 0 ||
        file_owned_is_of_domain(name, file_owned_domain(status.st_dev))) {
        return false;
    }
    const int64_t age_s = (int64_t)time(NULL) - (int64_t)status.st_mtime;
    return age_s < ELSEWHERE_S && age_s > -ELSEWHERE_S && fstatfs(fd, &system) == 0 &&
           (file_system_locks_alone((long)system.f_type) || file_mount_locks_alone(status.st_dev));
}

int file_open_abandoned(int directory_fd, const char *name)
{
    int fd = io_open(directory_fd, name, O_RDONLY | O_NOFOLLOW);
    if (fd < 0) {
        return -1;
    }
    int error = 0;
    if (flock(fd, LOCK_SH | LOCK_NB) != 0) {
        error = EWOULDBLOCK;
    } else if (!file_is_still_named(directory_fd, name, fd)) {
        /* A living owner has removed it between the open and the lock. */
        error = ENOENT;
    } else if (file_may_be_owned_elsewhere(name, fd)) {
        error = EWOULDBLOCK;
    }
    if (error == 0) {
        return fd;
    }
    close(fd);
    errno = error;
    return -1;
}

struct file_kept file_keep(int fd)
{
    struct stat status = {0};
    fstat(fd, &status);
    return (struct file_kept){.fd = fd, .device = status.st_dev, .inode = status.st_ino};
}

bool file_kept_is_ours(const struct file_kept *kept)
{
    struct stat status;
    return kept->fd >= 0 && fstat(kept->fd, &status) == 0 && status.st_dev == kept->device &&
           status.st_ino == kept->inode;
}

void file_kept_close(struct file_kept *kept)
{
    if (file_kept_is_ours(kept)) {
        close(kept->fd);
    }
    kept->fd = -1;
}
