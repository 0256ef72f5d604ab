// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/output.h"

#include <stdlib.h>
#include <string.h>

#define COLUMN_GAP 2

void output_put_spaces(struct bytes *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bytes_put_u8(out, ' ');
    }
}

void output_put_words(struct bytes *out, const char *key)
{
    for (const char *c = key; *c; c++) {
        bytes_put_u8(out, *c == '_' ? ' ' : (uint8_t)*c);
    }
}

struct output_cell {
    const char *key; /* as it is shown */
    const char *text;
    bool right;
};

void output_table_begin_cell(struct output_table *table, const char *key, bool right)
{
    bytes_put_u8(&table->cells, right ? 'r' : 'l');
    output_put_words(&table->cells, key);
    bytes_put_u8(&table->cells, '\0');
    table->count++;
}

/* The cell at *place, which moves behind it. */
static struct output_cell output_table_next(const char **place)
{
    struct output_cell cell = {.right = **place == 'r', .key = *place + 1};
    cell.text = cell.key + strlen(cell.key) + 1;
    *place = cell.text + strlen(cell.text) + 1;
    return cell;
}

/* In columns of the terminal: one for each code point. */
static size_t output_table_width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

/* Fills the widths of the columns; gives that of the whole table. */
static size_t output_table_measure(const struct output_table *table, size_t *widths)
{
    const char *place = (const char *)table->cells.data;
    for (size_t i = 0; i < table->count; i++) {
        struct output_cell cell = output_table_next(&place);
        size_t *width = &widths[i % table->columns];
        size_t of_text = output_table_width_of(cell.text);
        size_t of_key = output_table_width_of(cell.key);
        *width = of_text > *width ? of_text : *width;
        *width = of_key > *width ? of_key : *width;
    }
    size_t whole = COLUMN_GAP * (table->columns - 1);
    for (size_t i = 0; i < table->columns; i++) {
        whole += widths[i];
    }
    return whole;
}

static void output_table_put_line(const struct output_table *table, const char **place,
                                  const size_t *widths, bool heading, struct bytes *out)
{
    for (size_t i = 0; i < table->columns; i++) {
        const struct output_cell cell = output_table_next(place);
        const char *text = heading ? cell.key : cell.text;
        const size_t room = widths[i] - output_table_width_of(text);
        output_put_spaces(out, cell.right ? room : 0);
        bytes_put_text(out, text);
        if (i + 1 < table->columns) {
            output_put_spaces(out, (cell.right ? 0 : room) + COLUMN_GAP);
        }
    }
    bytes_put_u8(out, '\n');
}

static void output_table_put_blocks(const struct output_table *table, struct bytes *out)
{
    const char *place = (const char *)table->cells.data;
    size_t widest = 0;
    for (size_t i = 0; i < table->columns; i++) {
        struct output_cell cell = output_table_next(&place);
        size_t width = output_table_width_of(cell.key);
        widest = width > widest ? width : widest;
    }
    place = (const char *)table->cells.data;
    for (size_t i = 0; i < table->count; i++) {
        struct output_cell cell = output_table_next(&place);
        if (i > 0 && i % table->columns == 0) {
            bytes_put_u8(out, '\n');
        }
        bytes_put_text(out, cell.key);
        output_put_spaces(out, widest - output_table_width_of(cell.key) + COLUMN_GAP);
        bytes_put_text(out, cell.text);
        bytes_put_u8(out, '\n');
    }
}

void output_table_put(const struct output_table *table, size_t width, struct bytes *out)
{
    if (table->columns == 0 || table->cells.failed) {
        return;
    }
    AUTO_FREE size_t *widths = calloc(table->columns, sizeof *widths);
    if (!widths) {
        out->failed = true;
        return;
    }
    if (output_table_measure(table, widths) > width && width > 0) {
        output_table_put_blocks(table, out);
        return;
    }
    const char *place = (const char *)table->cells.data;
    output_table_put_line(table, &place, widths, true, out);
    place = (const char *)table->cells.data;
    for (size_t row = 0; row < table->count / table->columns; row++) {
        output_table_put_line(table, &place, widths, false, out);
    }
}
