// SPDX-License-Identifier: Apache-2.0
#include "icd_cache.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "icd_blob.h"
#include "icd_objects.h"

#define MAX_DAMAGED 16

struct icd_cache {
    struct icd_object object;
    pthread_mutex_t mutex;
    uint64_t *pipelines; /* sorted, so that equal content makes equal data */
    uint32_t count;
    uint32_t capacity;
    uint64_t grown;                /* WPTEST_ICD_DATA=growing */
    uint64_t damaged[MAX_DAMAGED]; /* WPTEST_ICD_TRUST: pipelines whose records are damaged */
    uint32_t damaged_count;
    void *loaded; /* memory of the device's, as Mesa has for what it was created with */
};

/* Chapter "Pipeline Cache": only the destination of a merge, a cache that is destroyed, and one
 * created externally synchronized must have their user alone. */
static struct icd_cache *acquire(const struct icd_device *device, VkPipelineCache handle,
                                 bool alone, enum icd_command command)
{
    bool conflict;
    struct icd_cache *cache = icd_object_acquire(
        device, ICD_HANDLE(handle), VK_OBJECT_TYPE_PIPELINE_CACHE, alone, command, &conflict);
    if (cache != NULL && conflict) {
        const char *id =
            cache->object.always_alone ? "external_cache_concurrent" : "merge_into_used_cache";
        icd_violation(id, "%s: pipeline cache %llx has another user", icd_command_name(command),
                      (unsigned long long)cache->object.handle);
    }
    return cache;
}

struct icd_cache *icd_cache_acquire(const struct icd_device *device, VkPipelineCache handle,
                                    enum icd_command command)
{
    return ICD_HANDLE(handle) == 0 ? NULL : acquire(device, handle, false, command);
}

void icd_cache_release(struct icd_cache *cache)
{
    if (cache != NULL) {
        icd_object_release(&cache->object, false);
    }
}

/* Where the pipeline stands, or would stand. Under the cache's lock. */
static uint32_t position(const struct icd_cache *cache, uint64_t pipeline)
{
    uint32_t low = 0;
    uint32_t high = cache->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (cache->pipelines[middle] < pipeline) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool holds(const struct icd_cache *cache, uint64_t pipeline)
{
    uint32_t at = position(cache, pipeline);
    return at < cache->count && cache->pipelines[at] == pipeline;
}

/* Under the cache's lock. */
static void add(struct icd_cache *cache, uint64_t pipeline)
{
    uint32_t at = position(cache, pipeline);
    if (at < cache->count && cache->pipelines[at] == pipeline) {
        return;
    }
    if (cache->count == cache->capacity) {
        uint32_t capacity = cache->capacity == 0 ? 64 : cache->capacity * 2;
        uint64_t *more = realloc(cache->pipelines, capacity * sizeof *more);
        if (more == NULL) {
            return;
        }
        cache->pipelines = more;
        cache->capacity = capacity;
    }
    memmove(cache->pipelines + at + 1, cache->pipelines + at,
            (cache->count - at) * sizeof *cache->pipelines);
    cache->pipelines[at] = pipeline;
    ++cache->count;
}

bool icd_cache_has(struct icd_cache *cache, uint64_t pipeline)
{
    if (cache == NULL) {
        return false;
    }
    pthread_mutex_lock(&cache->mutex);
    bool found = holds(cache, pipeline);
    for (uint32_t i = 0; i < cache->damaged_count; ++i) {
        if (cache->damaged[i] == pipeline) {
            abort();
        }
    }
    pthread_mutex_unlock(&cache->mutex);
    return found;
}

void icd_cache_add(struct icd_cache *cache, uint64_t pipeline)
{
    if (cache == NULL) {
        return;
    }
    pthread_mutex_lock(&cache->mutex);
    add(cache, pipeline);
    pthread_mutex_unlock(&cache->mutex);
}

/* Under the cache's lock. */
static void add_damaged(struct icd_cache *cache, uint64_t pipeline)
{
    for (uint32_t i = 0; i < cache->damaged_count; ++i) {
        if (cache->damaged[i] == pipeline) {
            return;
        }
    }
    if (cache->damaged_count < MAX_DAMAGED) {
        cache->damaged[cache->damaged_count++] = pipeline;
    }
}

/* Takes the initial data up; what is not this driver's is a violation, and ignored. */
static void load(struct icd_cache *cache, const VkPipelineCacheCreateInfo *info)
{
    const uint8_t *records = NULL;
    uint32_t record_bytes = 0;
    uint32_t count = 0;
    const char *wrong = icd_blob_check(cache->object.device, info->pInitialData,
                                       info->initialDataSize, &records, &record_bytes, &count);
    if (wrong != NULL) {
        icd_violation("unverified_data", "vkCreatePipelineCache: initial data of %zu bytes: %s",
                      info->initialDataSize, wrong);
        return;
    }
    for (uint32_t i = 0; i < count; ++i) {
        uint64_t pipeline;
        const uint8_t *record = records + (size_t)i * record_bytes;
        memcpy(&pipeline, record, sizeof pipeline);
        if (cache->object.device->settings->trust && icd_blob_is_damaged(record, record_bytes)) {
            add_damaged(cache, pipeline);
        }
        add(cache, pipeline);
    }
}

static VkResult creation_fault(const struct icd_settings *settings, bool has_data)
{
    enum icd_create_fault fault = settings->cache_create;
    static atomic_uint with_data;
    const bool is_second = has_data && atomic_fetch_add(&with_data, 1) == 1;
    if ((fault == ICD_CREATE_ABORT_DATA && has_data) ||
        (fault == ICD_CREATE_ABORT_SECOND && is_second)) {
        fprintf(stderr, "test driver: dies of its initial data, as told\n");
        abort();
    }
    return fault == ICD_CREATE_FAIL || (fault == ICD_CREATE_FAIL_DATA && has_data)
               ? VK_ERROR_OUT_OF_HOST_MEMORY
               : VK_SUCCESS;
}

static void record_creation(const struct icd_cache *cache, const VkPipelineCacheCreateInfo *info)
{
    struct icd_event event;
    icd_event_begin(&event, "vkCreatePipelineCache");
    icd_event_handle(&event, "handle", cache->object.handle);
    icd_event_number(&event, "flags", info->flags);
    icd_event_number(&event, "initial_size", (int64_t)info->initialDataSize);
    icd_event_number(&event, "pipelines", cache->count);
    icd_event_chain(&event, info->pNext);
    icd_event_end(&event);
}

VkResult icd_CreatePipelineCache(VkDevice vk_device, const VkPipelineCacheCreateInfo *info,
                                 const VkAllocationCallbacks *allocator, VkPipelineCache *ret_cache)
{
    const struct icd_device *device = icd_device_from(vk_device);
    VkResult result = icd_call(device->settings, ICD_CreatePipelineCache);
    if (result == VK_SUCCESS) {
        result = creation_fault(device->settings, info->initialDataSize != 0);
    }
    if (result != VK_SUCCESS) {
        return result;
    }
    bool is_new;
    struct icd_cache *cache = icd_object_create(device, VK_OBJECT_TYPE_PIPELINE_CACHE,
                                                sizeof *cache, 0, allocator, &is_new);
    if (cache == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    cache->object.always_alone =
        device->settings->serialize ||
        (info->flags & VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT) != 0;
    pthread_mutex_init(&cache->mutex, NULL);
    if (info->initialDataSize != 0 && device->settings->cache_create != ICD_CREATE_IGNORE_DATA) {
        cache->loaded = icd_device_allocate(device, info->initialDataSize);
        load(cache, info);
    }
    record_creation(cache, info);
    *ret_cache = ICD_FROM_HANDLE(VkPipelineCache, cache->object.handle);
    return icd_success(device->settings, ICD_CreatePipelineCache);
}

void icd_DestroyPipelineCache(VkDevice device, VkPipelineCache handle,
                              const VkAllocationCallbacks *allocator)
{
    icd_count(ICD_DestroyPipelineCache);
    struct icd_event event;
    icd_event_begin(&event, "vkDestroyPipelineCache");
    icd_event_handle(&event, "handle", ICD_HANDLE(handle));
    icd_event_end(&event);
    struct icd_cache *cache;
    if (icd_object_destroy(icd_device_from(device), ICD_HANDLE(handle),
                           VK_OBJECT_TYPE_PIPELINE_CACHE, allocator, ICD_DestroyPipelineCache,
                           &cache)) {
        pthread_mutex_destroy(&cache->mutex);
        icd_device_free(cache->object.device, cache->loaded);
        free(cache->pipelines);
        icd_object_free(&cache->object, allocator);
    }
}

/* As many whole records as fit, as any driver does that says VK_INCOMPLETE. */
static VkResult write_partly(const struct icd_device *device, const struct icd_cache *cache,
                             size_t *size, void *data)
{
    uint32_t count;
    if (!icd_blob_fit(device, *size, &count)) {
        *size = 0;
        return VK_INCOMPLETE;
    }
    count = count < cache->count ? count : cache->count;
    icd_blob_write(device, cache->pipelines, count, data);
    *size = icd_blob_size(device, count);
    return VK_INCOMPLETE;
}

/* The faults that give other bytes than the records. False: none of those. */
static bool write_wrongly(const struct icd_device *device, size_t *size, uint8_t *data,
                          VkResult *ret_result)
{
    size_t whole;
    switch (device->settings->data) {
    case ICD_DATA_ZERO:
        whole = 0;
        break;
    case ICD_DATA_SHORT:
    case ICD_DATA_HEADER:
    case ICD_DATA_FOREIGN:
        whole = ICD_BLOB_HEADER_SIZE;
        break;
    case ICD_DATA_COUNTED:
        whole = ICD_BLOB_HEADER_SIZE + sizeof(uint32_t);
        break;
    default:
        return false;
    }
    uint8_t header[ICD_BLOB_HEADER_SIZE + sizeof(uint32_t)] = {0};
    icd_blob_write_header(device, header);
    header[12] ^= device->settings->data == ICD_DATA_FOREIGN; /* the device's id */
    *ret_result = data == NULL || *size >= whole ? VK_SUCCESS : VK_INCOMPLETE;
    if (data == NULL || *size >= whole) {
        *size = whole;
    }
    if (data != NULL) {
        memcpy(data, header, *size);
        *size = device->settings->data == ICD_DATA_SHORT ? 20 : *size;
    }
    return true;
}

/* Under the cache's lock. */
static VkResult get_data(const struct icd_device *device, struct icd_cache *cache, size_t *size,
                         void *data)
{
    enum icd_data_fault fault = device->settings->data;
    VkResult result;
    if (fault == ICD_DATA_GROWING) {
        add(cache, icd_hash_u64(ICD_HASH_SEED, ++cache->grown));
    }
    if (write_wrongly(device, size, data, &result)) {
        return result;
    }
    size_t whole = icd_blob_size(device, cache->count);
    if (data == NULL) {
        *size = whole + (fault == ICD_DATA_OVERREPORT ? 4096 : 0);
        return VK_SUCCESS;
    }
    if (*size < whole || fault == ICD_DATA_INCOMPLETE) {
        return write_partly(device, cache, size, data);
    }
    icd_blob_write(device, cache->pipelines, cache->count, data);
    for (uint32_t i = 0; i < cache->damaged_count; ++i) {
        icd_blob_damage(device, data, cache->damaged[i]);
    }
    if (fault != ICD_DATA_STALE_SIZE) {
        *size = whole;
    }
    return VK_SUCCESS;
}

VkResult icd_GetPipelineCacheData(VkDevice vk_device, VkPipelineCache handle, size_t *size,
                                  void *data)
{
    const struct icd_device *device = icd_device_from(vk_device);
    VkResult result = icd_call(device->settings, ICD_GetPipelineCacheData);
    if (result != VK_SUCCESS) {
        return result;
    }
    struct icd_cache *cache = icd_cache_acquire(device, handle, ICD_GetPipelineCacheData);
    if (cache == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    void *scratch = icd_device_allocate(device, 1); /* a driver may, in whichever command */
    pthread_mutex_lock(&cache->mutex);
    icd_busy_wait(device->settings->data_us);
    result = get_data(device, cache, size, data);
    pthread_mutex_unlock(&cache->mutex);
    icd_device_free(device, scratch);
    icd_cache_release(cache);

    struct icd_event event;
    icd_event_begin(&event, "vkGetPipelineCacheData");
    icd_event_handle(&event, "handle", ICD_HANDLE(handle));
    icd_event_bool(&event, "query", data == NULL);
    icd_event_number(&event, "size", (int64_t)*size);
    icd_event_number(&event, "result", result);
    icd_event_end(&event);
    if (data != NULL) {
        icd_tell("vkGetPipelineCacheData returns");
    }
    return result;
}

static void merge_one(const struct icd_device *device, struct icd_cache *to, VkPipelineCache handle)
{
    if (to->object.handle == ICD_HANDLE(handle)) {
        icd_violation("merge_into_itself", "vkMergePipelineCaches: pipeline cache %llx",
                      (unsigned long long)to->object.handle);
        return;
    }
    struct icd_cache *from = icd_cache_acquire(device, handle, ICD_MergePipelineCaches);
    if (from == NULL) {
        return;
    }
    pthread_mutex_lock(&from->mutex);
    for (uint32_t i = 0; i < from->count; ++i) {
        add(to, from->pipelines[i]);
    }
    for (uint32_t i = 0; i < from->damaged_count; ++i) {
        add_damaged(to, from->damaged[i]);
    }
    if (device->settings->merge_moves) {
        from->count = 0;
    }
    pthread_mutex_unlock(&from->mutex);
    icd_cache_release(from);

    struct icd_event event;
    icd_event_begin(&event, "vkMergePipelineCaches");
    icd_event_handle(&event, "to", to->object.handle);
    icd_event_handle(&event, "from", ICD_HANDLE(handle));
    icd_event_end(&event);
}

VkResult icd_MergePipelineCaches(VkDevice vk_device, VkPipelineCache to_handle, uint32_t count,
                                 const VkPipelineCache *from)
{
    const struct icd_device *device = icd_device_from(vk_device);
    VkResult result = icd_call(device->settings, ICD_MergePipelineCaches);
    if (result != VK_SUCCESS) {
        return result;
    }
    struct icd_cache *to = acquire(device, to_handle, true, ICD_MergePipelineCaches);
    if (to == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    for (uint32_t i = 0; i < count; ++i) {
        merge_one(device, to, from[i]);
    }
    icd_object_release(&to->object, true);
    return VK_SUCCESS;
}
