// SPDX-License-Identifier: Apache-2.0
/* The contents of a program's folder: how much belongs to which driver and device, and when that
 * was last used. Nothing is changed. Thread-safe.
 *
 * The last use is the latest modification of the cache file, of a part, or of the identity's folder
 * of loading markers. Every load changes that folder (docs/FORMAT.md), so a process that only loads
 * leaves a trace without a further system call. */
#ifndef WARMPIPE_QUOTA_USAGE_H
#define WARMPIPE_QUOTA_USAGE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/base/status.h"

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
    int64_t last_use;      /* of everything of ours; INT64_MIN: nothing is ours */
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

#endif
