// SPDX-License-Identifier: Apache-2.0
/* What a run shows of one program on one device: progress on standard error while it lasts, a bar
 * on a terminal and else a line now and then; and at the end one row with the result. */
#ifndef WARMPIPE_TOOLS_WARM_WARM_REPORT_H
#define WARMPIPE_TOOLS_WARM_WARM_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/cli/output.h"
#include "tools/warm/warm_shared.h"

struct warm_progress {
    const char *app;
    const char *device;
    size_t total;
    bool terminal;
    bool shown; /* a bar is on the terminal */
    uint64_t begin_ns;
    uint64_t next_ns; /* write nothing before */
};

/* Strings are borrowed. */
void warm_progress_begin(struct warm_progress *progress, const char *app, const char *device,
                         size_t total);

/* May be called as often as wanted; `done` of the total items. */
void warm_progress_show(struct warm_progress *progress, size_t done);

/* Removes the bar, so that something else can be written. */
void warm_progress_clear(struct warm_progress *progress);

enum warm_state {
    WARM_STATE_WARMED,
    WARM_STATE_READY,       /* there is a cache */
    WARM_STATE_DENIED,      /* the driver policy lets nothing be kept */
    WARM_STATE_TO_DO,       /* a dry run */
    WARM_STATE_NOTHING,     /* no recipe could be replayed */
    WARM_STATE_INEFFECTIVE, /* the driver keeps nothing in its cache */
    WARM_STATE_NOT_SAVED,
    WARM_STATE_INTERRUPTED,
    WARM_STATE_FAILED
};

struct warm_report {
    const char *app;
    const char *device;
    enum warm_state state;
    size_t total;
    struct warm_counts counts;
    uint64_t saved_bytes;
    uint64_t time_ns;
};

/* Fills in the result of a run that has ended; messages for what needs words. */
void warm_report_take(struct warm_report *report, const struct warm_shared *shared,
                      bool offer_only);

/* `detailed`: skipped recipes by their reasons. */
void warm_report_show(const struct warm_report *report, struct output *output, bool detailed);

/* The recipes that were not replayed, whatever the reason. */
size_t warm_report_skipped(const struct warm_report *report);

/* Whether something went wrong. */
bool warm_report_is_finding(const struct warm_report *report);

#endif
