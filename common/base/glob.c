#include "glob.h"

#include <stddef.h>

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool glob_matches(const char *pattern, const char *text)
{
    /* Behind the last star, and where its text ends so far: only the last one ever needs another
     * try, for what an earlier one took could be left to it. */
    const char *star = NULL;
    const char *end = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            end = text;
        } else if (*pattern && (*pattern == '?' || lower(*pattern) == lower(*text))) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++end;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}
