// SPDX-License-Identifier: Apache-2.0
/* How long a driver takes for calls that the layer makes by itself on its caches
 * (common/files/program.h), for one device. A device cannot be destroyed while such a call is in
 * it. So a kind of call that has taken more than CALL_LONG_NS is remembered in program.json, by the
 * driver's identity. It is not begun again in the background, and at the end of a device only if it
 * pays (docs/decisions/0122).
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

/* The longest call of ours that may be begun where somebody may have to wait for it. */
#define CALL_LONG_NS (250 * CLOCK_MS)

/* The longest call at the end of a device, if it is known to take so long. */
#define CALL_END_NS CLOCK_S

struct call_costs {
    const char *root; /* borrowed, as app; NULL: nothing is remembered */
    const char *app;
    struct digest identity;
    bool counts;        /* false: no call ever counts as long */
    bool writes;        /* what is learnt is written to program.json */
    atomic_bool is_due; /* something learnt is not written yet */

    pthread_mutex_t lock; /* over what follows */
    bool recalled;
    uint64_t ns[SLOW_CALL_COUNT]; /* duration of each kind; 0: not long */
    bool under_way;               /* the latest call */
    enum slow_call kind;
    struct own_wait_timer timer;
};

void call_costs_init(struct call_costs *costs, const char *root, const char *app,
                     struct digest identity, bool counts, bool writes);
void call_costs_release(struct call_costs *costs);

/* Reads what is remembered, the first time; and whether that has been done. */
void call_costs_recall(struct call_costs *costs);
bool call_costs_is_recalled(struct call_costs *costs);

/* Whether a call of this kind may be begun: in the background, or at the end of a device where
 * compiles of compiled_ns wait to be saved. Touches no file; a kind that is not recalled yet may be
 * begun. */
bool call_costs_allow(struct call_costs *costs, enum slow_call kind);
bool call_costs_allow_at_end(struct call_costs *costs, enum slow_call kind, uint64_t compiled_ns);

/* Brackets a call, or several that belong together. `timer` has just been started, and is returned.
 * If the call was long, or no longer is, that is marked to be kept. */
struct own_wait_timer call_costs_begin(struct call_costs *costs, enum slow_call kind,
                                       struct own_wait_timer timer);
void call_costs_end(struct call_costs *costs, enum slow_call kind);

/* If the call under way has already taken long, marks that to be kept: a user who waits for it may
 * kill the process. */
void call_costs_note_under_way(struct call_costs *costs);

/* Writes what is to be kept, if there is anything. _beside: by a thread that nobody waits for; used
 * while the worker is in the driver and the caller must not wait for a disk. */
void call_costs_keep(struct call_costs *costs);
void call_costs_keep_beside(struct call_costs *costs);

#endif
