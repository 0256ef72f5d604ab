// SPDX-License-Identifier: Apache-2.0
/* The pipeline cache that one program on one device is warmed into: it starts with what is on disk,
 * and is saved now and then and at the end. Its contents outlive the Vulkan devices that fill it
 * one after the other:
 *
 *     warm_cache_attach      loads the file (the first time) and makes the cache object
 *     warm_cache_save        as often as wanted
 *     warm_cache_detach      destroys the object, keeps its data for the next device */
#ifndef WARMPIPE_TOOLS_WARM_WARM_CACHE_H
#define WARMPIPE_TOOLS_WARM_WARM_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <vulkan/vulkan.h>

#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/blobs/store.h"
#include "tools/warm/warm_vulkan.h"

struct warm_cache {
    struct store *store;    /* borrowed */
    bool may_merge;         /* the driver may be given a second cache object */
    pthread_mutex_t *alone; /* held by each user of the cache; NULL: any number at once */
    /* Zero at first. */
    const struct warm_vulkan *vulkan;
    VkPipelineCache handle; /* NULL: not attached */
    bool loaded;            /* the file was read, if there is one */
    void *data;             /* of the last device, or of the file */
    size_t size;
    struct digest saved; /* of the data that is on disk */
};

/* Makes the cache object on this device with all data that there is. The file's marker stands until
 * the driver has taken its data. False: the driver refuses. */
bool warm_cache_attach(struct warm_cache *cache, const struct warm_vulkan *vulkan);

/* Whether the cache object holds nothing but a header. Other threads may compile meanwhile. */
bool warm_cache_is_empty(struct warm_cache *cache);

/* Writes what the cache object holds, unless nothing is new. *ret_size: bytes of it, also on
 * failure. ineffective: the driver keeps nothing in it. Other threads may compile meanwhile. */
enum status warm_cache_save(struct warm_cache *cache, size_t *ret_size);

/* Destroys the cache object, and keeps what it holds. */
void warm_cache_detach(struct warm_cache *cache);

#endif
