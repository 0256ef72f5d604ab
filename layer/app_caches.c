#include "app_caches_state.h"

#include <stdlib.h>
#include <string.h>

#include "injector.h"

struct app_cache *app_caches_find(struct app_caches *caches, VkPipelineCache named)
{
    return named == VK_NULL_HANDLE ? NULL : handle_map_get(&caches->by_handle, HANDLE_VALUE(named));
}

/* Whether the driver object holds what our next save is to take up. */
static bool worth_harvesting(const struct app_caches *caches, const struct app_cache *cache)
{
    const struct policy *policy = injector_policy(caches->injector);
    return atomic_load(&cache->compiled) && !cache->left_alone && !cache->has_allocator &&
           policy->persist && !policy->single_cache;
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
    if (worth_harvesting(live->caches, cache) && !cache->externally_synchronized) {
        live->handles[live->count++] = cache->handle;
        if (!atomic_exchange(&cache->harvested, true)) {
            stats_add(live->caches->stats, STATS_app_caches_harvested, 1);
        }
    }
}

/* For a save: what the program has destroyed and we keep, and what of its live caches may be read
 * by a thread that is not the program's. A live one that it destroys meanwhile is kept, too. */
static uint32_t pin(void *user, VkPipelineCache **ret_caches)
{
    struct app_caches *caches = user;
    pthread_mutex_lock(&caches->fill_lock);
    pthread_mutex_lock(&caches->list_lock);
    struct live_caches live = {.caches = caches};
    handle_map_each(&caches->by_handle, count_live, &live);
    uint32_t room = harvest_pin(caches->harvest, NULL, 0);
    live.handles = calloc((size_t)room + live.count + 1, sizeof(VkPipelineCache));
    live.count = 0;
    if (live.handles) {
        uint32_t kept = harvest_pin(caches->harvest, live.handles, room);
        live.count = kept < room ? kept : room;
        handle_map_each(&caches->by_handle, collect_live, &live);
    }
    pthread_mutex_unlock(&caches->list_lock);
    *ret_caches = live.handles;
    return live.count;
}

static void unpin(void *user)
{
    struct app_caches *caches = user;
    harvest_unpin(caches->harvest);
    pthread_mutex_unlock(&caches->fill_lock);
}

struct app_caches *app_caches_new(VkDevice device, const device_table *table,
                                  struct injector *injector, const struct config *config,
                                  const char *app, struct stats *stats)
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
    caches->mode = config->app_cache;
    caches->stats = stats;
    caches->harvest = harvest;
    learning_init(&caches->learning, config, app, injector_policy(injector)->persist);
    handle_map_init(&caches->by_handle);
    pthread_mutex_init(&caches->list_lock, NULL);
    pthread_mutex_init(&caches->fill_lock, NULL);
    injector_set_harvest(injector, &(struct injector_harvest){pin, unpin, caches});
    return caches;
}

static void app_cache_delete(struct app_cache *cache)
{
    if (cache) {
        fingerprint_set_release(&cache->seen);
        free(cache);
    }
}

static void delete_entry(void *value, void *user)
{
    (void)user;
    app_cache_delete(value);
}

void app_caches_delete(struct app_caches *caches)
{
    if (caches) {
        handle_map_each(&caches->by_handle, delete_entry, NULL);
        handle_map_release(&caches->by_handle);
        harvest_delete(caches->harvest);
        learning_release(&caches->learning);
        pthread_mutex_destroy(&caches->list_lock);
        pthread_mutex_destroy(&caches->fill_lock);
        free(caches);
    }
}

static bool is_left_alone(const struct app_caches *caches,
                          const VkPipelineCacheCreateInfo *create_info)
{
    const VkPipelineCacheCreateFlags known = VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT;
    return caches->mode == APP_CACHE_IGNORE || create_info->initialDataSize != 0 ||
           create_info->pNext || (create_info->flags & ~known);
}

static bool is_to_be_served(struct app_caches *caches)
{
    if (!injector_policy(caches->injector)->serve || atomic_load(&caches->reads_back)) {
        return false;
    }
    return caches->mode == APP_CACHE_SERVE ||
           (caches->mode == APP_CACHE_AUTO && learning_caches_are_not_read(&caches->learning));
}

void app_caches_created(struct app_caches *caches, const VkPipelineCacheCreateInfo *create_info,
                        const VkAllocationCallbacks *allocator, VkPipelineCache handle)
{
    stats_add(caches->stats, STATS_app_caches_created, 1);
    struct app_cache *cache = app_caches_find(caches, handle);
    if (cache) {
        /* A driver that returns one handle twice: too odd to take part in. */
        served_cache_init(&cache->serving, true);
        cache->left_alone = true;
        return;
    }
    cache = calloc(1, sizeof *cache);
    if (!cache) {
        return;
    }
    cache->handle = handle;
    cache->left_alone = is_left_alone(caches, create_info);
    cache->externally_synchronized = create_info->flags != 0;
    cache->has_allocator = allocator || injector_caches(caches->injector)->allocator;
    if (allocator) {
        cache->callbacks = *allocator;
        cache->allocator = &cache->callbacks;
    }
    if (!cache->left_alone) {
        atomic_store(&caches->makes_empty, true);
    }
    bool served = !cache->left_alone && is_to_be_served(caches);
    served_cache_init(&cache->serving, !served);
    fingerprint_set_init(&cache->seen);
    pthread_mutex_lock(&caches->list_lock);
    bool known = handle_map_put(&caches->by_handle, HANDLE_VALUE(handle), cache);
    pthread_mutex_unlock(&caches->list_lock);
    if (!known) {
        app_cache_delete(cache);
        return;
    }
    stats_add(caches->stats, STATS_app_caches_served, served);
}

bool app_cache_has_seen(struct app_cache *cache, uint64_t fingerprint)
{
    return cache && fingerprint_set_has(&cache->seen, fingerprint);
}

void app_cache_saw(struct app_cache *cache, uint64_t fingerprint)
{
    if (cache) {
        fingerprint_set_add(&cache->seen, fingerprint);
    }
}

bool app_cache_allows_sharing(struct app_cache *cache, uint64_t fingerprint, bool in_hot)
{
    return !cache || (in_hot && !served_cache_is_passed(&cache->serving)) ||
           fingerprint_set_has(&cache->seen, fingerprint);
}

bool app_caches_destroying(struct app_caches *caches, VkPipelineCache handle,
                           const VkAllocationCallbacks *allocator)
{
    pthread_mutex_lock(&caches->list_lock);
    struct app_cache *cache = handle_map_remove(&caches->by_handle, HANDLE_VALUE(handle));
    pthread_mutex_unlock(&caches->list_lock);
    bool keep = cache && !allocator && worth_harvesting(caches, cache);
    if (keep && !atomic_load(&cache->harvested)) {
        stats_add(caches->stats, STATS_app_caches_harvested, 1);
    }
    app_cache_delete(cache);
    if (keep) {
        harvest_keep(caches->harvest, handle);
    }
    return !keep;
}

struct app_cache_choice app_caches_choose(struct app_caches *caches, VkPipelineCache named,
                                          struct app_cache *named_cache)
{
    struct app_cache_choice choice = {.cache = named, .named = named_cache};
    if (named != VK_NULL_HANDLE && (!named_cache || !served_cache_begin(&named_cache->serving))) {
        return choice;
    }
    VkPipelineCache hot = injector_cache(caches->injector);
    if (hot != VK_NULL_HANDLE) {
        choice.cache = hot;
        choice.hot = true;
    } else if (named_cache) {
        /* Nothing to serve it from: it is used itself, and so can no longer be filled. */
        served_cache_init(&named_cache->serving, true);
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

bool app_caches_choice_is_saved(const struct app_cache_choice *choice)
{
    return choice->hot || (choice->named && !choice->named->left_alone);
}

bool app_caches_finish(struct app_caches *caches)
{
    if (!injector_finish(caches->injector)) {
        return false;
    }
    harvest_destroy_kept(caches->harvest);
    if (caches->mode == APP_CACHE_AUTO && atomic_load(&caches->makes_empty)) {
        learning_conclude(&caches->learning, atomic_load(&caches->reads_back));
    }
    return true;
}
