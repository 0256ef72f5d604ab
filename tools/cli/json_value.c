// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/json_value.h"

#include <string.h>

#include "common/base/text.h"

#define REPLACEMENT 0xfffd

static uint32_t json_value_hex_digits(const char *digits)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        value = value << 4 | (uint32_t)text_hex_value(digits[i]);
    }
    return value;
}

/* Reads the digits after "\u"; of a surrogate pair, the second "\u" too. */
static uint32_t json_value_read_code_point(const char **next, const char *end)
{
    uint32_t point = json_value_hex_digits(*next);
    *next += 4;
    const bool is_high = point >= 0xd800 && point < 0xdc00;
    if (is_high && end - *next >= 6 && (*next)[0] == '\\' && (*next)[1] == 'u') {
        const uint32_t low = json_value_hex_digits(*next + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            *next += 6;
            return 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    const bool is_surrogate = point >= 0xd800 && point < 0xe000;
    return point == 0 || is_surrogate ? REPLACEMENT : point;
}

static uint32_t json_value_read_escape(const char **next, const char *end)
{
    static const char letters[] = "bfnrt";
    static const char meanings[] = "\b\f\n\r\t";
    const char letter = *(*next)++;
    if (letter == 'u') {
        return json_value_read_code_point(next, end);
    }
    const char *found = strchr(letters, letter);
    return (uint32_t)(found ? meanings[found - letters] : letter);
}

static size_t json_value_encode_utf8(uint32_t point, char out[4])
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    const size_t size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    out[0] = (char)(leads[size] | point);
    return size;
}

bool json_value_text(struct json_text value, char *ret_text, size_t capacity)
{
    if (value.size < 2 || value.data[0] != '"') {
        return false;
    }
    const char *next = value.data + 1;
    const char *end = value.data + value.size - 1;
    size_t used = 0;
    while (next < end) {
        char character[4] = {*next++};
        size_t size = 1;
        if (character[0] == '\\') {
            size = json_value_encode_utf8(json_value_read_escape(&next, end), character);
        } else {
            while (next < end && size < sizeof character && ((unsigned char)*next & 0xc0) == 0x80) {
                character[size++] = *next++;
            }
        }
        if (used + size >= capacity) {
            break;
        }
        memcpy(ret_text + used, character, size);
        used += size;
    }
    ret_text[used] = '\0';
    return true;
}
