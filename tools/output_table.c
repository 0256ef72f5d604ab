#include "output_table.h"

#include <stdlib.h>
#include <string.h>

#define GAP 2

struct cell {
    const char *key;
    const char *text;
    bool right;
};

void output_table_add(struct output_table *table, const char *key, const void *text, size_t size,
                      bool right)
{
    bytes_put_u8(&table->cells, right ? 'r' : 'l');
    bytes_put(&table->cells, key, strlen(key) + 1);
    bytes_put(&table->cells, text, size);
    bytes_put_u8(&table->cells, '\0');
    table->count++;
}

void output_table_end_row(struct output_table *table)
{
    table->columns = table->columns ? table->columns : table->count;
}

/* The cell at *place, which moves behind it. */
static struct cell next_cell(const char **place)
{
    struct cell cell = {.right = **place == 'r', .key = *place + 1};
    cell.text = cell.key + strlen(cell.key) + 1;
    *place = cell.text + strlen(cell.text) + 1;
    return cell;
}

/* Code points, each taken for one column. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

static void put_spaces(struct bytes *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bytes_put_u8(out, ' ');
    }
}

static void put_heading(struct bytes *out, const char *key)
{
    for (const char *c = key; *c; c++) {
        bytes_put_u8(out, *c == '_' ? ' ' : (uint8_t)*c);
    }
}

static void put_cell(struct bytes *out, const struct cell *cell, bool heading, size_t width,
                     bool is_last)
{
    size_t used = width_of(heading ? cell->key : cell->text);
    if (cell->right) {
        put_spaces(out, width - used);
    }
    if (heading) {
        put_heading(out, cell->key);
    } else {
        bytes_put(out, cell->text, strlen(cell->text));
    }
    if (!is_last) {
        put_spaces(out, (cell->right ? 0 : width - used) + GAP);
    }
}

/* Gives the width of the whole. */
static size_t measure(const struct output_table *table, size_t *widths)
{
    const char *place = (const char *)table->cells.data;
    for (size_t i = 0; i < table->count; i++) {
        struct cell cell = next_cell(&place);
        size_t *width = &widths[i % table->columns];
        size_t of_text = width_of(cell.text);
        size_t of_key = width_of(cell.key);
        *width = of_text > *width ? of_text : *width;
        *width = of_key > *width ? of_key : *width;
    }
    size_t whole = GAP * (table->columns - 1);
    for (size_t i = 0; i < table->columns; i++) {
        whole += widths[i];
    }
    return whole;
}

static void put_line(const struct output_table *table, const char **place, const size_t *widths,
                     bool heading, struct bytes *out)
{
    for (size_t i = 0; i < table->columns; i++) {
        struct cell cell = next_cell(place);
        put_cell(out, &cell, heading, widths[i], i + 1 == table->columns);
    }
    bytes_put_u8(out, '\n');
}

static void put_blocks(const struct output_table *table, struct bytes *out)
{
    const char *place = (const char *)table->cells.data;
    size_t widest = 0;
    for (size_t i = 0; i < table->columns; i++) {
        struct cell cell = next_cell(&place);
        size_t width = width_of(cell.key);
        widest = width > widest ? width : widest;
    }
    place = (const char *)table->cells.data;
    for (size_t i = 0; i < table->count; i++) {
        struct cell cell = next_cell(&place);
        if (i > 0 && i % table->columns == 0) {
            bytes_put_u8(out, '\n');
        }
        put_heading(out, cell.key);
        put_spaces(out, widest - width_of(cell.key) + GAP);
        bytes_put(out, cell.text, strlen(cell.text));
        bytes_put_u8(out, '\n');
    }
}

void output_table_put(const struct output_table *table, size_t width, struct bytes *out)
{
    if (table->columns == 0 || table->cells.failed) {
        return;
    }
    size_t *widths = calloc(table->columns, sizeof *widths);
    if (!widths) {
        return;
    }
    size_t whole = measure(table, widths);
    if (width > 0 && whole > width) {
        put_blocks(table, out);
    } else {
        const char *place = (const char *)table->cells.data;
        put_line(table, &place, widths, true, out);
        place = (const char *)table->cells.data;
        for (size_t row = 0; row < table->count / table->columns; row++) {
            put_line(table, &place, widths, false, out);
        }
    }
    free(widths);
}

void output_table_free(struct output_table *table)
{
    bytes_free(&table->cells);
    *table = (struct output_table){0};
}
