// SPDX-License-Identifier: Apache-2.0
#include "common/base/bytes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Buffers of LARGE_BYTES and more are of large_new, others of malloc. */
static bool bytes_are_large(const struct bytes *bytes)
{
    return bytes->capacity >= LARGE_BYTES;
}

void bytes_free(struct bytes *bytes)
{
    if (bytes_are_large(bytes)) {
        large_free(bytes->data);
    } else {
        free(bytes->data);
    }
    *bytes = (struct bytes){0};
}

uint8_t *bytes_take(struct bytes *bytes)
{
    uint8_t *data = bytes->data;
    if (bytes_are_large(bytes)) {
        data = malloc(bytes->size + 1);
        if (data) {
            memcpy(data, bytes->data, bytes->size);
        }
        large_free(bytes->data);
    }
    *bytes = (struct bytes){0};
    return data;
}

/* NULL: memory is out, and nothing changed. */
static uint8_t *bytes_grow(const struct bytes *bytes, size_t capacity)
{
    if (capacity < LARGE_BYTES) {
        return realloc(bytes->data, capacity);
    }
    struct bytes old = *bytes;
    uint8_t *data = large_new(capacity);
    if (data && old.data) {
        memcpy(data, old.data, old.size);
        bytes_free(&old);
    }
    return data;
}

bool bytes_reserve(struct bytes *bytes, size_t more)
{
    /* Without a capacity of its own it is somebody else's memory, which does not grow. */
    bytes->failed |= bytes->capacity < bytes->size || more > SIZE_MAX - bytes->size;
    if (bytes->failed) {
        return false;
    }
    if (more <= bytes->capacity - bytes->size) {
        return true;
    }
    size_t capacity = bytes->size + more;
    if (bytes->capacity <= SIZE_MAX / 2 && capacity < bytes->capacity * 2) {
        capacity = bytes->capacity * 2;
    }
    if (capacity < 64) {
        capacity = 64;
    }
    uint8_t *data = bytes_grow(bytes, capacity);
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

void bytes_put_text(struct bytes *bytes, const char *text)
{
    bytes_put(bytes, text, strlen(text));
}

void bytes_put_zeros(struct bytes *bytes, size_t size)
{
    if (size == 0 || !bytes_reserve(bytes, size)) {
        return;
    }
    memset(bytes->data + bytes->size, 0, size);
    bytes->size += size;
}

void bytes_put_u8(struct bytes *bytes, uint8_t value)
{
    bytes_put(bytes, &value, sizeof value);
}

void bytes_put_u32(struct bytes *bytes, uint32_t value)
{
    value = htole32(value);
    bytes_put(bytes, &value, sizeof value);
}

void bytes_put_u64(struct bytes *bytes, uint64_t value)
{
    value = htole64(value);
    bytes_put(bytes, &value, sizeof value);
}

struct bytes_reader bytes_reader_over(const void *data, size_t size)
{
    static const uint8_t nothing[1];
    /* NULL from bytes_get means an overrun, so an empty window needs an address too. */
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
    const uint8_t *at = bytes_get(reader, sizeof(uint8_t));
    return at ? *at : 0;
}

uint32_t bytes_get_u32(struct bytes_reader *reader)
{
    const uint8_t *at = bytes_get(reader, sizeof(uint32_t));
    return at ? bytes_load_u32(at) : 0;
}

uint64_t bytes_get_u64(struct bytes_reader *reader)
{
    const uint8_t *at = bytes_get(reader, sizeof(uint64_t));
    return at ? bytes_load_u64(at) : 0;
}

/* Before each block. */
struct large_head {
    _Alignas(64) size_t size; /* of the block, with this */
};

/* A sanitizer sees what is read beyond the end of malloc's blocks alone. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LARGE_MAPPED_FROM SIZE_MAX
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define LARGE_MAPPED_FROM SIZE_MAX
#endif
#ifndef LARGE_MAPPED_FROM
#define LARGE_MAPPED_FROM LARGE_BYTES
#endif

/* A block with its head. */
static size_t large_whole(size_t size)
{
    return size <= SIZE_MAX / 2 ? size + sizeof(struct large_head) : SIZE_MAX;
}

__attribute__((cold)) void *large_new(size_t size)
{
    const size_t whole = large_whole(size);
    const size_t unit = sizeof(struct large_head);
    struct large_head *head;
    if (whole == SIZE_MAX) {
        return NULL;
    }
    if (whole >= LARGE_MAPPED_FROM) {
        head = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        head = head == MAP_FAILED ? NULL : head;
    } else {
        head = aligned_alloc(unit, (whole + unit - 1) / unit * unit);
    }
    if (!head) {
        return NULL;
    }
    head->size = whole;
    return head + 1;
}

__attribute__((cold)) void large_free(void *memory)
{
    struct large_head *head = memory ? (struct large_head *)memory - 1 : NULL;
    if (head && head->size >= LARGE_MAPPED_FROM) {
        munmap(head, head->size);
    } else {
        free(head);
    }
}
