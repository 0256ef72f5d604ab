// SPDX-License-Identifier: Apache-2.0
/* The driver's pipeline cache objects, as warmpipe itself makes and reads them: never with memory
 * of the program's allocator, and one at a time where the driver needs that; and snapshots of their
 * data. */
#ifndef WARMPIPE_LAYER_CACHE_DRIVER_CACHE_H
#define WARMPIPE_LAYER_CACHE_DRIVER_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/blobs/crash_page.h"
#include "common/blobs/store.h"
#include "layer/chain/next.h"

/* VkPipelineCacheHeaderVersionOne: data of this size holds no pipeline. */
#define DRIVER_CACHE_HEADER_SIZE 32

struct driver_permit;

/* Memory for our own driver objects on a device whose program has given it, or its instance, an
 * allocator. Objects created without one would use the program's, which may be called on the
 * program's threads alone ("Memory Allocation", Host Memory; hazard 9). */
extern const VkAllocationCallbacks driver_cache_allocator;

/* One device's way to its caches. */
struct driver_caches {
    VkDevice device;
    const device_table *table;
    const VkAllocationCallbacks *allocator; /* ours; NULL: the driver's own memory */
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

/* The cache's data, for large_free, with the size that the driver reports as written. The cache may
 * grow meanwhile. False: the driver gives none, returns VK_INCOMPLETE every time, or memory is out.
 */
bool driver_cache_read(const struct driver_caches *caches, VkPipelineCache cache,
                       uint8_t **ret_data, size_t *ret_size);

/* The data of two caches together, merged from copies: other threads may be using them. Where the
 * first is VK_NULL_HANDLE or holds no pipeline, those of the second, without a copy of it. */
bool driver_cache_read_both(const struct driver_caches *caches, VkPipelineCache first,
                            VkPipelineCache second, uint8_t **ret_data, size_t *ret_size);

/* Blobs and data of our own, each made a cache and all merged into one: its data, for large_free.
 * Frees each blob and `own` (large_new) as soon as the driver has it, so that no more than two
 * copies of all are held at a time. False: the driver refuses, or memory is out. */
bool driver_cache_merge_blobs(const struct driver_caches *caches, struct store_blob *blobs,
                              size_t blob_count, uint8_t *own, size_t own_size, uint8_t **ret_data,
                              size_t *ret_size);

/* Snapshots of the device cache, held in memory, for whoever is answered with its data. All share
 * the latest snapshot as long as it holds what they need. A count of changes tells that: a creation
 * that compiled something, or that ended while another was under way, counts as one; a user
 * remembers the count at the end of its last creation, a snapshot the count from before it was
 * taken. The size that the driver tells is compared too, for drivers whose feedback is wrong
 * (Turnip of Mesa 26 calls compiles hits). Thread-safe. No lock is held across a call down the
 * chain. */
struct cache_snapshots;

/* Reference-counted, and never changed. */
struct cache_snapshot {
    uint64_t changes; /* everything up to this change is in it */
    size_t told_size; /* by the driver, before it was read */
    struct digest digest;
    size_t size;
    uint8_t *data;
};

/* Of one device. `driver` is borrowed. NULL: out of memory. */
struct cache_snapshots *cache_snapshots_new(const struct driver_caches *driver);
void cache_snapshots_delete(struct cache_snapshots *snapshots); /* NULL is a no-op */

/* Bracket each creation with the device cache. compiled: it may have changed that. */
void cache_snapshots_begin(struct cache_snapshots *snapshots);
void cache_snapshots_end(struct cache_snapshots *snapshots, bool compiled);

/* The count of changes; what has ended before is in it. */
uint64_t cache_snapshots_changes(const struct cache_snapshots *snapshots);

/* A snapshot of the device cache that holds everything up to `changes`; fresh: taken now. The
 * caller drops it. NULL: the driver gives no data, or memory is out. */
struct cache_snapshot *cache_snapshots_get(struct cache_snapshots *snapshots,
                                           VkPipelineCache device_cache, uint64_t changes,
                                           bool fresh);

/* The same together with what another cache of the driver's holds; not shared. */
struct cache_snapshot *cache_snapshots_get_with(struct cache_snapshots *snapshots,
                                                VkPipelineCache device_cache,
                                                VkPipelineCache other);

struct cache_snapshot *cache_snapshot_reference(struct cache_snapshot *snapshot);
void cache_snapshot_drop(struct cache_snapshot *snapshot); /* NULL is a no-op */

/* Bytes of data that a program may be given from snapshots in one process, all devices together.
 * snapshot_answers_reserve: false, with nothing reserved, where so much is not left. Answers are
 * given in any case, and counted. */
#define SNAPSHOT_ANSWERS_MAX ((size_t)64 << 20)
bool snapshot_answers_reserve(size_t bytes);
void snapshot_answers_unreserve(size_t bytes);
void snapshot_answers_given(size_t bytes);

#endif
