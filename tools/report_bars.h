/* Bars of the page, drawn by the tool, so that they show without its script. */
#ifndef WARMPIPE_TOOLS_REPORT_BARS_H
#define WARMPIPE_TOOLS_REPORT_BARS_H

#include "base/bytes.h"
#include "trace_runs.h"

/* The time of a run by what came of it, `whole` being as wide as the bar. */
void report_bar(struct bytes *page, const struct trace_run *run, uint64_t whole);

/* One part of a whole, in the colour of its kind. */
void report_bar_of(struct bytes *page, const char *kind, uint64_t part, uint64_t whole);

#endif
