// SPDX-License-Identifier: Apache-2.0
#include "app_cache.h"

#include <stdio.h>
#include <string.h>

#include "util.h"

struct app_cache {
    const struct gpu *gpu;
    VkPipelineCache *handles;
    uint32_t count;
    size_t loaded_size; /* of the data that the cache held from the start */
    struct app_cache_counts counts;
};

struct data {
    void *bytes;
    size_t size;
};

static struct data read_file(const char *path)
{
    struct data data = {0};
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (!file) {
        return data;
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    if (size > 0) {
        data.bytes = must_allocate(1, (size_t)size);
        data.size = fread(data.bytes, 1, (size_t)size, file);
    }
    fclose(file);
    return data;
}

static void write_file(const char *path, struct data data)
{
    char temporary[4096];
    snprintf(temporary, sizeof(temporary), "%s.tmp", path);
    FILE *file = fopen(temporary, "wb");
    bool written = file && fwrite(data.bytes, 1, data.size, file) == data.size;
    if (!file || fclose(file) != 0 || !written || rename(temporary, path) != 0) {
        fprintf(stderr, "pipelines: cannot write '%s'\n", path);
        exit(1);
    }
}

static VkPipelineCache create_cache(const struct gpu *gpu, struct data data)
{
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                      .initialDataSize = data.size,
                                      .pInitialData = data.bytes};
    VkPipelineCache handle;
    must(vkCreatePipelineCache(gpu->device, &info, gpu->allocator, &handle),
         "vkCreatePipelineCache");
    return handle;
}

struct app_cache *app_cache_create(const struct gpu *gpu, const struct options *options)
{
    struct app_cache *cache = must_allocate(1, sizeof(*cache));
    cache->gpu = gpu;
    cache->count = options->cache_count;
    cache->handles = must_allocate(cache->count, sizeof(VkPipelineCache));
    uint64_t start = now_ns();
    struct data data = {0};
    if (options->cache == APP_CACHE_FILE) {
        data = read_file(options->cache_path);
    }
    for (uint32_t i = 0; i < cache->count; i++) {
        cache->handles[i] = create_cache(gpu, data);
    }
    free(data.bytes);
    if (data.size > 0) {
        must(vkGetPipelineCacheData(gpu->device, cache->handles[0], &cache->loaded_size, NULL),
             "vkGetPipelineCacheData");
    }
    cache->counts.load_ns = now_ns() - start;
    return cache;
}

VkPipelineCache app_cache_pick(const struct app_cache *cache, uint32_t job)
{
    return cache->count ? cache->handles[job % cache->count] : VK_NULL_HANDLE;
}

/* The size idiom, tried again while the cache grows. */
static struct data get_data(struct app_cache *cache, VkPipelineCache handle)
{
    VkDevice device = cache->gpu->device;
    struct data data = {0};
    VkResult result;
    cache->counts.readbacks++;
    do {
        size_t announced;
        must(vkGetPipelineCacheData(device, handle, &announced, NULL), "vkGetPipelineCacheData");
        free(data.bytes);
        data.bytes = must_allocate(1, announced);
        data.size = announced;
        result = vkGetPipelineCacheData(device, handle, &data.size, data.bytes);
        if (result != VK_SUCCESS && result != VK_INCOMPLETE) {
            fail("vkGetPipelineCacheData", result);
        }
        /* Where nothing had been compiled into it, it may grow with a driver alone as well. */
        cache->counts.resized += announced > sizeof(VkPipelineCacheHeaderVersionOne) &&
                                 (result == VK_INCOMPLETE || data.size != announced);
    } while (result == VK_INCOMPLETE);
    cache->counts.bytes = data.size;
    return data;
}

void app_cache_read_back(struct app_cache *cache)
{
    free(get_data(cache, cache->handles[0]).bytes);
}

void app_cache_save(struct app_cache *cache, const struct options *options)
{
    if (options->cache == APP_CACHE_NONE || options->cache == APP_CACHE_MANY) {
        return;
    }
    const struct gpu *gpu = cache->gpu;
    uint64_t start = now_ns();
    if (cache->loaded_size > 0) {
        size_t size;
        must(vkGetPipelineCacheData(gpu->device, cache->handles[0], &size, NULL),
             "vkGetPipelineCacheData");
        if (size == cache->loaded_size) {
            cache->counts.bytes = size;
            cache->counts.save_ns += now_ns() - start;
            return;
        }
    }
    VkPipelineCache source = cache->handles[0];
    if (options->cache == APP_CACHE_MERGE) {
        source = create_cache(gpu, (struct data){0});
        must(vkMergePipelineCaches(gpu->device, source, cache->count, cache->handles),
             "vkMergePipelineCaches");
    }
    struct data data = get_data(cache, source);
    if (options->cache_path) {
        write_file(options->cache_path, data);
    }
    free(data.bytes);
    if (source != cache->handles[0]) {
        vkDestroyPipelineCache(gpu->device, source, gpu->allocator);
    }
    cache->counts.save_ns += now_ns() - start;
}

struct app_cache_counts app_cache_counts(const struct app_cache *cache)
{
    return cache->counts;
}

void app_cache_destroy(struct app_cache *cache)
{
    for (uint32_t i = 0; i < cache->count; i++) {
        vkDestroyPipelineCache(cache->gpu->device, cache->handles[i], cache->gpu->allocator);
    }
    free(cache->handles);
    free(cache);
}
