// SPDX-License-Identifier: Apache-2.0
/* What this process has in use of cache files, and what it skips: lists without locks. */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/blobs/identity_files.h"

/* Half a digest of the path of each file that is in use, and generations that stores of this
 * process skip; 0: free. Who finds no place skips alone. A forked child skips nothing of its
 * parent's. */
static _Atomic uint64_t used_files[64];
static _Atomic uint64_t skipped[16];
static _Atomic pid_t skipping_process;

static void in_use_replace(_Atomic uint64_t *list, size_t count, uint64_t before, uint64_t after)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t expected = before;
        if (atomic_compare_exchange_strong(&list[i], &expected, after)) {
            return;
        }
    }
}

static bool in_use_has(const _Atomic uint64_t *list, size_t count, uint64_t value)
{
    bool has = false;
    for (size_t i = 0; i < count && !has; i++) {
        has = atomic_load(&list[i]) == value;
    }
    return has;
}

#define IN_USE_COUNT(list) (sizeof(list) / sizeof(list)[0])

static uint64_t in_use_key(const char *path)
{
    uint64_t key = digest_of(path, strlen(path)).low;
    return key ? key : 1;
}

void in_use_add(const char *path)
{
    if (!in_use_contains(path)) {
        in_use_replace(used_files, IN_USE_COUNT(used_files), 0, in_use_key(path));
    }
}

bool in_use_contains(const char *path)
{
    return in_use_has(used_files, IN_USE_COUNT(used_files), in_use_key(path));
}

bool identity_files_skips(uint64_t generation)
{
    return generation != 0 && atomic_load(&skipping_process) == getpid() &&
           in_use_has(skipped, IN_USE_COUNT(skipped), generation);
}

void identity_files_skip(uint64_t *skips, uint64_t generation)
{
    if (*skips == generation) {
        return;
    }
    if (atomic_exchange(&skipping_process, getpid()) != getpid()) {
        memset(skipped, 0, sizeof skipped);
    }
    if (*skips != 0) {
        in_use_replace(skipped, IN_USE_COUNT(skipped), *skips, 0);
    }
    if (generation != 0) {
        in_use_replace(skipped, IN_USE_COUNT(skipped), 0, generation);
    }
    *skips = generation;
}
