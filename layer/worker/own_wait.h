// SPDX-License-Identifier: Apache-2.0
/* What threads of the program and of ours wait with: conditions and locks by the monotonic clock,
 * which does not jump when somebody sets the time. And what of a time is want of a core, on a
 * machine that is busy: nothing takes longer for that, and no disk is slow. */
#ifndef WARMPIPE_LAYER_WORKER_OWN_WAIT_H
#define WARMPIPE_LAYER_WORKER_OWN_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How long a thread is at something, less the time in which it waited for a core: what it would
 * take on a machine that has nothing else to do, whatever its niceness. Where /proc does not tell,
 * the time by the clock. */
struct own_wait_timer {
    pid_t thread;
    uint64_t start_ns;
    uint64_t ran_ns;    /* until then */
    uint64_t waited_ns; /* for a core, until then */
};

/* Of the thread that calls it; a few system calls. */
struct own_wait_timer own_wait_timer_start(void);

/* The same without reading anything, for what comes early in the life of its thread and hardly ever
 * takes long: what it waited for a core before is taken for waits of the call, as far as it did not
 * run in that time. */
struct own_wait_timer own_wait_timer_start_early(void);

/* Nanoseconds since then, exact from a millisecond on; from any thread of the process. */
uint64_t own_wait_timer_elapsed(const struct own_wait_timer *timer);

#define WAIT_FOREVER UINT64_MAX

/* Takes a lock whose holder may be gone, as at the end of a process, or be at a disk that does not
 * answer. False: it was held for all of wait_ns, or for as long as this thread has patience
 * (base/clock.h). Tries every millisecond, unless it is WAIT_FOREVER for a thread of no limit.
 * (pthread_mutex_timedlock goes by the time of day, and its monotonic sister is missing in some C
 * libraries.) */
bool timed_lock(pthread_mutex_t *lock, uint64_t wait_ns);

/* Waits for a condition by the monotonic clock, no longer than wait_ns, and for a thread whose
 * patience is limited no longer than some milliseconds: the caller looks whether what it waits for
 * has come, and calls again. False: this thread has no patience left. */
bool timed_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t wait_ns);

/* The calling thread is one of ours, and may be waited for from now on, until _leave with what this
 * returned. */
unsigned own_wait_enter(void);
void own_wait_leave(unsigned place);

/* In a forked child: none of ours is here. */
void own_wait_after_fork_in_child(void);

#endif
