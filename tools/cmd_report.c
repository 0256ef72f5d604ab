/* warmpipe report: what a cold start cost and a warm one, and which pipelines cost most. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "disk/file.h"
#include "inventory.h"
#include "output.h"
#include "output_file.h"
#include "report.h"
#include "report_page.h"
#include "report_store.h"
#include "report_text.h"
#include "verb.h"

enum { OPTION_APP, OPTION_DIR, OPTION_HTML, OPTION_JSON };

static const struct option_spec options[] = {
    [OPTION_APP] = {"app", 0, "NAME", "of this program only"},
    [OPTION_DIR] = {"dir", 0, "DIR", "the caches in DIR, not those that the settings name"},
    [OPTION_HTML] = {"html", 0, "FILE", "write a page with timelines; -: to standard output"},
    [OPTION_JSON] = {"json", 0, NULL, "results as a JSON document"},
    {NULL, 0, NULL, NULL},
};

struct sources {
    struct trace_runs runs;
    bool found;   /* something is damaged */
    bool misused; /* something is not there, or no trace */
};

static void add_trace(struct sources *sources, const char *path)
{
    uint8_t *data;
    size_t size;
    const enum reason reason = file_read_any(path, TRACE_MAX_FILE, &data, &size);
    if (reason != REASON_ok) {
        output_message("report: cannot read '%s': %s (%s)", path,
                       reason == REASON_no_file     ? strerror(ENOENT)
                       : reason == REASON_too_large ? "larger than 256 MiB"
                                                    : reason_text(reason),
                       reason_id(reason));
        sources->misused = true;
        return;
    }
    const enum trace_verdict verdict = trace_runs_add(&sources->runs, data, size);
    free(data);
    if (verdict == TRACE_ALIEN) {
        output_message("report: '%s': %s (%s)", path, reason_text(REASON_not_a_trace),
                       reason_id(REASON_not_a_trace));
        sources->misused = true;
    } else if (verdict == TRACE_DAMAGED) {
        output_message("report: '%s': %s (%s)", path, reason_text(REASON_bad_trace),
                       reason_id(REASON_bad_trace));
        sources->found = true;
    }
}

/* False after a message. */
static bool write_page(const struct report *report, const struct trace_runs *runs, const char *path)
{
    struct bytes page = {0};
    report_page(&page, report, runs);
    const struct iovec part = {.iov_base = page.data, .iov_len = page.size};
    const bool written = !page.failed && output_file_write("report", path, &part, 1);
    if (page.failed) {
        output_message("report: out of memory");
    }
    bytes_free(&page);
    return written;
}

/* Gives the exit status. */
static int tell(const struct arguments *arguments, const struct report *report,
                const struct sources *sources)
{
    const char *html = arguments->values[OPTION_HTML];
    int status = sources->misused ? EXIT_USAGE : sources->found ? EXIT_FINDING : EXIT_CLEAN;
    if (report->failed || sources->runs.failed) {
        output_message("report: out of memory");
        return EXIT_USAGE;
    }
    if (sources->runs.left_out > 0 || report->runs_left_out > 0) {
        output_message("report: too many programs or runs, the first ones are shown");
    }
    if (html && !write_page(report, &sources->runs, html)) {
        return EXIT_USAGE;
    }
    if (!html || arguments->values[OPTION_JSON]) {
        struct output output;
        output_begin(&output, arguments->values[OPTION_JSON]);
        report_text(&output, report);
        status = output_end(&output, status);
    }
    return status;
}

static int of_traces(const struct arguments *arguments, char *const *paths)
{
    struct sources sources = {0};
    struct report report = {0};
    for (; *paths; paths++) {
        add_trace(&sources, *paths);
    }
    trace_runs_finish(&sources.runs);
    int status = EXIT_USAGE;
    const char *app = arguments->values[OPTION_APP];
    if (!sources.runs.failed) {
        report_of_runs(&sources.runs, app, &report);
    }
    if (report.count > 0 || sources.runs.failed || (!sources.misused && !app)) {
        if (report.count == 0) {
            output_message("report: these traces hold no pipeline");
        }
        status = tell(arguments, &report, &sources);
    } else if (app && sources.runs.count > 0) {
        output_message("report: no program '%s' in these traces", app);
    }
    report_free(&report);
    trace_runs_free(&sources.runs);
    return status;
}

static int of_store(const struct arguments *arguments)
{
    int status = EXIT_USAGE;
    struct sources sources = {0};
    struct report report = {0};
    struct inventory_apps apps = {0};
    char *root = inventory_root("report", arguments->values[OPTION_DIR]);
    if (root && inventory_select("report", root, arguments->values[OPTION_APP], &apps)) {
        report_of_store(root, &apps, &report, &sources.found);
        status = tell(arguments, &report, &sources);
        output_message("report: for timelines, run a program twice with WARMPIPE_TRACE=FILE, then "
                       "'warmpipe report FILE'");
    }
    report_free(&report);
    inventory_apps_free(&apps);
    free(root);
    return status;
}

static int run(const struct arguments *arguments)
{
    const char *html = arguments->values[OPTION_HTML];
    char *from_environment[] = {getenv("WARMPIPE_TRACE"), NULL};
    if (html && strcmp(html, "-") == 0 && arguments->values[OPTION_JSON]) {
        output_message("report: the page and the JSON document cannot both go to standard output");
        return EXIT_USAGE;
    }
    if (arguments->operand_count > 0) {
        return of_traces(arguments, arguments->operands);
    }
    if (from_environment[0] && *from_environment[0]) {
        return of_traces(arguments, from_environment);
    }
    return of_store(arguments);
}

const struct verb verb_report = {
    .name = "report",
    .summary = "show cold and warm starts side by side, and the dearest pipelines",
    .operands = "[TRACE...]",
    .description =
        "TRACE is what programs wrote with WARMPIPE_TRACE=FILE: run one twice, and its\n"
        "cold and its warm start stand side by side, and the pipelines that took longest\n"
        "to compile; 'warmpipe inspect --pipeline DIGEST FILE' shows what one was created\n"
        "with. Without TRACE it is the file that WARMPIPE_TRACE names; else the report is\n"
        "of what the counters and the recipes know, without timelines.\n\n"
        "The page of --html holds all it needs, and opens in any browser.\n\n"
        "Exit status: 0 fine, 1 something is damaged, 2 no such file, or not a trace.",
    .options = options,
    .min_operands = 0,
    .max_operands = INT_MAX,
    .run = run,
};
