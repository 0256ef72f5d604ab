// SPDX-License-Identifier: Apache-2.0
#include "common/base/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static bool text_is_between(unsigned char byte, unsigned char low, unsigned char high)
{
    return byte >= low && byte <= high;
}

/* Unicode, table 3-7 "Well-Formed UTF-8 Byte Sequences": only the second byte has narrower ranges.
 */
size_t utf8_length(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t length = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;

    if (at[0] < 0x80) {
        return 1;
    }
    if (text_is_between(at[0], 0xc2, 0xdf)) {
        length = 2;
    } else if (text_is_between(at[0], 0xe0, 0xef)) {
        length = 3;
        low = at[0] == 0xe0 ? 0xa0 : low;
        high = at[0] == 0xed ? 0x9f : high;
    } else if (text_is_between(at[0], 0xf0, 0xf4)) {
        length = 4;
        low = at[0] == 0xf0 ? 0x90 : low;
        high = at[0] == 0xf4 ? 0x8f : high;
    } else {
        return 0;
    }
    if (!text_is_between(at[1], low, high)) {
        return 0;
    }
    for (size_t i = 2; i < length; i++) {
        if (!text_is_between(at[i], 0x80, 0xbf)) {
            return 0;
        }
    }
    return length;
}

uint32_t utf8_code_point(const char *text, size_t length)
{
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = (unsigned char)text[0] & first_bits[length];
    for (size_t i = 1; i < length; i++) {
        point = point << 6 | ((unsigned char)text[i] & 0x3f);
    }
    return point;
}

size_t utf8_shown_length(const char *text)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},
        {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
    };
    const size_t length = utf8_length(text);
    const uint32_t point = utf8_code_point(text, length);
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        if (length > 0 && point >= hidden[i].first && point <= hidden[i].last) {
            return 0;
        }
    }
    return length;
}

static char text_to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool pattern_matches(const char *pattern, const char *text)
{
    /* The pattern after the last star, and where that star's text ends so far. Only the last star
     * ever needs another try: it can take whatever an earlier one took. */
    const char *star = NULL;
    const char *end = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            end = text;
        } else if (*pattern &&
                   (*pattern == '?' || text_to_lower(*pattern) == text_to_lower(*text))) {
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

bool text_parse_digits(const char **text, uint64_t max, uint64_t *ret_number)
{
    const char *at = *text;
    uint64_t number = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (unsigned)(*at - '0'), &number) || number > max) {
            return false;
        }
    }
    if (at == *text) {
        return false;
    }
    *text = at;
    *ret_number = number;
    return true;
}

bool text_parse_two(const char *text, uint64_t *ret_first, uint64_t *ret_second)
{
    uint64_t first;
    if (!text_parse_digits(&text, UINT64_MAX, &first) || *text++ != ' ' ||
        !text_parse_digits(&text, UINT64_MAX, ret_second)) {
        return false;
    }
    *ret_first = first;
    return true;
}

uint64_t text_parse_hex(const char *text)
{
    uint64_t number = 0;
    for (int value; (value = text_hex_value(*text)) >= 0; text++) {
        if (number >> 60 != 0) {
            return UINT64_MAX;
        }
        number = number << 4 | (unsigned)value;
    }
    return number;
}

bool text_is_of_name(char c, const char *signs)
{
    return text_is_letter(c) || (c >= '0' && c <= '9') || (c && strchr(signs, c));
}

size_t text_name_length(const char *text, const char *signs)
{
    size_t length = 0;
    while (text_is_of_name(text[length], signs)) {
        length++;
    }
    return length;
}

bool text_ends_in(const char *text, const char *suffix)
{
    const size_t length = strlen(text);
    const size_t suffix_length = strlen(suffix);
    return length > suffix_length && strcmp(text + length - suffix_length, suffix) == 0;
}

const char *text_noun(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

void text_bytes(uint64_t bytes, char ret_text[TEXT_BYTES_SIZE])
{
    static const char units[] = "BKMGTPE";
    unsigned unit = 0;
    uint64_t tenths = 0;
    while (bytes >> 10 * unit > 1023 || tenths > 10239) { /* 1023.96 KiB is no 1024.0 */
        unit++;
        const unsigned dropped = bytes >> 60 ? 4 : 0; /* ten times the rest is within 64 bits */
        const unsigned shift = 10 * unit - dropped;
        tenths = ((bytes >> dropped) * 10 + (UINT64_C(1) << (shift - 1))) >> shift;
    }
    if (unit == 0) {
        snprintf(ret_text, TEXT_BYTES_SIZE, "%u B", (unsigned)bytes);
    } else {
        snprintf(ret_text, TEXT_BYTES_SIZE, "%u.%u %ciB", (unsigned)tenths / 10,
                 (unsigned)tenths % 10, units[unit]);
    }
}

void text_time(uint64_t seconds_since_epoch, char ret_text[TEXT_TIME_SIZE])
{
    const time_t seconds = (time_t)seconds_since_epoch; /* of 32 bits on i386 */
    struct tm parts;
    if (seconds < 0 || (uint64_t)seconds != seconds_since_epoch || !gmtime_r(&seconds, &parts) ||
        strftime(ret_text, TEXT_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
        snprintf(ret_text, TEXT_TIME_SIZE, "%" PRIu64, seconds_since_epoch);
    }
}
