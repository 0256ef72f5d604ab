/* Keeping to the limits: what was not used for longest goes first, identity by identity (one driver
 * and device of one program), then whole folders of programs. Recipes outlive every driver, so they
 * go last: of the program's own folder those that are worth least, and never below an eighth of
 * what the folder may hold; of another program's all, with the rest of the folder.
 * docs/SETTINGS.md tells users of it.
 *
 * To be called after something was saved or recorded, off the program's threads: it reads
 * directories, at most 4,096 entries of the program's own folder, and at most 65,536 of all, and
 * writes recipes anew where some have to go. All folders together are looked at once a day, and
 * whenever what was saved since may have gone beyond the limit.
 *
 * Never removed: what this process has loaded or saved (in_use.h); an identity whose lock is held;
 * what was used in the meantime; what is not ours by name, owner and type; files in quarantine that
 * are younger than 30 days, which count for nothing; recipes of a process that lives. So a limit
 * may be exceeded by what may not be removed. */
#ifndef WARMPIPE_DISK_LIMITS_H
#define WARMPIPE_DISK_LIMITS_H

#include <stdint.h>

struct limits {
    const char *root;   /* absolute path of the caches' root */
    const char *app;    /* this program's folder in it */
    uint64_t max_size;  /* bytes, of this program's folder */
    uint64_t max_total; /* bytes, of all folders in the root that this user owns */
};

/* What was removed. */
struct limits_outcome {
    uint64_t identities;
    uint64_t bytes;
};

/* Removes what goes beyond the limits. `written`: the bytes that this process has saved
 * or recorded since it last called. Nothing here logs and no failure is told: what could not be
 * removed is tried again by the next process. Thread-safe; any number of processes may do it at
 * once. */
void limits_enforce(const struct limits *limits, uint64_t written,
                    struct limits_outcome *ret_outcome);

#endif
