// SPDX-License-Identifier: Apache-2.0
/* The threads of prewarm and their shared state: how each replays recipes, when it waits for the
 * program, and when all stop. States of a thread:
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
 * A part of prewarm; no other file calls it. Functions are thread-safe unless they say otherwise.
 */
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

/* Watches the compiles of prewarm. A compile that takes long (PREWARM_LONG_US) is recorded, so that
 * no process begins it again: by the worker while it goes on, because the process may be killed for
 * it, otherwise when it has ended. A death in it then lists no pipeline, but counts all the same
 * (recipe_crashes_late).
 *
 *     prewarm_watch_init → prewarm_watch_open → [prewarm_watch_begin → compile →
 *     prewarm_watch_end]… → prewarm_watch_finish → prewarm_watch_release
 *
 * Time in which the thread waited for a core does not count. Each thread of prewarm calls begin and
 * end for itself, by its number. */

struct recorder;

/* The compile of one thread. */
struct prewarm_compile {
    const struct recipe_use *use; /* NULL: nothing */
    struct own_wait_timer timer;
    uint64_t look_ns; /* when the worker is to check it */
    bool is_being_noted;
    bool is_noted; /* it is recorded as long */
};

struct prewarm_watch {
    struct worker_client client;
    struct recorder *recorder;
    struct recipe_crashes *crashes;
    pthread_mutex_t lock; /* over what follows; never held over the disk */
    pthread_cond_t noted; /* the recording of a compile has ended */
    unsigned slowdown;    /* of the last compile: how many times longer than alone on a core */
    struct prewarm_compile compiles[RECIPE_CRASHES_THREADS];
};

/* `recorder` is borrowed. */
void prewarm_watch_init(struct prewarm_watch *watch, struct recorder *recorder);

/* Sets the crash marks of compiles, borrowed; call it before the first compile. */
void prewarm_watch_open(struct prewarm_watch *watch, struct recipe_crashes *crashes);

/* False: the worker may still be using the watch (worker_remove); it must never be freed. */
bool prewarm_watch_finish(struct prewarm_watch *watch);
void prewarm_watch_release(struct prewarm_watch *watch);

/* Returns how many times longer a compile takes than alone on a core: 1 to 10, by the last one. */
unsigned prewarm_watch_slowdown(struct prewarm_watch *watch);

/* Brackets the compile of a thread. The use is borrowed. Returns the duration in microseconds. */
void prewarm_watch_begin(struct prewarm_watch *watch, unsigned thread,
                         const struct recipe_use *use);
uint32_t prewarm_watch_end(struct prewarm_watch *watch, unsigned thread);

struct prewarm {
    struct prewarm_setup setup;
    struct prewarm_watch watch;
    pid_t process;
    atomic_bool begun;
    atomic_bool all;             /* also recipes recorded as saved: there is no usable blob */
    struct replay_limits limits; /* a share of this driver's */

    struct recipes *recipes;
    struct recipe_crashes *crashes;
    struct prewarm_list list; /* taken items and the estimate are under the lock */
    VkPipelineCache cache;
    atomic_uint compiled;
    atomic_uint refused[REPLAY_OUTCOME_COUNT]; /* because of the recipe itself */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* a stop was requested, or a thread has ended; monotonic clock */
    unsigned threads; /* threads that have not ended; the first opens what is needed, and starts the
                         others */
    unsigned in_driver; /* of these; the others may be at a disk */
    bool abandoned;     /* nobody waits for them any more: the driver must not be called */
    atomic_bool stop;
    uint64_t seen_requests; /* the program's count at the last poll */
    uint64_t busy_ns;       /* when the program was last seen creating; 0: never */
    uint64_t memory_ns;     /* when memory was last checked */
    struct replay *left[RECIPE_CRASHES_THREADS]; /* for prewarm_finish to delete */
};

/* Makes all threads end, each after its current compile. */
void prewarm_stop(struct prewarm *prewarm);

/* Starts a thread and counts it. False: none can be made. */
bool prewarm_start_thread(struct prewarm *prewarm, void *(*function)(void *argument),
                          void *argument);

/* A thread ends; it must not use the prewarm after this. */
void prewarm_end_thread(struct prewarm *prewarm);

/* How many threads may compile on this machine: half of its cores, at least one. */
unsigned prewarm_count_threads(void);

/* On the first thread: compiles the list with so many threads, and returns when the others have
 * ended. */
void prewarm_run_all(struct prewarm *prewarm, unsigned threads);

#endif
