// SPDX-License-Identifier: Apache-2.0
/* The contents of a report, made from traces or from what is kept. The page and the text are both
 * made from this. */
#ifndef WARMPIPE_TOOLS_REPORT_REPORT_H
#define WARMPIPE_TOOLS_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"
#include "common/base/io.h"
#include "common/files/program.h"

/* A trace as WARMPIPE_TRACE writes it (docs/FORMAT.md, "The trace"), read event by event
 * (trace_events.c), and its events put together as runs of programs with their threads and spans.
 * It is not trusted: every value is bounded, and events that are not warmpipe's are skipped.
 * Thread-safe for different runs. */

/* Bytes; a larger file is not read. */
#define TRACE_MAX_FILE ((uint64_t)256 << 20)

/* Bytes of a text in an event, terminator included; longer texts are cut. */
#define TRACE_TEXT_SIZE 256

enum trace_category {
    TRACE_FOREIGN,
    TRACE_DEVICE,   /* a device was created */
    TRACE_PIPELINE, /* this and the next three are spans */
    TRACE_OBJECT,
    TRACE_CACHE,
    TRACE_PREWARM,
    TRACE_THREAD, /* the name of a thread */
    TRACE_DROPPED /* events that the process could not write */
};

/* How an object was created, by the names that traces and reports use. */
#define TRACE_RESULTS(X)                                                                           \
    X(miss)    /* the driver compiled it */                                                        \
    X(hit)     /* the driver had it in its cache */                                                \
    X(shared)  /* answered with a live object */                                                   \
    X(unknown) /* the driver created it, and does not say how */                                   \
    X(passed)  /* warmpipe did not touch the call */                                               \
    X(failed)  /* it was not created */                                                            \
    X(created) /* not a pipeline: the driver created it */

#define TRACE_RESULT_MEMBER(name) TRACE_RESULT_##name,
enum trace_result { TRACE_RESULT_NONE, TRACE_RESULTS(TRACE_RESULT_MEMBER) TRACE_RESULT_COUNT };
#undef TRACE_RESULT_MEMBER

/* "" for none. */
const char *trace_result_name(enum trace_result result);

/* Texts are "" and numbers 0 where the event has none. */
struct trace_event {
    enum trace_category category;
    enum trace_result result;
    uint64_t process;
    uint64_t thread;
    uint64_t device;      /* of its process, from 0 */
    uint64_t start_ns;    /* CLOCK_MONOTONIC */
    uint64_t duration_ns; /* start and duration do not overflow */
    uint64_t bytes;
    uint64_t dropped; /* events */
    struct digest digest;
    char name[TRACE_TEXT_SIZE];  /* of the span; of a thread */
    char state[TRACE_TEXT_SIZE]; /* of the cache: when it was loaded, or when the device was created
                                  */
    char reason[TRACE_TEXT_SIZE];
    char app[TRACE_TEXT_SIZE]; /* this and the next three: of a device */
    char device_name[TRACE_TEXT_SIZE];
    char driver[TRACE_TEXT_SIZE];
    char driver_info[TRACE_TEXT_SIZE];
    char identity[TRACE_TEXT_SIZE];
};

enum trace_verdict {
    TRACE_WHOLE,
    TRACE_DAMAGED, /* cut, or with malformed events; the rest was read */
    TRACE_ALIEN    /* not a trace, or not one of warmpipe; not empty */
};

/* Calls `visit` for each event that is not foreign, in the order of the file. The event is borrowed
 * for the call. `data` need not end with a zero. */
enum trace_verdict trace_events(const void *data, size_t size,
                                void (*visit)(const struct trace_event *event, void *user),
                                void *user);

/* Runs. */

/* Limits; anything beyond them is left out. */
#define TRACE_MAX_RUNS  1024
#define TRACE_MAX_NAMES 256 /* of spans, all runs together */

/* Lanes of a run, one for each thread; further threads share the last one. */
#define TRACE_MAX_LANES 48

/* Rows of a lane: a span that overlaps an earlier one is in a row below it. */
#define TRACE_MAX_ROWS 4

struct trace_span {
    uint64_t start_ns;
    uint64_t duration_ns;
    struct digest digest;
    uint16_t name; /* of trace_runs */
    uint8_t category;
    uint8_t result;
    uint8_t lane;
    uint8_t row;
};

struct trace_lane {
    uint64_t thread;
    unsigned rows;              /* at least 1 */
    char name[TRACE_TEXT_SIZE]; /* "" where the thread has none */
};

/* Sums over the spans of a run. */
struct trace_sums {
    uint64_t pipelines;                     /* requested */
    uint64_t results[TRACE_RESULT_COUNT];   /* of these */
    uint64_t result_ns[TRACE_RESULT_COUNT]; /* their time, summed over all threads */
    uint64_t create_ns;                     /* of all */
    uint64_t elapsed_ns; /* time in which any thread created pipelines; set by trace_runs_finish */
    uint64_t objects;
    uint64_t objects_shared;
    uint64_t loads;
    uint64_t load_ns;
    uint64_t loaded_bytes;
    uint64_t saves;
    uint64_t prewarmed; /* pipelines compiled ahead, or found */
    uint64_t prewarm_ns;
};

struct trace_run {
    uint64_t process;
    size_t file; /* the trace; its first run began at file_begin_ns */
    size_t place;
    uint64_t file_begin_ns;
    uint64_t devices;          /* a bit for each of the first 64 that has an event */
    char app[TRACE_TEXT_SIZE]; /* this and the next four: of the first device */
    char device[TRACE_TEXT_SIZE];
    char driver[TRACE_TEXT_SIZE];
    char driver_info[TRACE_TEXT_SIZE];
    char identity[TRACE_TEXT_SIZE];
    char state[TRACE_TEXT_SIZE]; /* of the cache: at the first load, else when the device was
                                    created */
    char reason[TRACE_TEXT_SIZE];
    struct trace_lane lanes[TRACE_MAX_LANES];
    size_t lane_count;
    struct trace_span *spans; /* by lane, row and start */
    size_t span_count;
    uint64_t dropped; /* events that the process could not keep */
    uint64_t begin_ns;
    uint64_t end_ns;
    struct trace_sums sums;
};

struct trace_runs {
    struct trace_run **runs; /* in the order of time */
    size_t count;
    size_t files;
    size_t file_start; /* first run of the current file: a run is in one file */
    char names[TRACE_MAX_NAMES][TRACE_TEXT_SIZE];
    size_t name_count;
    uint64_t left_out; /* events beyond the limits */
    bool failed;       /* out of memory: something is missing */
};

/* Adds the events of one trace. Zero-initialize `runs`; free with trace_runs_free. */
enum trace_verdict trace_runs_add(struct trace_runs *runs, const void *data, size_t size);

/* Call it when all traces are added: it sorts runs and spans. */
void trace_runs_finish(struct trace_runs *runs);

void trace_runs_free(struct trace_runs *runs);

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
    const char *app;               /* borrowed; "": unknown */
    const struct trace_run **runs; /* in order of time, all on the device of the first; none: the
                                      report is not from traces */
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

/* The page: a report as one HTML document that needs nothing else. Its markup, style and
 * script are page.html, page.css and page.js; codegen/report.py puts them into the program. */

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

/* HTML, appended to bytes; figures and bars as the page shows them: html.c. Lack of memory:
 * bytes.failed. Thread-safe. */

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
struct html_figure html_format(const char *format, ...) /* as printf; cut to fit */
    __attribute__((format(printf, 1, 2)));
struct html_figure html_duration(uint64_t nanoseconds);         /* "812 ms", "1.24 s" */
struct html_figure html_size(uint64_t bytes);                   /* "1.50 MiB" */
struct html_figure html_count(uint64_t number);                 /* "12,345" */
struct html_figure html_percent(uint64_t part, uint64_t whole); /* "98.4 %"; whole 0: "–" */

#endif
