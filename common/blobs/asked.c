// SPDX-License-Identifier: Apache-2.0
#include "common/blobs/asked.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/files/names.h"

static void asked_name(const char *identity, const char *suffix, char ret_name[NAMES_SIZE])
{
    snprintf(ret_name, NAMES_SIZE, "%s%s", identity, suffix);
}

static bool asked_exists(int folder_fd, const char *identity, const char *suffix)
{
    char name[NAMES_SIZE];
    asked_name(identity, suffix, name);
    return faccessat(folder_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool asked_begin(int folder_fd, const char identity[DIGEST_HEX_SIZE])
{
    char name[NAMES_SIZE];
    asked_name(identity, ASKED_SUFFIX, name);
    const int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

bool asked_is_open(int folder_fd, const char identity[DIGEST_HEX_SIZE])
{
    return asked_exists(folder_fd, identity, ASKED_SUFFIX);
}

bool asked_has_file(int folder_fd, const char identity[DIGEST_HEX_SIZE])
{
    return asked_exists(folder_fd, identity, CACHE_SUFFIX);
}

void asked_answer(int folder_fd, const char identity[DIGEST_HEX_SIZE])
{
    char name[NAMES_SIZE];
    asked_name(identity, ASKED_SUFFIX, name);
    unlinkat(folder_fd, name, 0);
}
