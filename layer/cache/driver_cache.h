// SPDX-License-Identifier: Apache-2.0
/* The driver's pipeline cache objects, as the layer makes and reads them; one at a time if the
 * driver needs that. If the program has given the device or its instance an allocator, the driver
 * calls that allocator, which it may do only on the program's threads ("Memory Allocation", Host
 * Memory; hazard 9). Then none of our threads comes here (device_services.c withdraws the permit).
 */
#ifndef WARMPIPE_LAYER_CACHE_DRIVER_CACHE_H
#define WARMPIPE_LAYER_CACHE_DRIVER_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/blobs/crash_page.h"
#include "common/blobs/store.h"
#include "common/driver/identity.h"
#include "layer/chain/device.h"

struct driver_permit;

/* What is needed to call one device's cache functions. */
struct driver_caches {
    VkDevice device;
    const device_table *table;
    const VkAllocationCallbacks *allocator; /* for caches that are made; NULL: the device's */
    pthread_mutex_t *serialize; /* NULL: the driver allows concurrent users, as Vulkan requires */
    const struct driver_permit *permit;
    struct crash_guard *guard; /* of the blob whose data these caches hold; NULL: they hold none */
};

/* Bracket every use of a pipeline cache. They raise the guard with this key, unless the state is
 * CRASH_OUTSIDE (the cache holds nothing of the blob). They lock only if the policy marks the
 * driver `serialize`, and not if the driver may call the program back: then no lock may be held,
 * and no creation is given our cache. */
struct crash_call driver_cache_enter(const struct driver_caches *caches, uint64_t key,
                                     enum crash_state state);
void driver_cache_leave(const struct driver_caches *caches, const struct crash_call *call);

/* Call it before a timed call. If the disk stands still (fsfreeze), the first store into the crash
 * page waits here, and does not count as the driver's time. */
void driver_cache_ready_guard(const struct driver_caches *caches);

/* Makes a cache from `size` bytes (0: empty); VK_NULL_HANDLE on failure. */
VkPipelineCache driver_cache_create(const struct driver_caches *caches, const void *data,
                                    size_t size);

/* VK_NULL_HANDLE is a no-op. */
void driver_cache_destroy(const struct driver_caches *caches, VkPipelineCache cache);

/* vkMergePipelineCaches. What the source holds afterwards depends on the driver. The caller must be
 * the only user of `destination` (VUID-vkMergePipelineCaches-dstCache-10202: host access to it is
 * externally synchronized). */
bool driver_cache_merge(const struct driver_caches *caches, VkPipelineCache destination,
                        VkPipelineCache source);

/* Queries the size of the cache's data in bytes. False: the driver does not tell. */
bool driver_cache_query_size(const struct driver_caches *caches, VkPipelineCache cache,
                             size_t *ret_size);

/* Reads the cache's data, to be freed with large_free, and the size that the driver reports as
 * written; 0 if that is less than a header (Mesa 26's lavapipe reports 20 bytes). The cache may
 * grow meanwhile. False: the driver gives no data, returns VK_INCOMPLETE every time, or memory is
 * out. */
bool driver_cache_read(const struct driver_caches *caches, VkPipelineCache cache,
                       uint8_t **ret_data, size_t *ret_size);

/* From this size on, reading and checking takes some milliseconds, the driver takes longer, and
 * memory may lack. */
#define DRIVER_CACHE_LARGE_SIZE (8 << 20)

/* Whether there is memory for a copy of so many bytes: a program that is killed for lack of it
 * would be killed in each start. Opens some small files, except in a sandbox. */
bool driver_cache_may_copy(size_t size);

/* Reads the merged data of two caches, from copies, because other threads may be using them. If the
 * first is VK_NULL_HANDLE or holds no pipeline, it reads the second without a copy. */
bool driver_cache_read_both(const struct driver_caches *caches, VkPipelineCache first,
                            VkPipelineCache second, uint8_t **ret_data, size_t *ret_size);

/* Makes a cache of each blob and of our own data, merges all, and reads the result, to be freed
 * with large_free. Frees each blob and `own` (large_new) as soon as the driver has it, so that no
 * more than two copies of all are held at a time. False: the driver refuses, or memory is out; if
 * it refuses a blob, the data is `own` then. `may_lack`: goes on without a refused blob. */
bool driver_cache_merge_blobs(const struct driver_caches *caches, struct store_blob *blobs,
                              size_t blob_count, bool may_lack, uint8_t *own, size_t own_size,
                              uint8_t **ret_data, size_t *ret_size);

#endif
