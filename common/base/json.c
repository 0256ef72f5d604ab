// SPDX-License-Identifier: Apache-2.0
#include "common/base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"

/* The last byte tells whether a comma is needed: a string always ends in '"'. */
static void json_put_separator_and_key(struct bytes *out, const char *key)
{
    uint8_t last = out->size ? out->data[out->size - 1] : '\n';
    if (last != '{' && last != '[' && last != '\n') {
        bytes_put_u8(out, ',');
    }
    if (key) {
        bytes_put_u8(out, '"');
        bytes_put_text(out, key);
        bytes_put_text(out, "\":");
    }
}

void json_put_open(struct bytes *out, const char *key, char bracket)
{
    json_put_separator_and_key(out, key);
    bytes_put_u8(out, (uint8_t)bracket);
}

void json_put_close(struct bytes *out, char bracket)
{
    bytes_put_u8(out, (uint8_t)bracket);
}

void json_put_string(struct bytes *out, const char *key, const char *text)
{
    json_put_separator_and_key(out, key);
    bytes_put_u8(out, '"');
    while (text && *text) {
        size_t length = utf8_length(text);
        unsigned char first = (unsigned char)*text;
        if (length == 0) {
            bytes_put_text(out, "\xef\xbf\xbd"); /* U+FFFD */
            length = 1;
        } else if (first == '"' || first == '\\') {
            bytes_put_u8(out, '\\');
            bytes_put_u8(out, first);
        } else if (utf8_shown_length(text) == 0) {
            char escape[16];
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)utf8_code_point(text, length));
            bytes_put_text(out, escape);
        } else {
            bytes_put(out, text, length);
        }
        text += length;
    }
    bytes_put_u8(out, '"');
}

void json_put_number(struct bytes *out, const char *key, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    json_put_separator_and_key(out, key);
    bytes_put_text(out, digits);
}

void json_put_thousandths(struct bytes *out, const char *key, uint64_t value)
{
    char fraction[5];
    json_put_number(out, key, value / 1000);
    snprintf(fraction, sizeof fraction, ".%03u", (unsigned)(value % 1000));
    bytes_put_text(out, fraction);
}

void json_put_flag(struct bytes *out, const char *key, bool value)
{
    json_put_separator_and_key(out, key);
    bytes_put_text(out, value ? "true" : "false");
}
