#include "manifest_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_reader.h"
#include "layer_variables.h"

/* Where things stand in the text. */
struct parts {
    struct json_text library;
    const char *enable;     /* the quote before enable_environment; NULL: it is not there */
    const char *enable_end; /* behind its value */
};

/* False: it is no manifest of this layer. */
static bool take_apart(const struct bytes *text, struct parts *ret_parts)
{
    struct json_reader reader = json_reader_over(text->data, text->size);
    struct json_text key;
    struct json_text name = {"", 0};
    struct parts parts = {0};
    json_read_open(&reader, '{');
    while (json_read_member(&reader, &key)) {
        if (!json_text_is(key, "layer")) {
            json_read_any(&reader);
            continue;
        }
        json_read_open(&reader, '{');
        while (json_read_member(&reader, &key)) {
            if (json_text_is(key, "name")) {
                name = json_read_string(&reader);
            } else if (json_text_is(key, "library_path")) {
                parts.library = json_read_string(&reader);
            } else {
                struct json_text value = json_read_any(&reader);
                if (json_text_is(key, "enable_environment")) {
                    parts.enable = key.data - 1;
                    parts.enable_end = value.data + value.size;
                }
            }
        }
    }
    json_read_end(&reader);
    *ret_parts = parts;
    return !reader.failed && parts.library.size > 0 && json_text_is(name, LAYER_NAME);
}

char *manifest_text_library(const struct bytes *text, const char *path)
{
    struct parts parts;
    char *whole = NULL;
    if (!take_apart(text, &parts)) {
        return NULL;
    }
    const bool is_whole =
        parts.library.data[0] == '/' || !memchr(parts.library.data, '/', parts.library.size);
    const char *slash = strrchr(path, '/');
    const int folder = is_whole || !slash ? 0 : (int)(slash + 1 - path);
    if (asprintf(&whole, "%.*s%.*s", folder, path, (int)parts.library.size, parts.library.data) <
        0) {
        whole = NULL;
    }
    return whole;
}

bool manifest_text_names(const struct bytes *text, const char *library_path)
{
    struct parts parts;
    return take_apart(text, &parts) && json_text_is(parts.library, library_path);
}

/* With the comma behind it and the white space before the next member. */
static const char *behind_member(const char *at, const char *end)
{
    while (at < end && strchr(" \t\r\n,", *at)) {
        at++;
    }
    return at;
}

bool manifest_text_change(const struct bytes *text, const char *library_path, bool always,
                          struct bytes *out)
{
    struct parts parts;
    if (!take_apart(text, &parts)) {
        return false;
    }
    const char *start = (const char *)text->data;
    const char *end = start + text->size;
    const char *rest = parts.library.data + parts.library.size;
    bytes_put(out, start, (size_t)(parts.library.data - start));
    bytes_put(out, library_path, strlen(library_path));
    if (always && parts.enable > rest) {
        bytes_put(out, rest, (size_t)(parts.enable - rest));
        rest = behind_member(parts.enable_end, end);
    }
    bytes_put(out, rest, (size_t)(end - rest));
    return !out->failed;
}
