// SPDX-License-Identifier: Apache-2.0
/* Prewarm: our own threads compile what earlier runs of the program asked for on this device into
 * the device cache, ahead of the program (WARMPIPE_PREWARM).
 *
 *     prewarm_start → prewarm_finish
 *
 * The most used and slowest pipelines come first. The threads run at nice 10, on half of the cores,
 * at least one. They begin nothing while the program itself creates pipelines. They skip recipes
 * that need what is not enabled on this device, that took or may take long (prewarm_list.h), or
 * that have crashed this driver. If nothing is recorded of this device, recipes of other devices
 * serve (decision 0127). Prewarm ends when all is done, when memory is short, when the driver's
 * cache turns out to hold nothing, when the driver may call the program back, or in a sandbox. It
 * also ends with the device or the process; each thread first finishes the compile that it is in,
 * but the end of the process waits for it only as long as its patience lasts. */
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

/* Everything is borrowed until prewarm_finish. */
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
    const atomic_bool *has_callback; /* once set, drivers may call the program back; that must not
                                        happen on threads that it does not know */
    bool feedback;                   /* creation feedback may be chained */
};

/* Call it in vkCreateDevice. Checks, with a few system calls, whether there is something to do, and
 * begins it on a thread. With WARMPIPE_PREWARM=auto, if there is a cache file that nobody has left
 * unfinished (blobs/identity_files.h), it begins only in two cases: the device cache reports that
 * the file is of no use; or the recorder reports pipelines that a process has compiled and not
 * saved (then only those). NULL: settings or driver do not allow it, no thread can be made, or
 * memory is out. */
struct prewarm *prewarm_start(const struct prewarm_setup *setup);

/* Call it in vkDestroyDevice, first of all: waits for the compiles under way, and frees. False:
 * leave the borrowed arguments alone, because this is a forked child, or the disk has not answered
 * for as long as this thread has patience (base/clock.h). NULL: returns true. */
bool prewarm_finish(struct prewarm *prewarm);

#endif
