// SPDX-License-Identifier: Apache-2.0
#include "layer/cache/cache_collection.h"

#include <stdlib.h>

#include "common/base/bytes.h"
#include "layer/worker/driver_gate.h"
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

static void cache_collection_drop(struct cache_collection *collection)
{
    driver_cache_destroy(collection->driver, collection->cache);
    collection->cache = VK_NULL_HANDLE;
    collection->bytes = 0;
}

void cache_collection_finish(struct cache_collection *collection)
{
    if (pthread_mutex_trylock(&collection->collect_lock) != 0) {
        return;
    }
    for (uint32_t i = 0; i < collection->queued; i++) {
        driver_cache_destroy(collection->driver, collection->queue[i]);
    }
    collection->queued = 0;
    cache_collection_drop(collection);
    pthread_mutex_unlock(&collection->collect_lock);
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

static bool passed_cache_is_unread(const struct passed_cache *cache)
{
    return atomic_load(&cache->unread) || atomic_load(&cache->deferred);
}

void cache_collection_claim(struct cache_collection *collection, struct passed_cache *cache)
{
    if (cache) {
        pthread_mutex_lock(&collection->lock);
        cache->destination = true;
        while (cache->reading) {
            pthread_cond_wait(&collection->read_done, &collection->lock);
        }
        pthread_mutex_unlock(&collection->lock);
    }
}

static void cache_collection_count(struct cache_collection *collection, struct passed_cache *cache)
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
        size > DRIVER_CACHE_HEADER_SIZE) {
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
    const bool is_being_read = cache->reading;
    pthread_mutex_unlock(&collection->lock);
    return is_being_read;
}

bool cache_collection_copy(struct cache_collection *collection, struct passed_cache *cache,
                           uint64_t read_ns)
{
    if (!cache || !cache_collection_may_copy(collection, read_ns) ||
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

/* The sum of what was collected counts the same pipeline as often as it came: the driver knows. */
static bool cache_collection_has_room(struct cache_collection *collection)
{
    size_t size = 0;
    if (collection->bytes >= COLLECTION_BYTES_MAX &&
        driver_cache_query_size(collection->driver, collection->cache, &size) && size > 0) {
        collection->bytes = size;
    }
    return collection->bytes < COLLECTION_BYTES_MAX;
}

/* The first data become the collection; later ones are merged into it, which nobody else uses. */
static void cache_collection_merge(struct cache_collection *collection, const uint8_t *data,
                                   size_t size)
{
    VkPipelineCache cache = driver_cache_create(collection->driver, data, size);
    if (cache == VK_NULL_HANDLE) {
        return;
    }
    if (collection->cache == VK_NULL_HANDLE) {
        collection->cache = cache;
    } else {
        driver_cache_merge(collection->driver, collection->cache, cache);
        driver_cache_destroy(collection->driver, cache);
    }
    collection->bytes += size;
    collection->grown = true;
}

static void cache_collection_read(struct cache_collection *collection, VkPipelineCache cache)
{
    uint8_t *data = NULL;
    size_t size = 0;
    if (driver_cache_read(collection->driver, cache, &data, &size)) {
        cache_collection_merge(collection, data, size);
    }
    large_free(data);
}

/* The last that came; VK_NULL_HANDLE: none. */
static VkPipelineCache cache_collection_take_queued(struct cache_collection *collection)
{
    VkPipelineCache cache = VK_NULL_HANDLE;
    pthread_mutex_lock(&collection->lock);
    if (collection->queued > 0) {
        cache = collection->queue[--collection->queued];
    }
    pthread_mutex_unlock(&collection->lock);
    return cache;
}

/* Under collect_lock: for a save all of the queue, else as far as there is room. */
static void cache_collection_empty_queue(struct cache_collection *collection, bool for_save)
{
    VkPipelineCache cache;
    while ((for_save || cache_collection_has_room(collection)) &&
           (cache = cache_collection_take_queued(collection)) != VK_NULL_HANDLE) {
        cache_collection_read(collection, cache);
        driver_cache_destroy(collection->driver, cache);
    }
}

void cache_collection_collect(struct cache_collection *collection)
{
    if (pthread_mutex_trylock(&collection->collect_lock) == 0) {
        cache_collection_empty_queue(collection, false);
        pthread_mutex_unlock(&collection->collect_lock);
    }
}

/* Pins the caches that live and may be read by a thread that is not the program's. malloc'ed; NULL:
 * there are none, or memory is out. */
static struct passed_cache **cache_collection_pin_living(struct cache_collection *collection,
                                                         size_t *ret_count)
{
    size_t count = 0;
    pthread_mutex_lock(&collection->lock);
    for (struct passed_cache *cache = collection->first; cache; cache = cache->next) {
        count++;
    }
    struct passed_cache **pinned = count ? malloc(count * sizeof(struct passed_cache *)) : NULL;
    count = 0;
    for (struct passed_cache *cache = collection->first; pinned && cache; cache = cache->next) {
        if (passed_cache_is_unread(cache) && !cache->externally_synchronized &&
            !cache->destination) {
            cache->pinned = true;
            pinned[count++] = cache;
        }
    }
    pthread_mutex_unlock(&collection->lock);
    *ret_count = count;
    return pinned;
}

/* Under collect_lock. A cache that the program has destroyed meanwhile is ours now, merged into or
 * not; what was compiled into it behind the read is read then. */
static void cache_collection_read_pinned(struct cache_collection *collection,
                                         struct passed_cache *cache)
{
    bool was_gone;
    bool gone;
    do {
        pthread_mutex_lock(&collection->lock);
        was_gone = cache->gone;
        const bool read = was_gone || !cache->destination;
        cache->reading = read;
        pthread_mutex_unlock(&collection->lock);
        if (read && (atomic_exchange(&cache->unread, false) || atomic_load(&cache->deferred))) {
            cache_collection_count(collection, cache);
            cache_collection_read(collection, cache->handle);
        }
        pthread_mutex_lock(&collection->lock);
        gone = cache->gone;
        cache->reading = false;
        cache->pinned = gone;
        pthread_cond_broadcast(&collection->read_done);
        pthread_mutex_unlock(&collection->lock);
    } while (gone && !was_gone);
    if (gone) {
        driver_cache_destroy(collection->driver, cache->handle);
        free(cache);
    }
}

VkPipelineCache cache_collection_pin(struct cache_collection *collection)
{
    if (!collection->enabled || pthread_mutex_trylock(&collection->collect_lock) != 0) {
        return VK_NULL_HANDLE;
    }
    struct passed_cache **living = NULL;
    size_t count = 0;
    cache_collection_empty_queue(collection, true);
    /* Where the driver may call the program back, a merge must not wait for a read of ours. */
    if (atomic_load(&collection->finishing) ||
        !driver_permit_is_withdrawn(collection->driver->permit)) {
        living = cache_collection_pin_living(collection, &count);
    }
    for (size_t i = 0; i < count; i++) {
        cache_collection_read_pinned(collection, living[i]);
    }
    free(living);
    collection->grown = false;
    VkPipelineCache cache = collection->cache;
    if (cache == VK_NULL_HANDLE) {
        pthread_mutex_unlock(&collection->collect_lock);
    }
    return cache;
}

void cache_collection_unpin(struct cache_collection *collection)
{
    pthread_mutex_unlock(&collection->collect_lock);
}

bool cache_collection_saved(struct cache_collection *collection)
{
    bool dropped = false;
    if (pthread_mutex_trylock(&collection->collect_lock) == 0) {
        dropped = !collection->grown && collection->bytes > COLLECTION_BYTES_KEPT;
        if (dropped) {
            cache_collection_drop(collection);
        }
        pthread_mutex_unlock(&collection->collect_lock);
    }
    return dropped;
}
