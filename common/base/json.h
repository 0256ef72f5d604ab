// SPDX-License-Identifier: Apache-2.0
/* JSON (RFC 8259): a writer that appends to bytes, and a reader that works in place. Neither is
 * thread-safe; each belongs to one caller.
 *
 * The writer puts a comma wherever one belongs: callers only open, put and close. `key` is NULL in
 * an array and at the top; keys are not escaped. Strings are escaped, and bytes in them that are
 * not UTF-8 become U+FFFD. If memory is out, bytes.failed is set. */
#ifndef WARMPIPE_BASE_JSON_H
#define WARMPIPE_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"

/* Opens an object ('{'), an array ('['), or a string ('"') of bytes that need no escapes, which the
 * caller puts. */
void json_put_open(struct bytes *out, const char *key, char bracket);

/* Closes it ('}', ']' or '"'). */
void json_put_close(struct bytes *out, char bracket);

/* text NULL is the empty string. */
void json_put_string(struct bytes *out, const char *key, const char *text);

void json_put_number(struct bytes *out, const char *key, uint64_t value);

/* A number of thousandths, "1.005" for 1005: nanoseconds as microseconds. */
void json_put_thousandths(struct bytes *out, const char *key, uint64_t value);

/* true or false. */
void json_put_flag(struct bytes *out, const char *key, bool value);

/* The reader copies and allocates nothing. It is sticky like bytes_reader: read straight through
 * and check `failed` once at the end. After a failure every read returns nothing, and every loop
 * over members or elements ends.
 *
 *     struct json_reader reader = json_reader_over(data, size);
 *     struct json_text key;
 *     json_read_open(&reader, '{');
 *     while (json_read_member(&reader, &key)) {
 *         if (json_text_is(key, "format")) {
 *             format = json_read_number(&reader);
 *         } else {
 *             json_read_any(&reader);
 *         }
 *     }
 *     json_read_end(&reader);
 *
 * Between two members exactly one value must be read. */

/* A window over memory that the caller owns. */
struct json_reader {
    const char *next;
    const char *end;
    bool failed;
    bool after_value; /* in an object or an array: a comma must come before the next value */
};

/* A piece of the input; not zero-terminated. */
struct json_text {
    const char *data;
    size_t size;
};

struct json_reader json_reader_over(const void *data, size_t size);

/* Whether both are the same bytes. */
bool json_text_is(struct json_text text, const char *word);

/* Enters an object ('{') or an array ('['). */
void json_read_open(struct json_reader *reader, char bracket);

/* The next member's key; read its value next. False: no more members, the object is closed. */
bool json_read_member(struct json_reader *reader, struct json_text *ret_key);

/* Whether an element follows; read it next. False: no more elements, the array is closed. */
bool json_read_element(struct json_reader *reader);

/* The text between the quotes, escapes not resolved: compare it with words that need none. Keys are
 * returned in the same way. Well-formed UTF-8. */
struct json_text json_read_string(struct json_reader *reader);

/* An integer from 0 to UINT64_MAX; every other number fails. */
uint64_t json_read_number(struct json_reader *reader);

/* A value of any type, checked, as it is in the input. Fails if nested more than 32 deep. */
struct json_text json_read_any(struct json_reader *reader);

/* Nothing but white space may follow. */
void json_read_end(struct json_reader *reader);

/* A string as json_read_any gives it, with its escapes resolved, zero-terminated, cut between
 * characters to fit `capacity` (at least 1). U+0000 and lone surrogates become U+FFFD. False: it is
 * not a string; nothing is written. */
bool json_value_text(struct json_text value, char *ret_text, size_t capacity);

#endif
