// SPDX-License-Identifier: Apache-2.0
/* The gate that our own threads pass before they call the driver.
 *
 * States:
 *
 *     1 OPEN     our threads may call the driver
 *     2 LAST     the process ends: the function given to driver_gate_prepare runs; the gate is
 *                still open
 *     3 CLOSED   no thread of ours enters any more; the thread that ends the process waits for
 *                those inside, as long as its patience lasts (base/clock.h)
 *
 *     arrow                                function
 *     1 OPEN ─exit()──▶ 2 LAST             driver_gate_close_at_exit, the handler registered last
 *     2 LAST ─it has returned──▶ 3 CLOSED  driver_gate_close_at_exit
 *     any ─fork()──▶ same, in the child    driver_gate_after_fork_in_child: no thread is inside
 *
 * Handlers of atexit run in the reverse order of their registration. Drivers register handlers too
 * (one of Mesa's ends Mesa's threads), and must not be called after these have run. A driver
 * registers them with its first device, or in its first creation of pipelines. So ours is
 * registered with the first device, and again when each driver's first creation of pipelines has
 * returned. The same holds for quick_exit and at_quick_exit. The handler frees nothing.
 * Thread-safe. */
#ifndef WARMPIPE_LAYER_WORKER_DRIVER_GATE_H
#define WARMPIPE_LAYER_WORKER_DRIVER_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether our threads may call the driver of one instance. The permit is withdrawn before the
 * driver may call the program back: a callback does not expect a thread that the program does not
 * know, and may take a lock whose holder waits for us. All zero: they may. */
struct driver_permit {
    atomic_bool withdrawn;
    unsigned inside; /* under the gate's lock */
};

/* Withdraws the permit for good, and waits for the calls under way. Call it before the callback is
 * made known to the driver. */
void driver_gate_withdraw(struct driver_permit *permit);

static inline bool driver_permit_is_withdrawn(const struct driver_permit *permit)
{
    return atomic_load(&permit->withdrawn);
}

/* Registers the handlers, the first time, and sets the function that the thread that ends the
 * process calls once, just before the gate closes. */
void driver_gate_prepare(void (*last)(void));

/* Registers the handler once more, a thousand times at most, unless it was last registered after
 * the handlers of this driver. 0: an instance was destroyed; drivers may have been unloaded, and
 * register their handlers anew when they are loaded again. */
void driver_gate_register_behind(uint64_t driver);

/* Brackets driver calls. False: the process ends or the permit is withdrawn; call neither the
 * driver nor driver_gate_leave. */
bool driver_gate_enter(struct driver_permit *permit);
void driver_gate_leave(struct driver_permit *permit);

/* Whether the gate is closed: the process ends. It does not open again. */
bool driver_gate_is_closed(void);

#endif
