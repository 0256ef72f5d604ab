/* The driver's cache of one program and device while it is made: what is on disk goes in, what was
 * compiled comes out, now and then and at the end. It outlives the Vulkan devices that fill it one
 * after the other. */
#ifndef WARMPIPE_TOOLS_WARM_CACHE_H
#define WARMPIPE_TOOLS_WARM_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <vulkan/vulkan.h>

#include "disk/store.h"
#include "warm_vulkan.h"

struct warm_cache {
    struct store *store;
    bool may_merge;         /* the driver may be given a second cache object */
    pthread_mutex_t *alone; /* held by whoever uses the cache; NULL: any number may */
    const struct warm_vulkan *vulkan;
    VkPipelineCache handle; /* NULL: no device has it in hand */
    bool loaded;            /* what is on disk was asked for */
    void *data;             /* the driver's, of the last device or of the disk */
    size_t size;
    struct digest saved; /* of what was saved last */
};

/* Touches no file. */
void warm_cache_open(struct warm_cache *cache, struct store *store, bool may_merge,
                     pthread_mutex_t *alone);

/* Makes the cache object on this device, with all that there is; the first one with what is on
 * disk, whose marker stands until the driver has taken it in. False: the driver refuses. */
bool warm_cache_attach(struct warm_cache *cache, const struct warm_vulkan *vulkan);

/* Writes what the cache object holds, unless nothing is new. *ret_size: bytes of it, whatever comes
 * out. ineffective: the driver keeps nothing in it. Other threads may compile meanwhile. */
enum reason warm_cache_save(struct warm_cache *cache, size_t *ret_size);

/* Destroys the cache object, and keeps what it holds. */
void warm_cache_detach(struct warm_cache *cache);

void warm_cache_close(struct warm_cache *cache);

#endif
