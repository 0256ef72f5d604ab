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

/* Opens the program folder `name` in `root` and checks that it belongs to the effective user or
 * root and that neither group nor others may write it (parents are not judged: volumes of
 * containers are often open to all). create: makes what is missing, root and its parents 0700 too;
 * what exists is left as it is. On success *ret_fd is to be closed by the caller. no_file: it is
 * not there and create is false. */
enum reason file_open_directory(const char *root, const char *name, bool create, int *ret_fd);

/* The same for `name` in a directory that is open, never through a symbolic link. */
enum reason file_open_subdirectory(int directory_fd, const char *name, bool create, int *ret_fd);

/* Makes the directory `name` (0700, whatever the umask is) where there is none; directory_fd may be
 * AT_FDCWD. False: errno tells why. */
bool file_make_directory(int directory_fd, const char *name);

/* Opens the regular file `name` for reading. Refuses symbolic links, other types, foreign owners
 * and files that others can write. *ret_fd is to be closed by the caller. */
enum reason file_open(int directory_fd, const char *name, int *ret_fd, uint64_t *ret_size);

/* Opens as file_open does and reads the whole file into malloc'ed memory, aligned at 64 (never
 * mapped: a file cut by somebody else would kill the program with SIGBUS). Refuses sizes above
 * `limit`. *ret_data is freed by the caller. A file that shrinks meanwhile gives what was read. */
enum reason file_read(int directory_fd, const char *name, uint64_t limit, uint8_t **ret_data,
                      size_t *ret_size);

/* Reads a regular file wherever it lies, whoever may write it, links followed: not to be believed.
 * As file_read otherwise. */
enum reason file_read_any(const char *path, uint64_t limit, uint8_t **ret_data, size_t *ret_size);

/* As file_read, for the first bytes only: at most `capacity` of them into `buffer`; *ret_read how
 * many, *ret_size the size of the file. */
enum reason file_read_head(int directory_fd, const char *name, void *buffer, size_t capacity,
                           size_t *ret_read, uint64_t *ret_size);

/* Replaces `name` by the concatenation of the parts: temporary file in the same
 * directory (0600), write, fsync, rename, fsync of the directory. On any failure the old file
 * stands as it was and no temporary file is left (a killed process leaves one: see below).
 * not_a_file: a directory stands there. */
enum reason file_replace(int directory_fd, const char *name, const struct iovec *parts, int count);

/* The same without waiting for the disk: after a power cut the file may be the old one, or empty.
 */
enum reason file_replace_unsynced(int directory_fd, const char *name, const struct iovec *parts,
                                  int count);

/* Writes other bytes into a file of this very size, in place: for what is small, of no great worth,
 * and changed under a lock. Trusted as file_open does. truncated: it has another size. */
enum reason file_overwrite(int directory_fd, const char *name, const void *data, size_t size);

/* Whether this process may write a file of `size` bytes (RLIMIT_FSIZE): to be asked before a write,
 * for a write beyond the limit does not just fail, SIGXFSZ kills the program. */
bool file_size_allowed(uint64_t size);

/* Every temporary file's name ends in this. */
#define FILE_TEMPORARY_SUFFIX ".tmp"

/* Removes the temporary file `name` if the process that made it is dead. */
void file_sweep_temporary(int directory_fd, const char *name);

/* An exclusive flock(2) on `name`, created (0600) if missing, removed by nobody but its holder.
 * Tries for at most `wait_ms` milliseconds; `locked` then. On a file system that has no locks at
 * all it is granted without: files are replaced whole all the same, only what another process saves
 * at that moment may be lost. *ret_fd is released with file_unlock. */
enum reason file_lock(int directory_fd, const char *name, unsigned wait_ms, int *ret_fd);

/* The same on a directory itself, which stays the caller's until file_unlock. */
enum reason file_lock_directory(int directory_fd, unsigned wait_ms);

/* Unlocks explicitly (a forked child may share the description) and closes. */
void file_unlock(int fd);

#endif
