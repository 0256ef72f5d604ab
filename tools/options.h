/* The command line: parsed by the table of a verb, and told by it. */
#ifndef WARMPIPE_TOOLS_OPTIONS_H
#define WARMPIPE_TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "verb.h"

/* Parses what follows the verb's name, NULL-terminated; options and operands may be mixed, and "--"
 * ends the options. False after one line on standard error that says what is wrong. *ret_help is
 * set where --help is among them: then nothing else was looked at. `words` is reordered; the
 * arguments borrow from it. */
bool options_parse(const struct verb *verb, char **words, struct arguments *ret_arguments,
                   bool *ret_help);

/* The page of `warmpipe VERB --help`, on standard output. */
void options_print_help(const struct verb *verb);

/* The one of `count` names that is nearest to `word` in single-character edits, neighbours swapped
 * counting as one and case not at all; the first of several. NULL only if count is 0. */
const char *options_nearest(const char *word, const char *const *names, size_t count);

#endif
