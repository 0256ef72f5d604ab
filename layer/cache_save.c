#include "cache_save.h"

#include <stdlib.h>

/* VkPipelineCacheHeaderVersionOne: data of this size holds no pipeline. */
#define HEADER_SIZE 32

struct data {
    uint8_t *bytes;
    size_t size;
};

static bool is_known(const struct cache_save *save, const struct data *data)
{
    return data->size == save->known_size &&
           digest_equal(digest_of(data->bytes, data->size), save->known_digest);
}

/* Merges everything into a fresh cache and reads that. */
static bool read_merged(const struct cache_save *save, const struct store_foreign *foreign,
                        struct data *ret_data)
{
    bool done = false;
    uint32_t count = 0;
    VkPipelineCache fresh = driver_cache_create(save->caches, NULL, 0);
    VkPipelineCache *sources =
        calloc(foreign->count + save->harvested_count + 1, sizeof(VkPipelineCache));
    if (fresh == VK_NULL_HANDLE || !sources) {
        goto out;
    }
    for (size_t i = 0; i < foreign->count; ++i) {
        VkPipelineCache cache =
            driver_cache_create(save->caches, foreign->blobs[i].data, foreign->blobs[i].size);
        if (cache != VK_NULL_HANDLE) {
            sources[count++] = cache;
        }
    }
    uint32_t own = count;
    if (save->hot != VK_NULL_HANDLE) {
        sources[count++] = save->hot;
    }
    for (uint32_t i = 0; i < save->harvested_count; ++i) {
        sources[count++] = save->harvested[i];
    }
    done = driver_cache_merge(save->caches, fresh, count, sources) &&
           driver_cache_read(save->caches, fresh, &ret_data->bytes, &ret_data->size);
    for (uint32_t i = 0; i < own; ++i) {
        driver_cache_destroy(save->caches, sources[i]);
    }
out:
    free(sources);
    driver_cache_destroy(save->caches, fresh);
    return done;
}

/* The lock is ours: with what others left, or, if that cannot be had, without touching it. */
static enum reason commit(const struct cache_save *save, const struct store_foreign *foreign,
                          struct data *data, size_t *ret_saved)
{
    if (foreign->count > 0 && save->may_merge) {
        struct data merged = {0};
        if (!read_merged(save, foreign, &merged)) {
            store_abort(save->store);
            return REASON_driver_refused;
        }
        free(data->bytes);
        *data = merged;
    }
    enum reason reason = store_commit(save->store, data->bytes, data->size);
    if (reason == REASON_ok) {
        *ret_saved = data->size;
    }
    return reason;
}

enum reason cache_save_run(const struct cache_save *save, size_t *ret_saved)
{
    static const struct store_foreign nothing;
    struct data data = {0};
    *ret_saved = 0;
    if (save->hot == VK_NULL_HANDLE && save->harvested_count == 0) {
        return REASON_ok;
    }
    bool read = save->harvested_count == 0
                    ? driver_cache_read(save->caches, save->hot, &data.bytes, &data.size)
                    : read_merged(save, &nothing, &data);
    if (!read || data.size <= HEADER_SIZE) {
        free(data.bytes);
        return REASON_ineffective;
    }
    enum reason reason = REASON_ok;
    if (!is_known(save, &data)) {
        struct store_foreign foreign;
        reason = store_begin(save->store, &foreign);
        if (reason == REASON_ok) {
            reason = commit(save, &foreign, &data, ret_saved);
        } else if (reason == REASON_locked) {
            reason = store_commit_unmerged(save->store, data.bytes, data.size);
            *ret_saved = reason == REASON_ok ? data.size : 0;
        }
    }
    free(data.bytes);
    return reason;
}
