/* A report as one page that needs nothing else: docs of the browser side lie in tools/report/. */
#ifndef WARMPIPE_TOOLS_REPORT_PAGE_H
#define WARMPIPE_TOOLS_REPORT_PAGE_H

#include "base/bytes.h"
#include "report.h"

/* Appends the page. Lack of memory: page->failed. */
void report_page(struct bytes *page, const struct report *report, const struct trace_runs *runs);

#endif
