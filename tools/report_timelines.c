#include "report_timelines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* What has a colour of its own, beside the results. */
enum { KIND_LOAD = TRACE_RESULT_COUNT, KIND_SAVE, KIND_PREWARM, KIND_CACHE, KIND_COUNT };

static const char *kind_name(unsigned kind)
{
    static const char *const names[] = {"load", "save", "prewarm", "cache"};
    return kind < TRACE_RESULT_COUNT ? trace_result_name((enum trace_result)kind)
                                     : names[kind - TRACE_RESULT_COUNT];
}

static unsigned kind_of(const struct trace_runs *runs, const struct trace_span *span)
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

static bool has_digest(const struct trace_span *span)
{
    return span->digest.low != 0 || span->digest.high != 0;
}

static int compare_digests(const void *left, const void *right)
{
    const struct digest *a = left;
    const struct digest *b = right;
    if (a->high != b->high) {
        return a->high < b->high ? -1 : 1;
    }
    return a->low == b->low ? 0 : a->low < b->low ? -1 : 1;
}

struct digests {
    struct digest *all; /* sorted, each once */
    size_t count;
};

static void add_digests(struct digests *digests, const struct trace_run *run)
{
    for (size_t i = 0; i < run->span_count; i++) {
        if (has_digest(&run->spans[i])) {
            digests->all[digests->count++] = run->spans[i].digest;
        }
    }
}

static bool list_digests(const struct report_program *program, struct digests *ret_digests)
{
    struct report_shown shown[REPORT_SHOWN_RUNS];
    const size_t runs = report_shown(program, shown);
    size_t capacity = 0;
    for (size_t i = 0; i < runs; i++) {
        capacity += shown[i].run->span_count;
    }
    struct digests digests = {.all = calloc(capacity + 1, sizeof *digests.all)};
    if (!digests.all) {
        return false;
    }
    for (size_t i = 0; i < runs; i++) {
        add_digests(&digests, shown[i].run);
    }
    qsort(digests.all, digests.count, sizeof *digests.all, compare_digests);
    size_t kept = 0;
    for (size_t i = 0; i < digests.count; i++) {
        if (kept == 0 || !digest_equal(digests.all[kept - 1], digests.all[i])) {
            digests.all[kept++] = digests.all[i];
        }
    }
    digests.count = kept;
    *ret_digests = digests;
    return true;
}

static uint64_t place_of(const struct digests *digests, const struct trace_span *span)
{
    const struct digest *found = has_digest(span)
                                     ? bsearch(&span->digest, digests->all, digests->count,
                                               sizeof *digests->all, compare_digests)
                                     : NULL;
    return found ? (uint64_t)(found - digests->all) + 1 : 0;
}

static int compare_durations(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;
    return a == b ? 0 : a > b ? -1 : 1;
}

/* Spans of this duration or more are shown, the first REPORT_MAX_SPANS of them. */
static uint64_t shortest_shown(const struct trace_run *run)
{
    if (run->span_count <= REPORT_MAX_SPANS) {
        return 0;
    }
    uint64_t *durations = calloc(run->span_count, sizeof *durations);
    if (!durations) {
        return UINT64_MAX;
    }
    for (size_t i = 0; i < run->span_count; i++) {
        durations[i] = run->spans[i].duration_ns;
    }
    qsort(durations, run->span_count, sizeof *durations, compare_durations);
    const uint64_t shortest = durations[REPORT_MAX_SPANS - 1];
    free(durations);
    return shortest;
}

size_t report_timelines_shown(const struct trace_run *run)
{
    return run->span_count < REPORT_MAX_SPANS ? run->span_count : REPORT_MAX_SPANS;
}

static void put_spans(struct bytes *json, const struct trace_runs *runs,
                      const struct trace_run *run, const struct digests *digests)
{
    const uint64_t shortest = shortest_shown(run);
    size_t shown = 0;
    json_put_open(json, "spans", '[');
    for (size_t i = 0; i < run->span_count && shown < REPORT_MAX_SPANS; i++) {
        const struct trace_span *span = &run->spans[i];
        if (span->duration_ns >= shortest) {
            shown++;
            json_put_number(json, NULL, span->lane);
            json_put_number(json, NULL, span->row);
            json_put_number(json, NULL, span->start_ns - run->begin_ns);
            json_put_number(json, NULL, span->duration_ns);
            json_put_number(json, NULL, kind_of(runs, span));
            json_put_number(json, NULL, span->name);
            json_put_number(json, NULL, place_of(digests, span));
        }
    }
    json_put_close(json, ']');
}

static void put_run(struct bytes *json, const struct trace_runs *runs, const struct trace_run *run,
                    const struct digests *digests)
{
    json_put_open(json, NULL, '{');
    json_put_open(json, "lanes", '[');
    for (size_t i = 0; i < run->lane_count; i++) {
        char label[TRACE_TEXT_SIZE + 64];
        const struct trace_lane *lane = &run->lanes[i];
        if (*lane->name) {
            snprintf(label, sizeof label, "%s", lane->name);
        } else {
            snprintf(label, sizeof label, "%s %" PRIu64,
                     lane->thread == run->process ? "main thread" : "thread", lane->thread);
        }
        json_put_open(json, NULL, '{');
        json_put_string(json, "name", label);
        json_put_number(json, "rows", lane->rows);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
    put_spans(json, runs, run, digests);
    json_put_close(json, '}');
}

static void put_program(struct bytes *json, const struct trace_runs *runs,
                        const struct report_program *program)
{
    struct digests digests;
    if (!list_digests(program, &digests)) {
        json->failed = true;
        return;
    }
    json_put_open(json, NULL, '{');
    json_put_open(json, "digests", '[');
    for (size_t i = 0; i < digests.count; i++) {
        char hex[DIGEST_HEX_SIZE];
        digest_format(digests.all[i], hex);
        json_put_string(json, NULL, hex);
    }
    json_put_close(json, ']');
    json_put_open(json, "runs", '[');
    struct report_shown shown[REPORT_SHOWN_RUNS];
    const size_t count = report_shown(program, shown);
    for (size_t i = 0; i < count; i++) {
        put_run(json, runs, shown[i].run, &digests);
    }
    json_put_close(json, ']');
    json_put_close(json, '}');
    free(digests.all);
}

void report_timelines(struct bytes *json, const struct report *report,
                      const struct trace_runs *runs)
{
    json_put_open(json, NULL, '{');
    json_put_open(json, "kinds", '[');
    for (unsigned kind = 0; kind < KIND_COUNT; kind++) {
        json_put_string(json, NULL, kind_name(kind));
    }
    json_put_close(json, ']');
    json_put_open(json, "names", '[');
    for (size_t i = 0; i < runs->name_count; i++) {
        json_put_string(json, NULL, runs->names[i]);
    }
    json_put_close(json, ']');
    json_put_open(json, "programs", '[');
    for (size_t i = 0; i < report->count; i++) {
        put_program(json, runs, &report->programs[i]);
    }
    json_put_close(json, ']');
    json_put_close(json, '}');
}
