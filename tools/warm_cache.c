#include "warm_cache.h"

#include <stdlib.h>
#include <string.h>

#include "codec/digest.h"

/* Cache data that is not longer holds nothing but its header. */
#define HEADER_SIZE 32

/* How often cache data that grows is asked for, and the least room that it is given to grow. */
#define READ_ATTEMPTS 8
#define SPARE_SIZE    4096

void warm_cache_open(struct warm_cache *cache, struct store *store, bool may_merge,
                     pthread_mutex_t *alone)
{
    *cache = (struct warm_cache){.store = store, .may_merge = may_merge, .alone = alone};
}

void warm_cache_close(struct warm_cache *cache)
{
    free(cache->data);
    *cache = (struct warm_cache){0};
}

/* NULL where the driver refuses. */
static VkPipelineCache create(const struct warm_cache *cache, const void *data, size_t size)
{
    const struct warm_vulkan *vulkan = cache->vulkan;
    PFN_vkCreatePipelineCache command =
        (PFN_vkCreatePipelineCache)warm_vulkan_command(vulkan, "vkCreatePipelineCache");
    const VkPipelineCacheCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
        .initialDataSize = size,
        .pInitialData = data,
    };
    VkPipelineCache handle = VK_NULL_HANDLE;
    return command(vulkan->device, &info, NULL, &handle) == VK_SUCCESS ? handle : VK_NULL_HANDLE;
}

static void destroy(const struct warm_cache *cache, VkPipelineCache handle)
{
    PFN_vkDestroyPipelineCache command =
        (PFN_vkDestroyPipelineCache)warm_vulkan_command(cache->vulkan, "vkDestroyPipelineCache");
    command(cache->vulkan->device, handle, NULL);
}

static void load(struct warm_cache *cache)
{
    struct store_blob blob;
    cache->loaded = true;
    if (store_load(cache->store, &blob) != REASON_ok) {
        return;
    }
    cache->data = malloc(blob.size);
    if (cache->data) {
        memcpy(cache->data, blob.data, blob.size);
        cache->size = blob.size;
        cache->saved = blob.digest;
    }
    store_blob_free(&blob);
}

bool warm_cache_attach(struct warm_cache *cache, const struct warm_vulkan *vulkan)
{
    cache->vulkan = vulkan;
    if (!cache->loaded) {
        load(cache);
    }
    cache->handle = create(cache, cache->data, cache->size);
    if (cache->handle == VK_NULL_HANDLE && cache->size > 0) {
        cache->handle = create(cache, NULL, 0);
    }
    /* What the driver dies of from here on is a recipe, and booked as such: not the blob. */
    store_survived(cache->store);
    return cache->handle != VK_NULL_HANDLE;
}

/* Into memory of that size; NULL, with the driver's result, where that fails. Some drivers leave
 * the size as they were given it (hazard 37): where there was room to spare, the data must tell
 * that it did not need all of it. */
static void *get_into(const struct warm_cache *cache, VkPipelineCache handle, size_t capacity,
                      bool spare, size_t *ret_size, VkResult *ret_result)
{
    PFN_vkGetPipelineCacheData command =
        (PFN_vkGetPipelineCacheData)warm_vulkan_command(cache->vulkan, "vkGetPipelineCacheData");
    size_t written = capacity;
    void *data = malloc(capacity + 1);
    *ret_result =
        data ? command(cache->vulkan->device, handle, &written, data) : VK_ERROR_OUT_OF_HOST_MEMORY;
    if (*ret_result == VK_SUCCESS && written <= capacity && (!spare || written < capacity)) {
        *ret_size = written;
        return data;
    }
    free(data);
    return NULL;
}

/* All of it: what grows meanwhile is asked for again. NULL: the driver does not give it. */
static void *get_data(const struct warm_cache *cache, VkPipelineCache handle, size_t *ret_size)
{
    PFN_vkGetPipelineCacheData command =
        (PFN_vkGetPipelineCacheData)warm_vulkan_command(cache->vulkan, "vkGetPipelineCacheData");
    for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
        size_t size = 0;
        VkResult result = command(cache->vulkan->device, handle, &size, NULL);
        if (result != VK_SUCCESS) {
            return NULL;
        }
        bool spare = attempt % 2 != 0; /* what other threads compile meanwhile finds room */
        size += spare ? size / 4 + SPARE_SIZE : 0;
        void *data = get_into(cache, handle, size, spare, ret_size, &result);
        if (data || result < VK_SUCCESS) {
            return data;
        }
    }
    return NULL;
}

/* Our data and that of others in one, through a cache that nobody else uses. NULL: not to be had.
 */
static void *merge(const struct warm_cache *cache, const struct store_foreign *foreign,
                   const void *data, size_t size, size_t *ret_size)
{
    PFN_vkMergePipelineCaches command =
        (PFN_vkMergePipelineCaches)warm_vulkan_command(cache->vulkan, "vkMergePipelineCaches");
    VkPipelineCache whole = create(cache, data, size);
    VkResult result = whole ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; result == VK_SUCCESS && i < foreign->count; i++) {
        VkPipelineCache other = create(cache, foreign->blobs[i].data, foreign->blobs[i].size);
        if (other) {
            result = command(cache->vulkan->device, whole, 1, &other);
            destroy(cache, other);
        }
    }
    void *merged = result == VK_SUCCESS ? get_data(cache, whole, ret_size) : NULL;
    if (whole) {
        destroy(cache, whole);
    }
    return merged;
}

static enum reason commit(const struct warm_cache *cache, const void *data, size_t size)
{
    struct store_foreign foreign;
    if (store_begin(cache->store, &foreign) != REASON_ok) {
        return store_commit_unmerged(cache->store, data, size);
    }
    if (foreign.count == 0) {
        return store_commit(cache->store, data, size);
    }
    size_t merged_size = 0;
    void *merged = cache->may_merge ? merge(cache, &foreign, data, size, &merged_size) : NULL;
    enum reason reason;
    if (merged) {
        reason = store_commit(cache->store, merged, merged_size);
    } else {
        store_abort(cache->store);
        reason = store_commit_unmerged(cache->store, data, size);
    }
    free(merged);
    return reason;
}

static void lock(const struct warm_cache *cache)
{
    if (cache->alone) {
        pthread_mutex_lock(cache->alone);
    }
}

static void unlock(const struct warm_cache *cache)
{
    if (cache->alone) {
        pthread_mutex_unlock(cache->alone);
    }
}

enum reason warm_cache_save(struct warm_cache *cache, size_t *ret_size)
{
    size_t size = 0;
    lock(cache);
    void *data = get_data(cache, cache->handle, &size);
    struct digest digest = digest_of(data, size);
    enum reason reason = REASON_ok;
    if (!data) {
        reason = REASON_driver_refused;
    } else if (size <= HEADER_SIZE) {
        reason = REASON_ineffective;
    } else if (!digest_equal(digest, cache->saved)) {
        reason = commit(cache, data, size);
    }
    unlock(cache);
    if (reason == REASON_ok) {
        cache->saved = digest;
    }
    *ret_size = size;
    free(data);
    return reason;
}

void warm_cache_detach(struct warm_cache *cache)
{
    size_t size = 0;
    void *data = get_data(cache, cache->handle, &size);
    if (data) {
        free(cache->data);
        cache->data = data;
        cache->size = size;
    }
    destroy(cache, cache->handle);
    cache->handle = VK_NULL_HANDLE;
    cache->vulkan = NULL;
}
