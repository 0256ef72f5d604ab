// SPDX-License-Identifier: Apache-2.0
/* Text: well-formed UTF-8, patterns of names, counts and sizes for people. Every function is
 * thread-safe. */
#ifndef WARMPIPE_BASE_TEXT_H
#define WARMPIPE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of bytes of the character at `text` (1 to 4; 1 for the terminating zero), or 0 if no
 * well-formed character starts there: overlong forms, surrogates and anything above U+10FFFF are
 * not well-formed. Never reads beyond the terminating zero. */
size_t utf8_length(const char *text);

/* The same, but also 0 for a character that must be escaped on a terminal or a page: control
 * characters (C0, DEL, C1), line and paragraph separators, and characters that change the direction
 * of text (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069). */
size_t utf8_shown_length(const char *text);

/* The code point of the well-formed character of `length` bytes at `text`. */
uint32_t utf8_code_point(const char *text, size_t length);

/* Parses decimal digits at the start of *text, which is advanced. False, with both untouched: there
 * are none, or the number exceeds `max`. */
bool text_parse_digits(const char **text, uint64_t max, uint64_t *ret_number);

/* Parses two numbers of decimal digits, with a space between, at the start of `text`. False, with
 * nothing written: it does not begin so, or one exceeds UINT64_MAX. */
bool text_parse_two(const char *text, uint64_t *ret_first, uint64_t *ret_second);

/* The number of the hexadecimal digits, of either case, at the start of `text`. 0: there are none;
 * UINT64_MAX: it is as large, or larger. */
uint64_t text_parse_hex(const char *text);

/* Whether all of `text` matches `pattern`: '*' stands for any text, '?' for one byte; ASCII letters
 * match in either case, whatever the locale is; there is no escape. At most strlen(pattern) *
 * strlen(text) steps. */
bool pattern_matches(const char *pattern, const char *text);

/* The value of a hexadecimal digit of either case; -1: it is none. */
static inline int text_hex_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    const char lower = (char)(digit | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Of ASCII, of either case, whatever the locale is. */
static inline bool text_is_letter(char c)
{
    const char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'z';
}

/* Such a letter, a digit, or one of `signs`; and how many of these `text` begins with. */
bool text_is_of_name(char c, const char *signs);
size_t text_name_length(const char *text, const char *signs);

/* The text itself; NULL: it is empty, or there is none. */
static inline const char *text_or_null(const char *text)
{
    return text && *text ? text : NULL;
}

/* Whether `text` is something and then `suffix`. */
bool text_ends_in(const char *text, const char *suffix);

/* The noun behind a count: "1 pipeline", "2 pipelines", "0 pipelines". */
const char *text_noun(uint64_t count, const char *one, const char *many);

#define TEXT_BYTES_SIZE 24

/* In IEC units with one decimal: "512 B", "1.5 MiB". */
void text_bytes(uint64_t bytes, char ret_text[TEXT_BYTES_SIZE]);

#define TEXT_TIME_SIZE 32

/* UTC: "2026-08-21T13:27:35Z"; of a year that no calendar has, the number as it is. */
void text_time(uint64_t seconds_since_epoch, char ret_text[TEXT_TIME_SIZE]);

#endif
