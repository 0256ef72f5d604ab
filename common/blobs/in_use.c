// SPDX-License-Identifier: Apache-2.0
/* What this process has in use of cache files, and what it skips: lists without locks. */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/blobs/identity_files.h"

#define MAX_USED_FILES 64

/* Half a digest of each path; 0: free. */
static _Atomic uint64_t used_files[MAX_USED_FILES];

static uint64_t in_use_key(const char *path)
{
    uint64_t key = digest_of(path, strlen(path)).low;
    return key ? key : 1;
}

void in_use_add(const char *path)
{
    const uint64_t key = in_use_key(path);
    for (size_t i = 0; i < MAX_USED_FILES; i++) {
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&used_files[i], &found, key) || found == key) {
            return;
        }
    }
}

bool in_use_contains(const char *path)
{
    const uint64_t key = in_use_key(path);
    for (size_t i = 0; i < MAX_USED_FILES; i++) {
        if (atomic_load(&used_files[i]) == key) {
            return true;
        }
    }
    return false;
}

/* Generations that stores of this process skip; 0: free. Who finds no place skips alone. A forked
 * child skips nothing of its parent's. */
static _Atomic uint64_t skipped[16];
static _Atomic pid_t skipping_process;

bool identity_files_skips(uint64_t generation)
{
    for (size_t i = 0;
         atomic_load(&skipping_process) == getpid() && i < sizeof skipped / sizeof skipped[0];
         i++) {
        if (atomic_load(&skipped[i]) == generation) {
            return generation != 0;
        }
    }
    return false;
}

static void in_use_replace_skipped(uint64_t before, uint64_t after)
{
    if (atomic_exchange(&skipping_process, getpid()) != getpid()) {
        memset(skipped, 0, sizeof skipped);
    }
    for (size_t i = 0; before != after && i < sizeof skipped / sizeof skipped[0]; i++) {
        uint64_t expected = before;
        if (atomic_compare_exchange_strong(&skipped[i], &expected, after)) {
            return;
        }
    }
}

void identity_files_skip(uint64_t *skips, uint64_t generation)
{
    if (*skips != generation) {
        if (*skips != 0) {
            in_use_replace_skipped(*skips, 0);
        }
        if (generation != 0) {
            in_use_replace_skipped(0, generation);
        }
        *skips = generation;
    }
}
