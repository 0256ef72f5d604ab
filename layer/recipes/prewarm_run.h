// SPDX-License-Identifier: Apache-2.0
/* The threads of prewarm, and what they share: how each replays one recipe after the other, when it
 * leaves the machine to the program, and when all of them stop.
 *
 *     1 WAITING    the program creates pipelines, or has asked for one a moment ago
 *     2 COMPILING  one recipe is in the driver, inside the gate, its crash mark set
 *     3 ENDED
 *
 *     arrow                                           function
 *     1 WAITING ──▶ 2 COMPILING                       prewarm_replay_one
 *     2 COMPILING ──▶ 1 WAITING                       prewarm_wait_for_room
 *     1 ──the list is done, prewarm_stop──▶ 3 ENDED   prewarm_end_thread
 *
 * A part of prewarm, which alone calls it. Functions are thread-safe unless they say otherwise. */
#ifndef WARMPIPE_LAYER_RECIPES_PREWARM_RUN_H
#define WARMPIPE_LAYER_RECIPES_PREWARM_RUN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/replay/replay.h"
#include "layer/recipes/prewarm.h"
#include "layer/recipes/prewarm_list.h"
#include "layer/recipes/prewarm_watch.h"

struct prewarm {
    struct prewarm_setup setup;
    struct prewarm_watch watch;
    pid_t process;
    atomic_bool begun;
    atomic_bool all;             /* what is recorded as saved, too: there is no usable blob */
    struct replay_limits limits; /* of this driver; another one made the recipes */

    struct recipes *recipes;
    struct recipe_crashes *crashes;
    struct prewarm_list list;
    VkPipelineCache cache;
    atomic_size_t next; /* of the list */
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
