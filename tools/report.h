/* What `warmpipe report` tells, out of traces or of the store; the page and the text are both made
 * of this. */
#ifndef WARMPIPE_TOOLS_REPORT_H
#define WARMPIPE_TOOLS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "disk/program.h"
#include "trace_runs.h"

/* Of a program; the dearest. */
#define REPORT_PIPELINES 20

/* More of them are left out of a report of traces. */
#define REPORT_MAX_PROGRAMS 32

struct report_pipeline {
    struct digest digest;
    const char *kind; /* borrowed */
    uint64_t cold_ns; /* compiled; 0: unknown */
    uint64_t warm_ns;
    uint64_t times; /* it was asked for, in all runs; store: the days on which it was */
};

/* A program on a device, or, of the store, on all devices. */
struct report_program {
    const char *app; /* this one and those below: borrowed; "" where it is not known */
    const char *device;
    const char *driver;
    const char *identity;
    const struct trace_run **runs; /* in the order of time; none: of the store */
    size_t run_count;
    const struct trace_run *cold; /* NULL: there is none */
    const struct trace_run *warm;
    const struct trace_run *other;                      /* the last one, where there is neither */
    struct program_counters counters;                   /* of the store */
    struct report_pipeline pipelines[REPORT_PIPELINES]; /* the dearest first */
    size_t pipeline_count;
    size_t different_pipelines; /* how many there are in all */
};

struct report {
    struct report_program *programs;
    size_t count;
    size_t runs_left_out; /* of programs for which there was no room */
    bool failed;          /* out of memory */
};

/* What the runs say, of this program only (app NULL: of all). The runs are borrowed until
 * report_free. */
void report_of_runs(const struct trace_runs *runs, const char *app, struct report *ret_report);

/* Keeps the dearest, in order. The array is reordered. */
void report_take_pipelines(struct report_program *program, struct report_pipeline *pipelines,
                           size_t count);

void report_free(struct report *report);

/* The runs that a report shows in full, by name: cold, warm, or the other one. Gives how many. */
#define REPORT_SHOWN_RUNS 2
struct report_shown {
    const char *name;
    const struct trace_run *run;
};
size_t report_shown(const struct report_program *program,
                    struct report_shown ret_shown[REPORT_SHOWN_RUNS]);

/* How many times longer the cold run took than the warm one; 0: not known. */
double report_ratio(const struct report_program *program);

#endif
