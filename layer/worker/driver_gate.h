// SPDX-License-Identifier: Apache-2.0
/* The gate that threads of our own go through to the driver.
 *
 *     1 OPEN     our threads may call the driver
 *     2 LAST     the process ends: what driver_gate_prepare was given runs, the gate still open
 *     3 CLOSED   no thread of ours enters again; those inside are waited for, as long as the
 *                thread that ends the process has patience (base/clock.h)
 *
 *     arrow                                function
 *     1 OPEN ─exit()──▶ 2 LAST             driver_gate_close_at_exit, the handler registered last
 *     2 LAST ─it has returned──▶ 3 CLOSED  driver_gate_close_at_exit
 *     CLOSED ─fork()──▶ as before          driver_gate_after_fork_in_child: nobody is inside
 *
 * Handlers of atexit run in the reverse order of their registration. Ours is registered with the
 * first device, and again when the first creation of pipelines has returned, of each driver: they
 * register theirs at either moment (Mesa's threads end by one), and must not be called after that.
 * The same for quick_exit, by at_quick_exit. It frees nothing. Thread-safe. */
#ifndef WARMPIPE_LAYER_WORKER_DRIVER_GATE_H
#define WARMPIPE_LAYER_WORKER_DRIVER_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether threads of ours may call the driver of one instance. Withdrawn as soon as the driver may
 * call the program back: a callback does not expect a thread that the program does not know, and
 * may take a lock whose holder waits for us. All zero: they may. */
struct driver_permit {
    atomic_bool withdrawn;
    unsigned inside; /* under the gate's lock */
};

/* Withdraws it for good, and waits for the calls that are under way; to be called before the
 * callback is made known to the driver. */
void driver_gate_withdraw(struct driver_permit *permit);

static inline bool driver_permit_is_withdrawn(const struct driver_permit *permit)
{
    return atomic_load(&permit->withdrawn);
}

/* Registers the handlers, the first time, and sets what the thread that ends the process calls
 * once, just before the gate closes. */
void driver_gate_prepare(void (*last)(void));

/* Registers the handler once more, a thousand times at most, unless it was last registered behind
 * those of this driver. 0: an instance has gone, and drivers with it, which register theirs anew
 * where they are loaded again. */
void driver_gate_register_behind(uint64_t driver);

/* Brackets driver calls. False: call neither the driver nor driver_gate_leave, since the process
 * ends or the permit is withdrawn. */
bool driver_gate_enter(struct driver_permit *permit);
void driver_gate_leave(struct driver_permit *permit);

/* Whether the process ends: it will not open again. */
bool driver_gate_is_closed(void);

#endif
