/* The events of traces, put together again: each run of a program with its threads and spans. */
#ifndef WARMPIPE_TOOLS_TRACE_RUNS_H
#define WARMPIPE_TOOLS_TRACE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace_events.h"

/* What is beyond these is left out. */
#define TRACE_MAX_RUNS  1024
#define TRACE_MAX_NAMES 256 /* of spans, all runs together */

/* The threads of a run that have a lane of their own; all others share the last one. */
#define TRACE_MAX_LANES 48

/* The rows of a lane: spans inside others, or beside them, lie below them. */
#define TRACE_MAX_ROWS 4

struct trace_span {
    uint64_t start_ns;
    uint64_t duration_ns;
    uint64_t bytes;
    struct digest digest;
    uint16_t name; /* of trace_runs */
    uint8_t category;
    uint8_t result;
    uint8_t lane;
    uint8_t row;
};

struct trace_lane {
    uint64_t thread;
    char *name;    /* "" where the thread has none */
    unsigned rows; /* at least 1 */
};

/* Of the spans of a run. */
struct trace_sums {
    uint64_t pipelines;                     /* asked for */
    uint64_t results[TRACE_RESULT_COUNT];   /* of these */
    uint64_t result_ns[TRACE_RESULT_COUNT]; /* their time; all threads together */
    uint64_t create_ns;                     /* of all */
    uint64_t elapsed_ns; /* in which any thread was creating pipelines; of trace_runs_finish */
    uint64_t objects;
    uint64_t objects_shared;
    uint64_t load_ns;
    uint64_t loaded_bytes;
    uint64_t saves;
    uint64_t prewarmed; /* pipelines that were compiled ahead, or were there */
    uint64_t prewarm_ns;
};

struct trace_run {
    uint64_t process;
    size_t file; /* whose first run began at file_begin_ns */
    size_t place;
    uint64_t file_begin_ns;
    uint64_t devices; /* a bit for each of its first 64 that is told of */
    char *app;        /* this one and those below: of the first of them */
    char *device;
    char *driver;
    char *identity;
    char *state; /* of the cache: when it was loaded, else when the device was made */
    char *reason;
    struct trace_lane lanes[TRACE_MAX_LANES];
    size_t lane_count;
    struct trace_span *spans; /* by lane, row and start */
    size_t span_count;
    size_t span_capacity;
    uint64_t dropped; /* events that the process could not keep */
    uint64_t begin_ns;
    uint64_t end_ns;
    struct trace_sums sums;
};

struct trace_runs {
    struct trace_run **runs; /* in the order of time */
    size_t count;
    size_t files;
    size_t file_start; /* runs of the file in hand: a run is in one file */
    char *names[TRACE_MAX_NAMES];
    size_t name_count;
    uint64_t left_out; /* events for which there was no room */
    bool failed;       /* out of memory: what is there is not all */
};

/* Adds the events of one trace. Zero-initialize `runs`; free with trace_runs_free. */
enum trace_verdict trace_runs_add(struct trace_runs *runs, const void *data, size_t size);

/* To be called when all traces are added: puts runs and spans in order. */
void trace_runs_finish(struct trace_runs *runs);

void trace_runs_free(struct trace_runs *runs);

#endif
