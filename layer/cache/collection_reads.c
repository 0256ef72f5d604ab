// SPDX-License-Identifier: Apache-2.0
/* The reads of what is collected: by the worker, and at the end of the device. */
#include <stdlib.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/clock.h"
#include "layer/cache/cache_collection.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/own_wait.h"

/* Longest read of a cache that the program merges into, for which its next merge may wait. */
#define MERGE_WAIT_NS (4 * CLOCK_MS)

/* What was read in so short a time promises that QUICK_FACTOR times as much takes no longer than
 * that; of the smallest, that SMALL_READ_SIZE does. */
#define QUICK_FACTOR    4
#define QUICK_NS        (MERGE_WAIT_NS / QUICK_FACTOR)
#define SMALL_READ_SIZE ((size_t)64 << 10)

#define TRIED_READS 3

/* One that took longer is paid for before one as large begins again, in a minute at most: a merge
 * would wait for no more than one part in so many of the time. */
#define SLOW_FACTOR 250
#define SLOW_MAX_NS (60 * CLOCK_S)

/* Where that is so short, a look follows by itself, a few times in the life of a device. */
#define PUT_OFF_NS   (5 * CLOCK_S)
#define FOLLOWED_MAX 16

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

/* The first data become the collection; later ones are merged into it, which nobody else uses.
 * False: the driver has refused them. */
static bool cache_collection_merge(struct cache_collection *collection, const uint8_t *data,
                                   size_t size)
{
    VkPipelineCache cache = driver_cache_create(collection->driver, data, size);
    bool is_taken = cache != VK_NULL_HANDLE;
    if (collection->cache == VK_NULL_HANDLE) {
        collection->cache = cache;
    } else {
        is_taken = is_taken && driver_cache_merge(collection->driver, collection->cache, cache);
        driver_cache_destroy(collection->driver, cache);
    }
    collection->bytes += is_taken ? size : 0;
    collection->grown |= is_taken;
    return is_taken;
}

/* Data out of one of the program's caches, for large_free. False: the driver has refused. */
static bool cache_collection_fetch(struct cache_collection *collection, VkPipelineCache cache,
                                   uint8_t **ret_data, size_t *ret_size)
{
    const struct own_wait_timer timer = own_wait_timer_start();
    const bool is_read = driver_cache_read(collection->driver, cache, ret_data, ret_size);
    if (is_read && own_wait_timer_elapsed(&timer) <= QUICK_NS) {
        const size_t least = SMALL_READ_SIZE / QUICK_FACTOR;
        const size_t size = *ret_size > least ? *ret_size : least;
        collection->quick_size = size > collection->quick_size ? size : collection->quick_size;
    }
    return is_read;
}

/* False: the driver has refused. */
static bool cache_collection_read(struct cache_collection *collection, VkPipelineCache cache)
{
    uint8_t *data = NULL;
    size_t size = 0;
    const bool is_read = cache_collection_fetch(collection, cache, &data, &size) &&
                         cache_collection_merge(collection, data, size);
    large_free(data);
    return is_read;
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
        if (!cache_collection_read(collection, cache)) {
            atomic_store(&collection->has_lost, true);
        }
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

/* Pins the caches that live and may be read, by a thread that is not the program's, or when the
 * device goes, for no thread of the program's may use them then; what the program merges into
 * behind the others, which tell what a read takes. malloc'ed; NULL: there are none, or memory is
 * out. */
static struct passed_cache **cache_collection_pin_living(struct cache_collection *collection,
                                                         size_t *ret_count)
{
    size_t count = 0;
    const bool finishing = atomic_load(&collection->finishing);
    pthread_mutex_lock(&collection->lock);
    for (struct passed_cache *cache = collection->first; cache; cache = cache->next) {
        count++;
    }
    struct passed_cache **pinned = count ? malloc(count * sizeof(struct passed_cache *)) : NULL;
    collection->has_unread |= count > 0 && !pinned;
    count = 0;
    for (int is_destination = 0; pinned && is_destination < 2; is_destination++) {
        for (struct passed_cache *cache = collection->first; cache; cache = cache->next) {
            if (cache->destination != (bool)is_destination || cache->claimed ||
                !passed_cache_is_unread(cache)) {
                continue;
            }
            if (finishing || passed_cache_is_readable(cache)) {
                cache->pinned = true;
                pinned[count++] = cache;
            } else {
                collection->has_unread = true;
            }
        }
    }
    pthread_mutex_unlock(&collection->lock);
    *ret_count = count;
    return pinned;
}

/* Whether a target so large is to be read later. */
static bool cache_collection_puts_off(struct cache_collection *collection, size_t size)
{
    const uint64_t now_ns = clock_now_ns();
    const bool puts_off = size >= collection->slow_size && now_ns < collection->slow_until_ns;
    collection->has_put_off |= puts_off && collection->slow_until_ns < now_ns + PUT_OFF_NS;
    return puts_off;
}

/* Whether the next merge into it would hardly wait for a read. Already the question for its size
 * may take long. */
static bool cache_collection_is_quick(struct cache_collection *collection,
                                      const struct passed_cache *cache)
{
    size_t size = 0;
    return collection->quick_size > 0 && !cache_collection_puts_off(collection, 0) &&
           driver_cache_query_size(collection->driver, cache->handle, &size) &&
           size <= collection->quick_size * QUICK_FACTOR &&
           !cache_collection_puts_off(collection, size);
}

/* The read of a target, or the question for its size (0), took too long. While others are put off
 * it is smaller than they are. */
static void cache_collection_put_off(struct cache_collection *collection, size_t size,
                                     uint64_t took_ns)
{
    const uint64_t most_ns = SLOW_MAX_NS / SLOW_FACTOR;
    const uint64_t until_ns =
        clock_now_ns() + (took_ns < most_ns ? took_ns : most_ns) * SLOW_FACTOR;
    collection->slow_size = size;
    if (until_ns > collection->slow_until_ns) {
        collection->slow_until_ns = until_ns;
    }
}

/* Of a cache that the program merges into. False: the driver has refused, or it would take long. */
static bool cache_collection_fetch_destination(struct cache_collection *collection,
                                               struct passed_cache *cache, uint8_t **ret_data,
                                               size_t *ret_size)
{
    const struct own_wait_timer timer = own_wait_timer_start();
    const bool is_read = cache_collection_is_quick(collection, cache) &&
                         cache_collection_fetch(collection, cache->handle, ret_data, ret_size);
    const uint64_t took_ns = own_wait_timer_elapsed(&timer);
    if (took_ns > MERGE_WAIT_NS) {
        cache_collection_put_off(collection, is_read ? *ret_size : 0, took_ns);
    }
    return is_read;
}

/* Under collect_lock. One read of a pinned cache, as far as it may be read now; what is not read
 * stays unread. Only the driver is asked while a merge would wait. */
static void cache_collection_read_once(struct cache_collection *collection,
                                       struct passed_cache *cache)
{
    uint8_t *data = NULL;
    size_t size = 0;
    pthread_mutex_lock(&collection->lock);
    const bool is_ours = cache->gone;
    const bool may_wait = is_ours || !cache->destination || atomic_load(&collection->finishing);
    const bool may_read = is_ours || !(cache->claimed || cache->merging);
    const bool reads =
        may_read && (atomic_exchange(&cache->unread, false) || atomic_load(&cache->deferred));
    cache->reader = reads ? getpid() : 0;
    pthread_mutex_unlock(&collection->lock);
    if (!reads) {
        return;
    }
    bool is_read = may_wait ? cache_collection_fetch(collection, cache->handle, &data, &size)
                            : cache_collection_fetch_destination(collection, cache, &data, &size);
    pthread_mutex_lock(&collection->lock);
    cache->reader = 0;
    if (is_read) {
        cache_collection_count(collection, cache);
    }
    pthread_cond_broadcast(&collection->read_done);
    pthread_mutex_unlock(&collection->lock);
    is_read = is_read && cache_collection_merge(collection, data, size);
    large_free(data);
    if (!is_read) {
        passed_cache_compiled(cache);
        collection->has_unread = true;
        if (is_ours) {
            atomic_store(&collection->has_lost, true);
        }
    }
}

/* A process's first reads take longer than what follows: where none was quick yet, those of our own
 * copy, for which no merge waits, tell what the driver takes. */
static void cache_collection_try_reads(struct cache_collection *collection,
                                       struct passed_cache *cache)
{
    pthread_mutex_lock(&collection->lock);
    const bool asks = cache->destination && !cache->gone && collection->cache != VK_NULL_HANDLE &&
                      !atomic_load(&collection->finishing);
    pthread_mutex_unlock(&collection->lock);
    while (asks && collection->quick_size == 0 && collection->tried_reads < TRIED_READS) {
        collection->tried_reads++;
        uint8_t *data = NULL;
        size_t size = 0;
        cache_collection_fetch(collection, collection->cache, &data, &size);
        large_free(data);
    }
}

/* Under collect_lock. A cache that the program has destroyed meanwhile is ours now, merged into or
 * not; what was compiled into it behind the read is read then. */
static void cache_collection_read_pinned(struct cache_collection *collection,
                                         struct passed_cache *cache)
{
    cache_collection_try_reads(collection, cache);
    cache_collection_read_once(collection, cache);
    pthread_mutex_lock(&collection->lock);
    const bool gone = cache->gone;
    cache->pinned = gone;
    pthread_mutex_unlock(&collection->lock);
    if (gone) {
        cache_collection_read_once(collection, cache);
        driver_cache_destroy(collection->driver, cache->handle);
        free(cache);
    }
}

/* Pins first: what the program destroys from then on is not queued any more. False: what was merged
 * meanwhile may have been found emptied, and its copy waits in the queue. */
static bool cache_collection_read_living(struct cache_collection *collection)
{
    const uint64_t ended = atomic_load(&collection->merges_ended);
    size_t count = 0;
    struct passed_cache **living = cache_collection_pin_living(collection, &count);
    cache_collection_empty_queue(collection, true);
    for (size_t i = 0; i < count; i++) {
        cache_collection_read_pinned(collection, living[i]);
    }
    free(living);
    return atomic_load(&collection->merges_begun) == ended;
}

VkPipelineCache cache_collection_pin(struct cache_collection *collection,
                                     enum collection_rest *ret_rest)
{
    /* Where the driver may call the program back, a merge must not wait for a read of ours. */
    const bool may_read = atomic_load(&collection->finishing) ||
                          !driver_permit_is_withdrawn(collection->driver->permit);
    *ret_rest = REST_HIDDEN;
    if (!collection->enabled || pthread_mutex_trylock(&collection->collect_lock) != 0) {
        return VK_NULL_HANDLE;
    }
    collection->has_unread = collection->has_put_off = false;
    if (!may_read) {
        cache_collection_empty_queue(collection, true);
    } else if (!cache_collection_read_living(collection) ||
               (collection->has_put_off && collection->followed++ < FOLLOWED_MAX)) {
        *ret_rest = REST_NEXT;
    } else if (!collection->has_unread) {
        *ret_rest = REST_NONE;
    }
    VkPipelineCache cache = collection->cache;
    if (cache == VK_NULL_HANDLE) {
        pthread_mutex_unlock(&collection->collect_lock);
    }
    return cache;
}

void cache_collection_unpin(struct cache_collection *collection, bool is_taken)
{
    collection->grown &= !is_taken;
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
