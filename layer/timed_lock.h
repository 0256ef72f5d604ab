/* A lock that is waited for only so long, by the clock that does not jump: pthread_mutex_timedlock
 * goes by the time of day, which somebody may set meanwhile, and its monotonic sister is missing in
 * some C libraries. For the end of a process, where the holder may be gone. */
#ifndef WARMPIPE_LAYER_TIMED_LOCK_H
#define WARMPIPE_LAYER_TIMED_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"

/* False: it was held all the time. Looks every millisecond. */
static inline bool timed_lock(pthread_mutex_t *lock, uint64_t wait_ns)
{
    const struct timespec pause = {.tv_nsec = CLOCK_MS};
    uint64_t until = clock_now_ns() + wait_ns;
    while (pthread_mutex_trylock(lock) != 0) {
        if (clock_now_ns() >= until) {
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return true;
}

#endif
