// SPDX-License-Identifier: Apache-2.0
#include "common/base/clock.h"

/* Called from so many places that the library is smaller without copies of it. */
__attribute__((noinline)) uint64_t clock_read_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * CLOCK_S + (uint64_t)now.tv_nsec;
}

void clock_pause(uint64_t ns)
{
    const struct timespec pause = clock_timespec(ns);
    nanosleep(&pause, NULL);
}

void clock_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}
