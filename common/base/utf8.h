/* UTF-8, as far as telling what is from what is not. */
#ifndef WARMPIPE_BASE_UTF8_H
#define WARMPIPE_BASE_UTF8_H

#include <stddef.h>

/* Bytes of the character at `text` (1 to 4; 1 for the terminating zero), or 0 where no well-formed
 * character starts: overlong forms, surrogates and anything above U+10FFFF are not well-formed.
 * `text` is zero-terminated and never read beyond. Thread-safe. */
size_t utf8_length(const char *text);

#endif
