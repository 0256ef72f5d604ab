// SPDX-License-Identifier: Apache-2.0
/* The pipeline caches that the program has of its own, and the file it may keep them in. */
#ifndef PIPELINES_APP_CACHE_H
#define PIPELINES_APP_CACHE_H

#include "gpu.h"

struct app_cache_counts {
    uint64_t load_ns; /* creating the caches, reading the file included */
    uint64_t save_ns; /* merging, reading back, writing */
    uint64_t bytes;   /* of the data read back last */
    uint64_t readbacks;
    uint64_t resized; /* times that the data call did not give what the size call had said */
};

struct app_cache;

/* Creates the caches that the options ask for. */
struct app_cache *app_cache_create(const struct gpu *gpu, const struct options *options);

/* The cache for the job-th call. VK_NULL_HANDLE where there is none. */
VkPipelineCache app_cache_pick(const struct app_cache *cache, uint32_t job);

/* Reads the first cache back by the size idiom, once. May run while others create. */
void app_cache_read_back(struct app_cache *cache);

/* What a program does with its caches before it ends. */
void app_cache_save(struct app_cache *cache, const struct options *options);

struct app_cache_counts app_cache_counts(const struct app_cache *cache);

void app_cache_destroy(struct app_cache *cache);

#endif
