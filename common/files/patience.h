// SPDX-License-Identifier: Apache-2.0
/* How long a thread may still wait for disks and for locks that others hold. A thread of the
 * program that ends a device or the process has so much for all its waits together; what it does
 * meanwhile, and calls of drivers, do not count; nor does, for a second in all, what our other
 * threads compute meanwhile, or lack a core for. Threads without a limit wait as long as each wait
 * says. State of the calling thread; nothing to free. */
#ifndef WARMPIPE_FILES_PATIENCE_H
#define WARMPIPE_FILES_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"

/* What the end of a device or a process has. */
#define PATIENCE_AT_END (250 * CLOCK_MS)

/* How much longer it takes at most where a machine is busy, or slow. */
#define PATIENCE_STARVED CLOCK_S

/* Sets what is left, in nanoseconds; UINT64_MAX: no limit. Returns what was left before. From one
 * limit to another, as by the handlers of an exit, the time without a core is not given anew. */
uint64_t patience_set(uint64_t ns);

/* As long as wait_ns, or as what is left if that is less. */
uint64_t patience_limit(uint64_t wait_ns);

/* Whether there is a limit. */
bool patience_is_limited(void);

/* How much of what was set last is gone; 0 without a limit. */
uint64_t patience_spent(void);

/* This thread has waited so long, and for busy_ns of that time neither for a disk nor for a lock:
 * who it waits for has computed, or there was no core. Returns how much of it counts. */
uint64_t patience_spend(uint64_t waited_ns, uint64_t busy_ns);

#endif
