// SPDX-License-Identifier: Apache-2.0
#include "tools/report/report.h"

#include <inttypes.h>
#include <sys/utsname.h>
#include <time.h>

#include "common/base/machine.h"
#include "common/base/text.h"

static const char *page_or_unknown(const char *text)
{
    return *text ? text : "unknown";
}

/* Tables. The heading of a column of numbers begins with '#'; "=" is a column of bars. */

static void page_open_table(struct bytes *page, const char *title, const char *const *columns)
{
    html_put(page,
             "<h3>%s</h3><div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"%s\">"
             "<table><thead><tr>",
             title, title);
    for (; *columns; columns++) {
        const bool is_number = **columns == '#';
        const bool is_bar = **columns == '=';
        html_put(page, "<th scope=\"col\" class=\"%s\">%s</th>",
                 is_number ? "number"
                 : is_bar  ? "comparison"
                           : "",
                 *columns + (is_number || is_bar));
    }
}

static void page_close_heads(struct bytes *page)
{
    html_put(page, "</tr></thead><tbody>");
}

static void page_close_table(struct bytes *page)
{
    html_put(page, "</tbody></table></div>");
}

static void page_put_number(struct bytes *page, const char *text)
{
    html_put(page, "<td class=\"number\">%s</td>", text);
}

static void page_put_time(struct bytes *page, uint64_t nanoseconds)
{
    page_put_number(page, nanoseconds > 0 ? html_duration(nanoseconds).text : "–");
}

/* Nearly every trace has the first three; the others are columns only where there are any. */
static bool page_is_column(const struct report_program *program, enum trace_result result)
{
    bool any =
        result == TRACE_RESULT_miss || result == TRACE_RESULT_hit || result == TRACE_RESULT_shared;
    for (size_t i = 0; i < program->shown_count; i++) {
        any |= program->shown[i].run->sums.results[result] > 0;
    }
    return any;
}

/* The requests of the cold and of the warm run by result; also the key to the colours. */
static void page_put_results(struct bytes *page, const struct report_program *program)
{
    static const char *const no_columns[] = {NULL};
    page_open_table(page, "Requests by result", no_columns);
    html_put(page, "<td></td>");
    for (enum trace_result result = TRACE_RESULT_NONE + 1; result < TRACE_RESULT_created;
         result++) {
        if (page_is_column(program, result)) {
            html_put(page, "<th scope=\"col\" class=\"number\"><i class=\"%s\"></i>%s</th>",
                     trace_result_name(result), trace_result_name(result));
        }
    }
    page_close_heads(page);
    for (size_t i = 0; i < program->shown_count; i++) {
        const struct trace_sums *sums = &program->shown[i].run->sums;
        html_put(page, "<tr><th scope=\"row\">%s</th>", program->shown[i].name);
        for (enum trace_result result = TRACE_RESULT_NONE + 1; result < TRACE_RESULT_created;
             result++) {
            if (page_is_column(program, result)) {
                html_put(page, "<td class=\"number\">%s<small>%s</small></td>",
                         html_count(sums->results[result]).text,
                         html_duration(sums->result_ns[result]).text);
            }
        }
        html_put(page, "</tr>");
    }
    page_close_table(page);
}

static void page_put_pipeline(struct bytes *page, const struct report_pipeline *pipeline,
                              bool is_traced, uint64_t whole)
{
    const struct html_segment bars[] = {{"miss", pipeline->cold_ns}, {"hit", pipeline->warm_ns}};
    char digest[DIGEST_HEX_SIZE];
    digest_format(pipeline->digest, digest);
    html_put(page, "<tr><td><code>%s</code></td>", digest);
    page_put_time(page, pipeline->cold_ns);
    if (is_traced) {
        page_put_time(page, pipeline->warm_ns);
    }
    page_put_number(page, html_count(pipeline->times).text);
    html_put(page, "<td>%s</td><td class=\"comparison\">", pipeline->kind);
    for (size_t i = 0; i < 2; i++) {
        if (bars[i].part > 0) {
            html_put_bar(page, &bars[i], 1, whole);
        }
    }
    html_put(page, "</td></tr>");
}

static void page_put_pipelines(struct bytes *page, const struct report_program *program)
{
    static const char *const traced[] = {"pipeline", "#cold", "#warm", "#requests",
                                         "kind",     "=",     NULL};
    static const char *const stored[] = {"pipeline", "#compiled in", "#days in use", "kind", "=",
                                         NULL};
    const bool is_traced = program->run_count > 0;
    if (program->pipeline_count == 0) {
        return;
    }
    page_open_table(page, "Slowest pipelines", is_traced ? traced : stored);
    page_close_heads(page);
    const struct report_pipeline *first = &program->pipelines[0];
    const uint64_t whole = first->cold_ns > first->warm_ns ? first->cold_ns : first->warm_ns;
    for (size_t i = 0; i < program->pipeline_count; i++) {
        page_put_pipeline(page, &program->pipelines[i], is_traced, whole);
    }
    page_close_table(page);
    html_put(page,
             "<p class=\"note\">%s of %s pipelines. To see what one was created with: "
             "<code>warmpipe inspect --pipeline DIGEST FILE</code>, where FILE is a recipe "
             "file.</p>",
             html_count(program->pipeline_count).text,
             html_count(program->different_pipelines).text);
}

static void page_put_runs(struct bytes *page, const struct report_program *program)
{
    static const char *const columns[] = {"#run",    "#process",    "cache", "#requests",
                                          "#missed", "#created in", NULL};
    page_open_table(page, "Runs", columns);
    page_close_heads(page);
    for (size_t i = 0; i < program->run_count; i++) {
        const struct trace_run *run = program->runs[i];
        html_put(page, "<tr>");
        page_put_number(page, html_count(i + 1).text);
        page_put_number(page, html_format("%" PRIu64, run->process).text);
        html_put(page, "<td>%s%s%s</td>", page_or_unknown(run->state), *run->reason ? ", " : "",
                 run->reason);
        page_put_number(page, html_count(run->sums.pipelines).text);
        page_put_number(page, html_count(run->sums.results[TRACE_RESULT_miss]).text);
        page_put_time(page, run->sums.create_ns);
        html_put(page, "</tr>");
    }
    page_close_table(page);
}

/* All programs, with links to their sections. */
static void page_put_programs(struct bytes *page, const struct report *report)
{
    static const char *const traced[] = {"program", "#cold", "#warm", "device", NULL};
    static const char *const stored[] = {"program", "#requests", "#driver cache hits",
                                         "#time in creation", NULL};
    page_open_table(page, "Programs", report->programs[0].run_count > 0 ? traced : stored);
    page_close_heads(page);
    for (size_t i = 0; i < report->count; i++) {
        const struct report_program *program = &report->programs[i];
        const struct program_counters *counters = &program->counters;
        const struct trace_run *run = program->cold ? program->cold : program->other;
        html_put(page, "<tr><td><a href=\"#program-%s\"><bdi>%s</bdi></a></td>",
                 html_format("%zu", i).text, page_or_unknown(program->app));
        if (program->run_count > 0) {
            page_put_time(page, run ? run->sums.create_ns : 0);
            page_put_time(page, program->warm ? program->warm->sums.create_ns : 0);
            html_put(page, "<td><bdi>%s</bdi></td>", program->runs[0]->device);
        } else {
            const uint64_t answers = counters->driver_hits + counters->driver_misses;
            page_put_number(page, html_count(counters->requests).text);
            page_put_number(page, html_percent(counters->driver_hits, answers).text);
            page_put_time(page, counters->create_ns);
        }
        html_put(page, "</tr>");
    }
    page_close_table(page);
}

/* The head of a program: cold against warm. */

/* The time of a run by result. */
static void page_put_run_bar(struct bytes *page, const struct trace_run *run, uint64_t whole)
{
    struct html_segment segments[TRACE_RESULT_COUNT];
    for (enum trace_result result = TRACE_RESULT_NONE; result < TRACE_RESULT_COUNT; result++) {
        segments[result] =
            (struct html_segment){trace_result_name(result), run->sums.result_ns[result]};
    }
    html_put_bar(page, segments, TRACE_RESULT_COUNT, whole);
}

static void page_put_headline(struct bytes *page, const struct report_program *program)
{
    const double times = report_clock_ratio(program);
    if (times > 0) {
        html_put(page,
                 "<p class=\"headline\">%s <span class=\"arrow\" aria-label=\"to\">→</span> "
                 "%s <span class=\"ratio\">%s</span></p>",
                 html_duration(program->cold->sums.elapsed_ns).text,
                 html_duration(program->warm->sums.elapsed_ns).text,
                 times < 1.05 ? ""
                              : html_format("%.*f times faster", times < 10 ? 1 : 0, times).text);
    }
    uint64_t whole = 0;
    for (size_t i = 0; i < program->shown_count; i++) {
        const uint64_t time = program->shown[i].run->sums.create_ns;
        whole = time > whole ? time : whole;
    }
    html_put(page, "<dl class=\"starts\">");
    for (size_t i = 0; i < program->shown_count; i++) {
        html_put(page, "<div class=\"start\"><dt>%s</dt><dd><strong>%s</strong>",
                 program->shown[i].name, html_duration(program->shown[i].run->sums.create_ns).text);
        page_put_run_bar(page, program->shown[i].run, whole);
        html_put(page, "</dd></div>");
    }
    html_put(
        page,
        "</dl><p class=\"note\">Above: by the clock, while any thread created pipelines. Bars: "
        "the same summed over all threads. Loading the cache is included.%s</p>",
        program->cold && program->warm
            ? ""
            : " To compare a cold and a warm start, the trace needs a run of each.");
}

static void page_put_card(struct bytes *page, const char *label, const char *value,
                          const char *remark)
{
    html_put(page,
             "<div class=\"card\"><dt>%s</dt><dd><strong>%s</strong>"
             "<small>%s</small></dd></div>",
             label, value, remark);
}

/* A card whose remark is a word and a figure. */
static void page_put_figures(struct bytes *page, const char *label, struct html_figure value,
                             const char *word, struct html_figure figure)
{
    page_put_card(page, label, value.text, html_format("%s %s", word, figure.text).text);
}

/* A share of the last run, with that of the cold run beside it where these are two runs. */
static void page_put_share(struct bytes *page, const char *label, const uint64_t parts[2],
                           const uint64_t wholes[2], bool has_warm)
{
    const int main = has_warm ? 1 : 0;
    page_put_figures(page, label, html_percent(parts[main], wholes[main]),
                     has_warm ? "cold:" : "of",
                     has_warm ? html_percent(parts[0], wholes[0]) : html_count(wholes[0]));
}

static void page_put_run_cards(struct bytes *page, const struct report_program *program)
{
    const struct trace_sums *first = &program->shown[0].run->sums;
    const struct trace_sums *last = &program->shown[program->shown_count - 1].run->sums;
    const struct trace_sums *ahead = last->prewarmed ? last : first;
    const uint64_t hits[] = {first->results[TRACE_RESULT_hit], last->results[TRACE_RESULT_hit]};
    const uint64_t answers[] = {hits[0] + first->results[TRACE_RESULT_miss],
                                hits[1] + last->results[TRACE_RESULT_miss]};
    const uint64_t shared[] = {first->results[TRACE_RESULT_shared],
                               last->results[TRACE_RESULT_shared]};
    const uint64_t pipelines[] = {first->pipelines, last->pipelines};
    const uint64_t objects_shared[] = {first->objects_shared, last->objects_shared};
    const uint64_t objects[] = {first->objects, last->objects};
    const bool has_warm = first != last;
    html_put(page, "<dl class=\"cards\">");
    page_put_share(page, "Driver cache hits", hits, answers, has_warm);
    page_put_share(page, "Pipelines shared", shared, pipelines, has_warm);
    page_put_share(page, "Other objects shared", objects_shared, objects, has_warm);
    if (has_warm) {
        page_put_figures(page, "Time of all threads", html_duration(last->create_ns),
                         "cold:", html_duration(first->create_ns));
    } else {
        page_put_card(page, "Clock time", html_duration(last->elapsed_ns).text,
                      "while any thread created pipelines");
    }
    page_put_figures(page, "Cache loaded", html_size(last->loaded_bytes), "in",
                     html_duration(last->load_ns));
    page_put_card(page, "Pipelines asked for", html_count(last->pipelines).text,
                  html_format("%s different", html_count(program->different_pipelines).text).text);
    if (ahead->prewarmed > 0) {
        page_put_figures(page, "Compiled ahead", html_count(ahead->prewarmed), "in",
                         html_duration(ahead->prewarm_ns));
    }
    html_put(page, "</dl>");
}

/* Of a report without traces. */
static void page_put_counter_cards(struct bytes *page, const struct program_counters *counters)
{
    const uint64_t answers = counters->driver_hits + counters->driver_misses;
    const struct html_figure starts = html_format("in %s %s", html_count(counters->starts).text,
                                                  text_noun(counters->starts, "start", "starts"));
    html_put(page, "<dl class=\"cards\">");
    page_put_figures(page, "Driver cache hits", html_percent(counters->driver_hits, answers), "of",
                     html_count(answers));
    page_put_figures(page, "Pipelines shared", html_percent(counters->shared, counters->requests),
                     "of", html_count(counters->requests));
    page_put_card(page, "Pipelines asked for", html_count(counters->requests).text, starts.text);
    page_put_card(page, "Time in creation", html_duration(counters->create_ns).text,
                  "all starts together");
    html_put(page, "</dl>");
}

static void page_put_track(struct bytes *page, const char *name, const struct trace_run *run)
{
    const size_t shown = report_timelines_shown(run);
    html_put(page,
             "<div class=\"track\"><h4>%s</h4><canvas role=\"img\" tabindex=\"0\" "
             "aria-label=\"%s: %s pipelines in %s, on %s threads; "
             "the figures are in the tables\"></canvas>",
             name, name, html_count(run->sums.pipelines).text,
             html_duration(run->sums.create_ns).text, html_count(run->lane_count).text);
    if (shown < run->span_count) {
        html_put(page, "<p class=\"note\">The longest %s of %s spans are shown.</p>",
                 html_count(shown).text, html_count(run->span_count).text);
    }
    if (run->dropped > 0) {
        html_put(page, "<p class=\"note\">%s events were dropped while it ran.</p>",
                 html_count(run->dropped).text);
    }
    html_put(page, "</div>");
}

static void page_put_timelines(struct bytes *page, const struct report_program *program,
                               const char *number)
{
    html_put(page,
             "<h3 hidden>Timelines</h3>"
             "<noscript><p class=\"note\">Timelines need JavaScript; all figures are in the tables."
             "</p></noscript><figure class=\"timelines\" data-program=\"%s\" hidden>"
             "<div class=\"tools\"></div>",
             number);
    for (size_t i = 0; i < program->shown_count; i++) {
        page_put_track(page, program->shown[i].name, program->shown[i].run);
    }
    html_put(page, "<figcaption class=\"detail\" aria-live=\"polite\"></figcaption></figure>");
}

static void page_put_program(struct bytes *page, const struct report_program *program, size_t index)
{
    const struct html_figure number = html_format("%zu", index);
    html_put(page, "<section id=\"program-%s\"><h2><bdi>%s</bdi></h2>", number.text,
             page_or_unknown(program->app));
    if (program->run_count > 0) {
        html_put(page, "<p class=\"device\"><bdi>%s</bdi> · <bdi>%s %s</bdi></p>",
                 page_or_unknown(program->runs[0]->device),
                 page_or_unknown(program->runs[0]->driver), program->runs[0]->driver_info);
        page_put_headline(page, program);
        page_put_run_cards(page, program);
        page_put_timelines(page, program, number.text);
        page_put_results(page, program);
    } else {
        page_put_counter_cards(page, &program->counters);
    }
    page_put_pipelines(page, program);
    if (program->run_count > 0) {
        page_put_runs(page, program);
    }
    html_put(page, "</section>");
}

/* When and on what the page was made: most readers did not make it. */
static void page_put_origin(struct bytes *page)
{
    const time_t now = time(NULL);
    char date[16] = "";
    struct tm day;
    struct utsname system = {0};
    if (gmtime_r(&now, &day)) {
        strftime(date, sizeof date, "%Y-%m-%d", &day);
    }
    uname(&system);
    const unsigned cores = machine_cores("");
    html_put(page, "<p class=\"device\">%s · warmpipe " WARMPIPE_VERSION " · %s %s %s, %s</p>",
             date, system.sysname, system.release, system.machine,
             html_format("%u %s", cores, text_noun(cores, "core", "cores")).text);
}

static void page_put_piece(struct bytes *page, size_t index)
{
    bytes_put(page, report_pieces[index].data, report_pieces[index].size);
}

void report_page(struct bytes *page, const struct report *report, const struct trace_runs *runs)
{
    AUTO(bytes_free) struct bytes json = {0};
    report_timelines(&json, report, runs);
    page_put_piece(page, 0);
    if (report->count == 1) {
        html_put(page, "%s · ", page_or_unknown(report->programs[0].app));
    }
    html_put(page, "warmpipe report");
    page_put_piece(page, 1);
    html_put(page, "<header><h1>warmpipe report</h1>");
    page_put_origin(page);
    html_put(page, "</header><main>");
    if (report->count > 1) {
        page_put_programs(page, report);
    }
    for (size_t i = 0; i < report->count; i++) {
        page_put_program(page, &report->programs[i], i);
    }
    if (report->count == 0) {
        html_put(page, "<p>Nothing was counted or traced yet.</p>");
    }
    html_put(page, "</main>");
    page_put_piece(page, 2);
    html_put_json(page, &json);
    page_put_piece(page, 3);
}
