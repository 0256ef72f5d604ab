// SPDX-License-Identifier: Apache-2.0
/* Threads of our own in the program's process, and what they wait with: conditions and locks by the
 * monotonic clock, which does not jump when somebody sets the time. */
#ifndef WARMPIPE_LAYER_WORKER_OWN_THREAD_H
#define WARMPIPE_LAYER_WORKER_OWN_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/base/clock.h"

/* The niceness, as of setpriority(2), of threads that nobody waits for. */
#define OWN_THREAD_NICE 10

/* Starts a detached thread. It blocks all signals but those of its own faults, since a program's
 * handlers run on the program's threads. stack_size: bytes; pages are taken when they are used.
 * False: no thread can be made, or may be (a sandbox). */
bool own_thread_start(void *(*function)(void *argument), void *argument, size_t stack_size);

#define WAIT_FOREVER UINT64_MAX

/* Takes a lock whose holder may be gone, as at the end of a process. False: it was held for all of
 * wait_ns. Tries every millisecond, unless it is WAIT_FOREVER. (pthread_mutex_timedlock goes by the
 * time of day, and its monotonic sister is missing in some C libraries.) */
static inline bool timed_lock(pthread_mutex_t *lock, uint64_t wait_ns)
{
    if (wait_ns == WAIT_FOREVER) {
        return pthread_mutex_lock(lock) == 0;
    }
    const struct timespec pause = {0, (long)CLOCK_MS};
    const uint64_t until = clock_now_ns() + wait_ns;
    while (pthread_mutex_trylock(lock) != 0) {
        if (clock_now_ns() >= until) {
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return true;
}

#endif
