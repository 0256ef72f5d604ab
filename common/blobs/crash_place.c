// SPDX-License-Identifier: Apache-2.0
/* Where a crash page lies. */
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/io.h"
#include "common/blobs/crash_page.h"
#include "common/files/file.h"
#include "common/files/names.h"

/* The numbers of users that systemd gives a service for as long as it runs (DynamicUser=): what
 * such a user has in /dev/shm is removed at its end. */
#define FIRST_DYNAMIC_USER 61184u
#define LAST_DYNAMIC_USER  65519u

/* Whether /dev/shm ends before the next start, as it does with a container, which has processes of
 * its own (the first namespace has a fixed number), and with a sandbox whose /dev is its own. */
static bool crash_memory_ends_early(void)
{
    static const char first[] = "pid:[4026531836]";
    char name[sizeof first];
    const uid_t user = geteuid();
    struct stat devices;
    struct stat memory;
    return stat("/dev", &devices) != 0 || stat("/dev/shm", &memory) != 0 ||
           devices.st_dev == memory.st_dev ||
           (user >= FIRST_DYNAMIC_USER && user <= LAST_DYNAMIC_USER) ||
           readlink("/proc/self/ns/pid", name, sizeof name) != sizeof first - 1 ||
           memcmp(name, first, sizeof first - 1) != 0;
}

/* What a file system is to a store into a mapped file. */
enum crash_ground {
    CRASH_GROUND_OTHER, /* it may find no room (those that copy on write), or wait (networks) */
    CRASH_GROUND_DISK,  /* SIGBUS once the disk is gone, or the file immutable (decision 0362) */
    CRASH_GROUND_MEMORY /* it never fails */
};

/* What lies below an overlay is told by its inodes, which Btrfs does not count. */
static enum crash_ground crash_ground_of(int fd)
{
    static const long of_disks[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC};
    struct statfs system;
    const bool is_known = fstatfs(fd, &system) == 0 && system.f_files > 0;
    bool is_disk = false;
    for (size_t i = 0; is_known && i < sizeof of_disks / sizeof of_disks[0]; i++) {
        is_disk |= (long)system.f_type == of_disks[i];
    }
    return is_disk                                          ? CRASH_GROUND_DISK
           : is_known && (long)system.f_type == TMPFS_MAGIC ? CRASH_GROUND_MEMORY
                                                            : CRASH_GROUND_OTHER;
}

/* The whole page is written first: that gives it room, so that no store finds the disk full, which
 * would be a SIGBUS. (posix_fallocate would as well, but it takes blocks at once, and to give them
 * back when the file goes takes ext4 milliseconds: docs/decisions/0140.) `memory` of an earlier
 * page is used again; NULL: there is none. */
static struct crash_page *crash_map(int fd, const struct crash_page *content,
                                    struct crash_page *memory)
{
    if (!file_size_allowed(sizeof *content) ||
        pwrite(fd, content, sizeof *content, 0) != (ssize_t)sizeof *content) {
        return NULL;
    }
    void *page = mmap(memory, sizeof *content, PROT_READ | PROT_WRITE,
                      MAP_SHARED | (memory ? MAP_FIXED : 0), fd, 0);
    return page == MAP_FAILED ? NULL : page;
}

/* Pages elsewhere. The number is drawn at random, so that nobody else has made its file before. */

#define ELSEWHERE      "/dev/shm/warmpipe-"
#define ELSEWHERE_SIZE (sizeof ELSEWHERE - 1 + UNIQUE_HEX_SIZE)

static void crash_name_elsewhere(uint64_t number, char ret_path[ELSEWHERE_SIZE])
{
    memcpy(ret_path, ELSEWHERE, sizeof ELSEWHERE);
    unique_format(number, ret_path + sizeof ELSEWHERE - 1);
}

static int crash_open_elsewhere(uint64_t number, int flags)
{
    char path[ELSEWHERE_SIZE];
    crash_name_elsewhere(number, path);
    return io_open(AT_FDCWD, path, flags | O_NOFOLLOW);
}

void crash_page_remove_elsewhere(uint64_t number)
{
    char path[ELSEWHERE_SIZE];
    crash_name_elsewhere(number, path);
    unlinkat(AT_FDCWD, path, 0);
}

bool crash_page_read_elsewhere(uint64_t number, uint8_t ret_page[sizeof(struct crash_page)])
{
    const ssize_t size = sizeof(struct crash_page);
    AUTO_CLOSE const int fd = crash_open_elsewhere(number, O_RDONLY);
    struct stat status;
    return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
           io_is_trusted_owner(fd, &status) && status.st_size == size &&
           pread(fd, ret_page, (size_t)size, 0) == size;
}

void crash_page_sweep_elsewhere(int64_t before_ns)
{
    static const char prefix[] = "warmpipe-";
    const size_t length = sizeof prefix - 1 + UNIQUE_HEX_SIZE - 1;
    AUTO_LISTING DIR *listing = listing_open(AT_FDCWD, "/dev/shm");
    const char *name;
    struct stat status;
    while ((name = listing_next(listing))) {
        if (strncmp(name, prefix, sizeof prefix - 1) == 0 &&
            names_is_hex(name + sizeof prefix - 1, UNIQUE_HEX_SIZE - 1) && !name[length] &&
            fstatat(dirfd(listing), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            status.st_uid == geteuid() && (int64_t)clock_ns_of(status.st_mtim) < before_ns) {
            unlinkat(dirfd(listing), name, 0);
        }
    }
}

static struct crash_page *crash_map_elsewhere(uint64_t number, const struct crash_page *content,
                                              struct crash_page *memory)
{
    AUTO_CLOSE const int fd = crash_open_elsewhere(number, O_RDWR | O_CREAT | O_EXCL);
    if (fd < 0) {
        return NULL;
    }
    fchmod(fd, 0600); /* a umask may have taken even our own bits */
    struct crash_page *page =
        crash_ground_of(fd) == CRASH_GROUND_MEMORY ? crash_map(fd, content, memory) : NULL;
    if (!page) {
        crash_page_remove_elsewhere(number);
    }
    return page;
}

struct crash_page *crash_page_make(int fd, uint64_t number, const struct crash_page *content,
                                   struct crash_page *memory, bool *ret_is_elsewhere)
{
    const enum crash_ground ground = crash_ground_of(fd);
    struct crash_page *page = NULL;
    if (ground == CRASH_GROUND_MEMORY ||
        (ground == CRASH_GROUND_DISK && crash_memory_ends_early())) {
        page = crash_map(fd, content, memory);
    }
    *ret_is_elsewhere = false;
    if (!page) {
        page = crash_map_elsewhere(number, content, memory);
        *ret_is_elsewhere = page;
    }
    return !page && ground == CRASH_GROUND_DISK ? crash_map(fd, content, memory) : page;
}
