// SPDX-License-Identifier: Apache-2.0
/* The 128-bit content digest, XXH3-128 (seed 0), that names objects here and on disk. */
#ifndef WARMPIPE_BASE_DIGEST_H
#define WARMPIPE_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"

struct digest {
    uint64_t low;
    uint64_t high;
};

/* Hex digits of a digest and the terminating zero. */
#define DIGEST_HEX_SIZE 33

/* Over `size` bytes at `data` (may be NULL if size is 0). Thread-safe, allocates nothing. */
struct digest digest_of(const void *data, size_t size);

static inline bool digest_equal(struct digest a, struct digest b)
{
    return a.low == b.low && a.high == b.high;
}

/* Less than, equal to or greater than 0: the high half decides first, as in the text. */
static inline int digest_compare(struct digest a, struct digest b)
{
    return a.high != b.high ? array_order_of(a.high, b.high) : array_order_of(a.low, b.low);
}

/* The same for qsort and bsearch: of digests, or of structs that begin with one. */
int digest_order(const void *left, const void *right);

/* Sorts the digests and removes duplicates. Returns how many are left. */
size_t digest_sort(struct digest *digests, size_t count);

/* 32 lower-case hex digits, the high half first (XXH128's canonical text). */
void digest_format(struct digest digest, char ret_hex[DIGEST_HEX_SIZE]);

/* Parses exactly 32 hex digits. False, and ret_digest untouched, for anything else. */
bool digest_parse(const char *hex, struct digest *ret_digest);

/* 16 bytes, low half first, each little-endian: the form inside files and canonical bytes. */
void digest_put(struct bytes *bytes, struct digest digest);
struct digest digest_get(struct bytes_reader *reader);

/* A growing set of 64-bit values, by open addressing. A value is half of a content digest (a
 * collision costs a wrong hint, never a wrong pipeline). In a set with of_pointers a value is a
 * pointer to a struct that begins with a digest. Digests may be chosen to meet in one slot, so a
 * slot's number depends on where the slots lie, too, which nobody knows in advance.
 *
 * Zero-initialize the struct, set of_pointers if needed, and do not move it. Not thread-safe: it
 * belongs to one owner, under the owner's lock. */
#define DIGEST_SET_FIRST 16

struct digest_set {
    uint64_t *slots; /* 0: free; NULL: nothing was added yet */
    size_t mask;     /* of slot numbers; their count is a power of two */
    uint64_t factor; /* of a value: what spreads them */
    size_t count;
    bool of_pointers;
    uint64_t first[DIGEST_SET_FIRST]; /* the slots while they suffice */
};

/* Frees the slots, not what values point to. */
void digest_set_release(struct digest_set *set);

/* Whether this very value is in the set; 0 counts as 1, since it marks a free slot. */
bool digest_set_has(const struct digest_set *set, uint64_t value);

/* Adds a value, unless it is there. False: out of memory, nothing has changed. */
bool digest_set_add(struct digest_set *set, uint64_t value);

/* The struct with this digest, in a set of pointers; NULL: there is none. */
void *digest_set_find(const struct digest_set *set, struct digest digest);

/* The next pointer in a set; *at counts from 0. NULL: there are no more. */
void *digest_set_next(const struct digest_set *set, size_t *at);

#endif
