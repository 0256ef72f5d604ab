// SPDX-License-Identifier: Apache-2.0
/* How many of a program's pipelines a device can have, and what the others need that it lacks:
 * collected while `warmpipe warm` goes from program to program, shown at the end. One thread. */
#ifndef WARMPIPE_TOOLS_WARM_WARM_COVERAGE_H
#define WARMPIPE_TOOLS_WARM_WARM_COVERAGE_H

#include <stddef.h>

#include "tools/cli/output.h"
#include "tools/warm/warm_report.h"

struct warm_coverage_row;

/* Zero-initialize it. */
struct warm_coverage {
    struct warm_coverage_row *rows;
    size_t count;
};

/* Adds the result of a run that has ended. Copies; what no memory is left for is left out. A dry
 * run knows of extensions and features; of limits only a replay does. */
void warm_coverage_add(struct warm_coverage *coverage, const struct warm_report *report,
                       const struct warm_shared *shared);

/* Two tables: the pipelines of each program and device, and what is lacking. Text: only if
 * something is, or `always`. */
void warm_coverage_show(const struct warm_coverage *coverage, struct output *output, bool always);

/* Frees the rows. */
void warm_coverage_free(struct warm_coverage *coverage);

#endif
