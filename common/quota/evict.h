// SPDX-License-Identifier: Apache-2.0
/* Removes what has not been used for long from a program's folder: only regular files of this user
 * whose names are ours (names.h), through the folder's descriptor. Thread-safe; several processes
 * may remove at the same time. */
#ifndef WARMPIPE_QUOTA_EVICT_H
#define WARMPIPE_QUOTA_EVICT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/digest.h"

/* Removes an identity under its lock: the cache file, parts, markers of dead processes, and the
 * lock. False, with nothing removed: another process holds the lock, or has used the identity after
 * `last_use` (usage.h). *ret_bytes: the bytes that the files had. */
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
