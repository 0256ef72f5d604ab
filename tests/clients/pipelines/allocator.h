// SPDX-License-Identifier: Apache-2.0
/* Allocation callbacks that keep account of what passes through them. */
#ifndef PIPELINES_ALLOCATOR_H
#define PIPELINES_ALLOCATOR_H

#include <stdint.h>

#include <vulkan/vulkan.h>

struct allocator_counts {
    uint64_t allocations;
    uint64_t frees;
    uint64_t foreign_calls; /* from a thread that is not one of the program's own */
};

/* The callbacks, static storage, usable from any thread. */
const VkAllocationCallbacks *allocator_callbacks(void);

/* Says that the calling thread is one of the program's. */
void allocator_adopt_thread(void);

struct allocator_counts allocator_counts(void);

#endif
