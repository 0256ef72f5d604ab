#include "app_caches.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "handle_map.h"
#include "harvest.h"
#include "injector.h"
#include "served_cache.h"

/* One cache of the program that was created empty. */
struct app_cache {
    VkPipelineCache handle;
    bool externally_synchronized; /* may be touched in the program's own calls on it only */
    bool never_kept; /* made with an allocator, or under a handle that the driver gave out twice */
    atomic_bool compiled; /* its driver object may hold what we have not */
    atomic_bool read_back;
    struct served_cache serving;
};

struct app_caches {
    VkDevice device;
    const device_table *table;
    struct injector *injector;
    enum app_cache_mode mode;
    struct stats *stats;
    struct handle_map by_handle; /* VkPipelineCache → struct app_cache; others are left alone */
    struct harvest *harvest;
    pthread_mutex_t fill_lock; /* held across calls down while served caches are filled and read */
    atomic_bool reads_back;    /* the program has read a cache back: later ones are passed on */
};

static uint64_t key_of(VkPipelineCache handle)
{
    uint64_t key = 0;
    memcpy(&key, &handle, sizeof handle);
    return key;
}

static struct app_cache *find(struct app_caches *caches, VkPipelineCache handle)
{
    return handle_map_get(&caches->by_handle, key_of(handle));
}

struct app_caches *app_caches_new(VkDevice device, const device_table *table,
                                  struct injector *injector, enum app_cache_mode mode,
                                  struct stats *stats)
{
    struct app_caches *caches = calloc(1, sizeof *caches);
    struct harvest *harvest = harvest_new(injector_caches(injector));
    if (!caches || !harvest) {
        harvest_delete(harvest);
        free(caches);
        return NULL;
    }
    caches->device = device;
    caches->table = table;
    caches->injector = injector;
    caches->mode = mode;
    caches->stats = stats;
    caches->harvest = harvest;
    handle_map_init(&caches->by_handle);
    pthread_mutex_init(&caches->fill_lock, NULL);
    return caches;
}

static void free_entry(void *value, void *user)
{
    (void)user;
    free(value);
}

void app_caches_delete(struct app_caches *caches)
{
    if (caches) {
        handle_map_each(&caches->by_handle, free_entry, NULL);
        handle_map_release(&caches->by_handle);
        harvest_delete(caches->harvest);
        pthread_mutex_destroy(&caches->fill_lock);
        free(caches);
    }
}

static bool to_be_served(struct app_caches *caches)
{
    return caches->mode == APP_CACHE_SERVE && injector_policy(caches->injector)->serve &&
           !atomic_load(&caches->reads_back);
}

void app_caches_created(struct app_caches *caches, const VkPipelineCacheCreateInfo *create_info,
                        const VkAllocationCallbacks *allocator, VkPipelineCache handle)
{
    const VkPipelineCacheCreateFlags known = VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT;
    stats_add(caches->stats, STATS_app_caches_created, 1);
    if (caches->mode == APP_CACHE_IGNORE || create_info->initialDataSize != 0 ||
        create_info->pNext || (create_info->flags & ~known)) {
        return;
    }
    struct app_cache *cache = find(caches, handle);
    if (cache) {
        /* A driver that returns one handle twice: too odd to take part in. */
        served_cache_init(&cache->serving, true);
        cache->never_kept = true;
        return;
    }
    cache = calloc(1, sizeof *cache);
    if (!cache) {
        return;
    }
    cache->handle = handle;
    cache->externally_synchronized = create_info->flags != 0;
    cache->never_kept = allocator != NULL;
    bool served = to_be_served(caches);
    served_cache_init(&cache->serving, !served);
    if (!handle_map_put(&caches->by_handle, key_of(handle), cache)) {
        free(cache);
        return;
    }
    stats_add(caches->stats, STATS_app_caches_served, served);
}

/* Whether the driver object holds what our next save is to take up. */
static bool worth_harvesting(const struct app_caches *caches, const struct app_cache *cache)
{
    const struct policy *policy = injector_policy(caches->injector);
    return atomic_load(&cache->compiled) && policy->persist && !policy->single_cache &&
           !cache->never_kept;
}

bool app_caches_destroying(struct app_caches *caches, VkPipelineCache handle,
                           const VkAllocationCallbacks *allocator)
{
    struct app_cache *cache = handle_map_remove(&caches->by_handle, key_of(handle));
    bool keep = cache && !allocator && worth_harvesting(caches, cache);
    free(cache);
    if (keep) {
        stats_add(caches->stats, STATS_app_caches_harvested, 1);
        harvest_keep(caches->harvest, handle);
    }
    return !keep;
}

struct app_cache_choice app_caches_choose(struct app_caches *caches, VkPipelineCache named)
{
    struct app_cache_choice choice = {.cache = named};
    if (named != VK_NULL_HANDLE) {
        choice.named = find(caches, named);
        if (!choice.named || !served_cache_begin(&choice.named->serving)) {
            return choice;
        }
    }
    VkPipelineCache hot = injector_cache(caches->injector);
    if (hot != VK_NULL_HANDLE) {
        choice.cache = hot;
        choice.hot = true;
    } else if (choice.named) {
        /* Nothing to serve it from: it is used itself, and so can no longer be filled. */
        served_cache_init(&choice.named->serving, true);
    }
    return choice;
}

void app_caches_chosen_done(const struct app_cache_choice *choice, bool compiled)
{
    if (!choice->named) {
        return;
    }
    if (choice->hot) {
        served_cache_end(&choice->named->serving);
    } else if (compiled) {
        atomic_store_explicit(&choice->named->compiled, true, memory_order_relaxed);
    }
}

void app_caches_untouched(struct app_caches *caches, VkPipelineCache named)
{
    struct app_cache *cache = named != VK_NULL_HANDLE ? find(caches, named) : NULL;
    if (!cache) {
        return;
    }
    atomic_store(&cache->compiled, true);
    if (!served_cache_is_passed(&cache->serving)) {
        pthread_mutex_lock(&caches->fill_lock);
        served_cache_pass_now(&cache->serving, injector_caches(caches->injector), named,
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
        served_cache_fill(&cache->serving, injector_caches(caches->injector), cache->handle,
                          injector_loaded_cache(caches->injector));
    }
}

/* Under fill_lock: it has seen it. */
static void pass(struct app_caches *caches, struct app_cache *cache)
{
    if (cache && !served_cache_is_passed(&cache->serving)) {
        served_cache_pass(&cache->serving, injector_caches(caches->injector), cache->handle,
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
    struct app_cache *cache = find(caches, handle);
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
    struct app_cache *target = find(caches, destination);
    pthread_mutex_lock(&caches->fill_lock);
    for (uint32_t i = 0; i < source_count; ++i) {
        struct app_cache *source = find(caches, sources[i]);
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
        pass(caches, find(caches, sources[i]));
    }
    pthread_mutex_unlock(&caches->fill_lock);
    if (target) {
        atomic_store(&target->compiled, true);
    }
    return result;
}

struct live_caches {
    const struct app_caches *caches;
    VkPipelineCache *handles;
    uint32_t count;
};

static void count_live(void *value, void *user)
{
    (void)value;
    ++((struct live_caches *)user)->count;
}

static void collect_live(void *value, void *user)
{
    struct live_caches *live = user;
    struct app_cache *cache = value;
    if (atomic_load(&cache->compiled) && !cache->externally_synchronized) {
        live->handles[live->count++] = cache->handle;
    }
}

void app_caches_finish(struct app_caches *caches)
{
    const VkPipelineCache *kept = NULL;
    uint32_t kept_count = harvest_kept(caches->harvest, &kept);
    struct live_caches live = {.caches = caches};
    handle_map_each(&caches->by_handle, count_live, &live);
    live.handles = calloc((size_t)kept_count + live.count + 1, sizeof(VkPipelineCache));
    if (live.handles) {
        memcpy(live.handles, kept, kept_count * sizeof(VkPipelineCache));
        live.count = kept_count;
        handle_map_each(&caches->by_handle, collect_live, &live);
        stats_add(caches->stats, STATS_app_caches_harvested, live.count - kept_count);
    } else {
        live.count = 0;
    }
    injector_finish(caches->injector, live.count, live.handles);
    harvest_destroy_kept(caches->harvest);
    free(live.handles);
}
