// SPDX-License-Identifier: Apache-2.0
/* Explicit little-endian bytes: a growing writer and a bounded reader. Both are sticky: write or
 * read straight through and check once at the end. Everything on disk is written and read with
 * these; no struct is ever dumped. Neither is thread-safe; each belongs to one caller. */
#ifndef WARMPIPE_BASE_BYTES_H
#define WARMPIPE_BASE_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A number at any address. */
static inline uint32_t bytes_load_u32(const void *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return le32toh(value);
}

static inline uint64_t bytes_load_u64(const void *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

/* A growing buffer. Zero-initialize it; free with bytes_free. After a failed allocation `failed` is
 * true, the data is unchanged, and every further put is ignored. Memory of somebody else's has no
 * capacity, and a put fails. */
struct bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool failed;
};

/* Releases the memory and zeroes the struct. */
void bytes_free(struct bytes *bytes);

/* The data, of which no more can be put: a block of malloc's, or NULL where there are none or
 * memory is out. The struct is zeroed. */
uint8_t *bytes_take(struct bytes *bytes);

/* Makes room for `more` further bytes. False, with `failed` set: memory is out. */
bool bytes_reserve(struct bytes *bytes, size_t more);

void bytes_put(struct bytes *bytes, const void *data, size_t size);
void bytes_put_text(struct bytes *bytes, const char *text); /* without its zero */
void bytes_put_zeros(struct bytes *bytes, size_t size);
void bytes_put_u8(struct bytes *bytes, uint8_t value);
void bytes_put_u32(struct bytes *bytes, uint32_t value);
void bytes_put_u64(struct bytes *bytes, uint64_t value);

/* A window over memory that the caller owns. After a read past the end `overrun` is true and every
 * read returns zero (or NULL). */
struct bytes_reader {
    const uint8_t *next;
    const uint8_t *end;
    bool overrun;
};

struct bytes_reader bytes_reader_over(const void *data, size_t size);

/* The number of bytes not yet read. */
size_t bytes_left(const struct bytes_reader *reader);

/* The next `size` bytes in place (not copied), or NULL with overrun set. size 0 returns a pointer
 * that must not be read. */
const uint8_t *bytes_get(struct bytes_reader *reader, size_t size);
uint8_t bytes_get_u8(struct bytes_reader *reader);
uint32_t bytes_get_u32(struct bytes_reader *reader);
uint64_t bytes_get_u64(struct bytes_reader *reader);

/* Memory for what may be large and does not stay: whole files, the driver's data, buffers that
 * grow.
 *
 * From LARGE_BYTES on it is mapped, and given back to the system when it is freed. malloc would map
 * it too, but each mapped block that it frees raises the size up to which it maps no more, and with
 * that the memory that every heap of the process keeps: after one of 16 MiB, 32 MiB of each. What
 * is smaller comes from the heap: who allocates next, the driver that makes pipelines of a blob for
 * one, finds pages there that need not be faulted in anew (decision 0181).
 *
 * Thread-safe, as malloc is. */

#define LARGE_BYTES ((size_t)1 << 20)

/* At an address that is a multiple of 64. NULL: memory is out. */
void *large_new(size_t size);

/* NULL is a no-op. */
void large_free(void *memory);

#endif
