// SPDX-License-Identifier: Apache-2.0
/* Two ways to do the same, timed in turn: 31 pairs, their ratio with its interval, and the ratio of
 * the second to itself. docs/BENCHMARKS.md. */
#ifndef WARMPIPE_TESTS_BENCH_PAIRS_H
#define WARMPIPE_TESTS_BENCH_PAIRS_H

#include <stdbool.h>

struct pairs {
    const char *name;
    const char *says; /* in a few words, what is compared */
    /* Each gives the nanoseconds that it took. */
    double (*ours)(void *user);
    double (*theirs)(void *user);
    void (*prepare)(void *user, int pair); /* before each pair, untimed; NULL: nothing */
    void *user;
    bool speed; /* the ratio is of speeds, not of times, and the limit its least, not its most */
    double limit;
};

/* CLOCK_MONOTONIC in nanoseconds. */
double pairs_now(void);

/* Measures and prints one JSON object. True: the limit is met. */
bool pairs_measure(const struct pairs *pairs);

#endif
