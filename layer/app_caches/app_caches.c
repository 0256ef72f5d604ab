// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "common/base/log.h"
#include "layer/app_caches/app_caches_state.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/worker.h"

/* How many empty caches of a program that keeps its caches are seeded in a process of it. */
#define SEEDS_MAX 4

enum { FIRST_GUARDED = 1, FIRST_OTHER };

struct app_cache *app_caches_find(struct app_caches *caches, VkPipelineCache named)
{
    return named == VK_NULL_HANDLE ? NULL : handle_map_get(&caches->by_handle, HANDLE_VALUE(named));
}

static void app_cache_delete(struct app_cache *cache)
{
    if (cache) {
        seen_pipelines_release(&cache->seen);
        snapshot_answers_unreserve(atomic_load(&cache->reserved));
        cache_snapshot_drop(cache->pinned);
        free(cache);
    }
}

struct app_caches *app_caches_new(struct device_cache *device_cache, const struct config *config,
                                  const char *app, struct stats *stats)
{
    const struct driver_caches *driver = device_cache_caches(device_cache);
    struct app_caches *caches = calloc(1, sizeof *caches);
    struct cache_snapshots *snapshots = cache_snapshots_new(driver);
    if (!caches || !snapshots) {
        cache_snapshots_delete(snapshots);
        free(caches);
        return NULL;
    }
    caches->snapshots = snapshots;
    caches->device_cache = device_cache;
    caches->driver = driver;
    caches->collection = device_cache_collection(device_cache);
    caches->mode = config->app_cache;
    caches->stats = stats;
    if (caches->mode == APP_CACHE_AUTO && device_cache_policy(device_cache)->persist) {
        caches->history = app_cache_history_of(config, app);
    }
    handle_map_init(&caches->by_handle);
    pthread_mutex_init(&caches->lock, NULL);
    return caches;
}

static void app_caches_delete_entry(void *value, void *user)
{
    (void)user;
    app_cache_delete(value);
}

void app_caches_delete(struct app_caches *caches)
{
    if (caches) {
        handle_map_each(&caches->by_handle, app_caches_delete_entry, NULL);
        handle_map_release(&caches->by_handle);
        cache_snapshots_delete(caches->snapshots);
        pthread_mutex_destroy(&caches->lock);
        free(caches);
    }
}

bool app_caches_finish(struct app_caches *caches)
{
    return device_cache_finish(caches->device_cache) &&
           (!app_cache_history_is_due(caches->history) ||
            worker_do(app_cache_history_write, NULL, caches->history));
}

/* Making and destroying. */

/* What becomes of a cache that is about to be made. */
struct app_cache_plan {
    enum app_cache_state state;
    bool answers_empty;
    bool seed;
    size_t reserved;
};

/* An empty cache of a program that reads its caches back: served while the budget has an answer for
 * it; see enum app_cache_habit. */
static struct app_cache_plan app_caches_plan_read(struct app_caches *caches,
                                                  const struct app_cache_habits *habits)
{
    const size_t known_size = atomic_load(&caches->device_cache_size);
    const size_t size = known_size ? known_size : device_cache_blob_bytes(caches->device_cache);
    struct app_cache_plan plan = {.state = APP_CACHE_PASSED};
    if (snapshot_answers_reserve(size)) {
        plan.state = APP_CACHE_SERVED;
        plan.reserved = size;
        if (habits->rarely_reads) {
            snapshot_answers_unreserve(size); /* only checks that there is room */
            plan.reserved = 0;
        }
    } else if (habits->habit == APP_CACHE_SETTLED && !habits->rarely_reads) {
        plan.state = APP_CACHE_SERVED;
        plan.answers_empty = true;
    }
    return plan;
}

/* Whether the device's first cache was made empty, and for the program to guard. One rule for all:
 * a served source is merged into a passed target as a copy of the whole device cache, and none of
 * our threads reads that target from then on. */
static bool app_caches_are_guarded(struct app_caches *caches,
                                   const VkPipelineCacheCreateInfo *create_info)
{
    const bool is_guarded =
        (create_info->flags & VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT) &&
        create_info->initialDataSize == 0;
    unsigned first = 0;
    return atomic_compare_exchange_strong(&caches->first, &first,
                                          is_guarded ? FIRST_GUARDED : FIRST_OTHER)
               ? is_guarded
               : first == FIRST_GUARDED;
}

/* Where the driver may call the program back, or the caches are the program's to guard, what is
 * compiled into a passed cache is read at the end of the device alone, which many programs never
 * come to (docs/decisions/0302). */
static bool app_caches_cannot_collect(const struct app_caches *caches, bool are_guarded)
{
    return caches->history && (are_guarded || driver_permit_is_withdrawn(caches->driver->permit));
}

static struct app_cache_plan app_caches_plan_empty(struct app_caches *caches, bool are_guarded)
{
    struct app_cache_plan plan = {.state = APP_CACHE_PASSED};
    if (!device_cache_policy(caches->device_cache)->serve || caches->mode == APP_CACHE_HARVEST) {
        return plan;
    }
    const struct app_cache_habits habits = app_cache_history_habits(caches->history);
    if (caches->mode == APP_CACHE_SERVE || habits.habit == APP_CACHE_NOT_READ) {
        plan.state = APP_CACHE_SERVED;
    } else if (habits.habit == APP_CACHE_KEEPS && !habits.rarely_reads) {
        plan.seed = habits.makes_few && !atomic_load(&caches->loads_data) &&
                    atomic_fetch_add(&caches->seeds, 1) < SEEDS_MAX;
    } else if (habits.habit != APP_CACHE_UNKNOWN ||
               app_caches_cannot_collect(caches, are_guarded)) {
        return app_caches_plan_read(caches, &habits);
    }
    return plan;
}

/* A cache made with data is the program's affair. Data without a pipeline, which we or the driver
 * once answered, are all that the program has kept: it is given its pipelines back. */
static struct app_cache_plan app_caches_plan(struct app_caches *caches,
                                             const VkPipelineCacheCreateInfo *create_info)
{
    const VkPipelineCacheCreateFlags known = VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT;
    struct app_cache_plan plan = {.state = APP_CACHE_ALONE};
    const bool are_guarded = app_caches_are_guarded(caches, create_info);
    if (create_info->initialDataSize != 0) {
        const bool is_empty = app_cache_history_loads(caches->history, create_info->pInitialData,
                                                      create_info->initialDataSize);
        plan.seed = is_empty && !create_info->pNext && !(create_info->flags & ~known) &&
                    device_cache_policy(caches->device_cache)->serve;
        atomic_store(&caches->loads_data, true);
    } else if (caches->mode != APP_CACHE_IGNORE && !create_info->pNext &&
               !(create_info->flags & ~known)) {
        plan = app_caches_plan_empty(caches, are_guarded);
        app_cache_history_made(caches->history);
        device_cache_expected(caches->device_cache);
    }
    return plan;
}

/* NULL: the device cache holds nothing, or there is no room in the budget. */
static struct cache_snapshot *app_caches_seed(struct app_caches *caches)
{
    VkPipelineCache device_cache = device_cache_cache(caches->device_cache);
    if (device_cache == VK_NULL_HANDLE) {
        return NULL;
    }
    struct cache_snapshot *seed = cache_snapshots_get(
        caches->snapshots, device_cache, cache_snapshots_changes(caches->snapshots), false);
    if (seed && !snapshot_answers_reserve(seed->size)) {
        cache_snapshot_drop(seed);
        seed = NULL;
    }
    return seed;
}

static VkResult app_caches_create_down(struct app_caches *caches,
                                       const VkPipelineCacheCreateInfo *create_info,
                                       const VkAllocationCallbacks *allocator,
                                       enum crash_state state, VkPipelineCache *ret_cache)
{
    const struct driver_caches *driver = caches->driver;
    const struct crash_call call = driver_cache_enter(driver, CRASH_KEY_LOAD, state);
    VkResult result =
        driver->table->CreatePipelineCache(driver->device, create_info, allocator, ret_cache);
    driver_cache_leave(driver, &call);
    return result;
}

/* False: it is made as the program asked for it. */
static bool app_caches_create_seeded(struct app_caches *caches,
                                     const VkPipelineCacheCreateInfo *create_info,
                                     const VkAllocationCallbacks *allocator,
                                     VkPipelineCache *ret_cache)
{
    struct cache_snapshot *seed = app_caches_seed(caches);
    if (!seed) {
        return false;
    }
    VkPipelineCacheCreateInfo seeded = *create_info;
    seeded.initialDataSize = seed->size;
    seeded.pInitialData = seed->data;
    const bool made =
        app_caches_create_down(caches, &seeded, allocator, CRASH_INSIDE, ret_cache) == VK_SUCCESS;
    if (made) {
        log_info("the program comes without the pipeline cache that it keeps: it gets %zu bytes",
                 seed->size);
    } else {
        snapshot_answers_unreserve(seed->size);
    }
    cache_snapshot_drop(seed);
    return made;
}

void app_cache_pass(struct app_cache *cache, bool externally_synchronized)
{
    atomic_store(&cache->state, APP_CACHE_PASSED);
    if (!cache->allocator) {
        struct passed_cache *passed =
            cache_collection_add(cache->caches->collection, cache->handle, externally_synchronized);
        if (atomic_load(&cache->deferred)) {
            passed_cache_deferred(passed);
        }
        atomic_store(&cache->passed, passed);
    }
}

/* NULL: out of memory. */
static struct app_cache *app_cache_new(struct app_caches *caches,
                                       const VkPipelineCacheCreateInfo *create_info,
                                       const VkAllocationCallbacks *allocator,
                                       VkPipelineCache handle, const struct app_cache_plan *plan)
{
    struct app_cache *cache = calloc(1, sizeof *cache + (allocator ? sizeof *allocator : 0));
    if (!cache) {
        return NULL;
    }
    if (allocator) {
        cache->allocator = (VkAllocationCallbacks *)(cache + 1);
        *cache->allocator = *allocator;
    }
    cache->caches = caches;
    cache->handle = handle;
    cache->state = (uint8_t)plan->state;
    cache->made_empty = create_info->initialDataSize == 0;
    cache->answers_empty = plan->answers_empty;
    cache->own = !cache->made_empty || plan->seed;
    cache->of_blob = plan->seed;
    return cache;
}

static void app_caches_enter(struct app_caches *caches,
                             const VkPipelineCacheCreateInfo *create_info,
                             const VkAllocationCallbacks *allocator, VkPipelineCache handle,
                             const struct app_cache_plan *plan)
{
    stats_add(caches->stats, STATS_app_caches_created, 1);
    struct app_cache *cache = app_caches_find(caches, handle);
    if (cache) {
        /* The driver returns one handle twice: leave the cache alone. */
        atomic_store(&cache->state, APP_CACHE_ALONE);
        cache_collection_claim(caches->collection, atomic_load(&cache->passed));
        snapshot_answers_unreserve(plan->reserved);
        return;
    }
    cache = app_cache_new(caches, create_info, allocator, handle, plan);
    pthread_mutex_lock(&caches->lock);
    bool known = cache && handle_map_put(&caches->by_handle, HANDLE_VALUE(handle), cache);
    pthread_mutex_unlock(&caches->lock);
    if (!known) {
        snapshot_answers_unreserve(plan->reserved);
        app_cache_delete(cache);
        return;
    }
    atomic_store(&cache->reserved, plan->reserved);
    if (plan->state == APP_CACHE_PASSED) {
        app_cache_pass(cache, create_info->flags != 0);
    }
    stats_add(caches->stats, STATS_app_caches_served, plan->state == APP_CACHE_SERVED);
}

VkResult app_caches_create(struct app_caches *caches, const VkPipelineCacheCreateInfo *create_info,
                           const VkAllocationCallbacks *allocator, VkPipelineCache *ret_cache)
{
    struct app_cache_plan plan = app_caches_plan(caches, create_info);
    VkResult result = VK_SUCCESS;
    plan.seed = plan.seed && app_caches_create_seeded(caches, create_info, allocator, ret_cache);
    if (!plan.seed) {
        result = app_caches_create_down(caches, create_info, allocator, CRASH_OUTSIDE, ret_cache);
    }
    if (result == VK_SUCCESS) {
        app_caches_enter(caches, create_info, allocator, *ret_cache, &plan);
    } else {
        snapshot_answers_unreserve(plan.reserved);
    }
    return result;
}

/* Whether the driver object is kept, for what was compiled into it. */
static bool app_caches_keep_driver_object(struct app_caches *caches, struct app_cache *cache,
                                          const VkAllocationCallbacks *allocator)
{
    const bool is_kept =
        cache_collection_remove(caches->collection, atomic_load(&cache->passed),
                                !allocator && app_cache_is(cache, APP_CACHE_PASSED));
    if (is_kept) {
        device_cache_wake_worker(caches->device_cache);
    }
    return is_kept;
}

void app_caches_destroy(struct app_caches *caches, VkPipelineCache handle,
                        const VkAllocationCallbacks *allocator)
{
    pthread_mutex_lock(&caches->lock);
    struct app_cache *cache = handle_map_remove(&caches->by_handle, HANDLE_VALUE(handle));
    pthread_mutex_unlock(&caches->lock);
    if (!cache || !app_caches_keep_driver_object(caches, cache, allocator)) {
        const struct driver_caches *driver = caches->driver;
        const struct crash_call call =
            driver_cache_enter(driver, CRASH_KEY_DESTROY, app_cache_state_of_call(cache));
        driver->table->DestroyPipelineCache(driver->device, handle, allocator);
        driver_cache_leave(driver, &call);
    }
    app_cache_delete(cache);
}
