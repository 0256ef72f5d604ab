/* The program's own pipeline caches. One made with initial data is the program's affair and left
 * alone. One made empty is either passed on and harvested (its contents go into our next save), or
 * served: it stays a real driver object, but creations that name it get the hot cache instead, so
 * that thirty private caches cost what one does.
 *
 * A served cache that the program reads back after all is filled then, by one merge from the hot
 * cache, and passed on from that moment; so are the caches that the program makes later.
 *
 * Thread-safe as the Vulkan commands are that each function stands for. A lock is held across calls
 * down the chain only while served caches are filled and read. */
#ifndef WARMPIPE_LAYER_APP_CACHES_H
#define WARMPIPE_LAYER_APP_CACHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/config.h"
#include "base/stats.h"
#include "next.h"

struct injector;
struct app_cache;
struct app_caches;

/* NULL: out of memory. What is given is borrowed and outlives the result; `app` is the program's
 * folder. */
struct app_caches *app_caches_new(VkDevice device, const device_table *table,
                                  struct injector *injector, const struct config *config,
                                  const char *app, struct stats *stats);

/* Frees the memory; NULL is a no-op. */
void app_caches_delete(struct app_caches *caches);

/* vkCreatePipelineCache has returned `handle` to the program. */
void app_caches_created(struct app_caches *caches, const VkPipelineCacheCreateInfo *create_info,
                        const VkAllocationCallbacks *allocator, VkPipelineCache handle);

/* vkDestroyPipelineCache: true if the call is to go down the chain. False: the cache has something
 * to harvest and is kept until the next save. */
bool app_caches_destroying(struct app_caches *caches, VkPipelineCache handle,
                           const VkAllocationCallbacks *allocator);

/* The cache that a creation names; NULL if it names none. Valid until the program destroys it. */
struct app_cache *app_caches_find(struct app_caches *caches, VkPipelineCache named);

/* Whether the program's cache has seen this pipeline (half of its content digest). NULL: no. */
bool app_cache_has_seen(struct app_cache *cache, uint64_t fingerprint);
void app_cache_saw(struct app_cache *cache, uint64_t fingerprint);

/* Whether a creation that names this cache (or none) may be answered by a pipeline that is live
 * already: the named cache must not miss what it would have got without us. in_hot: what was
 * compiled for that pipeline is in the hot cache, from which a served cache would be filled. */
bool app_cache_allows_sharing(struct app_cache *cache, uint64_t fingerprint, bool in_hot);

/* Which cache a creation is given that names a cache, or none. */
struct app_cache_choice {
    VkPipelineCache cache;
    bool hot;                /* it is the hot cache, not what the program named */
    struct app_cache *named; /* NULL: none */
};

/* Every choose is followed by app_caches_chosen_done when the creation has returned. */
struct app_cache_choice app_caches_choose(struct app_caches *caches, VkPipelineCache named,
                                          struct app_cache *named_cache);

/* compiled: something new may be in the chosen cache now. */
void app_caches_chosen_done(const struct app_cache_choice *choice, bool compiled);

/* Whether what is compiled into the chosen cache goes into our saves. */
bool app_caches_choice_is_saved(const struct app_cache_choice *choice);

/* A creation that names this cache goes down the chain untouched: from now on the cache is passed.
 */
void app_caches_untouched(struct app_caches *caches, VkPipelineCache named);

/* vkGetPipelineCacheData and vkMergePipelineCaches. */
VkResult app_caches_get_data(struct app_caches *caches, VkPipelineCache handle, size_t *data_size,
                             void *data);
VkResult app_caches_merge(struct app_caches *caches, VkPipelineCache destination,
                          uint32_t source_count, const VkPipelineCache *sources);

/* At vkDestroyDevice, before it goes down the chain: has the injector save, harvest included, and
 * finish; destroys what was kept. Caches that the program has leaked are read, never destroyed.
 * False as injector_finish says it. */
bool app_caches_finish(struct app_caches *caches);

#endif
