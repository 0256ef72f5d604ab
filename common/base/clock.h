// SPDX-License-Identifier: Apache-2.0
/* The clock for durations and deadlines: CLOCK_MONOTONIC, which does not jump when the system time
 * is set. Also a thread's *patience*: how long it may still wait. Thread-safe. */
#ifndef WARMPIPE_BASE_CLOCK_H
#define WARMPIPE_BASE_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define CLOCK_MS UINT64_C(1000000)
#define CLOCK_S  UINT64_C(1000000000)

/* Reads a clock, in nanoseconds; 0: there is no such clock. */
uint64_t clock_read_ns(clockid_t clock);

/* Now, in nanoseconds. Takes a few tens of nanoseconds, no system call. */
static inline uint64_t clock_now_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

/* The time at the last tick of the kernel's clock, some milliseconds ago at most. Takes a quarter
 * of the time of clock_now_ns. */
static inline uint64_t clock_coarse_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC_COARSE);
}

/* CPU time of the calling thread, or of the process, in nanoseconds. System calls. */
static inline uint64_t clock_thread_ran_ns(void)
{
    return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline uint64_t clock_process_ran_ns(void)
{
    return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Converts to nanoseconds; for the time of a file, since the epoch. */
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

/* Sleeps for `ns` nanoseconds; a signal handler may cut it short. */
void clock_pause(uint64_t ns);

/* Initializes a condition variable whose timed waits use this clock. */
void clock_condition_init(pthread_cond_t *condition);

/* Patience: how long a thread may still wait for disks and for locks that others hold. A thread of
 * the program that ends a device or the process has one limit for all its waits together. Time in
 * which it works itself, and calls of drivers, do not count; nor does, for a second in all, time in
 * which our other threads compute or lack a core. A thread without a limit waits as long as each
 * wait says. The state belongs to the calling thread; there is nothing to free. */

/* The limit at the end of a device or a process. */
#define PATIENCE_AT_END (250 * CLOCK_MS)

/* How much longer the end takes at most on a busy or slow machine. */
#define PATIENCE_STARVED CLOCK_S

/* Sets the remaining patience, in nanoseconds; UINT64_MAX: no limit. Returns what was left before.
 * If one limit replaces another, as in the handlers of an exit, the allowance for lacking a core is
 * not renewed. */
uint64_t patience_set(uint64_t ns);

/* Returns wait_ns, or the remaining patience if that is less. */
uint64_t patience_limit(uint64_t wait_ns);

/* Whether there is a limit. */
bool patience_is_limited(void);

/* How much of the last limit is used up; 0 without a limit. */
uint64_t patience_spent(void);

/* This thread has waited for waited_ns. For busy_ns of that the thread that it waits for was not at
 * a disk or lock: it computed, or lacked a core. Returns how much of the wait counts. */
uint64_t patience_spend(uint64_t waited_ns, uint64_t busy_ns);

#endif
