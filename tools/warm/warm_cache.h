// SPDX-License-Identifier: Apache-2.0
/* What recipes are replayed on: a device for one environment, as the program had it, as far as
 * pipelines are concerned, and the pipeline cache that one program on one device is
 * warmed into. That starts with what is on disk, and is saved now and then and at the end. Its
 * contents outlive the Vulkan devices that fill it one after the other:
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
#include "common/driver/environment.h"
#include "common/driver/identity.h"
#include "common/replay/replay.h"
#include "tools/vulkan/vulkan_loader.h"

struct warm_vulkan {
    struct vulkan_loader loader;
    VkPhysicalDevice physical;
    VkDevice device;
    PFN_vkGetDeviceProcAddr get;
    struct replay_commands commands;
    struct replay_limits limits;
    bool feedback; /* creation feedback may be chained */
};

enum warm_made {
    WARM_MADE,
    WARM_NOT_MADE,     /* the device does not offer the environment, or refuses it */
    WARM_OTHER_DEVICE, /* it is gone, or another one, or has another identity */
    WARM_NO_DEVICE     /* nothing will work */
};

/* Makes an instance and, if the device offers all of the environment, the device. `index` is the
 * device's place in the loader's order, `identity` the digest that names its files. `offer_only`:
 * do not make the device itself. WARM_NOT_MADE: `tell` was told what the device lacks.
 * WARM_OTHER_DEVICE, WARM_NO_DEVICE: text (of `size` bytes) says why. Closed with
 * warm_vulkan_close, whatever the result. */
enum warm_made warm_vulkan_open(const struct environment *environment, uint32_t index,
                                struct digest identity, bool offer_only,
                                struct warm_vulkan *ret_vulkan, char *text, size_t size,
                                environment_tell *tell, void *user);

void warm_vulkan_close(struct warm_vulkan *vulkan);

/* A command of the device; NULL: it has none of this name. */
PFN_vkVoidFunction warm_vulkan_command(const struct warm_vulkan *vulkan, const char *name);

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
