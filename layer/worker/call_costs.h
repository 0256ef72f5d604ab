// SPDX-License-Identifier: Apache-2.0
/* What a driver takes for what we ask of its caches by ourselves (common/files/program.h), of
 * one device. A device cannot go while a call of ours is in it, so a kind of call that has taken
 * more than CALL_LONG_NS is remembered in program.json, by the driver's identity, and not begun
 * again in the background; at the end of a device only if it pays (docs/decisions/0122).
 *
 *     call_costs_init → [call_costs_recall → call_costs_allow… → call_costs_begin → calls
 *                        → call_costs_end → call_costs_keep]… → call_costs_release
 *
 * Only _recall and _keep use the disk. Thread-safe; no lock is held over the disk. */
#ifndef WARMPIPE_LAYER_WORKER_CALL_COSTS_H
#define WARMPIPE_LAYER_WORKER_CALL_COSTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/files/program.h"
#include "layer/worker/own_wait.h"

/* Longest call of ours that may be begun where somebody may have to wait for it. */
#define CALL_LONG_NS (250 * CLOCK_MS)

/* Longest call at the end of a device that is known to take so long. */
#define CALL_END_NS CLOCK_S

struct call_costs {
    const char *root; /* borrowed, as app; NULL: nothing is remembered */
    const char *app;
    struct digest identity;
    bool counts;        /* else no call is ever taken for a long one */
    bool writes;        /* what is learnt here is kept */
    atomic_bool is_due; /* something was learnt that is not kept yet */

    pthread_mutex_t lock; /* over what follows */
    bool recalled;
    uint64_t ns[SLOW_CALL_COUNT]; /* what it took; 0: not long */
    bool under_way;               /* the latest call */
    enum slow_call kind;
    struct own_wait_timer timer;
};

void call_costs_init(struct call_costs *costs, const char *root, const char *app,
                     struct digest identity, bool counts, bool writes);
void call_costs_release(struct call_costs *costs);

/* Reads what is remembered, the first time; and whether that has been. */
void call_costs_recall(struct call_costs *costs);
bool call_costs_is_recalled(struct call_costs *costs);

/* Whether the kind may be begun: in the background, or at the end of a device, where compiles of
 * compiled_ns are to be saved. Touches no file: what is not recalled yet may. */
bool call_costs_allow(struct call_costs *costs, enum slow_call kind);
bool call_costs_allow_at_end(struct call_costs *costs, enum slow_call kind, uint64_t compiled_ns);

/* Brackets a call, or several that belong together, timed by a timer that has just been started:
 * returns it. If it took long, or no longer does, that is to be kept. */
struct own_wait_timer call_costs_begin(struct call_costs *costs, enum slow_call kind,
                                       struct own_wait_timer timer);
void call_costs_end(struct call_costs *costs, enum slow_call kind);

/* The same of the call that is under way, should it have taken long already: whoever waits for it
 * may be killed for that. */
void call_costs_note_under_way(struct call_costs *costs);

/* Writes what is to be kept, if there is anything. _beside: by a thread of its own that nobody
 * waits for, where the worker is in the driver and the caller must not wait for a disk. */
void call_costs_keep(struct call_costs *costs);
void call_costs_keep_beside(struct call_costs *costs);

#endif
