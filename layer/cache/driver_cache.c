// SPDX-License-Identifier: Apache-2.0
#include "layer/cache/driver_cache.h"

#include "common/base/bytes.h"
#include "common/files/file.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/sandbox.h"

/* How often a cache may outgrow its buffer between the two calls. */
#define READ_ATTEMPTS 8

/* Beside a copy, one part in so many of it is left free. */
#define SPARE_PART 4

/* Whether this thread holds the lock of the device that it is in: the permit may be withdrawn
 * between enter and leave. */
static _Thread_local bool driver_cache_is_locked;

struct crash_call driver_cache_enter(const struct driver_caches *caches, uint64_t key,
                                     enum crash_state state)
{
    if (caches->serialize && !driver_permit_is_withdrawn(caches->permit)) {
        pthread_mutex_lock(caches->serialize);
        driver_cache_is_locked = true;
    }
    return state != CRASH_OUTSIDE && caches->guard ? crash_guard_raise(caches->guard, key, state)
                                                   : (struct crash_call){0};
}

void driver_cache_leave(const struct driver_caches *caches, const struct crash_call *call)
{
    if (call->slot) {
        crash_guard_lower(caches->guard, call);
    }
    if (driver_cache_is_locked) {
        driver_cache_is_locked = false;
        pthread_mutex_unlock(caches->serialize);
    }
}

void driver_cache_ready_guard(const struct driver_caches *caches)
{
    if (caches->guard) {
        const struct crash_call call =
            crash_guard_raise(caches->guard, CRASH_KEY_READ, CRASH_INSIDE_OTHER);
        crash_guard_lower(caches->guard, &call);
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
    const struct crash_call call =
        driver_cache_enter(caches, CRASH_KEY_LOAD, size ? CRASH_INSIDE : CRASH_OUTSIDE);
    VkResult result =
        caches->table->CreatePipelineCache(caches->device, &create_info, caches->allocator, &cache);
    driver_cache_leave(caches, &call);
    return result == VK_SUCCESS ? cache : VK_NULL_HANDLE;
}

void driver_cache_destroy(const struct driver_caches *caches, VkPipelineCache cache)
{
    if (cache != VK_NULL_HANDLE) {
        const struct crash_call call =
            driver_cache_enter(caches, CRASH_KEY_DESTROY, CRASH_INSIDE_OTHER);
        caches->table->DestroyPipelineCache(caches->device, cache, caches->allocator);
        driver_cache_leave(caches, &call);
    }
}

bool driver_cache_merge(const struct driver_caches *caches, VkPipelineCache destination,
                        VkPipelineCache source)
{
    const struct crash_call call = driver_cache_enter(caches, CRASH_KEY_READ, CRASH_INSIDE_OTHER);
    VkResult result = caches->table->MergePipelineCaches(caches->device, destination, 1, &source);
    driver_cache_leave(caches, &call);
    return result == VK_SUCCESS;
}

static VkResult driver_cache_get_data(const struct driver_caches *caches, VkPipelineCache cache,
                                      size_t *size, void *data)
{
    /* All reads have one key, and last long enough to be killed in: only many in a row count. */
    const struct crash_call call = driver_cache_enter(caches, CRASH_KEY_READ, CRASH_INSIDE_OTHER);
    VkResult result = caches->table->GetPipelineCacheData(caches->device, cache, size, data);
    driver_cache_leave(caches, &call);
    return result;
}

bool driver_cache_query_size(const struct driver_caches *caches, VkPipelineCache cache,
                             size_t *ret_size)
{
    size_t size = 0;
    const bool told = driver_cache_get_data(caches, cache, &size, NULL) == VK_SUCCESS;
    if (told) {
        *ret_size = size;
    }
    return told;
}

bool driver_cache_read(const struct driver_caches *caches, VkPipelineCache cache,
                       uint8_t **ret_data, size_t *ret_size)
{
    for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
        size_t size = 0;
        if (driver_cache_get_data(caches, cache, &size, NULL) != VK_SUCCESS || size == 0) {
            return false;
        }
        /* The first attempt leaves no room to spare, since lavapipe (seen with Mesa 22.3) and
         * AMDVLK (before July 2021) leave the size as it was given to them. Every second attempt
         * leaves room for what other threads compile meanwhile, if the driver tells how much it
         * used. */
        bool spare = attempt % 2 != 0;
        size_t capacity = spare ? size + size / 16 + 4096 : size;
        uint8_t *data = large_new(capacity);
        if (!data) {
            return false;
        }
        size_t written = capacity;
        VkResult result = driver_cache_get_data(caches, cache, &written, data);
        if (result == VK_SUCCESS && written <= capacity && (!spare || written < capacity)) {
            *ret_data = data;
            *ret_size = written < sizeof(VkPipelineCacheHeaderVersionOne) ? 0 : written;
            return true;
        }
        large_free(data);
        if (result < VK_SUCCESS) {
            return false;
        }
    }
    return false;
}

bool driver_cache_may_copy(size_t size)
{
    return size < DRIVER_CACHE_LARGE_SIZE || sandbox_is_closed() ||
           file_fits_memory((uint64_t)size + size / SPARE_PART);
}

/* A new cache with the same contents, or VK_NULL_HANDLE. Other threads may be using the source. A
 * cache that is still in use must be merged from a copy: some drivers move the entries out of the
 * source (RADV of Mesa 22.3), although vkMergePipelineCaches may not change it. */
static VkPipelineCache driver_cache_copy(const struct driver_caches *caches, VkPipelineCache source)
{
    uint8_t *data = NULL;
    size_t size = 0;
    if (!driver_cache_read(caches, source, &data, &size)) {
        return VK_NULL_HANDLE;
    }
    VkPipelineCache copy = driver_cache_create(caches, data, size);
    large_free(data);
    return copy;
}

/* Takes a cache of ours into another, which nobody else uses; the first becomes that itself. False:
 * the driver refuses. */
static bool driver_cache_take_in(const struct driver_caches *caches, VkPipelineCache *both,
                                 VkPipelineCache cache)
{
    bool done = true;
    if (*both == VK_NULL_HANDLE) {
        *both = cache;
    } else if (cache != VK_NULL_HANDLE) {
        done = driver_cache_merge(caches, *both, cache);
        driver_cache_destroy(caches, cache);
    }
    return done;
}

/* The data of a cache, if that is whole; it is destroyed in any case. */
static bool driver_cache_read_away(const struct driver_caches *caches, VkPipelineCache cache,
                                   bool is_whole, uint8_t **ret_data, size_t *ret_size)
{
    const bool done =
        is_whole && cache != VK_NULL_HANDLE && driver_cache_read(caches, cache, ret_data, ret_size);
    driver_cache_destroy(caches, cache);
    return done;
}

/* Not of one whose size the driver does not tell. */
static bool driver_cache_is_empty(const struct driver_caches *caches, VkPipelineCache cache)
{
    size_t size = 0;
    return cache == VK_NULL_HANDLE ||
           (driver_cache_query_size(caches, cache, &size) && size <= DRIVER_CACHE_EMPTY_SIZE);
}

bool driver_cache_read_both(const struct driver_caches *caches, VkPipelineCache first,
                            VkPipelineCache second, uint8_t **ret_data, size_t *ret_size)
{
    if (driver_cache_is_empty(caches, first)) {
        return driver_cache_read(caches, second, ret_data, ret_size);
    }
    VkPipelineCache both = driver_cache_copy(caches, second);
    VkPipelineCache copy = both != VK_NULL_HANDLE ? driver_cache_copy(caches, first) : both;
    const bool done = copy != VK_NULL_HANDLE && driver_cache_take_in(caches, &both, copy);
    return driver_cache_read_away(caches, both, done, ret_data, ret_size);
}

bool driver_cache_merge_blobs(const struct driver_caches *caches, struct store_blob *blobs,
                              size_t blob_count, bool may_lack, uint8_t *own, size_t own_size,
                              uint8_t **ret_data, size_t *ret_size)
{
    VkPipelineCache both = VK_NULL_HANDLE;
    bool done = true, is_lacking = false;
    for (size_t i = 0; i < blob_count; i++) {
        VkPipelineCache cache = driver_cache_create(caches, blobs[i].data, blobs[i].size);
        store_blob_free(&blobs[i]);
        is_lacking |= cache == VK_NULL_HANDLE && !may_lack;
        done &= driver_cache_take_in(caches, &both, cache);
    }
    if (is_lacking) {
        *ret_data = own;
        *ret_size = own_size;
        done = false;
    } else {
        VkPipelineCache cache = driver_cache_create(caches, own, own_size);
        large_free(own);
        done &= cache != VK_NULL_HANDLE && driver_cache_take_in(caches, &both, cache);
    }
    return driver_cache_read_away(caches, both, done, ret_data, ret_size);
}
