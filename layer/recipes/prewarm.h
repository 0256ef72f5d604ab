// SPDX-License-Identifier: Apache-2.0
/* Prewarm: what earlier runs of the program asked for on this device is compiled into the device
 * cache by threads of our own, ahead of the program (WARMPIPE_PREWARM).
 *
 *     prewarm_start → prewarm_finish
 *
 * Most used and slowest first, at nice 10, on at most half of the cores, and nothing is begun while
 * the program itself creates pipelines: it never waits for a prewarm. Recipes that need what is not
 * enabled on this device, that took or may take long (prewarm_list.h), or that have crashed
 * this driver are skipped. Where nothing is recorded of this device, those of others serve
 * (decision 0127). It ends when all is done, when memory is short, when the driver's cache turns
 * out to hold nothing, and with the device or the process after at most the one compile that each
 * thread is in. */
#ifndef WARMPIPE_LAYER_RECIPES_PREWARM_H
#define WARMPIPE_LAYER_RECIPES_PREWARM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/driver/identity.h"
#include "common/settings/config.h"
#include "layer/trace/stats.h"

struct device_cache;
struct prewarm;
struct recorder;
struct trace;

/* All is borrowed until prewarm_finish. */
struct prewarm_setup {
    VkPhysicalDevice physical_device;
    const struct identity_commands *identity_commands;
    uint32_t api_version; /* the instance's */
    const struct config *config;
    const char *app; /* the program's folder */
    struct device_cache *device_cache;
    struct recorder *recorder; /* NULL: nothing is recorded (WARMPIPE_READONLY) */
    struct stats *stats;
    struct trace *trace;     /* NULL: there is none */
    const void *environment; /* of this device: driver/environment.h */
    size_t environment_size;
    struct driver_permit *permit;
    const atomic_bool *has_callback; /* once set, drivers may call the program back, which must not
                                      * happen on threads that it does not know */
    bool feedback;                   /* creation feedback may be chained */
};

/* At vkCreateDevice. Checks, with a few system calls, whether there is something to do, and
 * begins it on a thread. Where there is a cache file, and nobody has left it unfinished
 * (blobs/identity_files.h), it begins only once the device cache tells that the file is of no use,
 * or the recorder that a process has compiled pipelines that it did not come to save (then with
 * those alone). NULL: settings or driver do not allow it, or no thread can be made. */
struct prewarm *prewarm_start(const struct prewarm_setup *setup);

/* At vkDestroyDevice, first of all: waits for the compiles that are under way, and frees. False:
 * what was lent to it must be left alone, for this is a child of the process, or the disk has not
 * answered for as long as this thread has patience (base/clock.h). NULL: true. */
bool prewarm_finish(struct prewarm *prewarm);

#endif
