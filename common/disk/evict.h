/* Removing what was not used for long from a program's folder. Only files that are ours by their
 * names (names.h), regular and of this user, reached through the folder's descriptor. Thread-safe;
 * of several processes that remove at once each does what the others have left. */
#ifndef WARMPIPE_DISK_EVICT_H
#define WARMPIPE_DISK_EVICT_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/digest.h"

/* Removes an identity: the blob's file, parts, markers of dead processes, and the lock, all under
 * that lock. False, with nothing removed, if somebody holds it or has used the identity after
 * `last_use` (usage.h). *ret_bytes is what the files had. */
bool evict_identity(int directory_fd, const char identity[DIGEST_HEX_SIZE], int64_t last_use,
                    uint64_t *ret_bytes);

/* Removes what was put into quarantine/ before this time (nanoseconds since the epoch), with its
 * notes, and then the folder if that has left it empty. */
void evict_quarantine(int directory_fd, int64_t before);

/* What a folder, which is known to be ours, holds besides identities: all in quarantine, and
 * recipes and program.json as below. The bytes of these two. */
uint64_t evict_rest(int directory_fd, int64_t last_use, bool other_files, bool *locked);

/* Removes program.json, if it was not modified after `last_use` and is ours: it reads as such, or
 * there are, or were, other files of ours in the folder (other_files), so that it is but damaged.
 * The bytes that it had. */
uint64_t evict_program(int directory_fd, int64_t last_use, bool other_files);

/* Removes the recipes, if none was written after `last_use`, but for the segments and files of
 * living processes, of which *locked tells if there are any; and the folder if it is empty then.
 * The bytes that they had. */
uint64_t evict_recipes(int directory_fd, int64_t last_use, bool *locked);

/* Removes from the recipes' folder the temporary files of dead processes, and what such a process
 * was replaying if that was before this time (nanoseconds since the epoch). */
void evict_recipe_leftovers(int directory_fd, int64_t before);

/* Removes the temporary files of dead processes. */
void evict_temporaries(int directory_fd);

#endif
