/* One of the program's caches that is served: its creations go to the hot cache until it has been
 * filled and read back; from then on it is passed.
 *
 * begin and end bracket each creation, from any thread, without a lock. fill and pass are called
 * under the device's fill lock. */
#ifndef WARMPIPE_LAYER_SERVED_CACHE_H
#define WARMPIPE_LAYER_SERVED_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "driver_cache.h"

struct served_cache {
    /* From low to high: creations under way (24 bits), creations ever begun (39 bits), passed (1
     * bit). One atomic word, so that "nobody has begun since" is checked and `passed` set at once.
     */
    uint64_t word;
    uint64_t filled_begun; /* creations begun when it was last filled whole */
    bool filled;           /* these two under the fill lock */
};

/* passed: it is not served at all. */
void served_cache_init(struct served_cache *cache, bool passed);

/* True: the creation is to use the hot cache, and served_cache_end must follow when it has
 * returned. False: the cache is passed, use it itself. */
bool served_cache_begin(struct served_cache *cache);
void served_cache_end(struct served_cache *cache);

bool served_cache_is_passed(const struct served_cache *cache);

/* Whether it has ever been filled. */
bool served_cache_is_filled(const struct served_cache *cache);

/* Merges `hot` into the program's object `handle` if creations have begun or were under way since
 * that was done last. Nobody else uses `handle`: its creations are on the hot cache. */
void served_cache_fill(struct served_cache *cache, const struct driver_caches *caches,
                       VkPipelineCache handle, VkPipelineCache hot);

/* The program has its data: passes the cache on from now on, with everything in it that was created
 * in its name. While creations are under way in its name it stays served. */
void served_cache_pass(struct served_cache *cache, const struct driver_caches *caches,
                       VkPipelineCache handle, VkPipelineCache hot);

/* As served_cache_pass, but even while creations are under way: the driver is about to be given the
 * program's object itself. */
void served_cache_pass_now(struct served_cache *cache, const struct driver_caches *caches,
                           VkPipelineCache handle, VkPipelineCache hot);

#endif
