/* Many segments become one: each process leaves one behind. Only those of dead processes are
 * touched, under a lock in the folder, and what cannot be read, for it is foreign or newer, is left
 * as it is. The new segment is written whole and renamed before the old ones go; a process that
 * dies in between leaves both, of which the next one makes one again. What a segment of a living
 * process refers to is kept.
 *
 * To be called off the program's threads: it reads all that it writes. Nothing here logs.
 * Thread-safe; of several processes that do it at once, one does. */
#ifndef WARMPIPE_DISK_RECIPE_COMPACT_H
#define WARMPIPE_DISK_RECIPE_COMPACT_H

#include <stdint.h>

#include "base/result.h"
#include "recipe_merge.h"

struct recipe_compaction {
    uint64_t bytes_before; /* of the segments that it was free to change */
    uint64_t bytes_after;
    uint64_t bytes_beside; /* of the others */
    struct recipe_merge_counts counts;
};

/* Makes one segment of those that dead processes have left, if they are more than four; one that is
 * larger than all others together is left beside it. Of very many the smallest first, at most 32
 * and 32 MiB of them at once: whoever ends meanwhile has not done it for nothing. Removes the
 * temporary files of dead processes. REASON_ok also where nothing was to be done; locked: another
 * process does it. *ret_compaction tells of the last that was made; it may be NULL. */
enum reason recipe_compact(const char *root, const char *app,
                           struct recipe_compaction *ret_compaction);

/* The same in any case, within these limits; max_size is that of all segments, of which those that
 * cannot be changed are part. With `dry_run` it only tells what would be. */
enum reason recipe_prune(const char *root, const char *app,
                         const struct recipe_merge_limits *limits, bool dry_run,
                         struct recipe_compaction *ret_compaction);

/* Adds a merge as a segment of its own: what is imported. recipe_compact makes one of all later. */
enum reason recipe_add(const char *root, const char *app, const struct recipe_merged *merge);

#endif
