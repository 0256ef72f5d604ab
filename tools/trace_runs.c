#include "trace_runs.h"

#include <stdlib.h>
#include <string.h>

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static void set_text(struct trace_runs *runs, char **text, const char *value)
{
    char *copy = strdup(value);
    runs->failed |= !copy;
    if (copy) {
        free(*text);
        *text = copy;
    }
}

static struct trace_run *new_run(struct trace_runs *runs, uint64_t process)
{
    if (runs->count == TRACE_MAX_RUNS) {
        return NULL;
    }
    if (!runs->runs) {
        runs->runs = calloc(TRACE_MAX_RUNS, sizeof *runs->runs);
    }
    struct trace_run *run = runs->runs ? calloc(1, sizeof *run) : NULL;
    if (!run) {
        runs->failed = true;
        return NULL;
    }
    run->process = process;
    run->file = runs->files;
    run->place = runs->count;
    run->begin_ns = UINT64_MAX;
    char **const texts[] = {&run->app,      &run->device, &run->driver,
                            &run->identity, &run->state,  &run->reason};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        set_text(runs, texts[i], "");
    }
    runs->runs[runs->count++] = run;
    return run;
}

/* Process ids come again, in containers at every start: the latest counts. */
static struct trace_run *find_run(const struct trace_runs *runs, uint64_t process)
{
    for (size_t i = runs->count; i > runs->file_start; i--) {
        if (runs->runs[i - 1]->process == process) {
            return runs->runs[i - 1];
        }
    }
    return NULL;
}

static uint64_t bit_of(uint64_t device)
{
    return device < 64 ? UINT64_C(1) << device : 0;
}

/* A process tells of each device once: a number that is not new begins another run. */
static struct trace_run *run_of(struct trace_runs *runs, const struct trace_event *event)
{
    struct trace_run *run = find_run(runs, event->process);
    const bool begins =
        event->category == TRACE_DEVICE && run && (run->devices & bit_of(event->device));
    return run && !begins ? run : new_run(runs, event->process);
}

static void add_device(struct trace_runs *runs, struct trace_run *run,
                       const struct trace_event *event)
{
    const bool is_first = run->devices == 0;
    run->devices |= bit_of(event->device);
    if (is_first) {
        set_text(runs, &run->app, event->app);
        set_text(runs, &run->device, event->device_name);
        set_text(runs, &run->driver, event->driver);
        set_text(runs, &run->identity, event->identity);
        if (!*text_or_empty(run->state)) {
            set_text(runs, &run->state, event->state);
        }
    }
}

static uint8_t lane_of(struct trace_runs *runs, struct trace_run *run, uint64_t thread)
{
    for (size_t i = 0; i < run->lane_count; i++) {
        if (run->lanes[i].thread == thread) {
            return (uint8_t)i;
        }
    }
    if (run->lane_count == TRACE_MAX_LANES) {
        set_text(runs, &run->lanes[TRACE_MAX_LANES - 1].name, "other threads");
        return TRACE_MAX_LANES - 1;
    }
    struct trace_lane *lane = &run->lanes[run->lane_count];
    lane->thread = thread;
    set_text(runs, &lane->name, "");
    return (uint8_t)run->lane_count++;
}

static uint16_t name_of(struct trace_runs *runs, const char *name)
{
    for (size_t i = 0; i < runs->name_count; i++) {
        if (strcmp(runs->names[i], name) == 0) {
            return (uint16_t)i;
        }
    }
    if (runs->name_count == TRACE_MAX_NAMES) {
        return TRACE_MAX_NAMES - 1;
    }
    const bool is_last = runs->name_count == TRACE_MAX_NAMES - 1;
    char *copy = strdup(is_last ? "other" : name);
    if (!copy) {
        runs->failed = true;
        return 0;
    }
    runs->names[runs->name_count] = copy;
    return (uint16_t)runs->name_count++;
}

static bool reserve_span(struct trace_run *run)
{
    if (run->span_count < run->span_capacity) {
        return true;
    }
    const size_t capacity = run->span_capacity ? run->span_capacity * 2 : 64;
    struct trace_span *more = reallocarray(run->spans, capacity, sizeof *more);
    if (more) {
        run->spans = more;
        run->span_capacity = capacity;
    }
    return more;
}

static void add_up(struct trace_runs *runs, struct trace_run *run, const struct trace_event *event)
{
    struct trace_sums *sums = &run->sums;
    switch (event->category) {
    case TRACE_PIPELINE:
        sums->pipelines++;
        sums->results[event->result]++;
        sums->result_ns[event->result] += event->duration_ns;
        sums->create_ns += event->duration_ns;
        break;
    case TRACE_OBJECT:
        sums->objects++;
        sums->objects_shared += event->result == TRACE_RESULT_shared;
        break;
    case TRACE_PREWARM:
        sums->prewarmed +=
            event->result == TRACE_RESULT_created || event->result == TRACE_RESULT_hit;
        sums->prewarm_ns += event->duration_ns;
        break;
    default:
        if (strcmp(event->name, "load") == 0) {
            sums->load_ns += event->duration_ns;
            sums->loaded_bytes += event->bytes;
            set_text(runs, &run->state, event->state);
            set_text(runs, &run->reason, event->reason);
        }
        sums->saves += strcmp(event->name, "save") == 0;
    }
}

static void add_span(struct trace_runs *runs, struct trace_run *run,
                     const struct trace_event *event)
{
    if (!reserve_span(run)) {
        runs->failed = true;
        return;
    }
    run->spans[run->span_count++] = (struct trace_span){
        .start_ns = event->start_ns,
        .duration_ns = event->duration_ns,
        .bytes = event->bytes,
        .digest = event->digest,
        .name = name_of(runs, event->name),
        .category = (uint8_t)event->category,
        .result = (uint8_t)event->result,
        .lane = lane_of(runs, run, event->thread),
    };
    const uint64_t end = event->start_ns + event->duration_ns;
    run->end_ns = end > run->end_ns ? end : run->end_ns;
    add_up(runs, run, event);
}

static void name_lane(struct trace_runs *runs, struct trace_run *run,
                      const struct trace_event *event)
{
    const uint8_t lane = lane_of(runs, run, event->thread);
    if (run->lanes[lane].thread == event->thread) {
        set_text(runs, &run->lanes[lane].name, event->name);
    }
}

static void add_event(const struct trace_event *event, void *user)
{
    struct trace_runs *runs = user;
    struct trace_run *run = run_of(runs, event);
    if (!run) {
        runs->left_out++;
    } else if (event->category == TRACE_THREAD) {
        name_lane(runs, run, event);
    } else if (event->category == TRACE_DROPPED) {
        run->dropped += event->dropped;
    } else {
        run->begin_ns = event->start_ns < run->begin_ns ? event->start_ns : run->begin_ns;
        if (event->category == TRACE_DEVICE) {
            add_device(runs, run, event);
        } else {
            add_span(runs, run, event);
        }
    }
}

enum trace_verdict trace_runs_add(struct trace_runs *runs, const void *data, size_t size)
{
    runs->files++;
    runs->file_start = runs->count;
    const enum trace_verdict verdict = trace_events(data, size, add_event, runs);
    for (size_t i = runs->file_start; i < runs->count; i++) {
        runs->runs[i]->file_begin_ns = runs->runs[runs->file_start]->begin_ns;
    }
    return verdict;
}

/* By lane and start; of those that start together the longest comes first: it holds the others. */
static int compare_spans(const void *left, const void *right)
{
    const struct trace_span *a = left;
    const struct trace_span *b = right;
    if (a->lane != b->lane) {
        return a->lane < b->lane ? -1 : 1;
    }
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return a->duration_ns == b->duration_ns ? 0 : a->duration_ns > b->duration_ns ? -1 : 1;
}

/* Each span goes into the first row that is free when it starts. */
static void put_in_rows(struct trace_run *run)
{
    uint64_t ends[TRACE_MAX_ROWS];
    for (size_t i = 0; i < run->span_count; i++) {
        struct trace_span *span = &run->spans[i];
        if (i == 0 || span->lane != span[-1].lane) {
            memset(ends, 0, sizeof ends);
        }
        uint8_t row = 0;
        while (row < TRACE_MAX_ROWS - 1 && ends[row] > span->start_ns) {
            row++;
        }
        span->row = row;
        ends[row] = span->start_ns + span->duration_ns;
        struct trace_lane *lane = &run->lanes[span->lane];
        lane->rows = row + 1u > lane->rows ? row + 1u : lane->rows;
    }
}

static int compare_starts(const void *left, const void *right)
{
    const struct trace_span *a = *(const struct trace_span *const *)left;
    const struct trace_span *b = *(const struct trace_span *const *)right;
    return a->start_ns == b->start_ns ? 0 : a->start_ns < b->start_ns ? -1 : 1;
}

/* The time in which there was any of these spans, which are reordered. */
static uint64_t elapsed_in(const struct trace_span **spans, size_t count)
{
    uint64_t elapsed = 0;
    uint64_t until = 0;
    qsort(spans, count, sizeof *spans, compare_starts);
    for (size_t i = 0; i < count; i++) {
        const uint64_t start = spans[i]->start_ns > until ? spans[i]->start_ns : until;
        const uint64_t end = spans[i]->start_ns + spans[i]->duration_ns;
        elapsed += end > start ? end - start : 0;
        until = end > until ? end : until;
    }
    return elapsed;
}

static bool measure_elapsed(struct trace_run *run)
{
    const struct trace_span **spans = calloc(run->span_count, sizeof *spans);
    size_t count = 0;
    for (size_t i = 0; spans && i < run->span_count; i++) {
        if (run->spans[i].category == TRACE_PIPELINE) {
            spans[count++] = &run->spans[i];
        }
    }
    if (spans) {
        run->sums.elapsed_ns = elapsed_in(spans, count);
    }
    free(spans);
    return spans;
}

/* In one file they stand in their order, whatever the clock says: it starts anew with the machine.
 */
static int compare_runs(const void *left, const void *right)
{
    const struct trace_run *a = *(struct trace_run *const *)left;
    const struct trace_run *b = *(struct trace_run *const *)right;
    if (a->file != b->file && a->file_begin_ns != b->file_begin_ns) {
        return a->file_begin_ns < b->file_begin_ns ? -1 : 1;
    }
    return a->place < b->place ? -1 : 1;
}

void trace_runs_finish(struct trace_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        struct trace_run *run = runs->runs[i];
        if (run->span_count > 0) {
            qsort(run->spans, run->span_count, sizeof *run->spans, compare_spans);
            put_in_rows(run);
            runs->failed |= !measure_elapsed(run);
        }
    }
    if (runs->count > 0) {
        qsort(runs->runs, runs->count, sizeof *runs->runs, compare_runs);
    }
}

static void free_run(struct trace_run *run)
{
    for (size_t i = 0; i < run->lane_count; i++) {
        free(run->lanes[i].name);
    }
    free(run->app);
    free(run->device);
    free(run->driver);
    free(run->identity);
    free(run->state);
    free(run->reason);
    free(run->spans);
    free(run);
}

void trace_runs_free(struct trace_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        free_run(runs->runs[i]);
    }
    for (size_t i = 0; i < runs->name_count; i++) {
        free(runs->names[i]);
    }
    free(runs->runs);
    *runs = (struct trace_runs){0};
}
