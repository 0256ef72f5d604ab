// SPDX-License-Identifier: Apache-2.0
#include "tools/warm/warm_unfinished.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/files/file.h"
#include "common/files/names.h"

static const char unfinished_note[] = "unfinished\n";

#define UNFINISHED_SIZE (sizeof unfinished_note - 1)

/* The program's folder, and the file's name in it. Negative: there is none. */
static int warm_unfinished_open(const struct warm_target *target, bool create,
                                char ret_name[NAMES_SIZE])
{
    char identity[DIGEST_HEX_SIZE];
    int folder_fd;
    digest_format(target->digest, identity);
    snprintf(ret_name, NAMES_SIZE, "%s%s", identity, WANTED_SUFFIX);
    return file_open_directory(target->root, target->app, create, &folder_fd) == STATUS_ok
               ? folder_fd
               : -1;
}

bool warm_unfinished_is(const struct warm_target *target)
{
    char name[NAMES_SIZE];
    char note[UNFINISHED_SIZE];
    size_t size = 0;
    uint64_t file_size;
    const int folder_fd = warm_unfinished_open(target, false, name);
    if (folder_fd < 0) {
        return false;
    }
    const bool is_read =
        file_read_head(folder_fd, name, note, sizeof note, &size, &file_size) == STATUS_ok;
    close(folder_fd);
    return is_read && size == sizeof note && memcmp(note, unfinished_note, sizeof note) == 0;
}

/* Replaces what the file holds. */
static void warm_unfinished_write(int fd, const char *note, size_t size)
{
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && ftruncate(fd, 0) == 0 &&
        write(fd, note, size) < 0) {
        return; /* a full disk, say */
    }
}

bool warm_unfinished_begin(const struct warm_target *target)
{
    const int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    char name[NAMES_SIZE];
    const int folder_fd = warm_unfinished_open(target, true, name);
    if (folder_fd < 0) {
        return false;
    }
    int fd = openat(folder_fd, name, flags | O_CREAT | O_EXCL, 0600);
    const bool made = fd >= 0;
    fd = made ? fd : openat(folder_fd, name, flags);
    if (fd >= 0) {
        warm_unfinished_write(fd, unfinished_note, UNFINISHED_SIZE);
        close(fd);
    }
    close(folder_fd);
    return made;
}

void warm_unfinished_end(const struct warm_target *target, bool made)
{
    char name[NAMES_SIZE];
    const int folder_fd = warm_unfinished_open(target, false, name);
    if (folder_fd < 0) {
        return;
    }
    const int fd =
        made ? -1 : openat(folder_fd, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        warm_unfinished_write(fd, "", 0);
        close(fd);
    } else {
        unlinkat(folder_fd, name, 0);
    }
    close(folder_fd);
}
