/* The text form of a table: cells are gathered, then laid out in columns under a line of headings,
 * numbers to the right. Where the terminal is narrower than that, each row becomes a block of
 * "heading  value" lines instead, so that nothing is cut and nothing wraps in the middle. */
#ifndef WARMPIPE_TOOLS_OUTPUT_TABLE_H
#define WARMPIPE_TOOLS_OUTPUT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/* Zero-initialize; freed with output_table_free. Every row has the same keys in the same order. */
struct output_table {
    struct bytes cells; /* of each: 'l' or 'r', key, zero, text, zero */
    size_t count;       /* of cells */
    size_t columns;     /* of the first row, once it is ended */
};

/* Key and text are copied; the text is to be readable already. */
void output_table_add(struct output_table *table, const char *key, const void *text, size_t size,
                      bool right);
void output_table_end_row(struct output_table *table);

/* Appends the whole table. width: columns of the terminal, 0: no matter. */
void output_table_put(const struct output_table *table, size_t width, struct bytes *out);

void output_table_free(struct output_table *table);

#endif
