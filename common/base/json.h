/* JSON, appended to bytes. A comma is put wherever one belongs: callers only open, put and close.
 * `key` is NULL for what stands in an array or by itself; keys are ours and are not escaped.
 * Strings are escaped, and bytes in them that are not UTF-8 become U+FFFD. Lack of memory:
 * bytes.failed. */
#ifndef WARMPIPE_BASE_JSON_H
#define WARMPIPE_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "bytes.h"

/* Opens an object ('{') or an array ('['). */
void json_put_open(struct bytes *out, const char *key, char bracket);

/* Closes it: '}' or ']'. */
void json_put_close(struct bytes *out, char bracket);

/* text NULL is the empty string. */
void json_put_string(struct bytes *out, const char *key, const char *text);

void json_put_number(struct bytes *out, const char *key, uint64_t value);

/* A number of thousandths, "1.005" for 1005: nanoseconds as microseconds. */
void json_put_thousandths(struct bytes *out, const char *key, uint64_t value);

/* true or false. */
void json_put_flag(struct bytes *out, const char *key, bool value);

#endif
