// SPDX-License-Identifier: Apache-2.0
/* The clock for durations and deadlines: CLOCK_MONOTONIC, which does not jump when the time is set;
 * and how long a thread may still wait. Thread-safe. */
#ifndef WARMPIPE_BASE_CLOCK_H
#define WARMPIPE_BASE_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define CLOCK_MS UINT64_C(1000000)
#define CLOCK_S  UINT64_C(1000000000)

/* What a clock says, in nanoseconds; 0: there is no such clock. */
uint64_t clock_read_ns(clockid_t clock);

/* Now, in nanoseconds. Takes a few tens of nanoseconds, no system call. */
static inline uint64_t clock_now_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

/* The same as of the last tick of the kernel's clock, some milliseconds ago at most. Takes a
 * quarter of the time. */
static inline uint64_t clock_coarse_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC_COARSE);
}

/* For how long the calling thread, or all of the process, has run, in nanoseconds. System calls. */
static inline uint64_t clock_thread_ran_ns(void)
{
    return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline uint64_t clock_process_ran_ns(void)
{
    return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* In nanoseconds, since the epoch where it is the time of a file. */
static inline uint64_t clock_ns_of(struct timespec instant)
{
    return (uint64_t)instant.tv_sec * CLOCK_S + (uint64_t)instant.tv_nsec;
}

/* The same instant or duration in the form that pthread_cond_timedwait and nanosleep take. */
static inline struct timespec clock_timespec(uint64_t ns)
{
    struct timespec instant = {(time_t)(ns / CLOCK_S), (long)(ns % CLOCK_S)};
    return instant;
}

/* Sleeps for so long; a handler of a signal may cut it short. */
void clock_pause(uint64_t ns);

/* Initializes a condition variable whose timed waits use this clock. */
void clock_condition_init(pthread_cond_t *condition);

/* How long a thread may still wait for disks and for locks that others hold. A thread of the
 * program that ends a device or the process has so much for all its waits together; what it does
 * meanwhile, and calls of drivers, do not count; nor does, for a second in all, what our other
 * threads compute meanwhile, or lack a core for. Threads without a limit wait as long as each wait
 * says. State of the calling thread; nothing to free. */

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
