// SPDX-License-Identifier: Apache-2.0
/* The spans of a report for the page's script, and what its colours mean. */
#ifndef WARMPIPE_TOOLS_REPORT_REPORT_TIMELINES_H
#define WARMPIPE_TOOLS_REPORT_REPORT_TIMELINES_H

#include "common/base/bytes.h"
#include "tools/report/report.h"

/* The spans that a timeline shows; of more the shortest are left out. */
#define REPORT_MAX_SPANS 20000

/* One JSON document for all programs:
 *
 *     {"kinds":[…],"names":[…],"programs":[{"digests":[…],"runs":[
 *         {"lanes":[{"name":"…","rows":1}],"spans":[…]}]}]}
 *
 * The runs are those of report_shown. "spans" has seven numbers
 * for each: lane, row, start, duration, kind, name, digest; the times in ns, from the run's
 * begin; the last three are places in the lists, digest from 1 on, 0: none. */
void report_timelines(struct bytes *json, const struct report *report,
                      const struct trace_runs *runs);

/* How many spans of a run its timeline shows. */
size_t report_timelines_shown(const struct trace_run *run);

#endif
