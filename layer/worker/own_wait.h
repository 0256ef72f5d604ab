// SPDX-License-Identifier: Apache-2.0
/* Waits on conditions and locks, for the program's threads and ours, by the monotonic clock, which
 * does not jump when the system time is set. Also timers that leave out the time in which a thread
 * lacked a core: on a busy machine that does not mean that a driver or a disk is slow. */
#ifndef WARMPIPE_LAYER_WORKER_OWN_WAIT_H
#define WARMPIPE_LAYER_WORKER_OWN_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How long a thread works at something, without the time in which it waited for a core: the
 * duration on an otherwise idle machine, whatever the thread's niceness. If /proc does not tell,
 * the time by the clock. */
struct own_wait_timer {
    pid_t thread;
    uint64_t start_ns;
    uint64_t ran_ns;    /* CPU time until start_ns */
    uint64_t waited_ns; /* for a core until start_ns */
};

/* Starts a timer for the calling thread; a few system calls. */
struct own_wait_timer own_wait_timer_start(void);

/* The same without reading /proc, for short work early in a thread's life. Time that the thread
 * waited for a core before the start counts as waits of the work, up to the time in which the
 * thread did not run. */
struct own_wait_timer own_wait_timer_start_early(void);

/* Nanoseconds since the start. Waits for a core are left out only from a millisecond on. Any thread
 * of the process may call it. */
uint64_t own_wait_timer_elapsed(const struct own_wait_timer *timer);

#define WAIT_FOREVER UINT64_MAX

/* Takes a lock whose holder may no longer exist (at the end of a process) or may be at a disk that
 * does not answer. False: it was held for all of wait_ns, or for as long as this thread has
 * patience (base/clock.h). Polls every millisecond, except with WAIT_FOREVER on a thread without a
 * limit. (pthread_mutex_timedlock uses the time of day; pthread_mutex_clocklock is missing in some
 * C libraries.) */
bool timed_lock(pthread_mutex_t *lock, uint64_t wait_ns);

/* Waits for a condition by the monotonic clock, for wait_ns at most. A thread with limited patience
 * waits 25 ms at most: the caller checks its condition and calls again. False: this thread has no
 * patience left. */
bool timed_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t wait_ns);

/* Registers the calling thread, one of ours, as one that others may wait for, until _leave with the
 * returned value. */
unsigned own_wait_enter(void);
void own_wait_leave(unsigned place);

/* In a forked child: forgets our threads, which do not exist there. */
void own_wait_after_fork_in_child(void);

#endif
