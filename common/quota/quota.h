// SPDX-License-Identifier: Apache-2.0
/* Enforces the size limits (docs/SETTINGS.md). Removes what has been unused for longest: first
 * identities (one driver and device of one program), then whole folders of programs. Recipes are
 * useful with every driver, so they go last: in the program's own folder the least valuable ones,
 * down to an eighth of the folder's limit; in another program's folder all, with the rest of it.
 *
 * Call it after a save or a recording, not on the program's threads: it reads directories (at most
 * 4,096 entries of the program's own folder, and 65,536 of all folders), and rewrites recipes where
 * some have to go. It scans all folders once a day, and whenever the bytes saved since the last
 * scan may exceed the limit.
 *
 * Never removed: what this process has loaded or saved (in_use_add); an identity whose lock is
 * held; what was used meanwhile; files that are not ours by name, owner and type; files in
 * quarantine for less than 30 days (they do not count); recipes of living processes. So these may
 * exceed a limit. */
#ifndef WARMPIPE_QUOTA_QUOTA_H
#define WARMPIPE_QUOTA_QUOTA_H

#include <stdint.h>

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

#endif
