#include "in_use.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "codec/digest.h"

#define MAX_FILES 64

/* By half a digest of the path; 0: free. */
static uint64_t files[MAX_FILES];

static uint64_t key_of(const char *path)
{
    uint64_t key = digest_of(path, strlen(path)).low;
    return key ? key : 1;
}

void in_use_add(const char *path)
{
    const uint64_t key = key_of(path);
    for (size_t i = 0; i < MAX_FILES; i++) {
        uint64_t found = 0;
        if (__atomic_compare_exchange_n(&files[i], &found, key, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED) ||
            found == key) {
            return;
        }
    }
}

bool in_use_contains(const char *path)
{
    const uint64_t key = key_of(path);
    for (size_t i = 0; i < MAX_FILES; i++) {
        if (__atomic_load_n(&files[i], __ATOMIC_RELAXED) == key) {
            return true;
        }
    }
    return false;
}
