// SPDX-License-Identifier: Apache-2.0
/* The program's own pipeline caches.
 *
 * States of a cache:
 *
 *     1 ALONE    creations use it; nobody else does. Made with initial data, or in an unknown way
 *     2 PASSED   creations use it; what they compile into it goes into our saves as well
 *                (cache_collection.h), unless it was made with an allocator
 *     3 SERVED   it stays a real driver object, but creations that name it use the device cache, so
 *                that thirty private caches cost what one does
 *
 *     arrow                                               function
 *     made ──▶ 1, 2 or 3                                  app_caches_create, app_caches_plan
 *     3 SERVED ──merged into from another state──▶ 2      app_caches_merge
 *     2, 3 ──the driver gives its handle twice──▶ 1       app_caches_enter
 *
 * The first state of an empty cache depends on what the program is known to do with its caches
 * (app_cache_history.h). If a served cache is read back, the answer comes from a snapshot of the
 * device cache, and the cache stays served. The layer never merges anything into a program's cache,
 * except in the program's own vkMergePipelineCaches.
 *
 * If a program that is known to keep its caches, and to make few, makes an empty one, it has lost
 * its file: the cache is then made with the content of the device cache (seeded).
 *
 * Each function is as thread-safe as the Vulkan command that it stands for. No lock is held across
 * a call down the chain. Besides the wait for the first load (device_cache.h) there is one: a merge
 * into a passed cache that the worker is reading waits for that read, because nobody else may use
 * the destination of a merge (VUID-vkMergePipelineCaches-dstCache-10202). After that, the cache is
 * read beside the program only if reads are quick (cache_collection.h). */
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

/* NULL: out of memory. The arguments are borrowed and outlive the result; `app` is the program's
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

/* Returns the cache that a creation names; NULL if it names none. Valid until the program destroys
 * it. */
struct app_cache *app_caches_find(struct app_caches *caches, VkPipelineCache named);

/* Whether this pipeline (half of its content digest) was created in the name of the cache. NULL:
 * no. _saw: notes that it was. */
bool app_cache_has_seen(const struct app_cache *cache, uint64_t fingerprint);
void app_cache_saw(struct app_cache *cache, uint64_t fingerprint);

/* Whether a live pipeline may answer a creation that names this cache (or none): the named cache
 * must not miss what it would hold without us. in_device_cache: what was compiled for that pipeline
 * is in the device cache, from which a served cache is answered. */
bool app_cache_allows_sharing(struct app_cache *cache, uint64_t fingerprint, bool in_device_cache);

/* Whether a creation that names this cache, or none, is about to be given the device cache. Another
 * thread may change that before it is. */
bool app_caches_expect_device_cache(const struct app_caches *caches, VkPipelineCache named,
                                    struct app_cache *named_cache);

/* The cache that a creation is given, which names a cache or none. */
struct app_cache_choice {
    struct app_caches *caches;
    VkPipelineCache cache;
    bool hot;                /* it is the device cache, not what the program named */
    struct app_cache *named; /* NULL: none */
};

/* Follow each choose by one of the next two when the creation has returned. */
struct app_cache_choice app_caches_choose(struct app_caches *caches, VkPipelineCache named,
                                          struct app_cache *named_cache);

/* compiled: the chosen cache may hold something new. */
void app_caches_chosen_done(const struct app_cache_choice *choice, bool compiled);

/* The operation was deferred: something new may come into the chosen cache at any time. */
void app_caches_chosen_deferred(const struct app_cache_choice *choice);

/* Whether our saves include what is compiled into the chosen cache. */
bool app_caches_choice_is_saved(const struct app_cache_choice *choice);

/* Whether the chosen cache may hold data that was loaded from disk. */
bool app_caches_choice_is_of_blob(const struct app_cache_choice *choice);

/* A creation goes down the chain with the very cache that it names, which may hold something new
 * then. Returns whether that cache may hold data that was loaded from disk. */
bool app_caches_untouched(struct app_caches *caches, VkPipelineCache named);

/* Call it in vkDestroyDevice, before that goes down the chain: has the device cache save, passed-on
 * caches included, and finish; destroys what was kept. Caches that the program has leaked are read,
 * never destroyed. False as in device_cache_finish. */
bool app_caches_finish(struct app_caches *caches);

#endif
