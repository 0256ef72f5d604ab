// SPDX-License-Identifier: Apache-2.0
#include "tools/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct trace_run *runs_new_run(struct trace_runs *runs, uint64_t process)
{
    if (runs->count == TRACE_MAX_RUNS) {
        return NULL;
    }
    struct trace_run *run =
        array_reserve(&runs->runs, runs->count, sizeof *runs->runs) ? calloc(1, sizeof *run) : NULL;
    if (!run) {
        runs->failed = true;
        return NULL;
    }
    run->process = process;
    run->file = runs->files;
    run->place = runs->count;
    run->begin_ns = UINT64_MAX;
    runs->runs[runs->count++] = run;
    return run;
}

static uint64_t runs_bit_of(uint64_t device)
{
    return device < 64 ? UINT64_C(1) << device : 0;
}

/* The latest run of that process: process ids are reused, in containers at every start. A process
 * has one event for each device: a device number that repeats begins another run. */
static struct trace_run *runs_run_of(struct trace_runs *runs, const struct trace_event *event)
{
    size_t i = runs->count;
    while (i > runs->file_start && runs->runs[i - 1]->process != event->process) {
        i--;
    }
    struct trace_run *run = i > runs->file_start ? runs->runs[i - 1] : NULL;
    const bool begins =
        event->category == TRACE_DEVICE && run && (run->devices & runs_bit_of(event->device));
    return run && !begins ? run : runs_new_run(runs, event->process);
}

static void runs_keep(char ret_text[TRACE_TEXT_SIZE], const char *text)
{
    snprintf(ret_text, TRACE_TEXT_SIZE, "%s", text);
}

static void runs_add_device(struct trace_run *run, const struct trace_event *event)
{
    if (run->devices == 0) {
        runs_keep(run->app, event->app);
        runs_keep(run->device, event->device_name);
        runs_keep(run->driver, event->driver);
        runs_keep(run->driver_info, event->driver_info);
        runs_keep(run->identity, event->identity);
        if (!*run->state) {
            runs_keep(run->state, event->state);
        }
    }
    run->devices |= runs_bit_of(event->device);
}

static uint8_t runs_lane_of(struct trace_run *run, uint64_t thread)
{
    for (size_t i = 0; i < run->lane_count; i++) {
        if (run->lanes[i].thread == thread) {
            return (uint8_t)i;
        }
    }
    if (run->lane_count == TRACE_MAX_LANES) {
        runs_keep(run->lanes[TRACE_MAX_LANES - 1].name, "other threads");
        return TRACE_MAX_LANES - 1;
    }
    run->lanes[run->lane_count] = (struct trace_lane){.thread = thread};
    return (uint8_t)run->lane_count++;
}

static uint16_t runs_name_of(struct trace_runs *runs, const char *name)
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
    runs_keep(runs->names[runs->name_count], is_last ? "other" : name);
    return (uint16_t)runs->name_count++;
}

static void runs_add_up(struct trace_run *run, const struct trace_event *event)
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
            if (sums->loads++ == 0) { /* a later device finds what this very run has saved */
                runs_keep(run->state, event->state);
                runs_keep(run->reason, event->reason);
            }
        }
        sums->saves += strcmp(event->name, "save") == 0;
    }
}

static void runs_add_span(struct trace_runs *runs, struct trace_run *run,
                          const struct trace_event *event)
{
    if (!array_reserve(&run->spans, run->span_count, sizeof *run->spans)) {
        runs->failed = true;
        return;
    }
    run->spans[run->span_count++] = (struct trace_span){
        .start_ns = event->start_ns,
        .duration_ns = event->duration_ns,
        .digest = event->digest,
        .name = runs_name_of(runs, event->name),
        .category = (uint8_t)event->category,
        .result = (uint8_t)event->result,
        .lane = runs_lane_of(run, event->thread),
    };
    const uint64_t end = event->start_ns + event->duration_ns;
    run->end_ns = end > run->end_ns ? end : run->end_ns;
    runs_add_up(run, event);
}

static void runs_add_event(const struct trace_event *event, void *user)
{
    struct trace_runs *runs = user;
    struct trace_run *run = runs_run_of(runs, event);
    if (!run) {
        runs->left_out++;
    } else if (event->category == TRACE_THREAD) {
        struct trace_lane *lane = &run->lanes[runs_lane_of(run, event->thread)];
        if (lane->thread == event->thread) {
            runs_keep(lane->name, event->name);
        }
    } else if (event->category == TRACE_DROPPED) {
        run->dropped += event->dropped;
    } else {
        run->begin_ns = event->start_ns < run->begin_ns ? event->start_ns : run->begin_ns;
        if (event->category == TRACE_DEVICE) {
            runs_add_device(run, event);
        } else {
            runs_add_span(runs, run, event);
        }
    }
}

enum trace_verdict trace_runs_add(struct trace_runs *runs, const void *data, size_t size)
{
    runs->files++;
    runs->file_start = runs->count;
    const enum trace_verdict verdict = trace_events(data, size, runs_add_event, runs);
    for (size_t i = runs->file_start; i < runs->count; i++) {
        runs->runs[i]->file_begin_ns = runs->runs[runs->file_start]->begin_ns;
    }
    return verdict;
}

/* By lane and start; of equal starts the longest comes first, because it contains the others. */
static int runs_compare_spans(const void *left, const void *right)
{
    const struct trace_span *a = left;
    const struct trace_span *b = right;
    const int lanes = array_order_of(a->lane, b->lane);
    const int starts = array_order_of(a->start_ns, b->start_ns);
    return lanes ? lanes : starts ? starts : array_order_of(b->duration_ns, a->duration_ns);
}

/* Each span goes into the first row that is free when it starts. */
static void runs_put_in_rows(struct trace_run *run)
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

static int runs_compare_starts(const void *left, const void *right)
{
    const struct trace_span *a = *(const struct trace_span *const *)left;
    const struct trace_span *b = *(const struct trace_span *const *)right;
    return array_order_of(a->start_ns, b->start_ns);
}

/* The time covered by at least one of these spans, which are reordered. */
static uint64_t runs_elapsed_in(const struct trace_span **spans, size_t count)
{
    uint64_t elapsed = 0;
    uint64_t until = 0;
    qsort(spans, count, sizeof *spans, runs_compare_starts);
    for (size_t i = 0; i < count; i++) {
        const uint64_t start = spans[i]->start_ns > until ? spans[i]->start_ns : until;
        const uint64_t end = spans[i]->start_ns + spans[i]->duration_ns;
        elapsed += end > start ? end - start : 0;
        until = end > until ? end : until;
    }
    return elapsed;
}

static bool runs_measure_elapsed(struct trace_run *run)
{
    AUTO_FREE const struct trace_span **spans = calloc(run->span_count, sizeof *spans);
    size_t count = 0;
    if (!spans) {
        return false;
    }
    for (size_t i = 0; i < run->span_count; i++) {
        if (run->spans[i].category == TRACE_PIPELINE) {
            spans[count++] = &run->spans[i];
        }
    }
    run->sums.elapsed_ns = runs_elapsed_in(spans, count);
    return true;
}

/* Files by their first run. Runs of one file keep its order: the clock restarts with the machine.
 */
static int runs_compare_runs(const void *left, const void *right)
{
    const struct trace_run *a = *(struct trace_run *const *)left;
    const struct trace_run *b = *(struct trace_run *const *)right;
    const int files = a->file != b->file ? array_order_of(a->file_begin_ns, b->file_begin_ns) : 0;
    return files ? files : array_order_of(a->place, b->place);
}

void trace_runs_finish(struct trace_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        struct trace_run *run = runs->runs[i];
        if (run->span_count > 0) {
            qsort(run->spans, run->span_count, sizeof *run->spans, runs_compare_spans);
            runs_put_in_rows(run);
            runs->failed |= !runs_measure_elapsed(run);
        }
    }
    array_sort(runs->runs, runs->count, sizeof *runs->runs, runs_compare_runs);
}

void trace_runs_free(struct trace_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        free(runs->runs[i]->spans);
        free(runs->runs[i]);
    }
    free(runs->runs);
    *runs = (struct trace_runs){0};
}
