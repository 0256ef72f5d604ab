#include "bytes.h"

#include <stdlib.h>
#include <string.h>

void bytes_free(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){0};
}

bool bytes_reserve(struct bytes *bytes, size_t more)
{
    if (bytes->failed) {
        return false;
    }
    if (more <= bytes->capacity - bytes->size) {
        return true;
    }
    if (more > SIZE_MAX - bytes->size) {
        bytes->failed = true;
        return false;
    }
    size_t capacity = bytes->size + more;
    if (bytes->capacity <= SIZE_MAX / 2 && capacity < bytes->capacity * 2) {
        capacity = bytes->capacity * 2;
    }
    if (capacity < 64) {
        capacity = 64;
    }
    uint8_t *data = realloc(bytes->data, capacity);
    if (!data) {
        bytes->failed = true;
        return false;
    }
    bytes->data = data;
    bytes->capacity = capacity;
    return true;
}

void bytes_put(struct bytes *bytes, const void *data, size_t size)
{
    if (size == 0 || !bytes_reserve(bytes, size)) {
        return;
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void bytes_put_zeros(struct bytes *bytes, size_t size)
{
    if (size == 0 || !bytes_reserve(bytes, size)) {
        return;
    }
    memset(bytes->data + bytes->size, 0, size);
    bytes->size += size;
}

static void store_u32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

static void store_u64(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 8; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

void bytes_put_u8(struct bytes *bytes, uint8_t value)
{
    bytes_put(bytes, &value, sizeof value);
}

void bytes_put_u32(struct bytes *bytes, uint32_t value)
{
    uint8_t little[4];
    store_u32(little, value);
    bytes_put(bytes, little, sizeof little);
}

void bytes_put_u64(struct bytes *bytes, uint64_t value)
{
    uint8_t little[8];
    store_u64(little, value);
    bytes_put(bytes, little, sizeof little);
}

/* Not an assertion: after a failed put the place may never have come into being. */
static bool holds(const struct bytes *bytes, size_t offset, size_t size)
{
    return offset <= bytes->size && size <= bytes->size - offset;
}

void bytes_set_u32(struct bytes *bytes, size_t offset, uint32_t value)
{
    if (holds(bytes, offset, 4)) {
        store_u32(bytes->data + offset, value);
    }
}

void bytes_set_u64(struct bytes *bytes, size_t offset, uint64_t value)
{
    if (holds(bytes, offset, 8)) {
        store_u64(bytes->data + offset, value);
    }
}

struct bytes_reader bytes_reader_over(const void *data, size_t size)
{
    static const uint8_t nothing[1];
    /* NULL from bytes_get means an overrun, so an empty window leads somewhere too. */
    const uint8_t *start = size ? data : nothing;
    return (struct bytes_reader){.next = start, .end = start + size};
}

size_t bytes_left(const struct bytes_reader *reader)
{
    return (size_t)(reader->end - reader->next);
}

const uint8_t *bytes_get(struct bytes_reader *reader, size_t size)
{
    if (reader->overrun || size > bytes_left(reader)) {
        reader->overrun = true;
        reader->next = reader->end;
        return NULL;
    }
    const uint8_t *at = reader->next;
    reader->next += size;
    return at;
}

uint8_t bytes_get_u8(struct bytes_reader *reader)
{
    const uint8_t *at = bytes_get(reader, 1);
    return at ? at[0] : 0;
}

uint32_t bytes_get_u32(struct bytes_reader *reader)
{
    const uint8_t *at = bytes_get(reader, 4);
    uint32_t value = 0;
    for (int i = 0; at && i < 4; i++) {
        value |= (uint32_t)at[i] << (8 * i);
    }
    return value;
}

uint64_t bytes_get_u64(struct bytes_reader *reader)
{
    const uint8_t *at = bytes_get(reader, 8);
    uint64_t value = 0;
    for (int i = 0; at && i < 8; i++) {
        value |= (uint64_t)at[i] << (8 * i);
    }
    return value;
}
