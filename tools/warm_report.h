/* What came out for one program and device: one line. */
#ifndef WARMPIPE_TOOLS_WARM_REPORT_H
#define WARMPIPE_TOOLS_WARM_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output.h"
#include "warm_page.h"

enum warm_state {
    WARM_STATE_WARMED,
    WARM_STATE_READY,       /* there is a cache */
    WARM_STATE_DENIED,      /* the driver policy lets nothing be kept */
    WARM_STATE_WOULD,       /* a dry run */
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

/* What the page tells of a run, with messages on what needs words. */
void warm_report_take(struct warm_report *report, const struct warm_page *page, bool offer_only);

/* `detailed`: skipped recipes by their reasons. */
void warm_report_show(const struct warm_report *report, struct output *output, bool detailed);

/* Whether something went wrong. */
bool warm_report_is_finding(const struct warm_report *report);

#endif
