/* A report as text or as JSON. */
#ifndef WARMPIPE_TOOLS_REPORT_TEXT_H
#define WARMPIPE_TOOLS_REPORT_TEXT_H

#include "output.h"
#include "report.h"

/* How a pipeline of the report is looked at. */
#define REPORT_INSPECT "warmpipe inspect --pipeline DIGEST FILE"

/* Fields of the document in hand. */
void report_text(struct output *output, const struct report *report);

#endif
