// SPDX-License-Identifier: Apache-2.0
/* The tables of output.h in text: cells are collected, then laid out in columns under a line of
 * headings, numbers to the right. If the terminal is narrower than that, each row becomes a block
 * of "heading  value" lines, so that nothing is cut or wrapped. Lack of memory: bytes.failed. */
#ifndef WARMPIPE_TOOLS_CLI_OUTPUT_TABLE_H
#define WARMPIPE_TOOLS_CLI_OUTPUT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/bytes.h"

/* Zero-initialize; the owner frees the cells. Every row has the same keys in the same order. */
struct output_table {
    struct bytes cells; /* of each: 'l' or 'r', key, zero, text, zero */
    size_t count;       /* of cells */
    size_t columns;     /* of the first row, once it has ended */
};

/* Adds a cell; `text` need not end with a zero. */
void output_table_add(struct output_table *table, const char *key, const void *text, size_t size,
                      bool right);

/* Appends the whole table. width: columns of the terminal; 0: there is none. */
void output_table_put(const struct output_table *table, size_t width, struct bytes *out);

void output_put_spaces(struct bytes *out, size_t count);

/* A key as people read it: with spaces for underscores. */
void output_put_words(struct bytes *out, const char *key);

#endif
