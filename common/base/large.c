// SPDX-License-Identifier: Apache-2.0
#include "common/base/large.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

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

void *large_new(size_t size)
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

void large_free(void *memory)
{
    struct large_head *head = memory ? (struct large_head *)memory - 1 : NULL;
    if (head && head->size >= LARGE_MAPPED_FROM) {
        munmap(head, head->size);
    } else {
        free(head);
    }
}
