// SPDX-License-Identifier: Apache-2.0
/* Strings of JSON, as json_read_any gives them, converted to C. Thread-safe. */
#ifndef WARMPIPE_TOOLS_CLI_JSON_VALUE_H
#define WARMPIPE_TOOLS_CLI_JSON_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/json.h"

/* A string with its escapes resolved, zero-terminated, cut between characters to fit `capacity` (at
 * least 1). U+0000 and lone surrogates become U+FFFD. False: it is not a string; nothing is
 * written. */
bool json_value_text(struct json_text value, char *ret_text, size_t capacity);

#endif
