#include "report_bars.h"

#include <inttypes.h>
#include <stdio.h>

#include "html.h"

/* Bars are drawings with widths of a thousandth each: the page's policy allows no styles in
 * attributes. */
#define BAR_WIDTH 1000

static void open_bar(struct bytes *page)
{
    html_put(page, "<svg class=\"bar\" viewBox=\"0 0 1000 1\" preserveAspectRatio=\"none\" "
                   "aria-hidden=\"true\">");
}

static void put_segment(struct bytes *page, const char *kind, uint64_t at, uint64_t width)
{
    char x[24];
    char w[24];
    snprintf(x, sizeof x, "%" PRIu64, at);
    snprintf(w, sizeof w, "%" PRIu64, width);
    html_put(page, "<rect class=\"%s\" x=\"%s\" width=\"%s\" height=\"1\"/>", kind, x, w);
}

/* What is not nothing shows. */
static uint64_t share_of_bar(uint64_t part, uint64_t whole)
{
    const double share = whole > 0 ? (double)part / (double)whole : 0;
    return part > 0 && share < 2.0 / BAR_WIDTH ? 2 : (uint64_t)(share * BAR_WIDTH + 0.5);
}

void report_bar(struct bytes *page, const struct trace_run *run, uint64_t whole)
{
    uint64_t at = 0;
    open_bar(page);
    for (enum trace_result result = TRACE_RESULT_NONE; result < TRACE_RESULT_COUNT; result++) {
        const uint64_t width = share_of_bar(run->sums.result_ns[result], whole);
        if (width > 0) {
            put_segment(page, trace_result_name(result), at, width);
            at += width;
        }
    }
    html_put(page, "</svg>");
}

void report_bar_of(struct bytes *page, const char *kind, uint64_t part, uint64_t whole)
{
    open_bar(page);
    put_segment(page, kind, 0, share_of_bar(part, whole));
    html_put(page, "</svg>");
}
