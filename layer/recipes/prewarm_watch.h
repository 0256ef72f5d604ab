// SPDX-License-Identifier: Apache-2.0
/* Watches the compiles of prewarm. One that takes long (PREWARM_LONG_US) is recorded, so that no
 * program begins it again: by the worker while it goes on, since the process may be killed for it,
 * else when it has ended. From then on it does not count as a crash.
 *
 *     prewarm_watch_init → prewarm_watch_open → [prewarm_watch_begin → compile →
 *     prewarm_watch_end]… → prewarm_watch_finish → prewarm_watch_release
 *
 * The time in which a thread waited for a core does not count, since nobody is to blame for that.
 * begin and end are called by each thread of prewarm for itself, by its number. */
#ifndef WARMPIPE_LAYER_RECIPES_PREWARM_WATCH_H
#define WARMPIPE_LAYER_RECIPES_PREWARM_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/recipes/recipes.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/worker.h"

struct recorder;

/* What a thread compiles. */
struct prewarm_compile {
    const struct recipe_use *use; /* NULL: nothing */
    struct own_wait_timer timer;
    uint64_t look_ns; /* when the worker is to look at it */
    bool is_being_noted;
    bool is_noted; /* it takes long, and is recorded */
};

struct prewarm_watch {
    struct worker_client client;
    struct recorder *recorder;
    struct recipe_crashes *crashes;
    pthread_mutex_t lock; /* over what follows; never held over the disk */
    pthread_cond_t noted; /* a compile is not being noted any more */
    unsigned slowdown;    /* of the last compile: how much longer it took than alone on a core */
    struct prewarm_compile compiles[RECIPE_CRASHES_THREADS];
};

/* `recorder` is borrowed. */
void prewarm_watch_init(struct prewarm_watch *watch, struct recorder *recorder);

/* The marks that compiles have, borrowed; before the first one. */
void prewarm_watch_open(struct prewarm_watch *watch, struct recipe_crashes *crashes);

/* False: the worker may still be using it (worker_remove); it must never be freed. */
bool prewarm_watch_finish(struct prewarm_watch *watch);
void prewarm_watch_release(struct prewarm_watch *watch);

/* How many times longer a compile takes than alone on a core: 1 to 10, by the last one. */
unsigned prewarm_watch_slowdown(struct prewarm_watch *watch);

/* Brackets the compile of a thread. The use is borrowed. Returns what it took, in microseconds. */
void prewarm_watch_begin(struct prewarm_watch *watch, unsigned thread,
                         const struct recipe_use *use);
uint32_t prewarm_watch_end(struct prewarm_watch *watch, unsigned thread);

#endif
