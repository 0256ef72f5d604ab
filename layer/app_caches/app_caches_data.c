// SPDX-License-Identifier: Apache-2.0
/* The program reads its caches back, and merges them. */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "layer/app_caches/app_caches_state.h"

/* Reading back. */

static void app_caches_note_read(struct app_caches *caches, struct app_cache *cache)
{
    if (atomic_exchange(&cache->read_back, true)) {
        return;
    }
    stats_add(caches->stats, STATS_app_caches_read_back, 1);
    if (cache->made_empty) {
        app_cache_history_read(caches->history);
    }
}

static VkResult app_caches_get_data_down(struct app_caches *caches, enum crash_state state,
                                         VkPipelineCache handle, size_t *data_size, void *data)
{
    const struct driver_caches *driver = caches->driver;
    const struct crash_call call = driver_cache_enter(driver, CRASH_KEY_READ, state);
    VkResult result = driver->table->GetPipelineCacheData(driver->device, handle, data_size, data);
    driver_cache_leave(driver, &call);
    return result;
}

/* The driver's own answer. What is given may be what a later process loads. */
static VkResult app_caches_get_own_data(struct app_caches *caches, struct app_cache *cache,
                                        VkPipelineCache handle, size_t *data_size, void *data)
{
    const bool is_device_cache = cache && handle != cache->handle;
    VkResult result = app_caches_get_data_down(
        caches, is_device_cache ? CRASH_INSIDE : app_cache_state_of_call(cache), handle, data_size,
        data);
    if (cache && caches->history && data && result >= VK_SUCCESS && *data_size > 0 &&
        app_cache_history_habits(caches->history).habit != APP_CACHE_KEEPS) {
        app_cache_history_answered(caches->history, digest_of(data, *data_size),
                                   handle == cache->handle && !atomic_load(&cache->own));
    }
    return result;
}

static bool app_cache_snapshot_holds_all(const struct app_cache *cache,
                                         const struct cache_snapshot *snapshot)
{
    return !atomic_load(&cache->deferred) && !atomic_load(&cache->own) &&
           snapshot->changes >= atomic_load(&cache->needed);
}

/* A snapshot with everything in it that was created in the name of a served cache. NULL: the driver
 * gives none. */
static struct cache_snapshot *app_cache_snapshot(struct app_caches *caches, struct app_cache *cache)
{
    VkPipelineCache device_cache = device_cache_loaded_cache(caches->device_cache);
    if (device_cache == VK_NULL_HANDLE) {
        return NULL;
    }
    if (atomic_load(&cache->own)) {
        return cache_snapshots_get_with(caches->snapshots, device_cache, cache->handle);
    }
    /* A creation counts as a change before it is counted there. */
    const struct cache_schedule_mark mark = device_cache_count(caches->device_cache);
    const uint64_t changes = cache_snapshots_changes(caches->snapshots);
    struct cache_snapshot *snapshot =
        cache_snapshots_get(caches->snapshots, device_cache, atomic_load(&cache->needed),
                            atomic_load(&cache->deferred));
    if (snapshot && snapshot->changes >= changes) {
        device_cache_was_read(caches->device_cache, snapshot->data, snapshot->size, &mark);
    }
    return snapshot;
}

static struct cache_snapshot *app_cache_pinned(struct app_caches *caches, struct app_cache *cache)
{
    pthread_mutex_lock(&caches->lock);
    struct cache_snapshot *pinned = cache_snapshot_reference(cache->pinned);
    pthread_mutex_unlock(&caches->lock);
    return pinned;
}

/* Takes the reference over, and the cache's part of the budget for it. Without room there it is not
 * kept: a program that asks for sizes alone would fill memory. NULL: the part is given back. */
static void app_cache_pin(struct app_caches *caches, struct app_cache *cache,
                          struct cache_snapshot *snapshot)
{
    snapshot_answers_unreserve(atomic_exchange(&cache->reserved, 0));
    if (snapshot && snapshot_answers_reserve(snapshot->size)) {
        snapshot_answers_unreserve(atomic_exchange(&cache->reserved, snapshot->size));
    } else {
        cache_snapshot_drop(snapshot);
        snapshot = NULL;
    }
    pthread_mutex_lock(&caches->lock);
    struct cache_snapshot *old = cache->pinned;
    cache->pinned = snapshot;
    pthread_mutex_unlock(&caches->lock);
    cache_snapshot_drop(old);
}

/* For the data: what the size was answered from, unless that lacks something by now and the room
 * that the program has is enough for more. */
static struct cache_snapshot *app_cache_snapshot_for_data(struct app_caches *caches,
                                                          struct app_cache *cache, size_t room)
{
    struct cache_snapshot *pinned = app_cache_pinned(caches, cache);
    if (pinned && app_cache_snapshot_holds_all(cache, pinned)) {
        return pinned;
    }
    struct cache_snapshot *fresh = app_cache_snapshot(caches, cache);
    if (!pinned || (fresh && fresh->size <= room)) {
        cache_snapshot_drop(pinned);
        return fresh;
    }
    cache_snapshot_drop(fresh);
    return pinned;
}

static VkResult app_caches_get_served_data(struct app_caches *caches, struct app_cache *cache,
                                           size_t *data_size, void *data)
{
    struct cache_snapshot *snapshot = data ? app_cache_snapshot_for_data(caches, cache, *data_size)
                                           : app_cache_snapshot(caches, cache);
    VkPipelineCache device_cache = device_cache_loaded_cache(caches->device_cache);
    if (!snapshot) {
        /* Out of memory, or the driver fails: let the driver answer. */
        return app_caches_get_own_data(
            caches, cache, device_cache == VK_NULL_HANDLE ? cache->handle : device_cache, data_size,
            data);
    }
    VkResult result = VK_SUCCESS;
    atomic_store(&caches->device_cache_size, snapshot->size);
    if (data && *data_size < snapshot->size) {
        /* Only the driver can give a part that is valid by itself. */
        result = app_caches_get_own_data(caches, cache, device_cache, data_size, data);
    } else {
        *data_size = snapshot->size;
        if (data) {
            memcpy(data, snapshot->data, snapshot->size);
            snapshot_answers_given(snapshot->size);
            app_cache_history_answered(caches->history, snapshot->digest, false);
            if (!atomic_exchange(&caches->is_logged, true)) {
                log_info(
                    "the program reads its pipeline cache back: it now gets more than it made");
            }
        }
        app_cache_pin(caches, cache, data ? NULL : cache_snapshot_reference(snapshot));
    }
    cache_snapshot_drop(snapshot);
    return result;
}

VkResult app_caches_get_data(struct app_caches *caches, VkPipelineCache handle, size_t *data_size,
                             void *data)
{
    struct app_cache *cache = app_caches_find(caches, handle);
    if (cache && data) { /* a program that asks for sizes alone needs no budget */
        app_caches_note_read(caches, cache);
    }
    if (cache && app_cache_is(cache, APP_CACHE_SERVED) && atomic_load(&cache->used) &&
        !cache->answers_empty) {
        return app_caches_get_served_data(caches, cache, data_size, data);
    }
    return app_caches_get_own_data(caches, cache, handle, data_size, data);
}

/* Merging. */

/* What a merge is made of, and what goes down of it. */
struct app_cache_merge {
    struct app_cache *target; /* one that is alone, and used for this merge only: not known to us */
    bool all_served;          /* the sources, and none holds anything itself */
    bool uses_device_cache;   /* a source, or the target, has something there */
    bool is_of_blob;          /* a source, or the target, holds what was loaded from disk */
    uint64_t needed;          /* of all of those */
    uint64_t merged;          /* of the target, where a copy of the device cache is made for it */
    uint32_t count;
    VkPipelineCache *sources; /* room for one more than the program named */
};

/* Before the driver takes them: perhaps out of the source. */
static void app_cache_merge_collect(struct app_caches *caches, const struct app_cache *source)
{
    struct passed_cache *passed = source ? atomic_load(&source->passed) : NULL;
    if (passed && cache_collection_copy(caches->collection, passed,
                                        device_cache_read_ns(caches->device_cache))) {
        device_cache_wake_worker(caches->device_cache);
    }
}

/* When it has: what is created in the name of a source from now on is compiled into it again. */
static void app_cache_merge_forget(struct app_caches *caches, const struct app_cache_merge *merge)
{
    for (uint32_t i = 0; i < merge->count; i++) {
        struct app_cache *source = app_caches_find(caches, merge->sources[i]);
        if (source) {
            seen_pipelines_forget(&source->seen);
            atomic_store_explicit(&source->merged, 0, memory_order_relaxed);
        }
    }
}

static void app_cache_merge_add_served(struct app_cache_merge *merge, const struct app_cache *cache)
{
    const uint64_t needed = atomic_load(&cache->needed);
    merge->uses_device_cache |= atomic_load(&cache->used);
    merge->needed = needed > merge->needed ? needed : merge->needed;
}

static void app_cache_merge_read(struct app_caches *caches, struct app_cache_merge *merge,
                                 uint32_t count, const VkPipelineCache *sources)
{
    merge->all_served = true;
    for (uint32_t i = 0; i < count; i++) {
        const struct app_cache *source = app_caches_find(caches, sources[i]);
        const bool served = source && app_cache_is(source, APP_CACHE_SERVED);
        merge->is_of_blob |= app_cache_state_of_call(source) != CRASH_OUTSIDE;
        if (served) {
            app_cache_merge_add_served(merge, source);
        }
        if (!served || atomic_load(&source->own)) {
            app_cache_merge_collect(caches, source);
            merge->all_served = false;
            merge->sources[merge->count++] = sources[i];
        }
    }
}

/* A cache of the program's is merged from one that was made with the same allocator: there are
 * drivers that move entries, with their memory, from one cache to the other (RADV of Mesa 22.3).
 * The program's allocator may be called here, in the program's own call. VK_NULL_HANDLE: there is
 * nothing, or it is in the target already: a program may merge one cache after the other into it
 * (ANGLE), and a copy of the device cache for each is dear. */
static VkPipelineCache app_cache_merge_stand_in(struct app_caches *caches,
                                                struct app_cache_merge *merge,
                                                struct driver_caches *ret_driver)
{
    *ret_driver = *caches->driver;
    VkPipelineCache device_cache = device_cache_loaded_cache(caches->device_cache);
    if (!merge->uses_device_cache || device_cache == VK_NULL_HANDLE) {
        return VK_NULL_HANDLE;
    }
    struct cache_snapshot *snapshot =
        cache_snapshots_get(caches->snapshots, device_cache, merge->needed, false);
    if (!snapshot) {
        return VK_NULL_HANDLE;
    }
    VkPipelineCache stand_in = VK_NULL_HANDLE;
    merge->merged = snapshot->digest.low;
    ret_driver->allocator = merge->target->allocator;
    if (atomic_load_explicit(&merge->target->merged, memory_order_relaxed) != merge->merged) {
        stand_in = driver_cache_create(ret_driver, snapshot->data, snapshot->size);
    }
    cache_snapshot_drop(snapshot);
    return stand_in;
}

static void app_caches_merge_into(struct app_caches *caches, const struct app_cache_merge *merge)
{
    struct app_cache *target = merge->target;
    if (app_cache_is(target, APP_CACHE_SERVED)) {
        app_cache_pass(target, true);
    }
    if (!passed_cache_is_readable(atomic_load(&target->passed)) || merge->is_of_blob) {
        app_caches_note_lost(caches);
    }
    if (merge->is_of_blob) {
        atomic_store(&target->of_blob, true);
        cache_collection_claim(caches->collection, atomic_load(&target->passed));
    }
    atomic_store(&target->used, true);
    app_cache_compiled(target);
}

static VkResult app_caches_merge_down(struct app_caches *caches, struct app_cache_merge *merge,
                                      VkPipelineCache destination)
{
    const struct driver_caches *driver = caches->driver;
    if (app_cache_is(merge->target, APP_CACHE_SERVED)) {
        app_cache_merge_add_served(merge, merge->target);
    }
    struct driver_caches stand_in_driver;
    VkPipelineCache stand_in = app_cache_merge_stand_in(caches, merge, &stand_in_driver);
    if (stand_in != VK_NULL_HANDLE) {
        merge->sources[merge->count++] = stand_in;
        merge->is_of_blob = true;
    }
    app_caches_merge_into(caches, merge);
    VkResult result = VK_SUCCESS;
    if (merge->count > 0) {
        const struct crash_call call = driver_cache_enter(
            driver, CRASH_KEY_READ,
            merge->is_of_blob ? CRASH_INSIDE : app_cache_state_of_call(merge->target));
        result = driver->table->MergePipelineCaches(driver->device, destination, merge->count,
                                                    merge->sources);
        driver_cache_leave(driver, &call);
        app_cache_merge_forget(caches, merge);
        if (stand_in != VK_NULL_HANDLE && result == VK_SUCCESS) {
            atomic_store_explicit(&merge->target->merged, merge->merged, memory_order_relaxed);
        }
    }
    driver_cache_destroy(&stand_in_driver, stand_in);
    return result;
}

VkResult app_caches_merge(struct app_caches *caches, VkPipelineCache destination,
                          uint32_t source_count, const VkPipelineCache *sources)
{
    struct app_cache unknown = {.state = APP_CACHE_ALONE};
    struct app_cache *known = app_caches_find(caches, destination);
    struct app_cache_merge merge = {.target = known ? known : &unknown};
    merge.sources = calloc((size_t)source_count + 1, sizeof *merge.sources);
    if (!merge.sources) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    VkResult result = VK_SUCCESS;
    struct passed_cache *passed = atomic_load(&merge.target->passed);
    cache_collection_begin_merge(caches->collection, passed);
    app_cache_merge_read(caches, &merge, source_count, sources);
    if (!app_cache_is(merge.target, APP_CACHE_SERVED) || !merge.all_served) {
        result = app_caches_merge_down(caches, &merge, destination);
    } else if (merge.uses_device_cache) {
        /* All that is merged is in the device cache, from which the target is answered as well.
         * What the target has seen is not known exactly any more: no hit is named that may be none.
         */
        app_cache_needs_all_until_now(merge.target);
    }
    cache_collection_end_merge(caches->collection, passed);
    free(merge.sources);
    return result;
}
