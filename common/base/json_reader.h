/* JSON (RFC 8259), read in place: nothing is copied, nothing is allocated. Sticky like
 * bytes_reader: read straight through, check `failed` once at the end. After a failure every read
 * gives nothing, and every loop over members or elements ends.
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
 * Between two members exactly one value must be read. Not thread-safe; a reader belongs to one
 * caller. */
#ifndef WARMPIPE_BASE_JSON_READER_H
#define WARMPIPE_BASE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A window over memory that somebody else owns. */
struct json_reader {
    const char *next;
    const char *end;
    bool failed;
    bool after_value; /* of an object or an array: a comma must follow before the next one */
};

/* A piece of the input; not zero-terminated. */
struct json_text {
    const char *data;
    size_t size;
};

struct json_reader json_reader_over(const void *data, size_t size);

/* Whether they are the same bytes. */
bool json_text_is(struct json_text text, const char *word);

/* Enters an object ('{') or an array ('['). */
void json_read_open(struct json_reader *reader, char bracket);

/* The next member's key; its value is to be read next. False: there is none, the object is left. */
bool json_read_member(struct json_reader *reader, struct json_text *ret_key);

/* Whether an element follows, which is to be read next. False: there is none, the array is left. */
bool json_read_element(struct json_reader *reader);

/* What stands between the quotes, escapes not resolved: to be compared with words that need none.
 * Keys are given in the same way. Well-formed UTF-8. */
struct json_text json_read_string(struct json_reader *reader);

/* An integer from 0 to UINT64_MAX; every other number fails. */
uint64_t json_read_number(struct json_reader *reader);

/* A value of any type, as it stands in the input, checked; nested at most 32 deep, else it fails.
 */
struct json_text json_read_any(struct json_reader *reader);

/* Nothing but white space may follow. */
void json_read_end(struct json_reader *reader);

#endif
