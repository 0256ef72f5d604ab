// SPDX-License-Identifier: Apache-2.0
/* What a run shows of one program on one device at its end: one row with the result. */
#ifndef WARMPIPE_TOOLS_WARM_WARM_REPORT_H
#define WARMPIPE_TOOLS_WARM_WARM_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/cli/output.h"
#include "tools/vulkan/vulkan_loader.h"
#include "tools/warm/warm_shared.h"

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

/* Whether something went wrong. */
bool warm_report_is_finding(const struct warm_report *report);

/* ---- Coverage: how many of a program's pipelines a device can have, and what the others need that
 * it lacks. Collected while `warmpipe warm` goes from program to program, shown at the end ---- */

struct warm_coverage_row;

/* Zero-initialize it. */
struct warm_coverage {
    struct warm_coverage_row *rows;
    size_t count;
};

/* Adds the result of a run that has ended. Copies; what no memory is left for is left out. A dry
 * run knows of extensions and features; of limits only a replay does. */
void warm_coverage_add(struct warm_coverage *coverage, const struct warm_report *report,
                       const struct warm_shared *shared);

/* Asks the drivers, in child processes, what they offer of what the recipes' devices had enabled,
 * and adds it, as a dry run of `warmpipe warm` does: for verbs that replay nothing. Nothing is said
 * of a program without recipes, or without devices here. Called with one thread. */
void warm_coverage_ask(struct warm_coverage *coverage, const char *root, const char *app,
                       const struct vulkan_devices *devices);

/* Two tables: the pipelines of each program and device, and what is lacking. Text: only if
 * something is, or `always`. */
void warm_coverage_show(const struct warm_coverage *coverage, struct output *output, bool always);

/* Frees the rows. */
void warm_coverage_free(struct warm_coverage *coverage);

#endif
