// SPDX-License-Identifier: Apache-2.0
/* Preloaded: the time of day jumps by years, forth and back, from one question to the next. The
 * monotonic clock goes on as it does. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define TEN_YEARS (10L * 365 * 24 * 3600)

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static atomic_uint asked;
    long result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) {
        time->tv_sec += atomic_fetch_add(&asked, 1) % 2 ? TEN_YEARS : -TEN_YEARS;
    }
    return (int)result;
}

time_t time(time_t *result)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) {
        *result = now.tv_sec;
    }
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict result, void *restrict zone)
{
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *result = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}
