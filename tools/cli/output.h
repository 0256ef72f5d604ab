// SPDX-License-Identifier: Apache-2.0
/* The results of a verb, as text for people or as one JSON document. Both come from the same calls,
 * so they cannot disagree: each call writes one field. Its key is the JSON name and, with spaces
 * for underscores, the label. In text:
 *   - a group is indented under its label;
 *   - a row is one line of values without labels;
 *   - the items of a list have an empty line between them;
 *   - the rows of a table are columns under a line of headings, with an empty line around the
 *     table; an empty table shows nothing.
 *
 * Calling sequence:
 *
 *     output_begin
 *     output_text, output_number, output_size, output_hex … between output_open and output_close
 *     output_end                                            → the verb's exit status
 *
 * Text is written at once, JSON at the end. Results go to standard output, messages to standard
 * error. A reader that closes its pipe is no error: the verb goes on for its exit status. Not
 * thread-safe. */
#ifndef WARMPIPE_TOOLS_CLI_OUTPUT_H
#define WARMPIPE_TOOLS_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"
#include "common/base/io.h"
#include "common/base/status.h"

enum output_shape {
    OUTPUT_GROUP, /* JSON: an object */
    OUTPUT_LIST,  /* JSON: an array; of rows or of items */
    OUTPUT_TABLE, /* JSON: an array; of rows, which all have the same fields */
    OUTPUT_ROW,   /* JSON: an object; text: one line. Its key is NULL */
    OUTPUT_ITEM   /* JSON: an object; text: fields, an empty line between items. Its key is NULL */
};

#define OUTPUT_DEPTH 8

/* The cells of a table. Every row has the same keys in the same order. */
struct output_table {
    struct bytes cells; /* of each: 'l' or 'r', key as it is shown, zero, text, zero */
    size_t count;       /* of cells */
    size_t columns;     /* of the first row, once it has ended */
};

/* Opaque to verbs. */
struct output {
    struct bytes pending; /* text: the line in hand; JSON: the whole document */
    bool json;
    int error; /* errno of the first write that failed */
    int depth; /* of open shapes */
    enum output_shape shapes[OUTPUT_DEPTH];
    unsigned row_values; /* of the open row */
    bool item_ended;     /* an empty line is due before an item */
    bool table_ended;    /* and before a field or group */
    struct output_table table;
    bool number_in_hand; /* the next text is that of a number */
};

void output_begin(struct output *output, bool json);

/* Ends the document. The "error" of a JSON document has the last message for EXIT_USAGE, and what
 * output_note_error has noted for EXIT_FINDING. Returns `status`, or EXIT_USAGE after a message if
 * standard output could not be written (a closed pipe excepted) or memory was out. */
int output_end(struct output *output, int status);

void output_open(struct output *output, const char *key, enum output_shape shape);
void output_close(struct output *output);

/* Text shows control characters, and bytes that are not UTF-8, as \xNN, so that no file can control
 * a terminal. */
void output_text(struct output *output, const char *key, const char *text);

/* The same for several lines, which are printed without the key. */
void output_lines(struct output *output, const char *key, const char *text);

/* The last field of a row. Text: on a line of its own, indented. */
void output_remark(struct output *output, const char *key, const char *text);

void output_number(struct output *output, const char *key, uint64_t number);

/* Text: "yes" or "no". */
void output_flag(struct output *output, const char *key, bool flag);

/* Text: IEC units, "1.5 MiB". JSON: bytes. */
void output_size(struct output *output, const char *key, uint64_t bytes);

/* Part of a whole. Text: with its percentage, "12 (4.0%)"; JSON: the part alone. */
void output_part(struct output *output, const char *key, uint64_t part, uint64_t whole);

/* An unknown number. Text: "unknown"; JSON: 0. */
void output_unknown(struct output *output, const char *key);

/* Text: "1.5 s". JSON: nanoseconds, "_ns" appended to the key. */
void output_duration(struct output *output, const char *key, uint64_t nanoseconds);

/* "0x1002" in both: at least four digits. */
void output_hex(struct output *output, const char *key, uint64_t number);

/* Bytes as hexadecimal digits in both; at most 64 bytes. */
void output_bytes(struct output *output, const char *key, const void *data, size_t size);

/* The 32 hexadecimal digits of a digest in both. */
void output_digest(struct output *output, const char *key, struct digest digest);

/* "2026-08-21T13:27:35Z" in both. */
void output_time(struct output *output, const char *key, uint64_t seconds_since_epoch);

/* If no result was written: prints a JSON document with the error alone: {"error":"list: cannot
 * open '/nowhere': No such file or directory"}. */
void output_failure(void);

/* The last message is a failure that a document of EXIT_FINDING must name. */
void output_note_error(void);

/* Call it once, before a fork: "error" then also includes messages of child processes. */
void output_share_messages(void);

/* Sets the verb's name, borrowed, with which each message begins from now on; and whether a
 * document was asked for. */
void output_begin_messages(const char *verb, bool json);

/* For what cannot return that memory is out: ends the process with EXIT_USAGE, after a message and,
 * if no result was written, a document with that error. A child process, which writes no document,
 * ends by SIGKILL, as where the system ends it for its memory. Allocates nothing. */
__attribute__((noreturn)) void output_end_without_memory(void);

/* One line on standard error, "warmpipe: VERB: …", with control characters shown as in text. */
void output_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints such a line that ends in the reason: "'NAME'", then ": text of the reason (its id)";
 * format NULL: the reason alone. */
void output_reason(enum status reason, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A text in new memory, to be freed; NULL after a message. */
char *output_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Files that the user names. */

/* Whether the path is standard output: "-", or another name of it. Then nothing else may be written
 * there. */
bool output_file_is_standard(const char *path);

/* Whether two paths lead to one file or folder. */
bool output_is_one_file(const char *a, const char *b);

/* Replaces a file by the concatenation of the parts, whole or not at all, and keeps its mode. A
 * link stays a link. What is not a regular file (a pipe, a terminal, standard output) is written
 * to. A reader that closes its pipe early is no error. False after a message. */
bool output_file_write(const char *path, const struct iovec *parts, int count);

/* The same for a path that is no link, with this mode; programs may have the old file open. */
bool output_file_replace(const char *path, mode_t mode, const struct iovec *parts, int count);

/* Reads a regular file of any owner, of at most `limit` bytes, into memory that is to be freed.
 * False after a message. */
bool output_file_read(const char *path, uint64_t limit, uint8_t **ret_data, size_t *ret_size);

/* Tables in text (output_table.c), for output.c: cells are collected, then laid out in columns
 * under a line of headings, numbers to the right. If the terminal is narrower than that, each row
 * becomes a block of "heading  value" lines, so that nothing is cut or wrapped. Lack of memory:
 * bytes.failed. */

/* Begins a cell, whose text and a zero are put to table->cells next. */
void output_table_begin_cell(struct output_table *table, const char *key, bool right);

/* Appends the whole table. width: columns of the terminal; 0: there is none. */
void output_table_put(const struct output_table *table, size_t width, struct bytes *out);

void output_put_spaces(struct bytes *out, size_t count);

/* A key as people read it: with spaces for underscores. */
void output_put_words(struct bytes *out, const char *key);

/* Progress on a terminal (progress.c): one line on standard error that says what a verb does, and
 * how far it is. It appears after two seconds, is redrawn four times a second, and is removed
 * before anything else is written.
 *
 *     progress_begin → progress_add … progress_hide (by output.c, before each text) → progress_end
 *
 * Without a terminal these functions do nothing. progress_begin and progress_end belong to one
 * thread, once in a process; the others are thread-safe. A child of a fork shows nothing. */

/* Both texts are borrowed until progress_end. Starts a thread; if none can be made, nothing is
 * shown. */
void progress_begin(const char *verb, const char *doing);

/* One more is done. `unit`: "file", a literal whose plural ends in s; the same in all calls of
 * a verb. */
void progress_add(const char *unit);

/* Clears the line; it comes back a moment later. */
void progress_hide(void);

/* Clears the line for good. */
void progress_end(void);

#endif
