// SPDX-License-Identifier: Apache-2.0
#include "allocator.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t allocations;
static _Atomic uint64_t frees;
static _Atomic uint64_t foreign_calls;
static _Thread_local bool own_thread;

/* Stands before each block: where it really starts, and its size, for reallocation. */
struct header {
    void *start;
    size_t size;
};

static void note_thread(void)
{
    if (!own_thread) {
        atomic_fetch_add(&foreign_calls, 1);
    }
}

static void *VKAPI_PTR counted_allocate(void *user, size_t size, size_t alignment,
                                        VkSystemAllocationScope scope)
{
    (void)user;
    (void)scope;
    note_thread();
    if (alignment < sizeof(struct header)) {
        alignment = sizeof(struct header);
    }
    size_t room = (size + 2 * alignment - 1) / alignment * alignment + alignment;
    char *start = aligned_alloc(alignment, room);
    if (!start) {
        return NULL;
    }
    atomic_fetch_add(&allocations, 1);
    char *block = start + alignment;
    memcpy(block - sizeof(struct header), &(struct header){start, size}, sizeof(struct header));
    return block;
}

static void VKAPI_PTR counted_free(void *user, void *block)
{
    (void)user;
    if (!block) {
        return;
    }
    note_thread();
    atomic_fetch_add(&frees, 1);
    struct header header;
    memcpy(&header, (char *)block - sizeof(header), sizeof(header));
    free(header.start);
}

static void *VKAPI_PTR counted_reallocate(void *user, void *old, size_t size, size_t alignment,
                                          VkSystemAllocationScope scope)
{
    if (size == 0) {
        counted_free(user, old);
        return NULL;
    }
    void *block = counted_allocate(user, size, alignment, scope);
    if (block && old) {
        struct header header;
        memcpy(&header, (char *)old - sizeof(header), sizeof(header));
        memcpy(block, old, header.size < size ? header.size : size);
        counted_free(user, old);
    }
    return block;
}

const VkAllocationCallbacks *allocator_callbacks(void)
{
    static const VkAllocationCallbacks callbacks = {.pfnAllocation = counted_allocate,
                                                    .pfnReallocation = counted_reallocate,
                                                    .pfnFree = counted_free};
    return &callbacks;
}

void allocator_adopt_thread(void)
{
    own_thread = true;
}

struct allocator_counts allocator_counts(void)
{
    return (struct allocator_counts){atomic_load(&allocations), atomic_load(&frees),
                                     atomic_load(&foreign_calls)};
}
