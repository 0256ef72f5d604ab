// SPDX-License-Identifier: Apache-2.0
#include "tools/report/report.h"

#include <stdlib.h>
#include <string.h>

/* NULL: too many programs, or out of memory. */
static struct report_program *report_program_of(struct report *report, const struct trace_run *run)
{
    for (size_t i = 0; i < report->count; i++) {
        struct report_program *known = &report->programs[i];
        if (strcmp(known->app, run->app) == 0 &&
            strcmp(known->runs[0]->identity, run->identity) == 0) {
            return known;
        }
    }
    if (report->count == REPORT_MAX_PROGRAMS) {
        report->runs_left_out++;
        return NULL;
    }
    struct report_program *program = &report->programs[report->count];
    *program = (struct report_program){
        .app = run->app,
        .runs = calloc(TRACE_MAX_RUNS, sizeof *program->runs),
    };
    if (!program->runs) {
        report->failed = true;
        return NULL;
    }
    report->count++;
    return program;
}

/* The first with the state "cold", else the one with the most misses: a trace may begin later. */
static const struct trace_run *report_find_cold(const struct report_program *program)
{
    const struct trace_run *cold = NULL;
    for (size_t i = 0; i < program->run_count; i++) {
        const struct trace_run *run = program->runs[i];
        if (strcmp(run->state, "cold") == 0 && run->sums.pipelines > 0) {
            return run;
        }
        const uint64_t misses = run->sums.results[TRACE_RESULT_miss];
        const uint64_t most = cold ? cold->sums.results[TRACE_RESULT_miss] : 0;
        cold = misses > most ? run : cold;
    }
    return cold;
}

static const struct trace_run *report_find_warm(const struct report_program *program)
{
    for (size_t i = program->run_count; i > 0; i--) {
        const struct trace_run *run = program->runs[i - 1];
        if (run != program->cold && strcmp(run->state, "loaded") == 0 && run->sums.pipelines > 0) {
            return run;
        }
    }
    return NULL;
}

static uint64_t report_cost(const struct report_pipeline *pipeline)
{
    return pipeline->cold_ns > 0 ? pipeline->cold_ns : pipeline->warm_ns;
}

static int report_compare_costs(const void *left, const void *right)
{
    const uint64_t a = report_cost(left);
    const uint64_t b = report_cost(right);
    return a == b ? digest_order(left, right) : a > b ? -1 : 1;
}

/* Merges entries of the same pipeline. Gives how many are left. */
static size_t report_fold(struct report_pipeline *pipelines, size_t count)
{
    size_t kept = 0;
    array_sort(pipelines, count, sizeof *pipelines, digest_order);
    for (size_t i = 0; i < count; i++) {
        struct report_pipeline *last = kept > 0 ? &pipelines[kept - 1] : NULL;
        if (last && digest_equal(last->digest, pipelines[i].digest)) {
            const struct report_pipeline *other = &pipelines[i];
            last->cold_ns = other->cold_ns > last->cold_ns ? other->cold_ns : last->cold_ns;
            last->warm_ns = other->warm_ns > last->warm_ns ? other->warm_ns : last->warm_ns;
            last->times += pipelines[i].times;
        } else {
            pipelines[kept++] = pipelines[i];
        }
    }
    return kept;
}

void report_take_pipelines(struct report_program *program, struct report_pipeline *pipelines,
                           size_t count)
{
    const size_t different = report_fold(pipelines, count);
    array_sort(pipelines, different, sizeof *pipelines, report_compare_costs);
    program->different_pipelines = different;
    program->pipeline_count = different < REPORT_PIPELINES ? different : REPORT_PIPELINES;
    memcpy(program->pipelines, pipelines, program->pipeline_count * sizeof *pipelines);
}

/* One entry for each request of a pipeline. */
static size_t report_list_pipelines(const struct trace_runs *runs,
                                    const struct report_program *program,
                                    struct report_pipeline *pipelines)
{
    size_t count = 0;
    for (size_t i = 0; i < program->run_count; i++) {
        const struct trace_run *run = program->runs[i];
        for (size_t j = 0; j < run->span_count; j++) {
            const struct trace_span *span = &run->spans[j];
            if (span->category == TRACE_PIPELINE && span->result != TRACE_RESULT_passed) {
                pipelines[count++] = (struct report_pipeline){
                    .digest = span->digest,
                    .kind = runs->names[span->name],
                    .cold_ns =
                        run == program->cold || run == program->other ? span->duration_ns : 0,
                    .warm_ns = run == program->warm ? span->duration_ns : 0,
                    .times = 1,
                };
            }
        }
    }
    return count;
}

static void report_show_in_full(struct report_program *program, const char *name,
                                const struct trace_run *run)
{
    if (run) {
        program->shown[program->shown_count++] = (struct report_shown){name, run};
    }
}

static void report_choose(struct report *report, const struct trace_runs *runs,
                          struct report_program *program)
{
    size_t spans = 1;
    for (size_t i = 0; i < program->run_count; i++) {
        spans += program->runs[i]->span_count;
    }
    program->cold = report_find_cold(program);
    program->warm = report_find_warm(program);
    program->other = program->cold || program->warm ? NULL : program->runs[program->run_count - 1];
    report_show_in_full(program, "cold", program->cold);
    report_show_in_full(program, "warm", program->warm);
    report_show_in_full(program, "start", program->other);
    AUTO_FREE struct report_pipeline *pipelines = calloc(spans, sizeof *pipelines);
    if (pipelines) {
        report_take_pipelines(program, pipelines, report_list_pipelines(runs, program, pipelines));
    }
    report->failed |= !pipelines;
}

void report_of_runs(const struct trace_runs *runs, const char *app, struct report *ret_report)
{
    struct report report = {.programs = calloc(REPORT_MAX_PROGRAMS, sizeof *report.programs)};
    report.failed = !report.programs;
    for (size_t i = 0; i < runs->count && !report.failed; i++) {
        const struct trace_run *run = runs->runs[i];
        const bool is_meant = run->span_count > 0 && (!app || strcmp(app, run->app) == 0);
        struct report_program *program = is_meant ? report_program_of(&report, run) : NULL;
        if (program) {
            program->runs[program->run_count++] = run;
        }
    }
    for (size_t i = 0; i < report.count && !report.failed; i++) {
        report_choose(&report, runs, &report.programs[i]);
    }
    *ret_report = report;
}

void report_free(struct report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        free(report->programs[i].runs);
    }
    free(report->programs);
    *report = (struct report){0};
}

double report_clock_ratio(const struct report_program *program)
{
    const uint64_t cold = program->cold ? program->cold->sums.elapsed_ns : 0;
    const uint64_t warm = program->warm ? program->warm->sums.elapsed_ns : 0;
    return cold > 0 && warm > 0 ? (double)cold / (double)warm : 0;
}

double report_ratio(const struct report_program *program)
{
    const uint64_t cold = program->cold ? program->cold->sums.create_ns : 0;
    const uint64_t warm = program->warm ? program->warm->sums.create_ns : 0;
    return cold > 0 && warm > 0 ? (double)cold / (double)warm : 0;
}
