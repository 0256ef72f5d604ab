#include "driver_cache.h"

#include <stdlib.h>

/* How often a cache may outgrow its buffer between the two calls before we give up. */
#define READ_ATTEMPTS 8

void driver_cache_enter(const struct driver_caches *caches)
{
    if (caches->serialize) {
        pthread_mutex_lock(caches->serialize);
    }
}

void driver_cache_leave(const struct driver_caches *caches)
{
    if (caches->serialize) {
        pthread_mutex_unlock(caches->serialize);
    }
}

VkPipelineCache driver_cache_create(const struct driver_caches *caches, const void *data,
                                    size_t size)
{
    VkPipelineCacheCreateInfo create_info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
        .initialDataSize = size,
        .pInitialData = size ? data : NULL,
    };
    VkPipelineCache cache = VK_NULL_HANDLE;
    driver_cache_enter(caches);
    VkResult result =
        caches->table->CreatePipelineCache(caches->device, &create_info, caches->allocator, &cache);
    driver_cache_leave(caches);
    return result == VK_SUCCESS ? cache : VK_NULL_HANDLE;
}

void driver_cache_destroy(const struct driver_caches *caches, VkPipelineCache cache)
{
    if (cache != VK_NULL_HANDLE) {
        driver_cache_enter(caches);
        caches->table->DestroyPipelineCache(caches->device, cache, caches->allocator);
        driver_cache_leave(caches);
    }
}

bool driver_cache_merge(const struct driver_caches *caches, VkPipelineCache destination,
                        uint32_t count, const VkPipelineCache *sources)
{
    if (count == 0) {
        return true;
    }
    driver_cache_enter(caches);
    VkResult result =
        caches->table->MergePipelineCaches(caches->device, destination, count, sources);
    driver_cache_leave(caches);
    return result == VK_SUCCESS;
}

static VkResult get_data(const struct driver_caches *caches, VkPipelineCache cache, size_t *size,
                         void *data)
{
    driver_cache_enter(caches);
    VkResult result = caches->table->GetPipelineCacheData(caches->device, cache, size, data);
    driver_cache_leave(caches);
    return result;
}

size_t driver_cache_size(const struct driver_caches *caches, VkPipelineCache cache)
{
    size_t size = 0;
    return get_data(caches, cache, &size, NULL) == VK_SUCCESS ? size : 0;
}

bool driver_cache_read(const struct driver_caches *caches, VkPipelineCache cache,
                       uint8_t **ret_data, size_t *ret_size)
{
    for (int attempt = 0; attempt < READ_ATTEMPTS; ++attempt) {
        size_t size = 0;
        if (get_data(caches, cache, &size, NULL) != VK_SUCCESS || size == 0) {
            return false;
        }
        /* At first without room to spare: lavapipe (seen with Mesa 22.3) and AMDVLK (before July
         * 2021) leave the size as they were given it. Then, in turn, with room for what other
         * threads compile meanwhile, if the driver tells how much of it was used. */
        bool spare = attempt % 2 != 0;
        size_t capacity = spare ? size + size / 16 + 4096 : size;
        uint8_t *data = malloc(capacity);
        if (!data) {
            return false;
        }
        size_t written = capacity;
        VkResult result = get_data(caches, cache, &written, data);
        if (result == VK_SUCCESS && written <= capacity && (!spare || written < capacity)) {
            *ret_data = data;
            *ret_size = written;
            return true;
        }
        free(data);
        if (result < VK_SUCCESS) {
            return false;
        }
    }
    return false;
}

VkPipelineCache driver_cache_copy(const struct driver_caches *caches, VkPipelineCache source)
{
    uint8_t *data = NULL;
    size_t size = 0;
    if (!driver_cache_read(caches, source, &data, &size)) {
        return VK_NULL_HANDLE;
    }
    VkPipelineCache copy = driver_cache_create(caches, data, size);
    free(data);
    return copy;
}
