// SPDX-License-Identifier: Apache-2.0
/* The driver's pipeline cache objects, as warmpipe itself makes and reads them: one at a time where
 * the driver needs that. Where the program has given the device, or its instance, an allocator, the
 * driver calls that, which may be called on the program's threads alone ("Memory Allocation", Host
 * Memory; hazard 9): then none of ours comes here (device_services.c withdraws the permit). */
#ifndef WARMPIPE_LAYER_CACHE_DRIVER_CACHE_H
#define WARMPIPE_LAYER_CACHE_DRIVER_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/blobs/crash_page.h"
#include "common/blobs/store.h"
#include "layer/chain/device.h"

/* VkPipelineCacheHeaderVersionOne: data of this size holds no pipeline. */
#define DRIVER_CACHE_HEADER_SIZE 32

struct driver_permit;

/* One device's way to its caches. */
struct driver_caches {
    VkDevice device;
    const device_table *table;
    const VkAllocationCallbacks *allocator; /* of the caches that are made; NULL: the device's */
    pthread_mutex_t *serialize; /* NULL: the driver allows several users, as Vulkan requires */
    const struct driver_permit *permit;
    struct crash_guard *guard; /* of the blob whose bytes these caches hold; NULL: of none */
};

/* Every use of a pipeline cache stands between these two. They raise the guard, with this key,
 * unless the state is CRASH_OUTSIDE: the cache holds nothing of the blob. They lock only where the
 * policy marks the driver `serialize`, and not where the driver may call the program back: no lock
 * must be held then, and no creation is given our cache. */
struct crash_call driver_cache_enter(const struct driver_caches *caches, uint64_t key,
                                     enum crash_state state);
void driver_cache_leave(const struct driver_caches *caches, const struct crash_call *call);

/* Before what is timed: should the disk stand still (fsfreeze), a first store into the crash page
 * waits here, and is not taken for the driver's time. */
void driver_cache_ready_guard(const struct driver_caches *caches);

/* A new cache from `size` bytes (0: empty), or VK_NULL_HANDLE. */
VkPipelineCache driver_cache_create(const struct driver_caches *caches, const void *data,
                                    size_t size);

/* VK_NULL_HANDLE is a no-op. */
void driver_cache_destroy(const struct driver_caches *caches, VkPipelineCache cache);

/* vkMergePipelineCaches. What the source holds afterwards depends on the driver. The caller must be
 * the only user of `destination` (VUID-vkMergePipelineCaches-dstCache-10202: host access to it is
 * externally synchronized). */
bool driver_cache_merge(const struct driver_caches *caches, VkPipelineCache destination,
                        VkPipelineCache source);

/* The size of the cache's data in bytes. False: the driver does not tell. */
bool driver_cache_query_size(const struct driver_caches *caches, VkPipelineCache cache,
                             size_t *ret_size);

/* The cache's data, for large_free, with the size that the driver reports as written; 0 where that
 * is less than a header (Mesa 26's lavapipe reports 20 bytes). The cache may grow meanwhile. False:
 * the driver gives none, returns VK_INCOMPLETE every time, or memory is out. */
bool driver_cache_read(const struct driver_caches *caches, VkPipelineCache cache,
                       uint8_t **ret_data, size_t *ret_size);

/* Reading and checking this much takes some milliseconds, the driver takes longer, and memory may
 * lack for it. */
#define DRIVER_CACHE_LARGE_SIZE (8 << 20)

/* Whether there is memory for a copy of so many bytes: a program that is killed for want of it
 * would be so in each start. Opens some small files, unless in a sandbox. */
bool driver_cache_may_copy(size_t size);

/* The data of two caches together, merged from copies: other threads may be using them. Where the
 * first is VK_NULL_HANDLE or holds no pipeline, those of the second, without a copy of it. */
bool driver_cache_read_both(const struct driver_caches *caches, VkPipelineCache first,
                            VkPipelineCache second, uint8_t **ret_data, size_t *ret_size);

/* Blobs and data of our own, each made a cache and all merged into one: its data, for large_free.
 * Frees each blob and `own` (large_new) as soon as the driver has it, so that no more than two
 * copies of all are held at a time. False: the driver refuses, or memory is out; if it refuses a
 * blob, the data is `own` then. `may_lack`: goes on without such a blob. */
bool driver_cache_merge_blobs(const struct driver_caches *caches, struct store_blob *blobs,
                              size_t blob_count, bool may_lack, uint8_t *own, size_t own_size,
                              uint8_t **ret_data, size_t *ret_size);

#endif
