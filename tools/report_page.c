#include "report_page.h"

#include <inttypes.h>
#include <stdio.h>

#include "html.h"
#include "report_bars.h"
#include "report_pieces.h"
#include "report_tables.h"
#include "report_timelines.h"
#include "report_words.h"

static const char *or_unknown(const char *text)
{
    return *text ? text : "unknown";
}

static void put_start(struct bytes *page, const char *name, const struct trace_run *run,
                      uint64_t whole)
{
    html_put(page, "<div class=\"start\"><dt>%s</dt><dd><strong>%s</strong>", name,
             report_duration(run->sums.create_ns).text);
    report_bar(page, run, whole);
    html_put(page, "</dd></div>");
}

static void put_headline(struct bytes *page, const struct report_program *program)
{
    char ratio[32] = "";
    const double times = report_ratio(program);
    if (times > 0) {
        if (times >= 1.05) {
            snprintf(ratio, sizeof ratio, "%.*f× less", times < 10 ? 1 : 0, times);
        }
        html_put(page,
                 "<p class=\"headline\">%s <span class=\"arrow\" aria-label=\"to\">→</span> "
                 "%s <span class=\"ratio\">%s</span></p>",
                 report_duration(program->cold->sums.create_ns).text,
                 report_duration(program->warm->sums.create_ns).text, ratio);
    }
    struct report_shown shown[REPORT_SHOWN_RUNS];
    const size_t count = report_shown(program, shown);
    uint64_t whole = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t time = shown[i].run->sums.create_ns;
        whole = time > whole ? time : whole;
    }
    html_put(page, "<dl class=\"starts\">");
    for (size_t i = 0; i < count; i++) {
        put_start(page, shown[i].name, shown[i].run, whole);
    }
    html_put(page,
             "</dl><p class=\"note\">Time in pipeline creation, the loading of the cache included, "
             "all threads together.%s</p>",
             program->cold && program->warm
                 ? ""
                 : " A cold and a warm start side by side need a run of each in the trace.");
}

static void put_card(struct bytes *page, const char *label, const char *value, const char *remark)
{
    html_put(page,
             "<div class=\"card\"><dt>%s</dt><dd><strong>%s</strong>"
             "<small>%s</small></dd></div>",
             label, value, remark);
}

/* A share, of the warm run where there is one, with that of the cold run beside it. */
static void put_share(struct bytes *page, const char *label, const uint64_t parts[2],
                      const uint64_t wholes[2], bool has_warm)
{
    char remark[64];
    snprintf(remark, sizeof remark, "%s%s", has_warm ? "cold: " : "of ",
             has_warm ? report_percent(parts[0], wholes[0]).text : report_count(wholes[0]).text);
    const int main = has_warm ? 1 : 0;
    put_card(page, label, report_percent(parts[main], wholes[main]).text, remark);
}

static void put_cards(struct bytes *page, const struct report_program *program)
{
    struct report_shown shown[REPORT_SHOWN_RUNS];
    const size_t count = report_shown(program, shown);
    const struct trace_run *first = shown[0].run;
    const struct trace_run *last = shown[count - 1].run;
    const struct trace_sums *sums[2] = {&first->sums, &last->sums};
    uint64_t hits[2];
    uint64_t answers[2];
    uint64_t shared[2];
    uint64_t pipelines[2];
    uint64_t objects[2];
    uint64_t objects_shared[2];
    for (size_t i = 0; i < 2; i++) {
        hits[i] = sums[i]->results[TRACE_RESULT_hit];
        answers[i] = hits[i] + sums[i]->results[TRACE_RESULT_miss];
        shared[i] = sums[i]->results[TRACE_RESULT_shared];
        pipelines[i] = sums[i]->pipelines;
        objects[i] = sums[i]->objects;
        objects_shared[i] = sums[i]->objects_shared;
    }
    const bool has_warm = first != last;
    html_put(page, "<dl class=\"cards\">");
    put_share(page, "Driver cache hits", hits, answers, has_warm);
    put_share(page, "Pipelines shared", shared, pipelines, has_warm);
    put_share(page, "Other objects shared", objects_shared, objects, has_warm);
    char remark[96];
    if (has_warm) {
        snprintf(remark, sizeof remark, "cold: %s", report_duration(first->sums.elapsed_ns).text);
    } else {
        snprintf(remark, sizeof remark, "any thread creating");
    }
    put_card(page, "Clock time", report_duration(last->sums.elapsed_ns).text, remark);
    snprintf(remark, sizeof remark, "in %s", report_duration(last->sums.load_ns).text);
    put_card(page, "Cache loaded", report_size(last->sums.loaded_bytes).text, remark);
    snprintf(remark, sizeof remark, "%s different",
             report_count(program->different_pipelines).text);
    put_card(page, "Pipelines asked for", report_count(last->sums.pipelines).text, remark);
    if (first->sums.prewarmed + last->sums.prewarmed > 0) {
        const struct trace_run *ahead = last->sums.prewarmed ? last : first;
        snprintf(remark, sizeof remark, "in %s", report_duration(ahead->sums.prewarm_ns).text);
        put_card(page, "Compiled ahead", report_count(ahead->sums.prewarmed).text, remark);
    }
    html_put(page, "</dl>");
}

static void put_canvas(struct bytes *page, const char *name, const struct trace_run *run)
{
    const size_t shown = report_timelines_shown(run);
    html_put(page,
             "<div class=\"track\"><h4>%s</h4><canvas role=\"img\" tabindex=\"0\" "
             "aria-label=\"%s: %s pipelines in %s, on %s threads; "
             "the figures are in the tables\"></canvas>",
             name, name, report_count(run->sums.pipelines).text,
             report_duration(run->sums.create_ns).text, report_count(run->lane_count).text);
    if (shown < run->span_count) {
        html_put(page, "<p class=\"note\">The longest %s of %s spans are shown.</p>",
                 report_count(shown).text, report_count(run->span_count).text);
    }
    if (run->dropped > 0) {
        html_put(page, "<p class=\"note\">%s events were dropped while it ran.</p>",
                 report_count(run->dropped).text);
    }
    html_put(page, "</div>");
}

static void put_figure(struct bytes *page, const struct report_program *program, const char *number)
{
    struct report_shown shown[REPORT_SHOWN_RUNS];
    const size_t count = report_shown(program, shown);
    html_put(page,
             "<h3>Timelines</h3>"
             "<noscript><p class=\"note\">They need JavaScript; all figures are in the tables."
             "</p></noscript><figure class=\"timelines\" data-program=\"%s\" hidden>"
             "<div class=\"tools\"></div>",
             number);
    for (size_t i = 0; i < count; i++) {
        put_canvas(page, shown[i].name, shown[i].run);
    }
    html_put(page, "<figcaption class=\"detail\" aria-live=\"polite\"></figcaption></figure>");
}

static void put_counters(struct bytes *page, const struct program_counters *counters)
{
    char remark[64];
    const uint64_t answers = counters->driver_hits + counters->driver_misses;
    html_put(page, "<dl class=\"cards\">");
    snprintf(remark, sizeof remark, "of %s", report_count(answers).text);
    put_card(page, "Driver cache hits", report_percent(counters->driver_hits, answers).text,
             remark);
    snprintf(remark, sizeof remark, "of %s", report_count(counters->requests).text);
    put_card(page, "Pipelines shared", report_percent(counters->shared, counters->requests).text,
             remark);
    snprintf(remark, sizeof remark, "in %s starts", report_count(counters->starts).text);
    put_card(page, "Pipelines asked for", report_count(counters->requests).text, remark);
    put_card(page, "Time in creation", report_duration(counters->create_ns).text,
             "all starts together");
    html_put(page, "</dl>");
}

static void put_program(struct bytes *page, const struct report_program *program, size_t index)
{
    char number[24];
    snprintf(number, sizeof number, "%zu", index);
    html_put(page, "<section id=\"program-%s\"><h2><bdi>%s</bdi></h2>", number,
             or_unknown(program->app));
    if (program->run_count > 0) {
        html_put(page, "<p class=\"device\"><bdi>%s</bdi> · <bdi>%s</bdi></p>",
                 or_unknown(program->device), or_unknown(program->driver));
        put_headline(page, program);
        put_cards(page, program);
        put_figure(page, program, number);
        report_table_results(page, program);
    } else {
        put_counters(page, &program->counters);
    }
    report_table_pipelines(page, program);
    if (program->run_count > 0) {
        report_table_runs(page, program);
    }
    html_put(page, "</section>");
}

static void put_body(struct bytes *page, const struct report *report)
{
    html_put(page, "<header><h1>warmpipe report</h1></header><main>");
    if (report->count > 1) {
        report_table_programs(page, report);
    }
    for (size_t i = 0; i < report->count; i++) {
        put_program(page, &report->programs[i], i);
    }
    if (report->count == 0) {
        html_put(page, "<p>Nothing was counted or traced yet.</p>");
    }
    html_put(page, "</main>");
}

static void put_piece(struct bytes *page, size_t index)
{
    bytes_put(page, report_pieces[index].data, report_pieces[index].size);
}

void report_page(struct bytes *page, const struct report *report, const struct trace_runs *runs)
{
    struct bytes json = {0};
    report_timelines(&json, report, runs);
    put_piece(page, 0);
    if (report->count == 1) {
        html_put(page, "%s · ", or_unknown(report->programs[0].app));
    }
    html_put(page, "warmpipe report");
    put_piece(page, 1);
    put_body(page, report);
    put_piece(page, 2);
    html_put_json(page, &json);
    put_piece(page, 3);
    bytes_free(&json);
}
