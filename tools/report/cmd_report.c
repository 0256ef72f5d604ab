// SPDX-License-Identifier: Apache-2.0
/* warmpipe report: what a cold start cost and a warm one, and which pipelines were slowest. Its
 * source is traces, or else what is kept: counters and recipes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files/names.h"
#include "common/recipes/recipes.h"
#include "tools/cli/inventory.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"
#include "tools/recipes/recipe_tool.h"
#include "tools/report/report.h"

static const struct option_spec options[] = {
    VERB_PROGRAM_OPTIONS,
    {"html", 0, "FILE", "write a page with timelines; -: to standard output"},
    VERB_JSON_OPTION,
    {NULL, 0, NULL, NULL},
};

/* The fields of a run in full. */
static void report_show_run(struct output *output, const struct trace_run *run)
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

static void report_show_runs(struct output *output, const struct report_program *program)
{
    char ratio[32];
    output_text(output, "device", program->runs[0]->device);
    output_text(output, "driver", program->runs[0]->driver);
    output_text(output, "driver_info", program->runs[0]->driver_info);
    output_text(output, "identity", program->runs[0]->identity);
    if (report_clock_ratio(program) > 0) {
        snprintf(ratio, sizeof ratio, "%.2f", report_clock_ratio(program));
        output_text(output, "times_faster", ratio);
    }
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
    for (size_t i = 0; i < program->shown_count; i++) {
        output_open(output, program->shown[i].name, OUTPUT_GROUP);
        report_show_run(output, program->shown[i].run);
        output_close(output);
    }
}

static void report_show_pipelines(struct output *output, const struct report_program *program)
{
    const bool is_traced = program->run_count > 0;
    output_number(output, "different_pipelines", program->different_pipelines);
    output_open(output, "dearest_pipelines", OUTPUT_TABLE);
    for (size_t i = 0; i < program->pipeline_count; i++) {
        const struct report_pipeline *pipeline = &program->pipelines[i];
        output_open(output, NULL, OUTPUT_ROW);
        output_digest(output, "digest", pipeline->digest);
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

static void report_show(struct output *output, const struct report *report)
{
    output_open(output, "programs", OUTPUT_LIST);
    for (size_t i = 0; i < report->count; i++) {
        const struct report_program *program = &report->programs[i];
        output_open(output, NULL, OUTPUT_ITEM);
        output_text(output, "name", program->app);
        if (program->run_count > 0) {
            report_show_runs(output, program);
        } else {
            inventory_show_counters(output, &program->counters);
        }
        report_show_pipelines(output, program);
        output_close(output);
    }
    output_close(output);
}

/* False after a message. */
static bool report_write_page(const struct report *report, const struct trace_runs *runs,
                              const char *path)
{
    AUTO(bytes_free) struct bytes page = {0};
    report_page(&page, report, runs);
    const struct iovec part = {.iov_base = page.data, .iov_len = page.size};
    const bool written = !page.failed && output_file_write(path, &part, 1);
    if (page.failed) {
        output_message("out of memory");
    }
    return written;
}

struct report_sources {
    struct trace_runs runs;
    bool found;   /* something is damaged */
    bool misused; /* a file is not there, or is no trace */
};

/* Gives the exit status. */
static int report_tell(const struct arguments *arguments, const struct report *report,
                       const struct report_sources *sources)
{
    const char *html = options_value(arguments, "html");
    int status = sources->misused ? EXIT_USAGE : sources->found ? EXIT_FINDING : EXIT_CLEAN;
    if (report->failed || sources->runs.failed) {
        output_message("out of memory");
        return EXIT_USAGE;
    }
    if (sources->runs.left_out > 0 || report->runs_left_out > 0) {
        output_message("too many programs or runs; only the first ones are shown");
    }
    if (html && !report_write_page(report, &sources->runs, html)) {
        return EXIT_USAGE;
    }
    if (!html || arguments->json) {
        struct output output;
        output_begin(&output, arguments->json);
        report_show(&output, report);
        status = output_end(&output, status);
    }
    return status;
}

static void report_add_trace(struct report_sources *sources, const char *path)
{
    AUTO_FREE uint8_t *data = NULL;
    size_t size;
    if (!output_file_read(path, TRACE_MAX_FILE, &data, &size)) {
        sources->misused = true;
        return;
    }
    const enum trace_verdict verdict = trace_runs_add(&sources->runs, data, size);
    sources->misused |= verdict == TRACE_ALIEN;
    sources->found |= verdict == TRACE_DAMAGED;
    if (verdict != TRACE_WHOLE) {
        output_reason(verdict == TRACE_ALIEN ? STATUS_not_a_trace : STATUS_bad_trace, "'%s'", path);
        output_note_error();
    }
}

static int report_traces(const struct arguments *arguments, char *const *paths)
{
    struct report_sources sources = {0};
    AUTO(report_free) struct report report = {0};
    for (; *paths; paths++) {
        report_add_trace(&sources, *paths);
    }
    trace_runs_finish(&sources.runs);
    int status = EXIT_USAGE;
    const char *app = options_value(arguments, "app");
    char name[NAMES_APP_SIZE];
    if (app) { /* as in a trace */
        names_app_folder(&(struct names_program){.app_setting = app}, name);
    }
    if (!sources.runs.failed) {
        report_of_runs(&sources.runs, app ? name : NULL, &report);
    }
    if (report.count > 0 || sources.runs.failed || (!sources.misused && !app)) {
        if (report.count == 0) {
            output_message("no pipelines in these traces");
        }
        status = report_tell(arguments, &report, &sources);
    } else if (app && (sources.runs.count > 0 || !sources.misused)) {
        output_message("no program '%s' in these traces", app);
    }
    trace_runs_free(&sources.runs);
    return status;
}

static const char *report_kind_of(const struct recipes *recipes, struct digest pipeline)
{
    const void *form;
    size_t size;
    return recipes_find(recipes, RECIPE_FORM, pipeline, &form, &size) ? recipe_tool_kind(form, size)
                                                                      : "";
}

/* From the recipes of all environments. The kind comes last, because only a few are looked up. */
static bool report_take_recipes(struct report_program *program, const struct recipes *recipes)
{
    const struct recipe_use *uses;
    const size_t count = recipes_uses(recipes, &uses);
    AUTO_FREE struct report_pipeline *pipelines = calloc(count + 1, sizeof *pipelines);
    if (!pipelines) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        pipelines[i] = (struct report_pipeline){
            .digest = uses[i].pipeline,
            .cold_ns = uses[i].compile_us * UINT64_C(1000),
            .times = uses[i].days,
        };
    }
    report_take_pipelines(program, pipelines, count);
    for (size_t i = 0; i < program->pipeline_count; i++) {
        program->pipelines[i].kind = report_kind_of(recipes, program->pipelines[i].digest);
    }
    return true;
}

/* Gives whether it is damage, which is told. */
static bool report_is_damage(const char *app, enum status reason)
{
    const bool is_damage = reason != STATUS_ok && reason != STATUS_no_file;
    if (is_damage) {
        output_reason(reason, "'%s'", app);
        output_note_error();
    }
    return is_damage;
}

static void report_add_program(struct report *report, const char *root, const char *app,
                               bool *found)
{
    struct report_program *program = &report->programs[report->count];
    *program = (struct report_program){.app = app};
    struct program_facts facts = {0};
    struct recipes *recipes = NULL;
    *found |= report_is_damage(app, program_load(root, app, &facts));
    const enum status reason = recipes_open(root, app, RECIPES_READ, &recipes);
    *found |= report_is_damage(app, reason);
    if (reason == STATUS_ok) {
        report->failed |= !report_take_recipes(program, recipes);
        const struct recipe_damage damage = recipes_damage(recipes);
        *found |= report_is_damage(app, damage.reason);
    }
    recipes_close(recipes);
    program->counters = facts.counters;
    report->count += facts.since != 0 || program->pipeline_count > 0;
}

/* A report of what is kept. */
static int report_inventory(const struct arguments *arguments, const char *root,
                            const struct inventory_apps *apps)
{
    struct report_sources sources = {0};
    AUTO(report_free)
    struct report report = {.programs = calloc(apps->count + 1, sizeof *report.programs)};
    report.failed = !report.programs;
    for (size_t i = 0; i < apps->count && !report.failed; i++) {
        report_add_program(&report, root, apps->list[i].name, &sources.found);
    }
    const int status = report_tell(arguments, &report, &sources);
    output_message("for timelines, run a program twice with WARMPIPE_TRACE=FILE, then "
                   "'warmpipe report FILE'");
    return status;
}

static int report_run(const struct arguments *arguments)
{
    const char *html = options_value(arguments, "html");
    char *from_environment[] = {getenv("WARMPIPE_TRACE"), NULL};
    if (html && strcmp(html, "-") == 0 && arguments->json) {
        output_message("the page and the JSON document cannot both go to standard output");
        return EXIT_USAGE;
    }
    if (arguments->operand_count > 0) {
        return report_traces(arguments, arguments->operands);
    }
    if (from_environment[0] && *from_environment[0]) {
        return report_traces(arguments, from_environment);
    }
    return inventory_run(arguments, report_inventory);
}

const struct verb verb_report = {
    .name = "report",
    .doing = "reading",
    .summary = "compare cold and warm starts, and show the slowest pipelines",
    .operands = "[TRACE...]",
    .description =
        "TRACE is a file that programs wrote with WARMPIPE_TRACE=FILE. Run a program\n"
        "twice: the report then shows its cold and its warm start side by side, and the\n"
        "pipelines that took longest to compile. 'warmpipe inspect --pipeline DIGEST\n"
        "FILE' shows what one was created with. The default is the file that\n"
        "WARMPIPE_TRACE names; without it the report is made from counters and recipes,\n"
        "without timelines.\n\n"
        "The page of --html contains all it needs, and opens in any browser.\n\n"
        "Exit status: 0 fine, 1 something is damaged, 2 no such file, or not a trace.",
    .options = options,
    .max_operands = INT_MAX,
    .run = report_run,
};
