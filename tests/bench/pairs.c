// SPDX-License-Identifier: Apache-2.0
#include "pairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define COUNT 31
/* Ranks of the order statistics that enclose the median of 31 values with 95% confidence. */
#define LOW_RANK  9
#define HIGH_RANK 21

double pairs_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_ratio(const char *name, const double *sorted)
{
    printf("\"%s\":{\"value\":%.3f,\"low\":%.3f,\"high\":%.3f},", name, sorted[COUNT / 2],
           sorted[LOW_RANK], sorted[HIGH_RANK]);
}

bool pairs_measure(const struct pairs *pairs)
{
    double ours[COUNT];
    double theirs[COUNT];
    double ratios[COUNT];
    double self[COUNT];
    for (int i = 0; i < COUNT; i++) {
        if (pairs->prepare) {
            pairs->prepare(pairs->user, i);
        }
        /* Which of them comes first alternates. */
        const double first = i % 2 ? pairs->theirs(pairs->user) : 0;
        ours[i] = pairs->ours(pairs->user);
        theirs[i] = i % 2 ? first : pairs->theirs(pairs->user);
        ratios[i] = pairs->speed ? theirs[i] / ours[i] : ours[i] / theirs[i];
        self[i] = pairs->theirs(pairs->user) / theirs[i];
    }
    qsort(ours, COUNT, sizeof *ours, compare);
    qsort(theirs, COUNT, sizeof *theirs, compare);
    qsort(ratios, COUNT, sizeof *ratios, compare);
    qsort(self, COUNT, sizeof *self, compare);
    const bool met =
        pairs->speed ? ratios[LOW_RANK] >= pairs->limit : ratios[HIGH_RANK] <= pairs->limit;
    printf("{\"name\":\"%s\",\"says\":\"%s\",\"limit\":\"%s %.1f\",\"met\":%s,", pairs->name,
           pairs->says, pairs->speed ? "≥" : "≤", pairs->limit, met ? "true" : "false");
    print_ratio("ratio", ratios);
    print_ratio("self", self);
    printf("\"ours\":%.0f,\"theirs\":%.0f}\n", ours[COUNT / 2], theirs[COUNT / 2]);
    return met;
}
