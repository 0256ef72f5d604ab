// SPDX-License-Identifier: Apache-2.0
/* The contents of a report, made from traces or from what is kept. The page and the text are both
 * made from this. */
#ifndef WARMPIPE_TOOLS_REPORT_REPORT_H
#define WARMPIPE_TOOLS_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/files/program.h"
#include "tools/report/trace_runs.h"

/* The slowest pipelines of a program. */
#define REPORT_PIPELINES 20

/* Further programs are left out of a report from traces. */
#define REPORT_MAX_PROGRAMS 32

struct report_pipeline {
    struct digest digest; /* first, for digest_order */
    const char *kind;     /* borrowed */
    uint64_t cold_ns;     /* compiled; 0: unknown */
    uint64_t warm_ns;
    uint64_t times; /* it was requested, in all runs; without traces: the days on which it was */
};

/* The runs that a report shows in full, by name: cold and warm, or the other one. */
#define REPORT_SHOWN_RUNS 2
struct report_shown {
    const char *name;
    const struct trace_run *run;
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
    const struct trace_run *other; /* the last run, if there is neither */
    struct report_shown shown[REPORT_SHOWN_RUNS];
    size_t shown_count;
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

/* How many times longer the cold run took than the warm one; 0: not known. */
double report_ratio(const struct report_program *program);

/* The same by the clock: while any thread created pipelines. */
double report_clock_ratio(const struct report_program *program);

/* ---- The page: a report as one HTML document that needs nothing else. Its markup, style and
 * script are page.html, page.css and page.js; codegen/report.py puts them into the program ---- */

/* The page, cut where the title, the body and the timelines go; written by codegen/report.py. */
struct report_piece {
    const unsigned char *data;
    size_t size;
};
#define REPORT_PIECES 4
extern const struct report_piece report_pieces[REPORT_PIECES];

/* Appends the page. Lack of memory: page->failed. */
void report_page(struct bytes *page, const struct report *report, const struct trace_runs *runs);

/* The spans that a timeline shows; of more the shortest are left out. */
#define REPORT_MAX_SPANS 20000

/* The spans of a report for the page's script, and what its colours mean: one JSON document for all
 * programs (report_timelines.c):
 *
 *     {"kinds":[…],"names":[…],"programs":[{"digests":[…],"runs":[
 *         {"lanes":[{"name":"…","rows":1}],"spans":[…]}]}]}
 *
 * The runs are those that are shown. "spans" has seven numbers
 * for each: lane, row, start, duration, kind, name, digest; the times in ns, from the run's
 * begin; the last three are places in the lists, digest from 1 on, 0: none. */
void report_timelines(struct bytes *json, const struct report *report,
                      const struct trace_runs *runs);

/* How many spans of a run its timeline shows. */
size_t report_timelines_shown(const struct trace_run *run);

/* ---- HTML, appended to bytes; figures and bars as the page shows them: html.c. Lack of memory:
 * bytes.failed. Thread-safe ---- */

/* Appends the format as it stands. Each %s in it is replaced by a text that is escaped for elements
 * and for attributes in quotes, so nothing in a file can become markup. Control characters, and
 * bytes that are not UTF-8, become U+FFFD. The format may hold no other conversion than %s. */
void html_put(struct bytes *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A JSON document for a <script type="application/json">: nothing in it can end the element. */
void html_put_json(struct bytes *out, const struct bytes *json);

/* A bar: segments side by side, each in the colour of its kind, `whole` being the width of the bar.
 * It shows without the page's script. */
struct html_segment {
    const char *kind; /* a class of page.css */
    uint64_t part;
};
void html_put_bar(struct bytes *out, const struct html_segment *segments, size_t count,
                  uint64_t whole);

/* A number as a reader wants it. */
struct html_figure {
    char text[48];
};
struct html_figure html_duration(uint64_t nanoseconds);         /* "812 ms", "1.24 s" */
struct html_figure html_size(uint64_t bytes);                   /* "1.50 MiB" */
struct html_figure html_count(uint64_t number);                 /* "12,345" */
struct html_figure html_percent(uint64_t part, uint64_t whole); /* "98.4 %"; whole 0: "–" */

#endif
