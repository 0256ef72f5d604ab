// SPDX-License-Identifier: Apache-2.0
/* Traces as hostile as they like: what is read of them adds up, and the page that is made of it has
 * the tags of the tool and no others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "tools/report/report.h"

/* In place of the real ones: a byte that nothing from a trace may bring into a page. */
#define MARK "\1"
const struct report_piece report_pieces[REPORT_PIECES] = {
    {(const unsigned char *)MARK, 1},
    {(const unsigned char *)MARK, 1},
    {(const unsigned char *)MARK, 1},
    {(const unsigned char *)MARK, 1},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static void check_run(const struct trace_runs *runs, const struct trace_run *run)
{
    uint64_t results = 0;
    for (int i = 0; i < TRACE_RESULT_COUNT; i++) {
        results += run->sums.results[i];
    }
    require(results == run->sums.pipelines, "each pipeline has one result");
    require(run->sums.pipelines + run->sums.objects + run->sums.prewarmed <= run->span_count,
            "no span counts twice");
    for (size_t i = 0; i < run->span_count; i++) {
        const struct trace_span *span = &run->spans[i];
        require(span->lane < run->lane_count, "a lane that is there");
        require(span->row < run->lanes[span->lane].rows, "a row that is there");
        require(span->name < runs->name_count, "a name that is there");
        require(span->start_ns >= run->begin_ns, "not before its run");
        require(span->start_ns + span->duration_ns <= run->end_ns, "not behind its run");
    }
}

static void check_tags(const char *text, size_t size)
{
    static const char *const known[] = {
        "header", "h1",   "h2",     "h3",     "h4",       "main",  "section",    "bdi",
        "p",      "span", "dl",     "dt",     "dd",       "div",   "strong",     "small",
        "svg",    "rect", "figure", "i",      "table",    "thead", "tbody",      "tr",
        "th",     "td",   "code",   "canvas", "noscript", "a",     "figcaption",
    };
    const char *end = text + size;
    while ((text = memchr(text, '<', (size_t)(end - text)))) {
        text += text[1] == '/' ? 2 : 1;
        const size_t length = strcspn(text, " />");
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            found |= strlen(known[i]) == length && strncmp(text, known[i], length) == 0;
        }
        require(found, "a tag of the tool's");
    }
}

static void check_page(const struct bytes *page)
{
    const char *at[REPORT_PIECES];
    const char *next = (const char *)page->data;
    const char *end = next + page->size;
    for (size_t i = 0; i < REPORT_PIECES; i++) {
        at[i] = memchr(next, MARK[0], (size_t)(end - next));
        require(at[i], "every piece is there");
        next = at[i] + 1;
    }
    require(next == end, "no control characters");
    require(!memchr(at[0], '<', (size_t)(at[1] - at[0])), "a title without tags");
    check_tags(at[1] + 1, (size_t)(at[2] - at[1] - 1));
    require(!memchr(at[2], '<', (size_t)(at[3] - at[2])), "a document that no tag ends");
    struct json_reader reader = json_reader_over(at[2] + 1, (size_t)(at[3] - at[2] - 1));
    json_read_any(&reader);
    json_read_end(&reader);
    require(!reader.failed, "a document that is JSON");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace_runs runs = {0};
    struct report report;
    struct bytes page = {0};
    trace_runs_add(&runs, data, size);
    trace_runs_finish(&runs);
    for (size_t i = 0; i < runs.count; i++) {
        check_run(&runs, runs.runs[i]);
    }
    report_of_runs(&runs, NULL, &report);
    report_page(&page, &report, &runs);
    check_page(&page);
    bytes_free(&page);
    report_free(&report);
    trace_runs_free(&runs);
    return 0;
}
