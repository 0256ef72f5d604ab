/* A report of what the store knows: counters and recipes. */
#ifndef WARMPIPE_TOOLS_REPORT_STORE_H
#define WARMPIPE_TOOLS_REPORT_STORE_H

#include "inventory.h"
#include "report.h"

/* Of these programs, whose names are borrowed. Damage is told by a message, and *ret_found is set.
 * Freed with report_free. */
void report_of_store(const char *root, const struct inventory_apps *apps, struct report *ret_report,
                     bool *ret_found);

#endif
