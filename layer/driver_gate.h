/* The gate that threads of our own go through to the driver. At the end of the process an atexit
 * handler, registered when the first device is there (so that it runs before those of the driver),
 * closes it and waits a bounded time for those who are inside; it frees nothing. In a forked child
 * the gate is open, and nobody is inside. Thread-safe. */
#ifndef WARMPIPE_LAYER_DRIVER_GATE_H
#define WARMPIPE_LAYER_DRIVER_GATE_H

#include <stdbool.h>

/* Registers the handlers; idempotent. */
void driver_gate_prepare(void);

/* Brackets driver calls. False: the gate is closed, for the process ends: no call, and no leave. */
bool driver_gate_enter(void);
void driver_gate_leave(void);

/* It will not open again. */
bool driver_gate_is_closed(void);

#endif
