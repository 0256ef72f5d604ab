// SPDX-License-Identifier: Apache-2.0
/* The command line, parsed by the table of a verb, and what the environment adds to it. Thread-safe
 * as far as the environment is not changed meanwhile. */
#ifndef WARMPIPE_TOOLS_CLI_OPTIONS_H
#define WARMPIPE_TOOLS_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/cli/verb.h"

/* Parses the words after the verb's name, NULL-terminated. Options and operands may be mixed; "--"
 * ends the options. `words` is reordered, and the arguments borrow from it. *ret_help is set where
 * --help is given: then nothing else is checked. False after a message. */
bool options_parse(const struct verb *verb, char **words, struct arguments *ret_arguments,
                   bool *ret_help);

/* The page of `warmpipe VERB --help`, on standard output. */
void options_print_help(const struct verb *verb);

/* The value of an environment variable; `otherwise` if it is unset or empty. Borrowed. */
const char *options_variable(const char *name, const char *otherwise);

/* "500ms", "2s", "5m", "24h", "30d", in milliseconds. False after a message. */
bool options_duration(const char *verb, const char *text, uint64_t *ret_ms);

/* The one of `count` names that is nearest to `word`, the first of several; NULL: none is within
 * two edits. An edit is a character more, less or changed, or two neighbours swapped; case is
 * ignored.
 */
const char *options_nearest(const char *word, const char *const *names, size_t count);

#endif
