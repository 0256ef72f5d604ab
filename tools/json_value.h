/* Values of JSON as json_read_any gives them, made into what C can use. Thread-safe. */
#ifndef WARMPIPE_TOOLS_JSON_VALUE_H
#define WARMPIPE_TOOLS_JSON_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_reader.h"

/* A string, its escapes resolved, as much of it as fits `capacity` (at least 1) with a zero at the
 * end, cut between characters. What is no character, and zero, becomes U+FFFD. False, and nothing
 * written: it is no string. */
bool json_value_text(struct json_text value, char *ret_text, size_t capacity);

/* An integer from 0 to UINT64_MAX. False otherwise. */
bool json_value_number(struct json_text value, uint64_t *ret_number);

/* A number of at most `limit` with decimals, in thousandths: 12.3456 is 12345. False: it is none,
 * negative, larger, or written with an exponent. */
bool json_value_thousandths(struct json_text value, uint64_t limit, uint64_t *ret_thousandths);

#endif
