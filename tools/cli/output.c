// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/output.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/json.h"
#include "common/base/text.h"
#include "tools/cli/verb.h"

/* The values of a row, and those behind a label, begin in this column. */
#define LABEL_WIDTH   22
#define VERDICT_WIDTH 9 /* "problem", and the gap */

/* A terminal of fewer columns has no room for rows behind a label and a verdict. */
#define NARROW_WIDTH 60

/* Begins each message; NULL: nothing does. */
static const char *output_verb;
static bool output_wants_json;
static pid_t output_process; /* that runs the verb */

/* Whether there is a result, and what was said last. Of the thread that runs the verb. */
static bool output_written;
static char output_own_last[1024];
static char *output_last = output_own_last;
static char output_noted[sizeof output_own_last];

void output_share_messages(void)
{
    char *shared = mmap(NULL, sizeof output_own_last, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared != MAP_FAILED) {
        memcpy(shared, output_own_last, sizeof output_own_last);
        output_last = shared;
    }
}

void output_begin(struct output *output, bool json)
{
    /* A closed pipe is then EPIPE instead of a signal: the exit status still tells what was found.
     */
    signal(SIGPIPE, SIG_IGN);
    *output = (struct output){.json = json};
    if (json) {
        json_put_open(&output->pending, NULL, '{');
    }
}

static void output_flush(struct output *output)
{
    struct bytes *pending = &output->pending;
    if (pending->failed) {
        output->error = ENOMEM;
    }
    progress_hide();
    output_written |= pending->size > 0;
    bool written =
        pending->size == 0 || fwrite(pending->data, 1, pending->size, stdout) == pending->size;
    /* What printf has tried to write at the end of a line (musl does) is gone. */
    if ((!written || fflush(stdout) != 0 || ferror(stdout)) && output->error == 0) {
        output->error = errno;
    }
    pending->size = 0;
}

int output_end(struct output *output, int status)
{
    if (output->json) {
        const char *error = status == EXIT_USAGE     ? output_last
                            : status == EXIT_FINDING ? output_noted
                                                     : "";
        if (error[0]) {
            output_text(output, "error", error);
        }
        json_put_close(&output->pending, '}');
        bytes_put_u8(&output->pending, '\n');
    }
    output_flush(output);
    bytes_free(&output->pending);
    bytes_free(&output->table.cells);
    if (output->error != 0 && output->error != EPIPE) {
        output_message("cannot write to standard output: %s", strerror(output->error));
        return EXIT_USAGE;
    }
    return status;
}

/* In JSON; all other shapes are objects. */
static bool output_is_array(enum output_shape shape)
{
    return shape == OUTPUT_LIST || shape == OUTPUT_TABLE;
}

static bool output_in_row(const struct output *output)
{
    return output->depth > 0 && output->shapes[output->depth - 1] == OUTPUT_ROW;
}

static bool output_in_table(const struct output *output)
{
    return output->depth > 1 && output->shapes[output->depth - 2] == OUTPUT_TABLE;
}

/* 0: standard output is not a terminal. */
static size_t output_terminal_width(void)
{
    struct winsize size;
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static bool output_is_narrow(void)
{
    const size_t width = output_terminal_width();
    return width > 0 && width < NARROW_WIDTH;
}

static void output_pad_to(struct bytes *out, size_t width)
{
    output_put_spaces(out, width > out->size ? width - out->size : 0);
}

static void output_put_label(struct output *output, const char *key)
{
    if (output->table_ended) {
        bytes_put_u8(&output->pending, '\n');
        output->table_ended = false;
    }
    for (int i = 0; i < output->depth; i++) {
        output_put_spaces(&output->pending, output->shapes[i] == OUTPUT_GROUP ? 2 : 0);
    }
    output_put_words(&output->pending, key);
}

static void output_put_readable(struct bytes *out, const char *text)
{
    while (*text) {
        const size_t length = utf8_shown_length(text);
        if (length > 0) {
            bytes_put(out, text, length);
        } else {
            char escape[5];
            snprintf(escape, sizeof escape, "\\x%02x", (unsigned char)*text);
            bytes_put_text(out, escape);
        }
        text += length > 0 ? length : 1;
    }
}

static void output_put_text(struct output *output, const char *key, const char *text)
{
    struct bytes *out = &output->pending;
    if (output_in_table(output)) {
        output_table_begin_cell(&output->table, key, output->number_in_hand);
        output_put_readable(&output->table.cells, text);
        bytes_put_u8(&output->table.cells, '\0');
        return;
    }
    if (output_in_row(output)) {
        /* The values of a row are two columns apart, the first as wide as a label, the second, if
         * another follows, as a verdict; on a narrow terminal the third has a line of its own. */
        const bool narrow = output_is_narrow();
        if (output->row_values > 0 && !narrow) {
            output_pad_to(out, LABEL_WIDTH - 2 + (output->row_values > 1 ? VERDICT_WIDTH : 0));
        }
        if (output->row_values > 0) {
            bytes_put_text(out, output->row_values > 1 && narrow ? "\n  " : "  ");
        }
        output->row_values++;
        output_put_readable(out, text);
        return;
    }
    output_put_label(output, key);
    output_pad_to(out, LABEL_WIDTH - 2);
    bytes_put(out, "  ", 2);
    output_put_readable(out, text);
    bytes_put_u8(out, '\n');
    output_flush(output);
}

void output_open(struct output *output, const char *key, enum output_shape shape)
{
    if (output->json) {
        json_put_open(&output->pending, key, output_is_array(shape) ? '[' : '{');
    } else if (shape == OUTPUT_GROUP) {
        output_put_label(output, key);
        bytes_put_u8(&output->pending, '\n');
        output_flush(output);
    } else if (shape == OUTPUT_ITEM && output->item_ended) {
        bytes_put_u8(&output->pending, '\n');
        output_flush(output);
    }
    output->table_ended &= shape != OUTPUT_ITEM;
    output->shapes[output->depth++] = shape;
    output->row_values = 0;
}

void output_close(struct output *output)
{
    const bool ends_line = output_in_row(output) && !output_in_table(output);
    if (output_in_row(output) && output_in_table(output) && output->table.columns == 0) {
        output->table.columns = output->table.count;
    }
    const enum output_shape shape = output->shapes[--output->depth];
    const bool is_empty_table = shape == OUTPUT_TABLE && output->table.count == 0;
    if (!is_empty_table) {
        output->item_ended = shape != OUTPUT_LIST && shape != OUTPUT_ROW;
    }
    if (output->json) {
        json_put_close(&output->pending, output_is_array(shape) ? ']' : '}');
    } else if (shape == OUTPUT_TABLE) {
        output->pending.failed |= output->table.cells.failed;
        if (!is_empty_table && output_written) {
            bytes_put_u8(&output->pending, '\n');
        }
        output->table_ended |= !is_empty_table;
        output_table_put(&output->table, output_terminal_width(), &output->pending);
        bytes_free(&output->table.cells);
        output->table = (struct output_table){0};
        output_flush(output);
    } else if (ends_line) {
        bytes_put_u8(&output->pending, '\n');
        output_flush(output);
    }
}

void output_text(struct output *output, const char *key, const char *text)
{
    if (output->json) {
        json_put_string(&output->pending, key, text);
    } else {
        output_put_text(output, key, text);
    }
}

void output_lines(struct output *output, const char *key, const char *text)
{
    if (output->json) {
        json_put_string(&output->pending, key, text);
        return;
    }
    AUTO_FREE char *copy = strdup(text);
    char *rest = copy;
    for (const char *line; (line = strsep(&rest, "\n"));) {
        output_put_readable(&output->pending, line);
        if (rest) {
            bytes_put_u8(&output->pending, '\n');
        }
    }
    output->pending.failed |= !copy;
    output_flush(output);
}

void output_remark(struct output *output, const char *key, const char *text)
{
    if (output->json) {
        json_put_string(&output->pending, key, text);
        return;
    }
    bytes_put_u8(&output->pending, '\n');
    output_put_spaces(&output->pending, output_is_narrow() ? 2 : LABEL_WIDTH);
    output_put_readable(&output->pending, text);
}

void output_flag(struct output *output, const char *key, bool flag)
{
    if (output->json) {
        json_put_flag(&output->pending, key, flag);
    } else {
        output_put_text(output, key, flag ? "yes" : "no");
    }
}

/* A number in JSON, `text` otherwise; in a table it is aligned to the right. */
static void output_put_amount(struct output *output, const char *key, uint64_t number,
                              const char *text)
{
    if (output->json) {
        json_put_number(&output->pending, key, number);
        return;
    }
    output->number_in_hand = true;
    output_put_text(output, key, text);
    output->number_in_hand = false;
}

void output_number(struct output *output, const char *key, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    output_put_amount(output, key, number, digits);
}

void output_part(struct output *output, const char *key, uint64_t part, uint64_t whole)
{
    char text[48];
    int used = snprintf(text, sizeof text, "%" PRIu64, part);
    if (whole > 0) {
        snprintf(text + used, sizeof text - (size_t)used, " (%.1f%%)",
                 100.0 * (double)part / (double)whole);
    }
    output_put_amount(output, key, part, text);
}

void output_unknown(struct output *output, const char *key)
{
    output_put_amount(output, key, 0, "unknown");
}

void output_duration(struct output *output, const char *key, uint64_t nanoseconds)
{
    char json_key[64];
    char text[64];
    const double seconds = (double)nanoseconds / 1e9;
    if (nanoseconds > 0 && seconds < 0.9995e-3) {
        snprintf(text, sizeof text, "%.0f µs", seconds * 1e6);
    } else if (seconds < 0.9995) {
        snprintf(text, sizeof text, "%.1f ms", seconds * 1e3);
    } else if (seconds < 60) {
        snprintf(text, sizeof text, "%.1f s", seconds);
    } else {
        snprintf(text, sizeof text, "%" PRIu64 ":%02u:%02u h", (uint64_t)(seconds / 3600),
                 (unsigned)(seconds / 60) % 60, (unsigned)seconds % 60);
    }
    snprintf(json_key, sizeof json_key, "%s_ns", key);
    output_put_amount(output, output->json ? json_key : key, nanoseconds, text);
}

void output_size(struct output *output, const char *key, uint64_t bytes)
{
    char text[TEXT_BYTES_SIZE];
    text_bytes(bytes, text);
    output_put_amount(output, key, bytes, text);
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

void output_digest(struct output *output, const char *key, struct digest digest)
{
    char digits[DIGEST_HEX_SIZE];
    digest_format(digest, digits);
    output_text(output, key, digits);
}

void output_time(struct output *output, const char *key, uint64_t seconds_since_epoch)
{
    char text[TEXT_TIME_SIZE];
    text_time(seconds_since_epoch, text);
    output_text(output, key, text);
}

/* To be freed; NULL: out of memory. */
static char *output_fill(const char *format, va_list arguments)
{
    char *text;
    return vasprintf(&text, format, arguments) < 0 ? NULL : text;
}

char *output_format(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = output_fill(format, arguments);
    va_end(arguments);
    if (!text) {
        output_message("out of memory");
    }
    return text;
}

void output_begin_messages(const char *verb, bool json)
{
    output_verb = verb;
    output_wants_json = json;
    output_process = getpid();
}

void output_message(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    AUTO_FREE char *text = output_fill(format, arguments);
    va_end(arguments);
    AUTO(bytes_free) struct bytes line = {0};
    output_put_readable(&line, text ? text : format);
    progress_hide();
    const char *verb = output_verb ? output_verb : "";
    const char *gap = output_verb ? ": " : "";
    fprintf(stderr, "warmpipe: %s%s%.*s\n", verb, gap, (int)line.size,
            line.data ? (const char *)line.data : "");
    snprintf(output_last, sizeof output_own_last, "%s%s%s", verb, gap, text ? text : format);
}

void output_note_error(void)
{
    memcpy(output_noted, output_last, sizeof output_noted);
}

void output_reason(enum status reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    AUTO_FREE char *text = format ? output_fill(format, arguments) : NULL;
    va_end(arguments);
    output_message("%s%s%s (%s)", text ? text : "", text ? ": " : "", status_text(reason),
                   status_id(reason));
}

void output_end_without_memory(void)
{
    const char *verb = output_verb ? output_verb : "";
    progress_hide();
    fprintf(stderr, "warmpipe: %s: out of memory\n", verb);
    if (getpid() != output_process) {
        kill(getpid(), SIGKILL);
    }
    if (output_wants_json && !output_written) {
        printf("{\"error\":\"%s: out of memory\"}\n", verb);
    }
    fflush(stdout);
    _exit(EXIT_USAGE);
}

void output_failure(void)
{
    if (!output_written) {
        struct output output;
        output_begin(&output, true);
        output_end(&output, EXIT_USAGE);
    }
}
