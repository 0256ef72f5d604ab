// SPDX-License-Identifier: Apache-2.0
/* The program's own pipeline caches. Each is in one of three states:
 *
 *     1 ALONE    creations use it; nobody else does. Made with initial data, or in an unknown way
 *     2 PASSED   creations use it; what they compile into it goes into our saves as well
 *                (cache_collection.h)
 *     3 SERVED   it stays a real driver object, but creations that name it use the device cache, so
 *                that thirty private caches cost what one does
 *
 *     arrow                                               function
 *     made ──▶ 1, 2 or 3                                  app_caches_create, app_caches_plan
 *     3 SERVED ──merged into from another state──▶ 2      app_caches_merge
 *     2, 3 ──the driver gives its handle twice──▶ 1       app_caches_enter
 *
 * Which state an empty cache begins in follows from what the program is known to do with its caches
 * (app_cache_history.h). A served one that is read back is answered from a snapshot of the
 * device cache, and stays served. Nothing of ours is ever merged into a cache of the
 * program's, but in its own vkMergePipelineCaches.
 *
 * A program that is known to keep its caches and comes with an empty one has lost its file: the
 * cache is made with what the device cache holds (seeded), instead of empty.
 *
 * Thread-safe as the Vulkan commands are that each function stands for. No lock is held across a
 * call down the chain, with one wait: a merge into a passed cache that the worker is reading at
 * this moment waits for that one read, since nobody else may use the destination of a merge
 * (VUID-vkMergePipelineCaches-dstCache-10202); it is never read beside the program again. */
#ifndef WARMPIPE_LAYER_APP_CACHES_APP_CACHES_H
#define WARMPIPE_LAYER_APP_CACHES_APP_CACHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/settings/config.h"
#include "layer/trace/stats.h"

struct device_cache;
struct app_cache;
struct app_caches;

/* NULL: out of memory. What is given is borrowed and outlives the result; `app` is the program's
 * folder. */
struct app_caches *app_caches_new(struct device_cache *device_cache, const struct config *config,
                                  const char *app, struct stats *stats);

/* Frees the memory; NULL is a no-op. */
void app_caches_delete(struct app_caches *caches);

/* vkCreatePipelineCache, vkDestroyPipelineCache, vkGetPipelineCacheData, vkMergePipelineCaches. */
VkResult app_caches_create(struct app_caches *caches, const VkPipelineCacheCreateInfo *create_info,
                           const VkAllocationCallbacks *allocator, VkPipelineCache *ret_cache);
void app_caches_destroy(struct app_caches *caches, VkPipelineCache handle,
                        const VkAllocationCallbacks *allocator);
VkResult app_caches_get_data(struct app_caches *caches, VkPipelineCache handle, size_t *data_size,
                             void *data);
VkResult app_caches_merge(struct app_caches *caches, VkPipelineCache destination,
                          uint32_t source_count, const VkPipelineCache *sources);

/* The cache that a creation names; NULL if it names none. Valid until the program destroys it. */
struct app_cache *app_caches_find(struct app_caches *caches, VkPipelineCache named);

/* Whether the program's cache has seen this pipeline (half of its content digest). NULL: no. */
bool app_cache_has_seen(const struct app_cache *cache, uint64_t fingerprint);
void app_cache_saw(struct app_cache *cache, uint64_t fingerprint);

/* Whether a creation that names this cache (or none) may be answered by a pipeline that is live
 * already: the named cache must not miss what it would have got without us. in_device_cache: what
 * was compiled for that pipeline is in the device cache, from which a served one is answered. */
bool app_cache_allows_sharing(struct app_cache *cache, uint64_t fingerprint, bool in_device_cache);

/* Whether a creation that names this cache, or none, is about to be given the device cache. Another
 * thread may change that in between. */
bool app_caches_expect_device_cache(const struct app_caches *caches, VkPipelineCache named,
                                    struct app_cache *named_cache);

/* Which cache a creation is given that names a cache, or none. */
struct app_cache_choice {
    struct app_caches *caches;
    VkPipelineCache cache;
    bool hot;                /* it is the device cache, not what the program named */
    struct app_cache *named; /* NULL: none */
};

/* Every choose is followed by one of the two below when the creation has returned. */
struct app_cache_choice app_caches_choose(struct app_caches *caches, VkPipelineCache named,
                                          struct app_cache *named_cache);

/* compiled: something new may be in the chosen cache now. */
void app_caches_chosen_done(const struct app_cache_choice *choice, bool compiled);

/* The operation was deferred: something new may come into the chosen cache at any time. */
void app_caches_chosen_deferred(const struct app_cache_choice *choice);

/* Whether what is compiled into the chosen cache goes into our saves. */
bool app_caches_choice_is_saved(const struct app_cache_choice *choice);

/* Whether the chosen cache may hold what was loaded from disk. */
bool app_caches_choice_is_of_blob(const struct app_cache_choice *choice);

/* A creation goes down the chain with the very cache that it names: something new may be in it.
 * Whether that cache may hold what was loaded from disk. */
bool app_caches_untouched(struct app_caches *caches, VkPipelineCache named);

/* At vkDestroyDevice, before it goes down the chain: has the device cache save, what was passed on
 * included, and finish; destroys what was kept. Caches that the program has leaked are read, never
 * destroyed. False as device_cache_finish says it. */
bool app_caches_finish(struct app_caches *caches);

#endif
