// SPDX-License-Identifier: Apache-2.0
#include "layer/cache/cache_collection.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "layer/worker/own_wait.h"

/* Copies take one part in so many of the time that the program spends in creations. */
#define COPY_FACTOR 50

void cache_collection_init(struct cache_collection *collection, const struct driver_caches *driver,
                           struct stats *stats, bool enabled)
{
    *collection = (struct cache_collection){.driver = driver, .stats = stats, .enabled = enabled};
    pthread_mutex_init(&collection->lock, NULL);
    pthread_cond_init(&collection->read_done, NULL);
    pthread_mutex_init(&collection->collect_lock, NULL);
}

void cache_collection_release(struct cache_collection *collection)
{
    while (collection->first) {
        struct passed_cache *next = collection->first->next;
        free(collection->first);
        collection->first = next;
    }
    pthread_mutex_destroy(&collection->lock);
    pthread_cond_destroy(&collection->read_done);
    pthread_mutex_destroy(&collection->collect_lock);
}

struct passed_cache *cache_collection_add(struct cache_collection *collection,
                                          VkPipelineCache handle, bool externally_synchronized)
{
    struct passed_cache *cache = collection->enabled ? calloc(1, sizeof *cache) : NULL;
    if (!cache) {
        return NULL;
    }
    cache->handle = handle;
    cache->externally_synchronized = externally_synchronized;
    pthread_mutex_lock(&collection->lock);
    cache->next = collection->first;
    cache->place = &collection->first;
    if (cache->next) {
        cache->next->place = &cache->next;
    }
    collection->first = cache;
    pthread_mutex_unlock(&collection->lock);
    atomic_store(&collection->is_used, true);
    return cache;
}

void passed_cache_compiled(struct passed_cache *cache)
{
    if (cache) {
        atomic_store(&cache->unread, true);
    }
}

void passed_cache_deferred(struct passed_cache *cache)
{
    if (cache) {
        atomic_store(&cache->deferred, true);
    }
}

bool passed_cache_is_unread(const struct passed_cache *cache)
{
    return atomic_load(&cache->unread) || atomic_load(&cache->deferred);
}

bool passed_cache_is_readable(const struct passed_cache *cache)
{
    return cache && !cache->externally_synchronized;
}

/* Under the lock, which it releases meanwhile. In a forked child nobody reads. */
static void cache_collection_wait_for_read(struct cache_collection *collection,
                                           const struct passed_cache *cache)
{
    while (cache->reader == getpid()) {
        pthread_cond_wait(&collection->read_done, &collection->lock);
    }
}

void cache_collection_claim(struct cache_collection *collection, struct passed_cache *cache)
{
    if (cache) {
        pthread_mutex_lock(&collection->lock);
        cache->claimed = true;
        cache_collection_wait_for_read(collection, cache);
        pthread_mutex_unlock(&collection->lock);
    }
}

void cache_collection_begin_merge(struct cache_collection *collection, struct passed_cache *cache)
{
    atomic_fetch_add(&collection->merges_begun, 1);
    if (cache) {
        pthread_mutex_lock(&collection->lock);
        cache->destination = true;
        cache->merging = true;
        cache_collection_wait_for_read(collection, cache);
        pthread_mutex_unlock(&collection->lock);
    }
}

void cache_collection_end_merge(struct cache_collection *collection, struct passed_cache *cache)
{
    if (cache) {
        passed_cache_compiled(cache);
        pthread_mutex_lock(&collection->lock);
        cache->merging = false;
        pthread_mutex_unlock(&collection->lock);
    }
    atomic_fetch_add(&collection->merges_ended, 1);
}

void cache_collection_count(struct cache_collection *collection, struct passed_cache *cache)
{
    stats_add(collection->stats, STATS_app_caches_harvested, !cache->counted);
    cache->counted = true;
}

/* Under the lock. */
static void cache_collection_unlink(struct passed_cache *cache)
{
    *cache->place = cache->next;
    if (cache->next) {
        cache->next->place = cache->place;
    }
}

/* Under the lock. True: there is room, and the worker is to be woken. */
static bool cache_collection_enqueue(struct cache_collection *collection, VkPipelineCache handle)
{
    const bool has_room = collection->queued < COLLECTION_QUEUE_MAX;
    if (has_room) {
        collection->queue[collection->queued++] = handle;
        atomic_store(&collection->is_due, true);
    }
    return has_room;
}

/* Whether one more copy stays within the time that copies may take. */
static bool cache_collection_may_copy(const struct cache_collection *collection, uint64_t read_ns)
{
    const uint64_t copy_ns = atomic_load(&collection->copy_ns);
    const uint64_t all_ns = atomic_load(&collection->copies_ns) + (copy_ns ? copy_ns : read_ns);
    return read_ns > 0 &&
           all_ns * COPY_FACTOR <= stats_get(collection->stats, STATS_pipelines_create_ns);
}

/* VK_NULL_HANDLE: it holds no pipeline, or the driver fails. */
static VkPipelineCache cache_collection_copy_of(struct cache_collection *collection,
                                                VkPipelineCache source)
{
    VkPipelineCache copy = VK_NULL_HANDLE;
    uint8_t *data = NULL;
    size_t size = 0;
    if (driver_cache_read(collection->driver, source, &data, &size) &&
        size > DRIVER_CACHE_EMPTY_SIZE) {
        copy = driver_cache_create(collection->driver, data, size);
    }
    large_free(data);
    return copy;
}

/* Whether somebody is to read what was compiled into it before it is merged. Who is reading it just
 * now may find it emptied. */
static bool cache_collection_is_to_copy(struct cache_collection *collection,
                                        struct passed_cache *cache)
{
    if (atomic_exchange(&cache->unread, false)) {
        return true;
    }
    pthread_mutex_lock(&collection->lock);
    const bool is_being_read = cache->reader != 0;
    pthread_mutex_unlock(&collection->lock);
    return is_being_read;
}

bool cache_collection_copy(struct cache_collection *collection, struct passed_cache *cache,
                           uint64_t read_ns)
{
    if (!cache) {
        return false;
    }
    atomic_store(&cache->merged_from, true);
    if (!cache_collection_may_copy(collection, read_ns) ||
        !cache_collection_is_to_copy(collection, cache)) {
        return false;
    }
    const struct own_wait_timer timer = own_wait_timer_start();
    VkPipelineCache copy = cache_collection_copy_of(collection, cache->handle);
    const uint64_t took_ns = own_wait_timer_elapsed(&timer);
    atomic_store(&collection->copy_ns, took_ns);
    atomic_fetch_add(&collection->copies_ns, took_ns);
    pthread_mutex_lock(&collection->lock);
    const bool queued = copy != VK_NULL_HANDLE && cache_collection_enqueue(collection, copy);
    if (queued) {
        cache_collection_count(collection, cache);
    }
    pthread_mutex_unlock(&collection->lock);
    if (!queued) {
        passed_cache_compiled(cache);
        driver_cache_destroy(collection->driver, copy);
    }
    return queued;
}

bool cache_collection_remove(struct cache_collection *collection, struct passed_cache *cache,
                             bool may_queue)
{
    if (!cache) {
        return false;
    }
    pthread_mutex_lock(&collection->lock);
    cache_collection_unlink(cache);
    cache->gone = true;
    const bool pinned = cache->pinned; /* whoever reads it destroys and frees it */
    const bool queued = !pinned && may_queue && passed_cache_is_unread(cache) &&
                        cache_collection_enqueue(collection, cache->handle);
    if (queued) {
        cache_collection_count(collection, cache);
    } else if (!pinned && passed_cache_is_unread(cache) &&
               (cache->destination || !atomic_load(&cache->merged_from))) {
        atomic_store(&collection->has_lost, true);
    }
    pthread_mutex_unlock(&collection->lock);
    if (!pinned) {
        free(cache);
    }
    return pinned || queued;
}

bool cache_collection_has_queued(struct cache_collection *collection)
{
    pthread_mutex_lock(&collection->lock);
    const bool has_queued = collection->queued > 0;
    pthread_mutex_unlock(&collection->lock);
    return has_queued;
}
