// SPDX-License-Identifier: Apache-2.0
/* Enforces the size limits (docs/SETTINGS.md). Removes what has been unused for longest (before
 * that, what claims a use more than a day in the future): first identities (one driver and device
 * of one program), then whole folders of programs. Recipes are useful with every driver, so they go
 * last: in the program's own folder the least valuable ones, down to an eighth of the folder's
 * limit; in another program's folder all, with the rest of it.
 *
 * Call it after a save or a recording, not on the program's threads: it reads directories (at most
 * 4,096 entries of the program's own folder, and 524,288 of all folders), and rewrites recipes
 * where some have to go. It scans all folders once a day, and whenever their bytes may exceed the
 * limit, by the last scan and what was saved since.
 *
 * Never removed: what this process has loaded or saved (in_use_add); an identity whose lock is
 * held; what was used meanwhile; files that are not ours by name, owner and type; files in
 * quarantine for less than 30 days, which do not count, unless the whole folder goes; recipes of
 * living processes. So these may exceed a limit. */
#ifndef WARMPIPE_QUOTA_QUOTA_H
#define WARMPIPE_QUOTA_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/base/status.h"

struct quota_limits {
    const char *root;   /* absolute path of the caches' root */
    const char *app;    /* this program's folder in it */
    uint64_t max_size;  /* bytes, of this program's folder */
    uint64_t max_total; /* bytes, of all folders in the root that this user owns */
};

/* What was removed. */
struct quota_outcome {
    uint64_t identities;
    uint64_t bytes;
};

/* Removes what exceeds the limits. `written`: the bytes that this process has saved or recorded
 * since its last call. Nothing here logs, and failures are not reported: the next process tries
 * again. Thread-safe; any number of processes may call it at the same time. */
void quota_enforce(const struct quota_limits *limits, uint64_t written,
                   struct quota_outcome *ret_outcome);

/* Removes what processes, of each user, remember of the total size of a root that was emptied. */
void quota_forget(int root_fd);

/* The contents of a program's folder: how much belongs to which driver and device, and when that
 * was last used. Nothing is changed. Thread-safe.
 *
 * The last use is the latest modification of any file of the identity except its lock (the cache
 * file, its parts, its .wanted and .asked files), or of its folder of loading markers. Every load
 * changes that folder (docs/FORMAT.md), so a process that only loads leaves a trace without a
 * further system call. */

struct stat;

struct usage_identity {
    char identity[DIGEST_HEX_SIZE];
    uint64_t bytes;   /* the cache file and its parts; 0: there are only other files */
    int64_t last_use; /* nanoseconds since the epoch; INT64_MIN: never, there is only a lock */
};

struct usage {
    struct usage_identity *identities;
    size_t count;
    uint64_t other_bytes;  /* program.json, recipes, temporary files */
    uint64_t recipe_bytes; /* of these, recipes */
    int64_t last_use;      /* of all files of ours but locks, .wanted and .asked; INT64_MIN: none */
};

/* Reads at most `*entries` directory entries, counts them down, and ignores the rest. Skips
 * symbolic links, files that are not ours by name, and a program.json that is the only such file
 * and not of our format (program_is_ours). Free *ret_usage with usage_free. io_error,
 * out_of_memory. */
enum status usage_read(int directory_fd, size_t *entries, struct usage *ret_usage);

void usage_free(struct usage *usage);

/* The modification time, in nanoseconds since the epoch. */
int64_t usage_modified(const struct stat *status);

/* All bytes in the folder. */
uint64_t usage_bytes(const struct usage *usage);

/* Removes what has not been used for long from a program's folder: only regular files of this user
 * whose names are ours (names.h), through the folder's descriptor. Thread-safe; several processes
 * may remove at the same time. */

/* Removes an identity under its lock: the cache file, parts, markers of dead processes, .wanted and
 * .asked files, and the lock. False, with nothing removed: another process holds the lock, or the
 * cache file, a part or the folder of markers was modified after `last_use`. *ret_bytes: the bytes
 * of the cache file and the parts. */
bool evict_identity(int directory_fd, const char identity[DIGEST_HEX_SIZE], int64_t last_use,
                    uint64_t *ret_bytes);

/* Removes the files that were moved to quarantine/ before this time (nanoseconds since the epoch),
 * with their notes, and then the folder if it has become empty. */
void evict_quarantine(int directory_fd, int64_t before);

/* Removes what a folder of ours contains besides identities: everything in quarantine, the recipes
 * that were not written after `last_use`, except the files of living processes (*locked is set if
 * there are any), and program.json as below. Returns the bytes of these two. A recipes' folder with
 * nothing but a lock is ours if there are or were other files of ours (other_files). */
uint64_t evict_rest(int directory_fd, int64_t last_use, bool other_files, bool *locked);

/* Removes program.json if it was not modified after `last_use` and is ours: it can be read as such,
 * or there are or were other files of ours in the folder (other_files), so that it is only damaged.
 * Returns the bytes that it had. */
uint64_t evict_program(int directory_fd, int64_t last_use, bool other_files);

/* Removes the recipes' folder, from which recipes were removed, if nothing but its lock is left. */
void evict_empty_recipes(int directory_fd);

/* Removes from the recipes' folder the temporary files of dead processes, and their records of what
 * they were replaying from before this time (nanoseconds since the epoch). */
void evict_recipe_leftovers(int directory_fd, int64_t before);

/* Removes the temporary files of dead processes. */
void evict_temporaries(int directory_fd);

#endif
