/* Prewarm: what earlier runs of the program asked for on this device is compiled into the hot cache
 * by threads of our own, ahead of the program (WARMPIPE_PREWARM).
 *
 *     prewarm_start → prewarm_finish
 *
 * Most used and dearest first, at nice 10, on at most half of the cores, and nothing is begun while
 * the program itself creates pipelines: it never waits for a prewarm. Recipes that need what is not
 * enabled on this device, that took long, or that have crashed this driver are passed over. It ends
 * when all is done, when memory is short, when the driver's cache turns out to hold nothing, and
 * with the device or the process after at most the one compile that each thread is in. */
#ifndef WARMPIPE_LAYER_PREWARM_H
#define WARMPIPE_LAYER_PREWARM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/config.h"
#include "base/stats.h"
#include "driver/identity.h"
#include "next.h"

struct injector;
struct prewarm;
struct trace;

/* All is borrowed until prewarm_finish. */
struct prewarm_setup {
    VkDevice device;
    VkPhysicalDevice physical_device;
    PFN_vkGetPhysicalDeviceProperties get_properties;
    PFN_vkGetPhysicalDeviceProperties2 get_properties2; /* may be NULL */
    const device_table *table;
    const struct config *config;
    const char *app; /* the program's folder */
    struct injector *injector;
    struct stats *stats;
    struct trace *trace;     /* NULL: there is none */
    const void *environment; /* of this device: driver/environment.h */
    size_t environment_size;
    const atomic_bool *has_callback; /* once set, drivers may call the program back: none of that
                                      * from threads that it does not know */
    bool feedback;                   /* creation feedback may be chained */
};

/* At vkCreateDevice. Looks, with two system calls at most, whether there is something to do, and
 * begins it on a thread; or, where a cache file stands in the way, once the injector tells that it
 * is of no use. NULL: settings or driver do not allow it, or there can be no thread. */
struct prewarm *prewarm_start(const struct prewarm_setup *setup);

/* At vkDestroyDevice, first of all: waits for the compiles that are under way, and frees. False:
 * what was lent to it must be left alone, for this is a child of the process, or the disk has not
 * answered for 5 s. NULL: true. */
bool prewarm_finish(struct prewarm *prewarm);

#endif
