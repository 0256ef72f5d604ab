#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/utf8.h"
#include "verb.h"

#define LABEL_WIDTH 22

void output_begin(struct output *output, bool json)
{
    /* A closed pipe then shows as EPIPE, and the exit status still tells what was found. */
    signal(SIGPIPE, SIG_IGN);
    *output = (struct output){.json = json};
    if (json) {
        json_put_open(&output->pending, NULL, '{');
    }
}

static void flush(struct output *output)
{
    struct bytes *pending = &output->pending;
    if (pending->failed) {
        output->error = ENOMEM;
    }
    bool written =
        pending->size == 0 || fwrite(pending->data, 1, pending->size, stdout) == pending->size;
    if ((!written || fflush(stdout) != 0) && output->error == 0) {
        output->error = errno;
    }
    pending->size = 0;
}

int output_end(struct output *output, int status)
{
    if (output->json) {
        json_put_close(&output->pending, '}');
        bytes_put_u8(&output->pending, '\n');
    }
    flush(output);
    bytes_free(&output->pending);
    output_table_free(&output->table);
    if (output->error != 0 && output->error != EPIPE) {
        output_message("cannot write to standard output: %s", strerror(output->error));
        return EXIT_USAGE;
    }
    return status;
}

static bool in_row(const struct output *output)
{
    return output->depth > 0 && output->shapes[output->depth - 1] == OUTPUT_ROW;
}

static bool in_table(const struct output *output)
{
    return output->depth > 1 && output->shapes[output->depth - 2] == OUTPUT_TABLE;
}

/* 0: standard output is no terminal. */
static size_t terminal_width(void)
{
    struct winsize size;
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static void pad_to(struct bytes *out, size_t start, size_t width)
{
    size_t used = out->size - start;
    for (size_t i = used; i < width; i++) {
        bytes_put_u8(out, ' ');
    }
}

static size_t indentation(const struct output *output)
{
    size_t groups = 0;
    for (int i = 0; i < output->depth; i++) {
        groups += output->shapes[i] == OUTPUT_GROUP;
    }
    return 2 * groups;
}

static void put_label(struct output *output, const char *key)
{
    struct bytes *out = &output->pending;
    pad_to(out, out->size, indentation(output));
    for (const char *c = key; *c; c++) {
        bytes_put_u8(out, *c == '_' ? ' ' : (uint8_t)*c);
    }
}

/* C1 control characters are steering too, hence the second test. */
static bool is_control(const char *text, size_t length)
{
    unsigned char first = (unsigned char)text[0];
    return (length == 1 && (first < 0x20 || first == 0x7f)) ||
           (length == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0);
}

static void put_readable(struct bytes *out, const char *text)
{
    while (*text) {
        size_t length = utf8_length(text);
        bool shown = length > 0 && !is_control(text, length);
        length = length > 0 ? length : 1;
        for (size_t i = 0; i < length; i++) {
            char escape[5] = {text[i], '\0'};
            if (!shown) {
                snprintf(escape, sizeof escape, "\\x%02x", (unsigned char)text[i]);
            }
            bytes_put(out, escape, strlen(escape));
        }
        text += length;
    }
}

static void put_in_text(struct output *output, const char *key, const char *text)
{
    struct bytes *out = &output->pending;
    if (in_table(output)) {
        struct bytes readable = {0};
        put_readable(&readable, text);
        output_table_add(&output->table, key, readable.data, readable.size, output->number_in_hand);
        bytes_free(&readable);
        return;
    }
    if (in_row(output)) {
        /* The values of a row are two columns apart, the first as wide as a label. */
        if (output->row_started) {
            pad_to(out, 0, LABEL_WIDTH - 2);
            bytes_put(out, "  ", 2);
        }
        output->row_started = true;
        put_readable(out, text);
        return;
    }
    put_label(output, key);
    pad_to(out, 0, LABEL_WIDTH - 2);
    bytes_put(out, "  ", 2);
    put_readable(out, text);
    bytes_put_u8(out, '\n');
    flush(output);
}

void output_open(struct output *output, const char *key, enum output_shape shape)
{
    if (output->json) {
        bool is_array = shape == OUTPUT_LIST || shape == OUTPUT_TABLE;
        json_put_open(&output->pending, key, is_array ? '[' : '{');
    } else if (shape == OUTPUT_GROUP) {
        put_label(output, key);
        bytes_put_u8(&output->pending, '\n');
        flush(output);
    } else if ((shape == OUTPUT_ITEM || shape == OUTPUT_TABLE) && output->item_ended) {
        bytes_put_u8(&output->pending, '\n');
        flush(output);
    }
    output->shapes[output->depth++] = shape;
    output->row_started = false;
}

void output_close(struct output *output)
{
    bool ends_line = in_row(output) && !in_table(output);
    if (in_row(output) && in_table(output)) {
        output_table_end_row(&output->table);
    }
    enum output_shape shape = output->shapes[--output->depth];
    output->item_ended = shape != OUTPUT_LIST && shape != OUTPUT_ROW;
    if (output->json) {
        bool is_array = shape == OUTPUT_LIST || shape == OUTPUT_TABLE;
        json_put_close(&output->pending, is_array ? ']' : '}');
    } else if (shape == OUTPUT_TABLE) {
        output->pending.failed |= output->table.cells.failed;
        output_table_put(&output->table, terminal_width(), &output->pending);
        output_table_free(&output->table);
        flush(output);
    } else if (ends_line) {
        bytes_put_u8(&output->pending, '\n');
        flush(output);
    }
}

void output_text(struct output *output, const char *key, const char *text)
{
    if (output->json) {
        json_put_string(&output->pending, key, text);
    } else {
        put_in_text(output, key, text);
    }
}

void output_remark(struct output *output, const char *key, const char *text)
{
    if (output->json) {
        json_put_string(&output->pending, key, text);
        return;
    }
    bytes_put_u8(&output->pending, '\n');
    pad_to(&output->pending, output->pending.size, LABEL_WIDTH);
    put_readable(&output->pending, text);
}

void output_flag(struct output *output, const char *key, bool flag)
{
    if (output->json) {
        json_put_flag(&output->pending, key, flag);
    } else {
        put_in_text(output, key, flag ? "yes" : "no");
    }
}

/* In a table it stands to the right. */
static void put_amount(struct output *output, const char *key, const char *text)
{
    output->number_in_hand = true;
    put_in_text(output, key, text);
    output->number_in_hand = false;
}

void output_number(struct output *output, const char *key, uint64_t number)
{
    if (output->json) {
        json_put_number(&output->pending, key, number);
    } else {
        char digits[24];
        snprintf(digits, sizeof digits, "%" PRIu64, number);
        put_amount(output, key, digits);
    }
}

void output_part(struct output *output, const char *key, uint64_t part, uint64_t whole)
{
    if (output->json) {
        json_put_number(&output->pending, key, part);
        return;
    }
    char text[48];
    int used = snprintf(text, sizeof text, "%" PRIu64, part);
    if (whole > 0) {
        snprintf(text + used, sizeof text - (size_t)used, " (%.1f%%)",
                 100.0 * (double)part / (double)whole);
    }
    put_amount(output, key, text);
}

void output_duration(struct output *output, const char *key, uint64_t nanoseconds)
{
    char text[64];
    if (output->json) {
        snprintf(text, sizeof text, "%s_ns", key);
        json_put_number(&output->pending, text, nanoseconds);
        return;
    }
    const double seconds = (double)nanoseconds / 1e9;
    if (seconds < 0.9995) {
        snprintf(text, sizeof text, "%.1f ms", seconds * 1e3);
    } else if (seconds < 60) {
        snprintf(text, sizeof text, "%.1f s", seconds);
    } else {
        snprintf(text, sizeof text, "%" PRIu64 ":%02u:%02u h", (uint64_t)(seconds / 3600),
                 (unsigned)(seconds / 60) % 60, (unsigned)seconds % 60);
    }
    put_amount(output, key, text);
}

void output_size(struct output *output, const char *key, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (output->json) {
        json_put_number(&output->pending, key, bytes);
        return;
    }
    size_t unit = 0;
    double value = (double)bytes;
    /* Half a tenth below: 1023.96 KiB would print as 1024.0. */
    while (value >= 1023.95 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        unit++;
    }
    char text[32];
    snprintf(text, sizeof text, "%.*f %s", unit == 0 ? 0 : 1, value, units[unit]);
    put_amount(output, key, text);
}

void output_hex(struct output *output, const char *key, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "0x%04" PRIx64, number);
    output_text(output, key, digits);
}

void output_bytes(struct output *output, const char *key, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    char digits[2 * 64 + 1] = "";
    for (size_t i = 0; i < size && i < 64; i++) {
        snprintf(digits + 2 * i, 3, "%02x", bytes[i]);
    }
    output_text(output, key, digits);
}

void output_time(struct output *output, const char *key, uint64_t seconds_since_epoch)
{
    char text[64];
    time_t seconds = (time_t)seconds_since_epoch;
    struct tm parts;
    if (gmtime_r(&seconds, &parts)) {
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    } else {
        /* A damaged file may name any year. */
        snprintf(text, sizeof text, "%" PRIu64, seconds_since_epoch);
    }
    output_text(output, key, text);
}

void output_message(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    struct bytes line = {0};
    put_readable(&line, length < 0 ? format : text);
    fprintf(stderr, "warmpipe: %.*s\n", (int)line.size, (const char *)line.data);
    bytes_free(&line);
    if (length >= 0) {
        free(text);
    }
}
