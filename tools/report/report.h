// SPDX-License-Identifier: Apache-2.0
/* The contents of a report, made from traces or from what is kept. The page and the text are both
 * made from this. */
#ifndef WARMPIPE_TOOLS_REPORT_REPORT_H
#define WARMPIPE_TOOLS_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/files/program.h"
#include "tools/report/trace_runs.h"

/* The slowest pipelines of a program. */
#define REPORT_PIPELINES 20

/* Further programs are left out of a report from traces. */
#define REPORT_MAX_PROGRAMS 32

struct report_pipeline {
    struct digest digest; /* first, for trace_compare_digests */
    const char *kind;     /* borrowed */
    uint64_t cold_ns;     /* compiled; 0: unknown */
    uint64_t warm_ns;
    uint64_t times; /* it was requested, in all runs; without traces: the days on which it was */
};

/* A program on a device; without traces: on all devices. */
struct report_program {
    const char *app; /* this and the next four: borrowed; "": unknown */
    const char *device;
    const char *driver;
    const char *driver_info; /* its release */
    const char *identity;
    const struct trace_run **runs; /* in order of time; none: the report is not from traces */
    size_t run_count;
    const struct trace_run *cold; /* NULL: there is none */
    const struct trace_run *warm;
    const struct trace_run *other;                      /* the last run, if there is neither */
    struct program_counters counters;                   /* without traces */
    struct report_pipeline pipelines[REPORT_PIPELINES]; /* the slowest first */
    size_t pipeline_count;
    size_t different_pipelines; /* how many there are in all */
};

struct report {
    struct report_program *programs;
    size_t count;
    size_t runs_left_out; /* of programs beyond the limit */
    bool failed;          /* out of memory */
};

/* A report from the runs of this program (NULL: of all). The runs are borrowed until report_free.
 */
void report_of_runs(const struct trace_runs *runs, const char *app, struct report *ret_report);

/* Keeps the slowest pipelines, in order. The array is reordered. */
void report_take_pipelines(struct report_program *program, struct report_pipeline *pipelines,
                           size_t count);

void report_free(struct report *report);

/* The runs that a report shows in full, by name: cold and warm, or the other one. Gives how many.
 */
#define REPORT_SHOWN_RUNS 2
struct report_shown {
    const char *name;
    const struct trace_run *run;
};
size_t report_shown(const struct report_program *program,
                    struct report_shown ret_shown[REPORT_SHOWN_RUNS]);

/* How many times longer the cold run took than the warm one; 0: not known. */
double report_ratio(const struct report_program *program);

/* The same by the clock: while any thread created pipelines. */
double report_clock_ratio(const struct report_program *program);

#endif
