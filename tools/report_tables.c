#include "report_tables.h"

#include <inttypes.h>
#include <stdio.h>

#include "html.h"
#include "report_bars.h"
#include "report_text.h"
#include "report_words.h"

static void open_table(struct bytes *page, const char *title)
{
    html_put(page,
             "<h3>%s</h3><div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"%s\">"
             "<table><thead><tr>",
             title, title);
}

static void close_table(struct bytes *page)
{
    html_put(page, "</tbody></table></div>");
}

/* Those that nearly every trace has, and the others where there are any. */
static bool is_column(const struct report_shown *shown, size_t count, enum trace_result result)
{
    bool any =
        result == TRACE_RESULT_miss || result == TRACE_RESULT_hit || result == TRACE_RESULT_shared;
    for (size_t i = 0; i < count; i++) {
        any |= shown[i].run->sums.results[result] > 0;
    }
    return any;
}

static void put_result_heads(struct bytes *page, const struct report_shown *shown, size_t count)
{
    html_put(page, "<td></td>");
    for (enum trace_result result = TRACE_RESULT_NONE + 1; result < TRACE_RESULT_created;
         result++) {
        if (is_column(shown, count, result)) {
            html_put(page, "<th scope=\"col\" class=\"number\"><i class=\"%s\"></i>%s</th>",
                     trace_result_name(result), trace_result_name(result));
        }
    }
    html_put(page, "</tr></thead><tbody>");
}

void report_table_results(struct bytes *page, const struct report_program *program)
{
    struct report_shown shown[REPORT_SHOWN_RUNS];
    const size_t count = report_shown(program, shown);
    open_table(page, "What became of the requests");
    put_result_heads(page, shown, count);
    for (size_t i = 0; i < count; i++) {
        const struct trace_sums *sums = &shown[i].run->sums;
        html_put(page, "<tr><th scope=\"row\">%s</th>", shown[i].name);
        for (enum trace_result result = TRACE_RESULT_NONE + 1; result < TRACE_RESULT_created;
             result++) {
            if (is_column(shown, count, result)) {
                html_put(page, "<td class=\"number\">%s<small>%s</small></td>",
                         report_count(sums->results[result]).text,
                         report_duration(sums->result_ns[result]).text);
            }
        }
        html_put(page, "</tr>");
    }
    close_table(page);
}

struct column {
    const char *head;
    const char *class;
};

static void put_heads(struct bytes *page, const struct column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        html_put(page, "<th scope=\"col\" class=\"%s\">%s</th>", columns[i].class, columns[i].head);
    }
    html_put(page, "</tr></thead><tbody>");
}

static void put_amount(struct bytes *page, const char *text)
{
    html_put(page, "<td class=\"number\">%s</td>", text);
}

static void put_time(struct bytes *page, uint64_t nanoseconds)
{
    put_amount(page, nanoseconds > 0 ? report_duration(nanoseconds).text : "–");
}

static void put_comparison(struct bytes *page, const struct report_pipeline *pipeline,
                           uint64_t whole)
{
    const struct {
        const char *kind;
        uint64_t time;
    } bars[] = {{"miss", pipeline->cold_ns}, {"hit", pipeline->warm_ns}};
    html_put(page, "<td class=\"comparison\">");
    for (size_t i = 0; i < 2; i++) {
        if (bars[i].time > 0) {
            report_bar_of(page, bars[i].kind, bars[i].time, whole);
        }
    }
    html_put(page, "</td>");
}

static void put_pipeline(struct bytes *page, const struct report_pipeline *pipeline, bool is_traced,
                         uint64_t whole)
{
    char digest[DIGEST_HEX_SIZE];
    digest_format(pipeline->digest, digest);
    html_put(page, "<tr><td><code>%s</code></td>", digest);
    put_time(page, pipeline->cold_ns);
    if (is_traced) {
        put_time(page, pipeline->warm_ns);
    }
    put_amount(page, report_count(pipeline->times).text);
    html_put(page, "<td>%s</td>", pipeline->kind);
    put_comparison(page, pipeline, whole);
    html_put(page, "</tr>");
}

void report_table_pipelines(struct bytes *page, const struct report_program *program)
{
    static const struct column traced[] = {{"pipeline", ""},   {"cold", "number"},
                                           {"warm", "number"}, {"requests", "number"},
                                           {"kind", ""},       {"", "comparison"}};
    static const struct column stored[] = {{"pipeline", ""},
                                           {"compiled in", "number"},
                                           {"days in use", "number"},
                                           {"kind", ""},
                                           {"", "comparison"}};
    const bool is_traced = program->run_count > 0;
    if (program->pipeline_count == 0) {
        return;
    }
    open_table(page, "Dearest pipelines");
    if (is_traced) {
        put_heads(page, traced, sizeof traced / sizeof traced[0]);
    } else {
        put_heads(page, stored, sizeof stored / sizeof stored[0]);
    }
    const struct report_pipeline *first = &program->pipelines[0];
    const uint64_t whole = first->cold_ns > first->warm_ns ? first->cold_ns : first->warm_ns;
    for (size_t i = 0; i < program->pipeline_count; i++) {
        put_pipeline(page, &program->pipelines[i], is_traced, whole);
    }
    close_table(page);
    html_put(page,
             "<p class=\"note\">%s of %s pipelines. What one was created with: "
             "<code>" REPORT_INSPECT "</code>, FILE being a recipe file.</p>",
             report_count(program->pipeline_count).text,
             report_count(program->different_pipelines).text);
}

void report_table_runs(struct bytes *page, const struct report_program *program)
{
    static const struct column columns[] = {{"run", "number"},    {"process", "number"},
                                            {"cache", ""},        {"requests", "number"},
                                            {"missed", "number"}, {"created in", "number"}};
    open_table(page, "Runs");
    put_heads(page, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < program->run_count; i++) {
        const struct trace_run *run = program->runs[i];
        char process[24];
        snprintf(process, sizeof process, "%" PRIu64, run->process);
        html_put(page, "<tr>");
        put_amount(page, report_count(i + 1).text);
        put_amount(page, process);
        html_put(page, "<td>%s%s%s</td>", *run->state ? run->state : "unknown",
                 *run->reason ? ", " : "", run->reason);
        put_amount(page, report_count(run->sums.pipelines).text);
        put_amount(page, report_count(run->sums.results[TRACE_RESULT_miss]).text);
        put_time(page, run->sums.create_ns);
        html_put(page, "</tr>");
    }
    close_table(page);
}

static void put_program(struct bytes *page, const struct report_program *program, size_t index)
{
    char place[24];
    snprintf(place, sizeof place, "%zu", index);
    html_put(page, "<tr><td><a href=\"#program-%s\"><bdi>%s</bdi></a></td>", place,
             *program->app ? program->app : "unknown");
    if (program->run_count > 0) {
        const struct trace_run *run = program->cold ? program->cold : program->other;
        put_time(page, run ? run->sums.create_ns : 0);
        put_time(page, program->warm ? program->warm->sums.create_ns : 0);
        html_put(page, "<td><bdi>%s</bdi></td>", program->device);
    } else {
        const struct program_counters *counters = &program->counters;
        put_amount(page, report_count(counters->requests).text);
        put_amount(page, report_percent(counters->driver_hits,
                                        counters->driver_hits + counters->driver_misses)
                             .text);
        put_time(page, counters->create_ns);
    }
    html_put(page, "</tr>");
}

void report_table_programs(struct bytes *page, const struct report *report)
{
    static const struct column traced[] = {
        {"program", ""}, {"cold", "number"}, {"warm", "number"}, {"device", ""}};
    static const struct column stored[] = {{"program", ""},
                                           {"requests", "number"},
                                           {"driver cache hits", "number"},
                                           {"time in creation", "number"}};
    const bool is_traced = report->programs[0].run_count > 0;
    open_table(page, "Programs");
    put_heads(page, is_traced ? traced : stored, 4);
    for (size_t i = 0; i < report->count; i++) {
        put_program(page, &report->programs[i], i);
    }
    close_table(page);
}
