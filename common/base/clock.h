/* The clock by which durations are measured: it never jumps when somebody sets the time. */
#ifndef WARMPIPE_BASE_CLOCK_H
#define WARMPIPE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_MS UINT64_C(1000000)
#define CLOCK_S  UINT64_C(1000000000)

/* CLOCK_MONOTONIC, in nanoseconds. Thread-safe, a few tens of nanoseconds, no system call. */
static inline uint64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * CLOCK_S + (uint64_t)now.tv_nsec;
}

/* The same instant as the functions of threads want it. */
static inline struct timespec clock_timespec(uint64_t ns)
{
    struct timespec instant = {(time_t)(ns / CLOCK_S), (long)(ns % CLOCK_S)};
    return instant;
}

#endif
