// SPDX-License-Identifier: Apache-2.0
/* Files as a cache needs them: opened through a directory's descriptor, never through a symbolic
 * link, never a file that another user can write; replaced as a whole or not at all. Every
 * descriptor is O_CLOEXEC. Nothing here logs; the reason is returned. Thread-safe.
 *
 * Below: descriptors that stay open in a program, and what other processes can tell
 * from them. */
#ifndef WARMPIPE_FILES_FILE_H
#define WARMPIPE_FILES_FILE_H

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "common/base/io.h"
#include "common/base/status.h"

/* Opens the program folder `name` in `root` and checks that it belongs to the effective user or
 * root and that neither group nor others may write it (parents are not judged: volumes of
 * containers are often open to all). create: makes what is missing (0700), root and its parents
 * too; what exists is left as it is. On success the caller closes *ret_fd. no_file: the folder does
 * not exist and create is false. */
enum status file_open_directory(const char *root, const char *name, bool create, int *ret_fd);

/* The same for `name` in an open directory, never through a symbolic link. */
enum status file_open_subdirectory(int directory_fd, const char *name, bool create, int *ret_fd);

/* Makes the directory `name` (0700, whatever the umask is) if it does not exist; directory_fd may
 * be AT_FDCWD. False: see errno. */
bool file_make_directory(int directory_fd, const char *name);

/* Opens the directory `name` inside another one, whoever it belongs to; never through a symbolic
 * link. -1: see errno. */
int file_open_folder(int directory_fd, const char *name);

/* Opens the directory `name` inside another one (".": that one itself) for listing_next; never
 * through a symbolic link. NULL, which the functions below take as an empty one: see errno. */
DIR *listing_open(int directory_fd, const char *name);

/* The next name except "." and "..", valid until the next call. NULL: no more, or, if errno is not
 * 0, the folder cannot be read on. */
const char *listing_next(DIR *listing);

/* Closed at the end of its scope, as what AUTO_CLOSE (base/io.h) stands before. */
#define AUTO_LISTING AUTO(listing_close)
void listing_close(DIR *const *listing);

/* Opens the regular file `name` for reading. Refuses symbolic links, other file types, foreign
 * owners and files that others can write. The caller closes *ret_fd. */
enum status file_open(int directory_fd, const char *name, int *ret_fd, uint64_t *ret_size);

/* Opens as file_open does and reads the whole file into memory from aligned_alloc(64), which the
 * caller frees (never mapped: another process could truncate the file, and the program would die of
 * SIGBUS). too_large: more than `limit` bytes. A file that shrinks meanwhile gives what was read.
 */
enum status file_read(int directory_fd, const char *name, uint64_t limit, uint8_t **ret_data,
                      size_t *ret_size);

/* Whether there is memory for so many bytes, if that is 16 MiB or more: a program that is killed
 * for lack of it would be killed in each start. Opens some small files. */
bool file_fits_memory(uint64_t size);

/* As file_read, into memory that the caller gives to large_free. out_of_memory also where there is
 * none for it and a copy (file_fits_memory). */
enum status file_read_large(int directory_fd, const char *name, uint64_t limit, uint8_t **ret_data,
                            size_t *ret_size);

/* Reads a regular file anywhere, whoever may write it, links followed: do not trust the content.
 * Otherwise as file_read. */
enum status file_read_any(const char *path, uint64_t limit, uint8_t **ret_data, size_t *ret_size);

/* As file_read, for the first bytes only: at most `capacity` of them into `buffer`. *ret_read: how
 * many; *ret_size: the size of the file. */
enum status file_read_head(int directory_fd, const char *name, void *buffer, size_t capacity,
                           size_t *ret_read, uint64_t *ret_size);

/* Replaces `name` by the concatenation of the parts: temporary file in the same directory (0600),
 * write, fsync, rename, fsync of the directory. On failure the old file is unchanged and no
 * temporary file is left (a killed process leaves one: file_sweep_temporary). not_a_file: `name` is
 * a directory. */
enum status file_replace(int directory_fd, const char *name, const struct iovec *parts, int count);

enum file_replacing {
    FILE_UNSYNCED,   /* no fsync: after a power cut the file may be the old one, or empty */
    FILE_SYNCED,     /* file_replace */
    FILE_NAMED_FIRST /* that; but where there is no file, rename before fsync: it is there for the
                        next process however this one ends, and after a power cut it may be cut
                        short. A failure removes it. */
};
enum status file_replace_as(int directory_fd, const char *name, const struct iovec *parts,
                            int count, enum file_replacing how);

/* Makes an empty file, or sets the modification time of a present one to now. */
void file_touch(int directory_fd, const char *name);

/* Gives a file of at most `limit` bytes a second name, which is free: a hard link, or a copy if no
 * link can be made (FAT has none, and Linux refuses links to other users' files). */
enum status file_link(int directory_fd, const char *name, const char *as, uint64_t limit);

/* Overwrites a file of exactly this size in place: for small files of little value that are changed
 * under a lock. Checks the file as file_open does. truncated: it has another size. */
enum status file_overwrite(int directory_fd, const char *name, const void *data, size_t size);

/* Whether RLIMIT_FSIZE lets this process write a file of `size` bytes. Ask before a write: a write
 * beyond the limit does not just fail, SIGXFSZ kills the program. */
bool file_size_allowed(uint64_t size);

/* Removes the temporary file `name` if the process that made it is dead, and no other one reads
 * it. */
void file_sweep_temporary(int directory_fd, const char *name);

/* Takes an exclusive flock(2) on `name`, created (0600) if missing; only the holder may remove the
 * file. Tries for at most `wait_ms` milliseconds, less if the thread's patience ends before
 * (base/clock.h), then returns `locked`. Succeeds without a lock where there are none, or they are
 * forbidden: files are still replaced as a whole, only a save that another process makes at that
 * moment may be lost. Release *ret_fd with file_unlock. */
enum status file_lock(int directory_fd, const char *name, unsigned wait_ms, int *ret_fd);

/* The same on an open directory itself; file_unlock(directory_fd) releases and closes it. */
enum status file_lock_directory(int directory_fd, unsigned wait_ms);

/* Unlocks explicitly (the child of a fork may share the open file description) and closes.
 * AUTO_UNLOCK does that at the end of the scope, as AUTO_CLOSE (base/io.h); -1: nothing is locked.
 */
void file_unlock(int fd);

#define AUTO_UNLOCK AUTO(file_auto_unlock)
void file_auto_unlock(const int *fd);

/* Whether the name still stands for the open file. (Its links do not tell: FUSE goes on counting
 * one of a file that is open.) */
bool file_is_still_named(int directory_fd, const char *name, int fd);

/* An owned file is locked with flock(2) while its process lives, so that the files of dead
 * processes can be told from files in use. (Process ids cannot tell: containers have their own.) */
struct file_owned {
    int fd;
    bool locked;     /* false: no locks here, or none allowed, so others cannot tell */
    uint64_t number; /* in the name: the lower half is random, the upper tells machine and mount */
    char name[NAME_MAX + 1];
};

/* Creates the empty file "<prefix>.<16 hex digits><suffix>" (0600, whatever the umask is), without
 * prefix and dot where prefix is NULL; opened for reading and writing, O_CLOEXEC. False: see errno.
 * Thread-safe. */
bool file_create_owned(int directory_fd, const char *prefix, const char *suffix,
                       struct file_owned *ret_file);

/* Draws a number as file_create_owned does, for a file that is put into the folder whole; with any
 * other number the file would count as possibly owned elsewhere. Thread-safe. */
uint64_t file_draw_number(int directory_fd);

/* Opens a file for reading whose owner is dead, and keeps a shared lock on it until the descriptor
 * is closed, so that several readers do not take each other for the owner. -1 with errno
 * EWOULDBLOCK: the owner lives, or may, or the file system cannot tell; ENOENT: the owner has
 * removed the file meanwhile; others: it cannot be opened. An owner that has created its file and
 * not locked it yet looks dead; it notices when the file is unlinked before the descriptor is
 * closed, and creates another. Thread-safe. */
int file_open_abandoned(int directory_fd, const char *name);

/* After an flock(2) of this descriptor that has failed (errno): whether another process holds the
 * lock. If not, errno says why there is none. */
bool file_is_locked_by_other(int fd);

/* Whether an owned file without a lock may have an owner all the same: it lies where locks hold for
 * one mount on one machine only (FUSE, 9p and others: docs/decisions/0311), its name does not say
 * that it was made through this mount, and it was changed in the last five minutes.
 * file_open_abandoned asks it. Thread-safe. */
bool file_may_be_owned_elsewhere(const char *name, int fd);

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
