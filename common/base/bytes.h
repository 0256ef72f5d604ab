/* Explicit little-endian bytes: a growing writer and a bounded reader, both sticky: write or read
 * straight through, check once at the end. No struct is ever dumped to disk; these are the only
 * way in and out.
 *
 * Neither is thread-safe; each belongs to one caller. */
#ifndef WARMPIPE_BASE_BYTES_H
#define WARMPIPE_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing buffer. Zero-initialize it; free with bytes_free. After an allocation failure `failed`
 * is true, data is kept as it was, and every further put is ignored. */
struct bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool failed;
};

/* Releases the memory and zeroes the struct. */
void bytes_free(struct bytes *bytes);

/* Makes room for `more` further bytes. False, and failed set, when memory is out. */
bool bytes_reserve(struct bytes *bytes, size_t more);

void bytes_put(struct bytes *bytes, const void *data, size_t size);
void bytes_put_zeros(struct bytes *bytes, size_t size);
void bytes_put_u8(struct bytes *bytes, uint8_t value);
void bytes_put_u32(struct bytes *bytes, uint32_t value);
void bytes_put_u64(struct bytes *bytes, uint64_t value);

/* Overwrites 4 or 8 bytes at `offset`, which must lie inside what was already put. */
void bytes_set_u32(struct bytes *bytes, size_t offset, uint32_t value);
void bytes_set_u64(struct bytes *bytes, size_t offset, uint64_t value);

/* A window over memory that somebody else owns. After a read past the end `overrun` is true and
 * every read gives zero (or NULL). */
struct bytes_reader {
    const uint8_t *next;
    const uint8_t *end;
    bool overrun;
};

struct bytes_reader bytes_reader_over(const void *data, size_t size);

/* Bytes not yet read. */
size_t bytes_left(const struct bytes_reader *reader);

/* The next `size` bytes in place (not copied), or NULL with overrun set. size 0 gives a pointer
 * that must not be read. */
const uint8_t *bytes_get(struct bytes_reader *reader, size_t size);
uint8_t bytes_get_u8(struct bytes_reader *reader);
uint32_t bytes_get_u32(struct bytes_reader *reader);
uint64_t bytes_get_u64(struct bytes_reader *reader);

#endif
