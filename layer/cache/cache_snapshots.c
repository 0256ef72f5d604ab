// SPDX-License-Identifier: Apache-2.0
#include "layer/cache/cache_snapshots.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/bytes.h"

static _Atomic size_t snapshot_answer_bytes; /* given and reserved, in this process */

struct cache_snapshots {
    const struct driver_caches *driver;
    atomic_uint under_way; /* creations with the device cache */
    _Atomic uint64_t changes;
    pthread_mutex_t lock;          /* over `latest` */
    struct cache_snapshot *latest; /* NULL: none yet */
};

struct counted_snapshot {
    struct cache_snapshot snapshot;
    atomic_uint references;
};

struct cache_snapshots *cache_snapshots_new(const struct driver_caches *driver)
{
    struct cache_snapshots *snapshots = calloc(1, sizeof *snapshots);
    if (snapshots) {
        snapshots->driver = driver;
        pthread_mutex_init(&snapshots->lock, NULL);
    }
    return snapshots;
}

void cache_snapshots_delete(struct cache_snapshots *snapshots)
{
    if (snapshots) {
        cache_snapshot_drop(snapshots->latest);
        pthread_mutex_destroy(&snapshots->lock);
        free(snapshots);
    }
}

void cache_snapshots_begin(struct cache_snapshots *snapshots)
{
    atomic_fetch_add(&snapshots->under_way, 1);
}

void cache_snapshots_end(struct cache_snapshots *snapshots, bool compiled)
{
    /* A hit may be in what another creation, still under way, has just compiled. */
    const bool others = atomic_fetch_sub(&snapshots->under_way, 1) > 1;
    if (compiled || others) {
        atomic_fetch_add(&snapshots->changes, 1);
    }
}

uint64_t cache_snapshots_changes(const struct cache_snapshots *snapshots)
{
    return atomic_load(&snapshots->changes);
}

struct cache_snapshot *cache_snapshot_reference(struct cache_snapshot *snapshot)
{
    if (snapshot) {
        atomic_fetch_add(&((struct counted_snapshot *)snapshot)->references, 1);
    }
    return snapshot;
}

void cache_snapshot_drop(struct cache_snapshot *snapshot)
{
    if (snapshot && atomic_fetch_sub(&((struct counted_snapshot *)snapshot)->references, 1) == 1) {
        large_free(snapshot->data);
        free(snapshot);
    }
}

/* Of both; the first may be VK_NULL_HANDLE. Tries twice: a driver may be out of memory for a
 * moment. */
static struct cache_snapshot *cache_snapshot_take(const struct driver_caches *driver,
                                                  VkPipelineCache first, VkPipelineCache second,
                                                  uint64_t changes, size_t told_size)
{
    struct counted_snapshot *counted = calloc(1, sizeof *counted);
    if (!counted) {
        return NULL;
    }
    struct cache_snapshot *snapshot = &counted->snapshot;
    if ((!driver_cache_read_both(driver, first, second, &snapshot->data, &snapshot->size) &&
         !driver_cache_read_both(driver, first, second, &snapshot->data, &snapshot->size)) ||
        snapshot->size == 0) {
        large_free(snapshot->data);
        free(counted);
        return NULL;
    }
    atomic_init(&counted->references, 1);
    snapshot->changes = changes;
    snapshot->told_size = told_size;
    snapshot->digest = digest_of(snapshot->data, snapshot->size);
    return snapshot;
}

static void cache_snapshots_set_latest(struct cache_snapshots *snapshots,
                                       struct cache_snapshot *snapshot)
{
    pthread_mutex_lock(&snapshots->lock);
    struct cache_snapshot *old = snapshots->latest;
    snapshots->latest = cache_snapshot_reference(snapshot);
    pthread_mutex_unlock(&snapshots->lock);
    cache_snapshot_drop(old);
}

struct cache_snapshot *cache_snapshots_get(struct cache_snapshots *snapshots,
                                           VkPipelineCache device_cache, uint64_t changes,
                                           bool fresh)
{
    const uint64_t now = cache_snapshots_changes(snapshots);
    size_t told_size = 0;
    driver_cache_query_size(snapshots->driver, device_cache, &told_size);
    pthread_mutex_lock(&snapshots->lock);
    struct cache_snapshot *snapshot = cache_snapshot_reference(snapshots->latest);
    pthread_mutex_unlock(&snapshots->lock);
    /* It has changed by something that was not counted. */
    const bool is_hidden = snapshot && snapshot->changes == now && snapshot->told_size != told_size;
    if (snapshot && (fresh || snapshot->changes < changes || is_hidden)) {
        cache_snapshot_drop(snapshot);
        snapshot = NULL;
    }
    if (!snapshot) {
        snapshot =
            cache_snapshot_take(snapshots->driver, VK_NULL_HANDLE, device_cache, now, told_size);
        if (snapshot) {
            cache_snapshots_set_latest(snapshots, snapshot);
        }
    }
    return snapshot;
}

struct cache_snapshot *cache_snapshots_get_with(struct cache_snapshots *snapshots,
                                                VkPipelineCache device_cache, VkPipelineCache other)
{
    return cache_snapshot_take(snapshots->driver, device_cache, other, 0, 0);
}

bool snapshot_answers_reserve(size_t bytes)
{
    size_t sum = atomic_load(&snapshot_answer_bytes);
    do {
        if (bytes > SNAPSHOT_ANSWERS_MAX || sum > SNAPSHOT_ANSWERS_MAX - bytes) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&snapshot_answer_bytes, &sum, sum + bytes));
    return true;
}

void snapshot_answers_unreserve(size_t bytes)
{
    atomic_fetch_sub(&snapshot_answer_bytes, bytes);
}

void snapshot_answers_given(size_t bytes)
{
    atomic_fetch_add(&snapshot_answer_bytes, bytes);
}
