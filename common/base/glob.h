/* Patterns of names: '*' stands for any text, '?' for one byte; letters of ASCII match in either
 * case, whatever the locale is. There is no escape. */
#ifndef WARMPIPE_BASE_GLOB_H
#define WARMPIPE_BASE_GLOB_H

#include <stdbool.h>

/* Whether the whole of `text` is what `pattern` says. Takes at most strlen(pattern) * strlen(text)
 * steps. Thread-safe. */
bool glob_matches(const char *pattern, const char *text);

#endif
