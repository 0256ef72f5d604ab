/* Files as a cache wants them: opened through a directory's descriptor, never through a symbolic
 * link, never one that somebody else can write; replaced whole or not at all. Every descriptor is
 * O_CLOEXEC. Nothing here logs; the reason is returned. Thread-safe. */
#ifndef WARMPIPE_DISK_FILE_H
#define WARMPIPE_DISK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/result.h"

/* Opens the program folder `name` in `root` and checks that it belongs to the effective user or root
 * and that neither group nor others may write it (parents are not judged: volumes of containers are
 * often open to all). create: makes what is missing, root and its parents 0700 too. On success
 * *ret_fd is to be closed by the caller. no_file: it is not there and create is false. */
enum reason file_open_directory(const char *root, const char *name, bool create, int *ret_fd);

/* Reads the whole regular file into malloc'ed memory (never mapped: a file cut by somebody else
 * would kill the program with SIGBUS). Refuses symbolic links, other types, foreign owners, files
 * that others can write, and sizes above `limit`. *ret_data is freed by the caller. */
enum reason file_read(int directory_fd, const char *name, uint64_t limit, uint8_t **ret_data,
                      size_t *ret_size);

/* Replaces `name` by the concatenation of the parts: temporary file in the same directory (0600),
 * write, fsync, rename, fsync of the directory. On any failure the old file stands as it was and no
 * temporary file is left. */
enum reason file_replace(int directory_fd, const char *name, const struct iovec *parts, int count);

/* An exclusive flock(2) on `name`, created (0600) if missing, never removed. Tries for at most
 * `wait_ms` milliseconds; `locked` then. *ret_fd is released with file_unlock. */
enum reason file_lock(int directory_fd, const char *name, unsigned wait_ms, int *ret_fd);

/* Unlocks explicitly (a forked child may share the description) and closes. */
void file_unlock(int fd);

#endif
