// SPDX-License-Identifier: Apache-2.0
/* Values of JSON, as json_read_any gives them, converted to C. Thread-safe. */
#ifndef WARMPIPE_TOOLS_CLI_JSON_VALUE_H
#define WARMPIPE_TOOLS_CLI_JSON_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/json.h"

/* A string with its escapes resolved, zero-terminated, cut between characters to fit `capacity` (at
 * least 1). U+0000 and lone surrogates become U+FFFD. False: it is not a string; nothing is
 * written. */
bool json_value_text(struct json_text value, char *ret_text, size_t capacity);

/* An integer from 0 to UINT64_MAX. False otherwise. */
bool json_value_number(struct json_text value, uint64_t *ret_number);

/* A decimal number of at most `limit`, in thousandths: 12.3456 is 12345. False: it is not a number,
 * negative, larger, or written with an exponent. */
bool json_value_thousandths(struct json_text value, uint64_t limit, uint64_t *ret_thousandths);

#endif
