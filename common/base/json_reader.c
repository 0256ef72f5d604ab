#include "json_reader.h"

#include <string.h>

#include "utf8.h"

#define NESTING_LIMIT 32

static size_t left(const struct json_reader *reader)
{
    return (size_t)(reader->end - reader->next);
}

static void fail(struct json_reader *reader)
{
    reader->failed = true;
    reader->next = reader->end;
}

/* The next byte, or 0 at the end: no JSON holds a zero byte. */
static char peek(const struct json_reader *reader)
{
    return left(reader) ? *reader->next : '\0';
}

static bool accept(struct json_reader *reader, char wanted)
{
    if (!left(reader) || *reader->next != wanted) {
        return false;
    }
    reader->next++;
    return true;
}

static void expect(struct json_reader *reader, char wanted)
{
    if (!accept(reader, wanted)) {
        fail(reader);
    }
}

static void skip_space(struct json_reader *reader)
{
    while (left(reader) && memchr(" \t\n\r", *reader->next, 4)) {
        reader->next++;
    }
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_hex_digit(char byte)
{
    return is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
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
    expect(reader, bracket);
    reader->after_value = false;
}

/* Goes to the next member or element, or past the closing bracket. */
static bool read_next(struct json_reader *reader, char closing)
{
    skip_space(reader);
    if (accept(reader, closing)) {
        reader->after_value = true;
        return false;
    }
    if (reader->after_value) {
        expect(reader, ',');
        skip_space(reader);
    }
    reader->after_value = false;
    return !reader->failed;
}

bool json_read_member(struct json_reader *reader, struct json_text *ret_key)
{
    if (!read_next(reader, '}')) {
        return false;
    }
    struct json_text key = json_read_string(reader);
    skip_space(reader);
    expect(reader, ':');
    reader->after_value = false;
    if (reader->failed) {
        return false;
    }
    *ret_key = key;
    return true;
}

bool json_read_element(struct json_reader *reader)
{
    return read_next(reader, ']');
}

static void read_escape(struct json_reader *reader)
{
    if (accept(reader, 'u')) {
        for (int i = 0; i < 4; i++) {
            if (!is_hex_digit(peek(reader))) {
                fail(reader);
                return;
            }
            reader->next++;
        }
    } else if (left(reader) && memchr("\"\\/bfnrt", *reader->next, 8)) {
        reader->next++;
    } else {
        fail(reader);
    }
}

/* One character of a string. */
static void read_character(struct json_reader *reader)
{
    char character[5] = {0}; /* utf8_length wants an end */
    memcpy(character, reader->next, left(reader) < 4 ? left(reader) : 4);
    size_t length = utf8_length(character);
    if (length == 0 || (unsigned char)character[0] < 0x20) {
        fail(reader);
    } else {
        reader->next += length;
    }
}

struct json_text json_read_string(struct json_reader *reader)
{
    skip_space(reader);
    expect(reader, '"');
    const char *start = reader->next;
    while (!reader->failed && peek(reader) != '"') {
        if (accept(reader, '\\')) {
            read_escape(reader);
        } else {
            read_character(reader);
        }
    }
    struct json_text text = {.data = start, .size = (size_t)(reader->next - start)};
    expect(reader, '"');
    reader->after_value = true;
    return reader->failed ? (struct json_text){0} : text;
}

static void read_digits(struct json_reader *reader)
{
    if (!is_digit(peek(reader))) {
        fail(reader);
    }
    while (is_digit(peek(reader))) {
        reader->next++;
    }
}

/* A number of any form, as it stands. */
static struct json_text read_number_text(struct json_reader *reader)
{
    skip_space(reader);
    const char *start = reader->next;
    accept(reader, '-');
    if (!accept(reader, '0')) {
        read_digits(reader);
    }
    if (accept(reader, '.')) {
        read_digits(reader);
    }
    if (accept(reader, 'e') || accept(reader, 'E')) {
        if (!accept(reader, '+')) {
            accept(reader, '-');
        }
        read_digits(reader);
    }
    reader->after_value = true;
    return (struct json_text){.data = start, .size = (size_t)(reader->next - start)};
}

uint64_t json_read_number(struct json_reader *reader)
{
    struct json_text text = read_number_text(reader);
    uint64_t value = 0;
    for (size_t i = 0; i < text.size && !reader->failed; i++) {
        uint64_t digit = (uint64_t)(text.data[i] - '0');
        if (!is_digit(text.data[i]) || value > (UINT64_MAX - digit) / 10) {
            fail(reader);
        } else {
            value = value * 10 + digit;
        }
    }
    return reader->failed ? 0 : value;
}

static void read_word(struct json_reader *reader, const char *word)
{
    while (*word && !reader->failed) {
        expect(reader, *word++);
    }
    reader->after_value = true;
}

static void skip_value(struct json_reader *reader, int levels_left)
{
    struct json_text key;
    skip_space(reader);
    switch (peek(reader)) {
    case '{':
    case '[':
        if (levels_left == 0) {
            fail(reader);
        } else if (*reader->next == '{') {
            json_read_open(reader, '{');
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
        read_word(reader, "true");
        break;
    case 'f':
        read_word(reader, "false");
        break;
    case 'n':
        read_word(reader, "null");
        break;
    default:
        read_number_text(reader);
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
    if (left(reader)) {
        fail(reader);
    }
}
