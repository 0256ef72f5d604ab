// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "common/base/json.h"
#include "common/base/text.h"

#define NESTING_LIMIT 32

static size_t json_chars_left(const struct json_reader *reader)
{
    return (size_t)(reader->end - reader->next);
}

static void json_fail_reader(struct json_reader *reader)
{
    reader->failed = true;
    reader->next = reader->end;
}

/* The next byte, or 0 at the end: JSON contains no zero byte. */
static char json_peek_char(const struct json_reader *reader)
{
    return json_chars_left(reader) ? *reader->next : '\0';
}

static bool json_accept_char(struct json_reader *reader, char wanted)
{
    if (!json_chars_left(reader) || *reader->next != wanted) {
        return false;
    }
    reader->next++;
    return true;
}

static void json_expect_char(struct json_reader *reader, char wanted)
{
    if (!json_accept_char(reader, wanted)) {
        json_fail_reader(reader);
    }
}

static void skip_space(struct json_reader *reader)
{
    while (json_chars_left(reader) && memchr(" \t\n\r", *reader->next, 4)) {
        reader->next++;
    }
}

static bool json_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

struct json_reader json_reader_over(const void *data, size_t size)
{
    const char *start = size ? data : "";
    return (struct json_reader){.next = start, .end = start + size};
}

bool json_text_is(struct json_text text, const char *word)
{
    return text.size == strlen(word) && (text.size == 0 || memcmp(text.data, word, text.size) == 0);
}

void json_read_open(struct json_reader *reader, char bracket)
{
    skip_space(reader);
    json_expect_char(reader, bracket);
    reader->after_value = false;
}

/* Moves to the next member or element, or past the closing bracket. */
static bool json_read_next_item(struct json_reader *reader, char closing)
{
    skip_space(reader);
    if (json_accept_char(reader, closing)) {
        reader->after_value = true;
        return false;
    }
    if (reader->after_value) {
        json_expect_char(reader, ',');
        skip_space(reader);
    }
    reader->after_value = false;
    return !reader->failed;
}

bool json_read_member(struct json_reader *reader, struct json_text *ret_key)
{
    if (!json_read_next_item(reader, '}')) {
        return false;
    }
    struct json_text key = json_read_string(reader);
    skip_space(reader);
    json_expect_char(reader, ':');
    reader->after_value = false;
    if (reader->failed) {
        return false;
    }
    *ret_key = key;
    return true;
}

bool json_read_element(struct json_reader *reader)
{
    return json_read_next_item(reader, ']');
}

static void skip_escape(struct json_reader *reader)
{
    if (json_accept_char(reader, 'u')) {
        for (int i = 0; i < 4; i++) {
            if (text_hex_value(json_peek_char(reader)) < 0) {
                json_fail_reader(reader);
                return;
            }
            reader->next++;
        }
    } else if (json_chars_left(reader) && memchr("\"\\/bfnrt", *reader->next, 8)) {
        reader->next++;
    } else {
        json_fail_reader(reader);
    }
}

/* One character of a string. */
static void skip_character(struct json_reader *reader)
{
    char character[5] = {0}; /* zero-terminated for utf8_length */
    memcpy(character, reader->next, json_chars_left(reader) < 4 ? json_chars_left(reader) : 4);
    size_t length = utf8_length(character);
    if (length == 0 || (unsigned char)character[0] < 0x20) {
        json_fail_reader(reader);
    } else {
        reader->next += length;
    }
}

struct json_text json_read_string(struct json_reader *reader)
{
    skip_space(reader);
    json_expect_char(reader, '"');
    const char *start = reader->next;
    while (!reader->failed && json_peek_char(reader) != '"') {
        if (json_accept_char(reader, '\\')) {
            skip_escape(reader);
        } else {
            skip_character(reader);
        }
    }
    struct json_text text = {.data = start, .size = (size_t)(reader->next - start)};
    json_expect_char(reader, '"');
    reader->after_value = true;
    return reader->failed ? (struct json_text){0} : text;
}

static void skip_digits(struct json_reader *reader)
{
    if (!json_is_digit(json_peek_char(reader))) {
        json_fail_reader(reader);
    }
    while (json_is_digit(json_peek_char(reader))) {
        reader->next++;
    }
}

/* A number of any form, as it is in the input. */
static struct json_text json_read_number_text(struct json_reader *reader)
{
    skip_space(reader);
    const char *start = reader->next;
    json_accept_char(reader, '-');
    if (!json_accept_char(reader, '0')) {
        skip_digits(reader);
    }
    if (json_accept_char(reader, '.')) {
        skip_digits(reader);
    }
    if (json_accept_char(reader, 'e') || json_accept_char(reader, 'E')) {
        if (!json_accept_char(reader, '+')) {
            json_accept_char(reader, '-');
        }
        skip_digits(reader);
    }
    reader->after_value = true;
    return (struct json_text){.data = start, .size = (size_t)(reader->next - start)};
}

uint64_t json_read_number(struct json_reader *reader)
{
    struct json_text text = json_read_number_text(reader);
    uint64_t value = 0;
    for (size_t i = 0; i < text.size && !reader->failed; i++) {
        uint64_t digit = (uint64_t)(text.data[i] - '0');
        if (!json_is_digit(text.data[i]) || value > (UINT64_MAX - digit) / 10) {
            json_fail_reader(reader);
        } else {
            value = value * 10 + digit;
        }
    }
    return reader->failed ? 0 : value;
}

static void skip_word(struct json_reader *reader, const char *word)
{
    while (*word && !reader->failed) {
        json_expect_char(reader, *word++);
    }
    reader->after_value = true;
}

static void skip_value(struct json_reader *reader, int levels_left)
{
    struct json_text key;
    skip_space(reader);
    switch (json_peek_char(reader)) {
    case '{':
    case '[':
        if (levels_left == 0) {
            json_fail_reader(reader);
        } else if (json_accept_char(reader, '{')) {
            reader->after_value = false;
            while (json_read_member(reader, &key)) {
                skip_value(reader, levels_left - 1);
            }
        } else {
            json_read_open(reader, '[');
            while (json_read_element(reader)) {
                skip_value(reader, levels_left - 1);
            }
        }
        break;
    case '"':
        json_read_string(reader);
        break;
    case 't':
        skip_word(reader, "true");
        break;
    case 'f':
        skip_word(reader, "false");
        break;
    case 'n':
        skip_word(reader, "null");
        break;
    default:
        json_read_number_text(reader);
    }
}

struct json_text json_read_any(struct json_reader *reader)
{
    skip_space(reader);
    const char *start = reader->next;
    skip_value(reader, NESTING_LIMIT);
    if (reader->failed) {
        return (struct json_text){0};
    }
    return (struct json_text){.data = start, .size = (size_t)(reader->next - start)};
}

void json_read_end(struct json_reader *reader)
{
    skip_space(reader);
    if (json_chars_left(reader)) {
        json_fail_reader(reader);
    }
}

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
