// SPDX-License-Identifier: Apache-2.0
/* Snapshots of the device cache, held in memory: for reading served caches back and merging from
 * them, and for seeding caches. All users share the latest snapshot while it holds what they need.
 * A count of changes tells that: it rises with each creation that compiled something, and with each
 * that ended while another was under way. A user remembers the count at the end of its last
 * creation; a snapshot has the count from before it was taken. If no change was counted since, the
 * size that the driver reports is compared, because some drivers' feedback is wrong (Turnip of Mesa
 * 26 calls compiles hits). If one was, and is none that the user needs, the answer stays the same:
 * so the program gets the same data until something is created in that cache's name ("Retrieving
 * Pipeline Cache Data").
 * Thread-safe. No lock is held across a call down the chain. */
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
    uint64_t changes; /* everything up to this change is in the snapshot */
    size_t told_size; /* that the driver reported before it was read */
    struct digest digest;
    size_t size;
    uint8_t *data;
};

/* Of one device. `driver` is borrowed. NULL: out of memory. */
struct cache_snapshots *cache_snapshots_new(const struct driver_caches *driver);
void cache_snapshots_delete(struct cache_snapshots *snapshots); /* NULL is a no-op */

/* Bracket each creation with the device cache. compiled: the creation may have changed it. */
void cache_snapshots_begin(struct cache_snapshots *snapshots);
void cache_snapshots_end(struct cache_snapshots *snapshots, bool compiled);

/* Returns the count of changes; every creation that has ended is in it. */
uint64_t cache_snapshots_changes(const struct cache_snapshots *snapshots);

/* Returns a snapshot of the device cache that holds everything up to `changes`; fresh: one that is
 * taken now. The caller drops it. NULL: the driver gives no data, or memory is out. */
struct cache_snapshot *cache_snapshots_get(struct cache_snapshots *snapshots,
                                           VkPipelineCache device_cache, uint64_t changes,
                                           bool fresh);

/* The same, merged with another cache's data; not shared. */
struct cache_snapshot *cache_snapshots_get_with(struct cache_snapshots *snapshots,
                                                VkPipelineCache device_cache,
                                                VkPipelineCache other);

struct cache_snapshot *cache_snapshot_reference(struct cache_snapshot *snapshot);
void cache_snapshot_drop(struct cache_snapshot *snapshot); /* NULL is a no-op */

/* Bytes of data that programs may be given from snapshots in one process, all devices together.
 * snapshot_answers_reserve: false, with nothing reserved, if less is left. An answer is given in
 * any case, and counted. */
#define SNAPSHOT_ANSWERS_MAX ((size_t)64 << 20)
bool snapshot_answers_reserve(size_t bytes);
void snapshot_answers_unreserve(size_t bytes);
void snapshot_answers_given(size_t bytes);

#endif
