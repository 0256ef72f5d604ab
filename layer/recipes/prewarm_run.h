// SPDX-License-Identifier: Apache-2.0
/* The threads of prewarm, and what they share: how each replays one recipe after the other, when it
 * leaves the machine to the program, and when all of them stop.
 *
 *     1 WAITING    the program creates pipelines, or has asked for one a moment ago
 *     2 COMPILING  one recipe is in the driver, inside the gate, its crash mark set
 *     3 ENDED
 *
 *     arrow                                                function
 *     1 WAITING ──▶ 2 COMPILING                            prewarm_replay_one
 *     2 COMPILING ──▶ 1 WAITING                            prewarm_wait_for_room
 *     1 ──nothing may be begun, prewarm_stop──▶ 3 ENDED    prewarm_end_thread
 *
 * A part of prewarm, which alone calls it. Functions are thread-safe unless they say otherwise. */
#ifndef WARMPIPE_LAYER_RECIPES_PREWARM_RUN_H
#define WARMPIPE_LAYER_RECIPES_PREWARM_RUN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/recipes/recipes.h"
#include "common/replay/replay.h"
#include "layer/recipes/prewarm.h"
#include "layer/recipes/prewarm_list.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/worker.h"

/* Watches the compiles of prewarm. One that takes long (PREWARM_LONG_US) is recorded, so that no
 * program begins it again: by the worker while it goes on, since the process may be killed for it,
 * else when it has ended. From then on it does not count as a crash.
 *
 *     prewarm_watch_init → prewarm_watch_open → [prewarm_watch_begin → compile →
 *     prewarm_watch_end]… → prewarm_watch_finish → prewarm_watch_release
 *
 * The time in which a thread waited for a core does not count, since nobody is to blame for that.
 * begin and end are called by each thread of prewarm for itself, by its number. */

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

struct prewarm {
    struct prewarm_setup setup;
    struct prewarm_watch watch;
    pid_t process;
    atomic_bool begun;
    atomic_bool all;             /* what is recorded as saved, too: there is no usable blob */
    struct replay_limits limits; /* of this driver, for another made the recipes; then a share */

    struct recipes *recipes;
    struct recipe_crashes *crashes;
    struct prewarm_list list; /* what is taken of it, and its estimate, under the lock */
    VkPipelineCache cache;
    atomic_uint compiled;
    atomic_uint refused[REPLAY_OUTCOME_COUNT]; /* for what is wrong with the recipe itself */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* it is to stop, or a thread has ended; by the monotonic clock */
    unsigned threads;       /* that have not; the first opens what is needed, and starts others */
    unsigned in_driver;     /* of them; the others may be at a disk */
    bool abandoned;         /* nobody waits for them any more: the driver must not be called */
    atomic_bool stop;
    uint64_t seen_requests; /* of the program, at the last poll */
    uint64_t busy_ns;       /* when the program was last seen creating; 0: never */
    uint64_t memory_ns;     /* when memory was last checked */
    struct replay *left[RECIPE_CRASHES_THREADS]; /* not deleted by the thread that made it */
};

/* Has all threads end, each after the compile that it is in. */
void prewarm_stop(struct prewarm *prewarm);

/* Starts a thread and counts it. False: none can be made. */
bool prewarm_start_thread(struct prewarm *prewarm, void *(*function)(void *argument),
                          void *argument);

/* A thread ends; it must not touch the prewarm after this. */
void prewarm_end_thread(struct prewarm *prewarm);

/* How many threads may compile on this machine: half of its cores, at least one. */
unsigned prewarm_count_threads(void);

/* On the first thread: compiles the list with so many, and returns when the others have ended. */
void prewarm_run_all(struct prewarm *prewarm, unsigned threads);

#endif
