#include "report_text.h"

#include <stdio.h>

static void show_run(struct output *output, const struct trace_run *run)
{
    const struct trace_sums *sums = &run->sums;
    output_number(output, "process", run->process);
    output_text(output, "cache", run->state);
    output_text(output, "reason", run->reason);
    output_number(output, "threads", run->lane_count);
    output_number(output, "requests", sums->pipelines);
    for (enum trace_result result = TRACE_RESULT_NONE + 1; result < TRACE_RESULT_created;
         result++) {
        output_part(output, trace_result_name(result), sums->results[result], sums->pipelines);
    }
    output_number(output, "objects", sums->objects);
    output_part(output, "objects_shared", sums->objects_shared, sums->objects);
    output_number(output, "prewarmed", sums->prewarmed);
    output_duration(output, "creation", sums->create_ns);
    output_duration(output, "clock_time", sums->elapsed_ns);
    output_duration(output, "prewarm", sums->prewarm_ns);
    output_duration(output, "load", sums->load_ns);
    output_size(output, "loaded", sums->loaded_bytes);
    output_number(output, "saves", sums->saves);
    output_number(output, "events_dropped", run->dropped);
}

static void show_runs(struct output *output, const struct report_program *program)
{
    char ratio[32];
    struct report_shown shown[REPORT_SHOWN_RUNS];
    const size_t count = report_shown(program, shown);
    output_text(output, "device", program->device);
    output_text(output, "driver", program->driver);
    output_text(output, "identity", program->identity);
    if (report_ratio(program) > 0) {
        snprintf(ratio, sizeof ratio, "%.2f", report_ratio(program));
        output_text(output, "ratio", ratio);
    }
    output_open(output, "runs", OUTPUT_TABLE);
    for (size_t i = 0; i < program->run_count; i++) {
        const struct trace_run *run = program->runs[i];
        output_open(output, NULL, OUTPUT_ROW);
        output_number(output, "run", i + 1);
        output_number(output, "process", run->process);
        output_text(output, "cache", run->state);
        output_number(output, "requests", run->sums.pipelines);
        output_number(output, "miss", run->sums.results[TRACE_RESULT_miss]);
        output_duration(output, "creation", run->sums.create_ns);
        output_close(output);
    }
    output_close(output);
    for (size_t i = 0; i < count; i++) {
        output_open(output, shown[i].name, OUTPUT_GROUP);
        show_run(output, shown[i].run);
        output_close(output);
    }
}

static void show_counters(struct output *output, const struct program_counters *counters)
{
    output_number(output, "starts", counters->starts);
    output_number(output, "requests", counters->requests);
    output_part(output, "shared", counters->shared, counters->requests);
    output_part(output, "driver_hits", counters->driver_hits, counters->requests);
    output_part(output, "driver_misses", counters->driver_misses, counters->requests);
    output_number(output, "prewarmed", counters->prewarmed);
    output_duration(output, "spent", counters->create_ns);
}

static void show_pipelines(struct output *output, const struct report_program *program)
{
    const bool is_traced = program->run_count > 0;
    output_number(output, "different_pipelines", program->different_pipelines);
    output_open(output, "dearest_pipelines", OUTPUT_TABLE);
    for (size_t i = 0; i < program->pipeline_count; i++) {
        const struct report_pipeline *pipeline = &program->pipelines[i];
        char digest[DIGEST_HEX_SIZE];
        digest_format(pipeline->digest, digest);
        output_open(output, NULL, OUTPUT_ROW);
        output_text(output, "digest", digest);
        output_text(output, "kind", pipeline->kind);
        output_duration(output, is_traced ? "cold" : "compile", pipeline->cold_ns);
        if (is_traced) {
            output_duration(output, "warm", pipeline->warm_ns);
        }
        output_number(output, is_traced ? "requests" : "days", pipeline->times);
        output_close(output);
    }
    output_close(output);
}

void report_text(struct output *output, const struct report *report)
{
    output_open(output, "programs", OUTPUT_LIST);
    for (size_t i = 0; i < report->count; i++) {
        const struct report_program *program = &report->programs[i];
        output_open(output, NULL, OUTPUT_ITEM);
        output_text(output, "name", program->app);
        if (program->run_count > 0) {
            show_runs(output, program);
        } else {
            show_counters(output, &program->counters);
        }
        show_pipelines(output, program);
        output_close(output);
    }
    output_close(output);
}
