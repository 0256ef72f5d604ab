#include "harvest.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* So many are kept before they are merged into one; more only while they are pinned. */
#define KEPT_MAX 32

struct harvest {
    const struct driver_caches *caches;
    pthread_mutex_t lock; /* over all below; never held across a call down */
    bool pinned;
    uint32_t count;
    uint32_t capacity;
    VkPipelineCache *kept;
};

struct harvest *harvest_new(const struct driver_caches *caches)
{
    struct harvest *harvest = calloc(1, sizeof *harvest);
    if (harvest) {
        harvest->caches = caches;
        pthread_mutex_init(&harvest->lock, NULL);
    }
    return harvest;
}

void harvest_delete(struct harvest *harvest)
{
    if (harvest) {
        pthread_mutex_destroy(&harvest->lock);
        free(harvest->kept);
        free(harvest);
    }
}

/* Many into one fresh cache. If the driver will not, they are lost: never more than are bounded. */
static VkPipelineCache merge_into_one(const struct driver_caches *caches, uint32_t count,
                                      const VkPipelineCache *sources)
{
    VkPipelineCache one = driver_cache_create(caches, NULL, 0);
    if (one != VK_NULL_HANDLE) {
        driver_cache_merge(caches, one, count, sources);
    }
    for (uint32_t i = 0; i < count; ++i) {
        driver_cache_destroy(caches, sources[i]);
    }
    return one;
}

/* Under the lock. */
static bool make_room(struct harvest *harvest)
{
    if (harvest->count < harvest->capacity) {
        return true;
    }
    uint32_t capacity = harvest->capacity ? harvest->capacity * 2 : KEPT_MAX;
    VkPipelineCache *kept = realloc(harvest->kept, capacity * sizeof *kept);
    if (kept) {
        harvest->kept = kept;
        harvest->capacity = capacity;
    }
    return kept;
}

/* Under the lock: takes everything out, if it is much and may be destroyed. */
static VkPipelineCache *take_full(struct harvest *harvest, uint32_t *ret_count)
{
    if (harvest->count < KEPT_MAX || harvest->pinned) {
        return NULL;
    }
    VkPipelineCache *full = harvest->kept;
    *ret_count = harvest->count;
    harvest->kept = NULL;
    harvest->count = 0;
    harvest->capacity = 0;
    return full;
}

void harvest_keep(struct harvest *harvest, VkPipelineCache cache)
{
    pthread_mutex_lock(&harvest->lock);
    uint32_t full_count = 0;
    VkPipelineCache *full = take_full(harvest, &full_count);
    bool room = make_room(harvest);
    if (room) {
        harvest->kept[harvest->count++] = cache;
    }
    bool pinned = harvest->pinned;
    pthread_mutex_unlock(&harvest->lock);
    if (!room && !pinned) {
        driver_cache_destroy(harvest->caches, cache);
    }
    if (full) {
        VkPipelineCache one = merge_into_one(harvest->caches, full_count, full);
        free(full);
        if (one != VK_NULL_HANDLE) {
            harvest_keep(harvest, one);
        }
    }
}

uint32_t harvest_pin(struct harvest *harvest, VkPipelineCache *ret_caches, uint32_t room)
{
    pthread_mutex_lock(&harvest->lock);
    harvest->pinned = true;
    uint32_t count = harvest->count;
    uint32_t copied = count < room ? count : room;
    if (copied > 0) {
        memcpy(ret_caches, harvest->kept, copied * sizeof *ret_caches);
    }
    pthread_mutex_unlock(&harvest->lock);
    return count;
}

void harvest_unpin(struct harvest *harvest)
{
    pthread_mutex_lock(&harvest->lock);
    harvest->pinned = false;
    pthread_mutex_unlock(&harvest->lock);
}

void harvest_destroy_kept(struct harvest *harvest)
{
    for (uint32_t i = 0; i < harvest->count; ++i) {
        driver_cache_destroy(harvest->caches, harvest->kept[i]);
    }
    harvest->count = 0;
}
