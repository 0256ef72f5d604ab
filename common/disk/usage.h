/* What a program's folder holds: how much of it belongs to which driver and device, and when that
 * was last used. Nothing is changed. Thread-safe.
 *
 * Last use is the latest modification of the blob's file, of a part, or of the identity's folder of
 * loading markers, which changes with every load (docs/FORMAT.md): a process that only loads leaves
 * that trace without a system call of its own. */
#ifndef WARMPIPE_DISK_USAGE_H
#define WARMPIPE_DISK_USAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "codec/digest.h"

struct stat;

struct usage_identity {
    char identity[DIGEST_HEX_SIZE];
    uint64_t bytes;   /* the blob's file and its parts; 0: only what is left beside them */
    int64_t last_use; /* nanoseconds since the epoch; INT64_MIN: never, there is but a lock */
};

struct usage {
    struct usage_identity *identities;
    size_t count;
    uint64_t other_bytes;  /* program.json, recipes, temporary files */
    uint64_t recipe_bytes; /* the recipes among them */
    int64_t last_use;      /* of all that is ours in it; INT64_MIN: nothing is */
};

/* Looks at `*entries` directory entries at most, which are counted down; what is beyond them is
 * left out. Symbolic links and what is not ours by its name are passed over, and so is a
 * program.json, a name that others use as well, which alone would make the folder ours and is not
 * (program_is_ours). *ret_usage is freed
 * with usage_free. io_error, out_of_memory. */
enum reason usage_read(int directory_fd, size_t *entries, struct usage *ret_usage);

void usage_free(struct usage *usage);

/* When a file was modified, in nanoseconds since the epoch. */
int64_t usage_modified(const struct stat *status);

/* All bytes in it. */
uint64_t usage_bytes(const struct usage *usage);

#endif
