/* What a program's recipes say in numbers. */
#ifndef WARMPIPE_TOOLS_RECIPE_COUNTS_H
#define WARMPIPE_TOOLS_RECIPE_COUNTS_H

#include <stdint.h>

#include "driver/identity.h"

struct recipe_counts;

/* NULL: there are none that can be read. Only the indexes are read. */
struct recipe_counts *recipe_counts_open(const char *root, const char *app);

/* NULL is a no-op. */
void recipe_counts_close(struct recipe_counts *counts);

/* How many different pipelines were asked for on a device of this vendor and id; identity NULL: on
 * any. 0 where counts is NULL. */
uint64_t recipe_counts_pipelines(const struct recipe_counts *counts,
                                 const struct driver_identity *identity);

/* What compiling one of them took, on average; 0: unknown. */
uint64_t recipe_counts_compile_ns(const struct recipe_counts *counts);

#endif
