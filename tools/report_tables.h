/* The tables of the page; each with its heading, and nothing at all where it would be empty. */
#ifndef WARMPIPE_TOOLS_REPORT_TABLES_H
#define WARMPIPE_TOOLS_REPORT_TABLES_H

#include "base/bytes.h"
#include "report.h"

/* All programs, with links to their sections, "#program-0" and so on. */
void report_table_programs(struct bytes *page, const struct report *report);

/* What became of the requests of the cold and of the warm run; also what the colours mean. */
void report_table_results(struct bytes *page, const struct report_program *program);

/* The dearest. */
void report_table_pipelines(struct bytes *page, const struct report_program *program);

/* All runs. */
void report_table_runs(struct bytes *page, const struct report_program *program);

#endif
