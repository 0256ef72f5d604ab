#include "harvest.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 32

struct harvest {
    const struct driver_caches *caches;
    pthread_mutex_t lock; /* over the array; never held across a call down */
    uint32_t count;
    VkPipelineCache kept[KEPT_MAX];
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
        free(harvest);
    }
}

/* Many into one fresh cache. If the driver will not, they are lost: never more than KEPT_MAX. */
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

void harvest_keep(struct harvest *harvest, VkPipelineCache cache)
{
    VkPipelineCache full[KEPT_MAX];
    uint32_t full_count = 0;
    pthread_mutex_lock(&harvest->lock);
    if (harvest->count == KEPT_MAX) {
        memcpy(full, harvest->kept, sizeof full);
        full_count = KEPT_MAX;
        harvest->count = 0;
    }
    harvest->kept[harvest->count++] = cache;
    pthread_mutex_unlock(&harvest->lock);
    if (full_count > 0) {
        VkPipelineCache one = merge_into_one(harvest->caches, full_count, full);
        if (one != VK_NULL_HANDLE) {
            harvest_keep(harvest, one);
        }
    }
}

uint32_t harvest_kept(const struct harvest *harvest, const VkPipelineCache **ret_caches)
{
    *ret_caches = harvest->kept;
    return harvest->count;
}

void harvest_destroy_kept(struct harvest *harvest)
{
    for (uint32_t i = 0; i < harvest->count; ++i) {
        driver_cache_destroy(harvest->caches, harvest->kept[i]);
    }
    harvest->count = 0;
}
