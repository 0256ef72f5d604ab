// SPDX-License-Identifier: Apache-2.0
#include "tools/report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"

/* Kinds that have a colour, in addition to the results. */
enum { KIND_LOAD = TRACE_RESULT_COUNT, KIND_SAVE, KIND_PREWARM, KIND_CACHE, KIND_COUNT };

static unsigned timelines_kind_of(const struct trace_runs *runs, const struct trace_span *span)
{
    const char *name = runs->names[span->name];
    switch (span->category) {
    case TRACE_PREWARM:
        return KIND_PREWARM;
    case TRACE_CACHE:
        return strcmp(name, "load") == 0   ? KIND_LOAD
               : strcmp(name, "save") == 0 ? KIND_SAVE
                                           : KIND_CACHE;
    default:
        return span->result;
    }
}

static int timelines_compare_places(const void *left, const void *right)
{
    const struct trace_span *a = *(const struct trace_span *const *)left;
    const struct trace_span *b = *(const struct trace_span *const *)right;
    return (a > b) - (a < b);
}

/* The longest first. */
static int timelines_compare_durations(const void *left, const void *right)
{
    const struct trace_span *a = *(const struct trace_span *const *)left;
    const struct trace_span *b = *(const struct trace_span *const *)right;
    const int order = array_order_of(b->duration_ns, a->duration_ns);
    return order ? order : timelines_compare_places(left, right);
}

size_t report_timelines_shown(const struct trace_run *run)
{
    return run->span_count < REPORT_MAX_SPANS ? run->span_count : REPORT_MAX_SPANS;
}

/* The spans of a run that are shown, in the run's order; to be freed. NULL: out of memory. */
static const struct trace_span **timelines_select_spans(const struct trace_run *run)
{
    const size_t shown = report_timelines_shown(run);
    const struct trace_span **spans = calloc(run->span_count + 1, sizeof *spans);
    for (size_t i = 0; spans && i < run->span_count; i++) {
        spans[i] = &run->spans[i];
    }
    if (spans && shown < run->span_count) {
        qsort(spans, run->span_count, sizeof *spans, timelines_compare_durations);
        qsort(spans, shown, sizeof *spans, timelines_compare_places);
    }
    return spans;
}

static bool timelines_has_digest(const struct trace_span *span)
{
    return span->digest.low != 0 || span->digest.high != 0;
}

struct digests {
    struct digest *all; /* sorted, each once */
    size_t count;
};

/* Of the spans of each run that is shown. False: out of memory. */
static bool timelines_list_digests(const struct report_program *program,
                                   const struct trace_span **const *spans,
                                   struct digests *ret_digests)
{
    size_t capacity = 1;
    for (size_t i = 0; i < program->shown_count; i++) {
        capacity += report_timelines_shown(program->shown[i].run);
    }
    struct digests digests = {.all = calloc(capacity, sizeof *digests.all)};
    if (!digests.all) {
        return false;
    }
    for (size_t i = 0; i < program->shown_count; i++) {
        for (size_t j = 0; j < report_timelines_shown(program->shown[i].run); j++) {
            if (timelines_has_digest(spans[i][j])) {
                digests.all[digests.count++] = spans[i][j]->digest;
            }
        }
    }
    digests.count = digest_sort(digests.all, digests.count);
    *ret_digests = digests;
    return true;
}

static uint64_t timelines_place_of(const struct digests *digests, const struct trace_span *span)
{
    const struct digest *found = timelines_has_digest(span)
                                     ? bsearch(&span->digest, digests->all, digests->count,
                                               sizeof *digests->all, digest_order)
                                     : NULL;
    return found ? (uint64_t)(found - digests->all) + 1 : 0;
}

static void timelines_put_lane(struct bytes *json, const struct trace_run *run,
                               const struct trace_lane *lane)
{
    char label[TRACE_TEXT_SIZE];
    if (!*lane->name) {
        snprintf(label, sizeof label, "%s %" PRIu64,
                 lane->thread == run->process ? "main thread" : "thread", lane->thread);
    }
    json_put_open(json, NULL, '{');
    json_put_string(json, "name", *lane->name ? lane->name : label);
    json_put_number(json, "rows", lane->rows);
    json_put_close(json, '}');
}

static void timelines_put_run(struct bytes *json, const struct trace_runs *runs,
                              const struct trace_run *run, const struct trace_span **spans,
                              const struct digests *digests)
{
    json_put_open(json, NULL, '{');
    json_put_open(json, "lanes", '[');
    for (size_t i = 0; i < run->lane_count; i++) {
        timelines_put_lane(json, run, &run->lanes[i]);
    }
    json_put_close(json, ']');
    json_put_open(json, "spans", '[');
    for (size_t i = 0; i < report_timelines_shown(run); i++) {
        const struct trace_span *span = spans[i];
        json_put_number(json, NULL, span->lane);
        json_put_number(json, NULL, span->row);
        json_put_number(json, NULL, span->start_ns - run->begin_ns);
        json_put_number(json, NULL, span->duration_ns);
        json_put_number(json, NULL, timelines_kind_of(runs, span));
        json_put_number(json, NULL, span->name);
        json_put_number(json, NULL, timelines_place_of(digests, span));
    }
    json_put_close(json, ']');
    json_put_close(json, '}');
}

static void timelines_put_digests(struct bytes *json, const struct digests *digests)
{
    json_put_open(json, "digests", '[');
    for (size_t i = 0; i < digests->count; i++) {
        char hex[DIGEST_HEX_SIZE];
        digest_format(digests->all[i], hex);
        json_put_string(json, NULL, hex);
    }
    json_put_close(json, ']');
}

static void timelines_put_program(struct bytes *json, const struct trace_runs *runs,
                                  const struct report_program *program)
{
    const struct trace_span **spans[REPORT_SHOWN_RUNS];
    struct digests digests = {0};
    bool fine = true;
    for (size_t i = 0; i < program->shown_count; i++) {
        spans[i] = timelines_select_spans(program->shown[i].run);
        fine &= spans[i] != NULL;
    }
    fine = fine && timelines_list_digests(program, spans, &digests);
    json_put_open(json, NULL, '{');
    timelines_put_digests(json, &digests);
    json_put_open(json, "runs", '[');
    for (size_t i = 0; i < program->shown_count && fine; i++) {
        timelines_put_run(json, runs, program->shown[i].run, spans[i], &digests);
    }
    json_put_close(json, ']');
    json_put_close(json, '}');
    json->failed |= !fine;
    for (size_t i = 0; i < program->shown_count; i++) {
        free(spans[i]);
    }
    free(digests.all);
}

void report_timelines(struct bytes *json, const struct report *report,
                      const struct trace_runs *runs)
{
    static const char *const kinds[] = {"load", "save", "prewarm", "cache"};
    json_put_open(json, NULL, '{');
    json_put_open(json, "kinds", '[');
    for (unsigned kind = 0; kind < KIND_COUNT; kind++) {
        json_put_string(json, NULL,
                        kind < TRACE_RESULT_COUNT ? trace_result_name((enum trace_result)kind)
                                                  : kinds[kind - TRACE_RESULT_COUNT]);
    }
    json_put_close(json, ']');
    json_put_open(json, "names", '[');
    for (size_t i = 0; i < runs->name_count; i++) {
        json_put_string(json, NULL, runs->names[i]);
    }
    json_put_close(json, ']');
    json_put_open(json, "programs", '[');
    for (size_t i = 0; i < report->count; i++) {
        timelines_put_program(json, runs, &report->programs[i]);
    }
    json_put_close(json, ']');
    json_put_close(json, '}');
}
