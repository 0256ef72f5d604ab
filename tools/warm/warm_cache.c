// SPDX-License-Identifier: Apache-2.0
#include "tools/warm/warm.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/io.h"

/* Cache data of at most this size is nothing but its header. */
#define WARM_CACHE_HEADER 32

/* How often data that grows meanwhile is read, and the least room that it is given to grow. */
#define WARM_CACHE_READS 8
#define WARM_CACHE_SPARE 4096

#define WARM_CACHE_COMMAND(cache, name) ((PFN_##name)warm_vulkan_command((cache)->vulkan, #name))

/* NULL where the driver refuses. */
static VkPipelineCache warm_cache_create(const struct warm_cache *cache, const void *data,
                                         size_t size)
{
    const VkPipelineCacheCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
        .initialDataSize = size,
        .pInitialData = data,
    };
    VkPipelineCache handle = VK_NULL_HANDLE;
    const VkResult result = WARM_CACHE_COMMAND(cache, vkCreatePipelineCache)(cache->vulkan->device,
                                                                             &info, NULL, &handle);
    return result == VK_SUCCESS ? handle : VK_NULL_HANDLE;
}

static void warm_cache_destroy(const struct warm_cache *cache, VkPipelineCache handle)
{
    WARM_CACHE_COMMAND(cache, vkDestroyPipelineCache)(cache->vulkan->device, handle, NULL);
}

static void warm_cache_load(struct warm_cache *cache)
{
    AUTO(store_blob_free) struct store_blob blob = {0};
    cache->loaded = true;
    if (store_load(cache->store, &blob) != STATUS_ok) {
        return;
    }
    cache->data = malloc(blob.size);
    if (cache->data) {
        memcpy(cache->data, blob.data, blob.size);
        cache->size = blob.size;
        cache->saved = blob.digest;
    }
}

bool warm_cache_attach(struct warm_cache *cache, const struct warm_vulkan *vulkan)
{
    cache->vulkan = vulkan;
    if (!cache->loaded) {
        warm_cache_load(cache);
    }
    struct crash_guard *guard = store_guard(cache->store);
    const struct crash_call call = crash_guard_raise(guard, CRASH_KEY_LOAD, CRASH_INSIDE);
    cache->handle = warm_cache_create(cache, cache->data, cache->size);
    crash_guard_lower(guard, &call);
    if (cache->handle == VK_NULL_HANDLE && cache->size > 0) {
        cache->handle = warm_cache_create(cache, NULL, 0);
    }
    /* A crash from here on is a recipe's, and recorded as such. */
    store_survived(cache->store);
    return cache->handle != VK_NULL_HANDLE;
}

/* All data of the object, malloc'ed; tries again where it has grown meanwhile. NULL: the driver
 * does not give it. Some drivers leave the size as it was given (hazard 37: the written size cannot
 * be trusted): where there was spare room, the data counts only if it did not need all of it. */
static void *warm_cache_read(const struct warm_cache *cache, VkPipelineCache handle,
                             size_t *ret_size)
{
    const PFN_vkGetPipelineCacheData get = WARM_CACHE_COMMAND(cache, vkGetPipelineCacheData);
    VkDevice device = cache->vulkan->device;
    for (int attempt = 0; attempt < WARM_CACHE_READS; attempt++) {
        const bool spare = attempt % 2 != 0; /* room for what other threads compile meanwhile */
        size_t size = 0;
        if (get(device, handle, &size, NULL) != VK_SUCCESS) {
            return NULL;
        }
        size += spare ? size / 4 + WARM_CACHE_SPARE : 0;
        size_t written = size;
        void *data = malloc(size + 1);
        const VkResult result =
            data ? get(device, handle, &written, data) : VK_ERROR_OUT_OF_HOST_MEMORY;
        if (result == VK_SUCCESS && written <= size && (!spare || written < size)) {
            *ret_size = written;
            return data;
        }
        free(data);
        if (result < VK_SUCCESS) {
            return NULL;
        }
    }
    return NULL;
}

/* Our data and that of other processes in one, through a cache object that nobody else uses. NULL:
 * the driver refuses. */
static void *warm_cache_merge(const struct warm_cache *cache, const struct store_foreign *foreign,
                              const void *data, size_t size, size_t *ret_size)
{
    VkPipelineCache whole = warm_cache_create(cache, data, size);
    VkResult result = whole ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; result == VK_SUCCESS && i < foreign->count; i++) {
        VkPipelineCache other =
            warm_cache_create(cache, foreign->blobs[i].data, foreign->blobs[i].size);
        if (other) {
            result = WARM_CACHE_COMMAND(cache, vkMergePipelineCaches)(cache->vulkan->device, whole,
                                                                      1, &other);
            warm_cache_destroy(cache, other);
        }
    }
    void *merged = result == VK_SUCCESS ? warm_cache_read(cache, whole, ret_size) : NULL;
    if (whole) {
        warm_cache_destroy(cache, whole);
    }
    return merged;
}

/* only_unites: the file holds the data already, and they are saved with what lies beside it or not
 * at all; where none of that can be used, it goes. */
static enum status warm_cache_commit(const struct warm_cache *cache, const void *data, size_t size,
                                     bool only_unites)
{
    struct store_foreign foreign;
    if (store_begin(cache->store, &foreign) == STATUS_ok) {
        if (foreign.count == 0) {
            return store_commit(cache->store, data, size);
        }
        size_t merged_size = 0;
        store_merging(cache->store);
        AUTO_FREE void *merged =
            cache->may_merge ? warm_cache_merge(cache, &foreign, data, size, &merged_size) : NULL;
        store_merged(cache->store);
        if (merged && merged_size <= cache->max_blob) {
            return store_commit(cache->store, merged, merged_size);
        }
        store_abort(cache->store);
    }
    return only_unites ? STATUS_ok : store_commit_unmerged(cache->store, data, size);
}

bool warm_cache_is_empty(struct warm_cache *cache)
{
    const PFN_vkGetPipelineCacheData get = WARM_CACHE_COMMAND(cache, vkGetPipelineCacheData);
    size_t size = SIZE_MAX;
    if (cache->alone) {
        pthread_mutex_lock(cache->alone);
    }
    const VkResult result = get(cache->vulkan->device, cache->handle, &size, NULL);
    if (cache->alone) {
        pthread_mutex_unlock(cache->alone);
    }
    return result == VK_SUCCESS && size <= WARM_CACHE_HEADER;
}

enum status warm_cache_save(struct warm_cache *cache, size_t *ret_size)
{
    size_t size = 0;
    if (cache->alone) {
        pthread_mutex_lock(cache->alone);
    }
    AUTO_FREE void *data = warm_cache_read(cache, cache->handle, &size);
    const struct digest digest = digest_of(data, size);
    enum status reason = STATUS_ok;
    if (!data) {
        reason = STATUS_driver_refused;
    } else if (size <= WARM_CACHE_HEADER) {
        reason = STATUS_ineffective;
    } else if (!digest_equal(digest, cache->saved)) {
        reason = warm_cache_commit(cache, data, size, false);
    } else if (cache->may_merge && store_has_others(cache->store)) {
        warm_cache_commit(cache, data, size, true); /* the cache is as good as it was if it fails */
    }
    if (cache->alone) {
        pthread_mutex_unlock(cache->alone);
    }
    if (reason == STATUS_ok) {
        cache->saved = digest;
    }
    *ret_size = size;
    return reason;
}

void warm_cache_detach(struct warm_cache *cache)
{
    size_t size = 0;
    void *data = warm_cache_read(cache, cache->handle, &size);
    if (data) {
        free(cache->data);
        cache->data = data;
        cache->size = size;
    }
    warm_cache_destroy(cache, cache->handle);
    cache->handle = VK_NULL_HANDLE;
    cache->vulkan = NULL;
}
