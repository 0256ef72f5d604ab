/* Files of one process: locked with flock(2) while it lives, so that what a dead process left can
 * be told from what is in use. Process ids would not do: containers have their own. */
#ifndef WARMPIPE_DISK_FILE_OWNED_H
#define WARMPIPE_DISK_FILE_OWNED_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct file_owned {
    int fd;
    bool locked;     /* false: the file system has no locks, so others cannot tell */
    uint64_t number; /* the random part of the name */
    char name[NAME_MAX + 1];
};

/* Creates an empty file (0600), "<prefix>.<16 hex digits><suffix>", prefix NULL: without it and its
 * dot; opened for reading and writing, O_CLOEXEC. False: errno tells why. Thread-safe. */
bool file_create_owned(int directory_fd, const char *prefix, const char *suffix,
                       struct file_owned *ret_file);

/* Opens a file for reading whose owner is dead. While the descriptor is open it is locked, shared:
 * of several that look at one file at once, none takes the other for its owner. -1: it cannot be
 * opened, or, with errno EWOULDBLOCK, the owner lives or it cannot be told. An owner that has
 * created its file and not yet locked it seems dead; he will notice if it is unlinked before the
 * descriptor is closed, and make another. Thread-safe.
 */
int file_open_abandoned(int directory_fd, const char *name);

#endif
