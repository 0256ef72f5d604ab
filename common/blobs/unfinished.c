// SPDX-License-Identifier: Apache-2.0
#include "common/blobs/unfinished.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/files/names.h"

static void unfinished_name(const char *identity, char ret_name[NAMES_SIZE])
{
    snprintf(ret_name, NAMES_SIZE, "%s" WANTED_SUFFIX, identity);
}

bool unfinished_is(int folder_fd, const char identity[DIGEST_HEX_SIZE])
{
    char name[NAMES_SIZE];
    struct stat status;
    unfinished_name(identity, name);
    return fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
           status.st_size > 0;
}

void unfinished_set(int folder_fd, const char identity[DIGEST_HEX_SIZE], bool is_unfinished)
{
    static const char note[] = "unfinished\n";
    char name[NAMES_SIZE];
    unfinished_name(identity, name);
    const int fd =
        io_open(folder_fd, name,
                O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | (is_unfinished ? O_CREAT : 0));
    if (fd >= 0) {
        const ssize_t done =
            is_unfinished ? pwrite(fd, note, sizeof note - 1, 0) : ftruncate(fd, 0);
        (void)done; /* a full disk, say */
        close(fd);
    }
}
