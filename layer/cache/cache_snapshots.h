// SPDX-License-Identifier: Apache-2.0
/* Snapshots of the device cache, held in memory, for whoever is answered with its data. All share
 * the latest snapshot as long as it holds what they need. A count of changes tells that: a creation
 * that compiled something, or that ended while another was under way, counts as one; a user
 * remembers the count at the end of its last creation, a snapshot the count from before it was
 * taken. The size that the driver tells is compared too, for drivers whose feedback is wrong
 * (Turnip of Mesa 26 calls compiles hits). Thread-safe. No lock is held across a call down the
 * chain. */
#ifndef WARMPIPE_LAYER_CACHE_CACHE_SNAPSHOTS_H
#define WARMPIPE_LAYER_CACHE_CACHE_SNAPSHOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "layer/cache/driver_cache.h"

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
