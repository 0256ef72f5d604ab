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
    if (a.high != b.high) {
        return a.high > b.high ? 1 : -1;
    }
    return (a.low > b.low) - (a.low < b.low);
}

/* 32 lower-case hex digits, the high half first (XXH128's canonical text). */
void digest_format(struct digest digest, char ret_hex[DIGEST_HEX_SIZE]);

/* Parses exactly 32 hex digits. False, and ret_digest untouched, for anything else. */
bool digest_parse(const char *hex, struct digest *ret_digest);

/* 16 bytes, low half first, each little-endian: the form inside files and canonical bytes. */
void digest_put(struct bytes *bytes, struct digest digest);
struct digest digest_get(struct bytes_reader *reader);

#endif
