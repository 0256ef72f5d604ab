// SPDX-License-Identifier: Apache-2.0
/* Threads of our own in the program's process, and what they wait with: conditions and locks by the
 * monotonic clock, which does not jump when somebody sets the time. */
#ifndef WARMPIPE_LAYER_WORKER_OWN_THREAD_H
#define WARMPIPE_LAYER_WORKER_OWN_THREAD_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/files/patience.h"

/* The niceness, as of setpriority(2), of threads that nobody waits for. */
#define OWN_THREAD_NICE 10

/* Starts a detached thread. It blocks all signals but those of its own faults, since a program's
 * handlers run on the program's threads. stack_size: bytes; pages are taken when they are used.
 * False: no thread can be made, or may be (a sandbox). */
bool own_thread_start(void *(*function)(void *argument), void *argument, size_t stack_size);

/* How long a thread is at something, less the time in which it waited for a core: what it would
 * take on a machine that has nothing else to do, whatever its niceness. Where /proc does not tell,
 * the time by the clock. */
struct own_thread_timer {
    pid_t thread;
    uint64_t start_ns;
    uint64_t waited_ns; /* for a core, until then */
};

/* Of the thread that calls it; a few system calls. */
struct own_thread_timer own_thread_timer_start(void);

/* The same for what comes early in the life of its thread and hardly ever takes long: what it has
 * waited before counts as well, and so nothing is read now. */
struct own_thread_timer own_thread_timer_start_early(void);

/* Nanoseconds since then, exact from a millisecond on; from any thread of the process. */
uint64_t own_thread_timer_elapsed(const struct own_thread_timer *timer);

#define WAIT_FOREVER UINT64_MAX

/* Takes a lock whose holder may be gone, as at the end of a process, or be at a disk that does not
 * answer. False: it was held for all of wait_ns, or for as long as this thread has patience
 * (files/patience.h). Tries every millisecond, unless it is WAIT_FOREVER for a thread of no limit.
 * (pthread_mutex_timedlock goes by the time of day, and its monotonic sister is missing in some C
 * libraries.) */
static inline bool timed_lock(pthread_mutex_t *lock, uint64_t wait_ns)
{
    const uint64_t limit_ns = patience_limit(wait_ns);
    if (limit_ns == WAIT_FOREVER) {
        return pthread_mutex_lock(lock) == 0;
    }
    const struct timespec pause = {0, (long)CLOCK_MS};
    const uint64_t start_ns = clock_now_ns();
    bool taken = pthread_mutex_trylock(lock) == 0;
    while (!taken && clock_now_ns() - start_ns < limit_ns) {
        nanosleep(&pause, NULL);
        taken = pthread_mutex_trylock(lock) == 0;
    }
    patience_spend(start_ns);
    return taken;
}

/* Waits for a condition by the monotonic clock, as long as this thread has patience, and no longer
 * than wait_ns. False: that time has passed. */
static inline bool timed_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t wait_ns)
{
    const uint64_t limit_ns = patience_limit(wait_ns);
    if (limit_ns == WAIT_FOREVER) {
        return pthread_cond_wait(condition, lock) == 0;
    }
    const uint64_t start_ns = clock_now_ns();
    const struct timespec until = clock_timespec(start_ns + limit_ns);
    const bool in_time = pthread_cond_timedwait(condition, lock, &until) != ETIMEDOUT;
    patience_spend(start_ns);
    return in_time;
}

#endif
