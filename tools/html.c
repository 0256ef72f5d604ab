#include "html.h"

#include <stdarg.h>
#include <string.h>

#include "base/utf8.h"

static void put(struct bytes *out, const char *text)
{
    bytes_put(out, text, strlen(text));
}

static const char *entity(char character)
{
    switch (character) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* C1 control characters too. */
static bool is_control(const char *text, size_t length)
{
    const unsigned char first = (unsigned char)text[0];
    return (length == 1 && (first < 0x20 || first == 0x7f)) ||
           (length == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0);
}

static void put_escaped(struct bytes *out, const char *text)
{
    while (*text) {
        const size_t length = utf8_length(text);
        const char *escape = entity(*text);
        if (escape) {
            put(out, escape);
        } else if (length == 0 || is_control(text, length)) {
            put(out, "\xef\xbf\xbd");
        } else {
            bytes_put(out, text, length);
        }
        text += length > 0 ? length : 1;
    }
}

void html_put(struct bytes *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *hole;
    while ((hole = strstr(format, "%s"))) {
        bytes_put(out, format, (size_t)(hole - format));
        put_escaped(out, va_arg(arguments, const char *));
        format = hole + 2;
    }
    put(out, format);
    va_end(arguments);
}

void html_put_json(struct bytes *out, const struct bytes *json)
{
    for (size_t i = 0; i < json->size; i++) {
        switch (json->data[i]) {
        case '<':
            put(out, "\\u003c");
            break;
        case '>':
            put(out, "\\u003e");
            break;
        case '&':
            put(out, "\\u0026");
            break;
        default:
            bytes_put_u8(out, json->data[i]);
        }
    }
    out->failed |= json->failed;
}
