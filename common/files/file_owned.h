// SPDX-License-Identifier: Apache-2.0
/* Descriptors that stay open in a program, and what other processes can tell from them.
 *
 * An owned file is locked with flock(2) while its process lives, so that the files of dead
 * processes can be told from files in use. (Process ids cannot tell: containers have their own.) */
#ifndef WARMPIPE_FILES_FILE_OWNED_H
#define WARMPIPE_FILES_FILE_OWNED_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct file_owned {
    int fd;
    bool locked;     /* false: the file system has no locks, so others cannot tell */
    uint64_t number; /* the random part of the name */
    char name[NAME_MAX + 1];
};

/* Creates the empty file "<prefix>.<16 hex digits><suffix>" (0600, whatever the umask is), without
 * prefix and dot where prefix is NULL; opened for reading and writing, O_CLOEXEC. False: see errno.
 * Thread-safe. */
bool file_create_owned(int directory_fd, const char *prefix, const char *suffix,
                       struct file_owned *ret_file);

/* Opens a file for reading whose owner is dead, and keeps a shared lock on it until the descriptor
 * is closed, so that several readers do not take each other for the owner. -1 with errno
 * EWOULDBLOCK: the owner lives, or the file system cannot tell; ENOENT: the owner has removed the
 * file meanwhile; others: it cannot be opened. An owner that has created its file and not locked it
 * yet looks dead; it notices when the file is unlinked before the descriptor is closed, and creates
 * another. Thread-safe. */
int file_open_abandoned(int directory_fd, const char *name);

/* A kept descriptor: a program that closes every descriptor it does not know (as daemons do) may
 * have reused the number for a file of its own. So nothing is closed or written by number alone.
 * Thread-safe for different ones. */
struct file_kept {
    int fd; /* -1: none */
    dev_t device;
    ino_t inode;
};

/* Takes over the descriptor. */
struct file_kept file_keep(int fd);

/* Whether the number still stands for this file. */
bool file_kept_is_ours(const struct file_kept *kept);

/* Closes it if it is still ours, and sets fd to -1. */
void file_kept_close(struct file_kept *kept);

#endif
