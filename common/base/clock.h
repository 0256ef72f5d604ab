// SPDX-License-Identifier: Apache-2.0
/* The clock for durations and deadlines: CLOCK_MONOTONIC, which does not jump when the time is set.
 * Thread-safe. */
#ifndef WARMPIPE_BASE_CLOCK_H
#define WARMPIPE_BASE_CLOCK_H

#include <pthread.h>
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

#endif
