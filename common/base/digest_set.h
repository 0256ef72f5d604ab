// SPDX-License-Identifier: Apache-2.0
/* A growing set of 64-bit values, by open addressing. A value is half of a content digest, which is
 * its own hash (a coincidence costs a wrong hint, never a wrong pipeline), or a pointer to
 * something with a digest, of which the owner tells the hash and whether it is the wanted one.
 *
 * Zero-initialize the struct, set `hash` where values are pointers, and do not move it. Not
 * thread-safe: it belongs to one owner, under the owner's lock. */
#ifndef WARMPIPE_BASE_DIGEST_SET_H
#define WARMPIPE_BASE_DIGEST_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_SET_FIRST 16

struct digest_set {
    uint64_t *slots; /* 0: free; NULL: nothing was added yet */
    size_t mask;     /* of slot numbers; their count is a power of two */
    size_t count;
    uint64_t (*hash)(uint64_t value); /* NULL: a value is its own hash */
    uint64_t first[DIGEST_SET_FIRST]; /* the slots, as long as they are enough */
};

/* Frees the slots, not what values point to. */
void digest_set_release(struct digest_set *set);

/* Whether this very value is in the set; 0 counts as 1, since it marks a free slot. */
bool digest_set_has(const struct digest_set *set, uint64_t value);

/* Adds a value, unless it is there. False: out of memory, nothing has changed. */
bool digest_set_add(struct digest_set *set, uint64_t value);

/* The value of this hash for which `matches` holds, or 0. */
uint64_t digest_set_find(const struct digest_set *set, uint64_t hash,
                         bool (*matches)(uint64_t value, const void *wanted), const void *wanted);

#endif
