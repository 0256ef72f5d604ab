/* What the process that replays tells the one that watches it, in memory that both share and that
 * outlives either: how far it has come, what each thread is at, and how it ended. */
#ifndef WARMPIPE_TOOLS_WARM_PAGE_H
#define WARMPIPE_TOOLS_WARM_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "driver/replay.h"

#define WARM_MAX_JOBS 64

/* What became of an item: an outcome of replay, or one of these. */
enum warm_outcome {
    WARM_CRASHED = REPLAY_OUTCOME_COUNT, /* it has killed or stopped the driver, now or before */
    WARM_NOT_OFFERED,                    /* the device has not all that was enabled */
    WARM_PENDING,
    WARM_OUTCOME_COUNT
};

/* How a process ended. */
enum warm_end {
    WARM_END_NONE, /* it has not told */
    WARM_END_DONE,
    WARM_END_INTERRUPTED,
    WARM_END_FAILED /* `failure` tells why */
};

/* A thread at work. */
struct warm_slot {
    _Atomic uint32_t item;     /* its place and 1; 0: idle */
    _Atomic uint64_t since_ns; /* CLOCK_MONOTONIC */
};

struct warm_page {
    size_t size; /* of the page, bytes */
    size_t item_count;
    struct warm_slot slots[WARM_MAX_JOBS];
    enum warm_end end;
    char failure[160];
    char missing[160];          /* what the device does not offer; "": nothing */
    enum reason save_reason;    /* of the last save */
    uint64_t saved_bytes;       /* 0: nothing is saved */
    _Atomic uint8_t outcomes[]; /* of each item, enum warm_outcome */
};

/* Every item pending. NULL: out of memory. */
struct warm_page *warm_page_new(size_t item_count);
void warm_page_delete(struct warm_page *page);

/* For another target: as new. */
void warm_page_reset(struct warm_page *page);

/* Items by outcome. */
struct warm_counts {
    size_t of[WARM_OUTCOME_COUNT];
};
struct warm_counts warm_page_count(const struct warm_page *page);

/* Before a process is started, or started again: what an earlier one told of itself goes. */
void warm_page_restart(struct warm_page *page);

/* Thread-safe as to different threads. */
void warm_page_begin(struct warm_page *page, unsigned thread, size_t item);
void warm_page_end(struct warm_page *page, unsigned thread, enum warm_outcome outcome);

#endif
