#include "app_caches_state.h"

#include "base/log.h"
#include "injector.h"

/* A cache of the program's is filled from one that was made with the same allocator: there are
 * drivers that move entries, with their memory, from one cache to the other (RADV of Mesa 22.3).
 * The program's allocator may be called here, in the program's own call. */
static struct driver_caches driver_for(const struct app_caches *caches,
                                       const struct app_cache *cache)
{
    struct driver_caches driver = *injector_caches(caches->injector);
    driver.allocator = cache->allocator;
    return driver;
}

void app_caches_untouched(struct app_caches *caches, VkPipelineCache named)
{
    struct app_cache *cache = app_caches_find(caches, named);
    if (!cache) {
        return;
    }
    atomic_store(&cache->compiled, true);
    if (!served_cache_is_passed(&cache->serving)) {
        pthread_mutex_lock(&caches->fill_lock);
        const struct driver_caches driver = driver_for(caches, cache);
        served_cache_pass_now(&cache->serving, &driver, named,
                              injector_loaded_cache(caches->injector));
        pthread_mutex_unlock(&caches->fill_lock);
    }
}

static void note_read_back(struct app_caches *caches, struct app_cache *cache)
{
    if (atomic_exchange(&cache->read_back, true)) {
        return;
    }
    stats_add(caches->stats, STATS_app_caches_read_back, 1);
    if (cache->left_alone) {
        return;
    }
    bool first = !atomic_exchange(&caches->reads_back, true);
    if (first && !served_cache_is_passed(&cache->serving)) {
        log_info("the program reads its pipeline cache back: it now gets more than it made, and "
                 "its caches are passed on from here");
    }
}

/* Under fill_lock: the program is about to see what is in the cache. */
static void fill(struct app_caches *caches, struct app_cache *cache)
{
    if (cache && !served_cache_is_passed(&cache->serving)) {
        const struct driver_caches driver = driver_for(caches, cache);
        served_cache_fill(&cache->serving, &driver, cache->handle,
                          injector_loaded_cache(caches->injector));
    }
}

/* Under fill_lock: it has seen it. */
static void pass(struct app_caches *caches, struct app_cache *cache)
{
    if (cache && !served_cache_is_passed(&cache->serving)) {
        const struct driver_caches driver = driver_for(caches, cache);
        served_cache_pass(&cache->serving, &driver, cache->handle,
                          injector_loaded_cache(caches->injector));
    }
}

static VkResult get_data(struct app_caches *caches, VkPipelineCache handle, size_t *data_size,
                         void *data)
{
    const struct driver_caches *driver = injector_caches(caches->injector);
    driver_cache_enter(driver);
    VkResult result = caches->table->GetPipelineCacheData(caches->device, handle, data_size, data);
    driver_cache_leave(driver);
    return result;
}

VkResult app_caches_get_data(struct app_caches *caches, VkPipelineCache handle, size_t *data_size,
                             void *data)
{
    struct app_cache *cache = app_caches_find(caches, handle);
    if (cache) {
        note_read_back(caches, cache);
    }
    if (!cache || served_cache_is_passed(&cache->serving)) {
        return get_data(caches, handle, data_size, data);
    }
    /* The size is asked for first, then the data: both calls see what the first one filled in. */
    pthread_mutex_lock(&caches->fill_lock);
    if (!data || !served_cache_is_filled(&cache->serving)) {
        fill(caches, cache);
    }
    VkResult result = get_data(caches, handle, data_size, data);
    if (data) {
        pass(caches, cache);
    }
    pthread_mutex_unlock(&caches->fill_lock);
    return result;
}

VkResult app_caches_merge(struct app_caches *caches, VkPipelineCache destination,
                          uint32_t source_count, const VkPipelineCache *sources)
{
    const struct driver_caches *driver = injector_caches(caches->injector);
    struct app_cache *target = app_caches_find(caches, destination);
    pthread_mutex_lock(&caches->fill_lock);
    for (uint32_t i = 0; i < source_count; ++i) {
        struct app_cache *source = app_caches_find(caches, sources[i]);
        if (source) {
            note_read_back(caches, source);
        }
        fill(caches, source);
    }
    /* Once merged into, its contents are no longer ours alone: passed on from now. */
    pass(caches, target);
    driver_cache_enter(driver);
    VkResult result =
        caches->table->MergePipelineCaches(caches->device, destination, source_count, sources);
    driver_cache_leave(driver);
    for (uint32_t i = 0; i < source_count; ++i) {
        pass(caches, app_caches_find(caches, sources[i]));
    }
    pthread_mutex_unlock(&caches->fill_lock);
    if (target) {
        atomic_store(&target->compiled, true);
    }
    return result;
}
