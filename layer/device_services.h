// SPDX-License-Identifier: Apache-2.0
/* The services of one device: the composition root. It starts them, ends them in the right order,
 * and is the only file that knows them all. The commands, above it, hand each function the services
 * that it needs. */
#ifndef WARMPIPE_LAYER_DEVICE_SERVICES_H
#define WARMPIPE_LAYER_DEVICE_SERVICES_H

#include <stdbool.h>
#include <vulkan/vulkan.h>

#include "common/base/bytes.h"
#include "layer/cache/pull_question.h"
#include "layer/chain/device.h"
#include "layer/trace/stats.h"

struct app_caches;
struct dedup;
struct device_cache;
struct maintenance;
struct prewarm;
struct recorder;
struct trace;

struct device_services {
    const struct device *device; /* borrowed */
    bool feedback; /* creation feedback may be chained: Vulkan 1.3 or its extension is enabled */
    bool strict;   /* policy: no cache for unknown structs */
    struct stats stats;
    struct maintenance *maintenance; /* NULL: nothing is kept on disk */
    struct device_cache *device_cache;
    struct app_caches *app_caches;
    struct dedup *dedup;       /* NULL: handles are neither shared nor named here */
    struct recorder *recorder; /* NULL: nothing is recorded; else there is a dedup */
    struct prewarm *prewarm;   /* NULL: nothing is compiled ahead */
    struct bytes environment;  /* for recipes; empty: nothing needs it */
    struct trace *trace;       /* NULL: nothing is traced */
};

/* Starts the services of a device that is linked and not published yet, and waits for the answer to
 * `question`. NULL: out of memory; the device passes everything through. */
struct device_services *device_services_start(struct device *device,
                                              VkPhysicalDevice physical_device,
                                              const VkDeviceCreateInfo *create_info,
                                              const VkAllocationCallbacks *allocator,
                                              const struct pull_question *question);

/* Ends the services, with their saves. The device is withdrawn, and vkDestroyDevice has not gone
 * down yet. False: our threads may still use the services and the device, which must never be
 * freed. NULL is a no-op that returns true. */
bool device_services_finish(struct device_services *services);

/* Frees the memory, after a finish that returned true; NULL is a no-op. _has_farewell: whether this
 * uses the disk, and is to be left to the worker. */
void device_services_delete(struct device_services *services);
bool device_services_has_farewell(const struct device_services *services);

#endif
