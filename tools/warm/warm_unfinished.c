// SPDX-License-Identifier: Apache-2.0
#include "tools/warm/warm_unfinished.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/blobs/unfinished.h"
#include "common/files/file.h"
#include "common/files/names.h"

/* The program's folder. Negative: there is none. */
static int warm_unfinished_open(const struct warm_target *target, bool create,
                                char ret_identity[DIGEST_HEX_SIZE])
{
    int folder_fd;
    digest_format(target->digest, ret_identity);
    return file_open_directory(target->root, target->app, create, &folder_fd) == STATUS_ok
               ? folder_fd
               : -1;
}

bool warm_unfinished_is(const struct warm_target *target)
{
    char identity[DIGEST_HEX_SIZE];
    const int folder_fd = warm_unfinished_open(target, false, identity);
    if (folder_fd < 0) {
        return false;
    }
    const bool is_unfinished = unfinished_is(folder_fd, identity);
    close(folder_fd);
    return is_unfinished;
}

bool warm_unfinished_begin(const struct warm_target *target)
{
    char identity[DIGEST_HEX_SIZE];
    char name[NAMES_SIZE];
    const int folder_fd = warm_unfinished_open(target, true, identity);
    if (folder_fd < 0) {
        return false;
    }
    snprintf(name, sizeof name, "%s" WANTED_SUFFIX, identity);
    const bool made = faccessat(folder_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
    unfinished_set(folder_fd, identity, true);
    close(folder_fd);
    return made;
}

void warm_unfinished_end(const struct warm_target *target, bool made)
{
    char identity[DIGEST_HEX_SIZE];
    char name[NAMES_SIZE];
    const int folder_fd = warm_unfinished_open(target, false, identity);
    if (folder_fd < 0) {
        return;
    }
    if (made) {
        snprintf(name, sizeof name, "%s" WANTED_SUFFIX, identity);
        unlinkat(folder_fd, name, 0);
    } else {
        unfinished_set(folder_fd, identity, false);
    }
    close(folder_fd);
}
