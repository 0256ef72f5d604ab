// SPDX-License-Identifier: Apache-2.0
#include "common/blobs/asked.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/io.h"
#include "common/files/file.h"

/* Milliseconds for which whoever looks at the lock is waited for. */
#define RESUME_TRIES 1000

static void asked_name(const char *identity, const char *token, char ret_name[NAMES_SIZE])
{
    snprintf(ret_name, NAMES_SIZE, "%s.%s" ASKED_SUFFIX, identity, token);
}

static bool asked_exists(int folder_fd, const char *name)
{
    return faccessat(folder_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool asked_serve(int folder_fd, struct file_owned *ret_file)
{
    return file_create_owned(folder_fd, ASKED_SERVED_PREFIX, TEMPORARY_SUFFIX, ret_file);
}

/* Does not wait: on SMB its own lock is in the way, and stays. */
void asked_pause(const struct file_owned *file)
{
    flock(file->fd, LOCK_SH | LOCK_NB); /* as who reads a dead one's: nobody sweeps it */
}

void asked_resume(const struct file_owned *file)
{
    for (int i = 0; i < RESUME_TRIES && flock(file->fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK) {
            break;
        }
        clock_pause(CLOCK_MS);
    }
}

bool asked_is_served(int folder_fd, const char token[UNIQUE_HEX_SIZE])
{
    char name[NAMES_SIZE];
    snprintf(name, sizeof name, ASKED_SERVED_PREFIX ".%s" TEMPORARY_SUFFIX, token);
    AUTO_CLOSE const int fd = file_open_abandoned(folder_fd, name);
    return fd < 0 && errno == EWOULDBLOCK;
}

bool asked_begin(int folder_fd, const char identity[DIGEST_HEX_SIZE],
                 const char token[UNIQUE_HEX_SIZE])
{
    char name[NAMES_SIZE];
    struct stat status;
    asked_name(identity, token, name);
    AUTO_CLOSE const int fd = io_open(folder_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW);
    return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

bool asked_is_open(int folder_fd, const char identity[DIGEST_HEX_SIZE],
                   const char token[UNIQUE_HEX_SIZE])
{
    char name[NAMES_SIZE];
    asked_name(identity, token, name);
    return asked_exists(folder_fd, name);
}

bool asked_has_file(int folder_fd, const char identity[DIGEST_HEX_SIZE])
{
    char name[NAMES_SIZE];
    snprintf(name, sizeof name, "%s" CACHE_SUFFIX, identity);
    return asked_exists(folder_fd, name);
}

void asked_remove(int folder_fd, const char identity[DIGEST_HEX_SIZE],
                  const char token[UNIQUE_HEX_SIZE])
{
    char name[NAMES_SIZE];
    asked_name(identity, token, name);
    unlinkat(folder_fd, name, 0);
}

void asked_token(const char *name, char ret_token[UNIQUE_HEX_SIZE])
{
    memcpy(ret_token, name + DIGEST_HEX_SIZE, UNIQUE_HEX_SIZE - 1);
    ret_token[UNIQUE_HEX_SIZE - 1] = '\0';
}

void asked_sweep(int folder_fd)
{
    AUTO_LISTING DIR *listing = listing_open(folder_fd, ".");
    const char *name;
    while ((name = listing_next(listing))) {
        char identity[DIGEST_HEX_SIZE];
        char token[UNIQUE_HEX_SIZE];
        char of[NAMES_SIZE];
        if (names_is_temporary(name, of) && strcmp(of, ASKED_SERVED_PREFIX) == 0) {
            file_sweep_temporary(folder_fd, name);
        } else if (names_classify(name, identity) == NAME_ASKED) {
            asked_token(name, token);
            if (!asked_is_served(folder_fd, token)) {
                unlinkat(folder_fd, name, 0);
            }
        }
    }
}
