// SPDX-License-Identifier: Apache-2.0
#include "common/base/clock.h"

/* Called from so many places that the library is smaller without copies of it. */
__attribute__((noinline)) uint64_t clock_read_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return clock_ns_of(now);
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

static _Thread_local struct {
    bool is_limited;
    uint64_t given_ns;
    uint64_t left_ns;
    uint64_t busy_ns; /* that does not count */
} patience;

uint64_t patience_set(uint64_t ns)
{
    const uint64_t before_ns = patience.is_limited ? patience.left_ns : UINT64_MAX;
    patience.busy_ns = patience.is_limited ? patience.busy_ns : 0;
    patience.is_limited = ns != UINT64_MAX;
    patience.given_ns = patience.left_ns = ns;
    return before_ns;
}

uint64_t patience_limit(uint64_t wait_ns)
{
    return patience.is_limited && patience.left_ns < wait_ns ? patience.left_ns : wait_ns;
}

bool patience_is_limited(void)
{
    return patience.is_limited;
}

uint64_t patience_spent(void)
{
    return patience.is_limited ? patience.given_ns - patience.left_ns : 0;
}

uint64_t patience_spend(uint64_t waited_ns, uint64_t busy_ns)
{
    uint64_t free_ns = PATIENCE_STARVED - patience.busy_ns;
    free_ns = busy_ns < free_ns ? busy_ns : free_ns;
    free_ns = waited_ns < free_ns ? waited_ns : free_ns;
    const uint64_t spent_ns = waited_ns - free_ns;
    patience.busy_ns += free_ns;
    patience.left_ns -= spent_ns < patience.left_ns ? spent_ns : patience.left_ns;
    return spent_ns;
}
