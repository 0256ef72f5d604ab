// SPDX-License-Identifier: Apache-2.0
/* A report as one HTML page that needs nothing else. Its markup, style and script are page.html,
 * page.css and page.js; codegen/report.py puts them into the program. */
#ifndef WARMPIPE_TOOLS_REPORT_REPORT_PAGE_H
#define WARMPIPE_TOOLS_REPORT_REPORT_PAGE_H

#include "common/base/bytes.h"
#include "tools/report/report.h"

/* The page, cut where the title, the body and the timelines go; written by codegen/report.py. */
struct report_piece {
    const unsigned char *data;
    size_t size;
};
#define REPORT_PIECES 4
extern const struct report_piece report_pieces[REPORT_PIECES];

/* Appends the page. Lack of memory: page->failed. */
void report_page(struct bytes *page, const struct report *report, const struct trace_runs *runs);

#endif
