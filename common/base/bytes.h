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
#include <stdlib.h>
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
 * true, the data is unchanged, and every further put is ignored. If `data` is borrowed memory, the
 * capacity is 0 and a put fails. */
struct bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool failed;
};

/* Releases the memory and zeroes the struct. */
void bytes_free(struct bytes *bytes);

/* Takes the data out of the struct, which is zeroed: a malloc'ed block, or NULL if there is none or
 * memory is out. */
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

/* Memory for large, short-lived data: whole files, the driver's data, growing buffers.
 *
 * From LARGE_BYTES on the memory is mapped, and returned to the system when it is freed. malloc
 * would map it too, but with each mapped block that it frees it raises its threshold for mapping,
 * and with that the memory that every heap of the process keeps: after a block of 16 MiB, 32 MiB of
 * each heap. Smaller memory comes from the heap, so that the next allocation (a driver's, that
 * makes pipelines from a blob) finds pages that need no new page fault (decision 0170).
 *
 * Thread-safe, as malloc is. */

#define LARGE_BYTES ((size_t)1 << 20)

/* The address is a multiple of 64. NULL: memory is out. */
void *large_new(size_t size);

/* NULL is a no-op. */
void large_free(void *memory);

/* malloc'ed arrays that grow one by one, and functions for complete arrays. `size` is the size of
 * an item in bytes. */

/* Makes room for one more item. `items` is the address of the pointer, which is NULL at first. An
 * array has room for the next power of two, so no capacity is stored. False: memory is out, and
 * nothing has changed. */
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

/* Less than, equal to or greater than 0. */
static inline int array_order_of(uint64_t left, uint64_t right)
{
    return (left > right) - (left < right);
}

/* The same for qsort and bsearch: of numbers of 32 bits, or of structs that begin with one. */
static inline int array_order_u32(const void *left, const void *right)
{
    return array_order_of(*(const uint32_t *)left, *(const uint32_t *)right);
}

/* As qsort; without items NULL may be given. */
static inline void array_sort(void *items, size_t count, size_t size,
                              int (*compare)(const void *left, const void *right))
{
    if (count > 0) {
        qsort(items, count, size, compare);
    }
}

/* Removes all but the first of equal neighbours. Returns how many items are left. */
static inline size_t array_unique(void *items, size_t count, size_t size,
                                  int (*compare)(const void *left, const void *right))
{
    char *item = (char *)items;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || compare(item + (kept - 1) * size, item + i * size) != 0) {
            memmove(item + kept++ * size, item + i * size, size);
        }
    }
    return kept;
}

#endif
