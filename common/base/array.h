// SPDX-License-Identifier: Apache-2.0
/* Arrays of malloc's that grow one by one, and what is done with them once they are whole. `size`
 * is that of an item, in bytes. */
#ifndef WARMPIPE_BASE_ARRAY_H
#define WARMPIPE_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one item more; `items` is the address of the pointer, NULL at first. An array has
 * room for the next power of two, so that no capacity is kept. False: memory is out, and nothing
 * has changed. */
static inline bool array_reserve(void *items, size_t count, size_t size)
{
    void *memory;
    if (count & (count - 1)) { /* neither 0 nor a power of two: there is room */
        return true;
    }
    memcpy(&memory, items, sizeof memory);
    memory = reallocarray(memory, count ? 2 * count : 1, size);
    if (memory) {
        memcpy(items, &memory, sizeof memory);
    }
    return memory;
}

/* As qsort, and without items NULL may be given. */
static inline void array_sort(void *items, size_t count, size_t size,
                              int (*compare)(const void *left, const void *right))
{
    if (count > 0) {
        qsort(items, count, size, compare);
    }
}

/* Of equal neighbours the first one stays. Returns how many items are left. */
static inline size_t array_unique(void *items, size_t count, size_t size,
                                  int (*compare)(const void *left, const void *right))
{
    char *item = items;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || compare(item + (kept - 1) * size, item + i * size) != 0) {
            memmove(item + kept++ * size, item + i * size, size);
        }
    }
    return kept;
}

#endif
