// SPDX-License-Identifier: Apache-2.0
/* Values as text, by the names that the registry has for them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/codec/describe.h"
#include "common/codec/table.h"

void describe_put(struct describe_line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const size_t room = sizeof line->text - line->length;
    const int length = vsnprintf(line->text + line->length, room, format, arguments);
    va_end(arguments);
    line->length += length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
}

/* NULL: the registry names no value of this type. */
static const struct codec_names *describe_find_names(const char *type)
{
    for (size_t i = 0; i < codec_names_count; i++) {
        if (strcmp(codec_names[i].type, type) == 0) {
            return &codec_names[i];
        }
    }
    return NULL;
}

static const char *describe_name(const struct codec_names *names, uint64_t value)
{
    for (size_t i = 0; names && i < names->count; i++) {
        if (names->first[i].value == value) {
            return names->first[i].name;
        }
    }
    return NULL;
}

/* "A_BIT | B_BIT | 0x80000000": names of the bits that have one, then what is left. */
static void describe_put_flags(struct describe_line *line, const struct codec_names *names,
                               uint64_t flags)
{
    const char *gap = "";
    for (size_t i = 0; names && i < names->count; i++) {
        const uint64_t bit = names->first[i].value;
        if ((flags & bit) != 0 && (bit & (bit - 1)) == 0) {
            describe_put(line, "%s%s", gap, names->first[i].name);
            flags &= ~bit;
            gap = " | ";
        }
    }
    if (flags != 0 || !*gap) {
        describe_put(line, "%s0x%llx", gap, (unsigned long long)flags);
    }
}

void describe_put_value(struct describe_line *line, const char *type, uint64_t value, size_t width)
{
    const uint32_t word = (uint32_t)value;
    const struct codec_names *names = describe_find_names(type);
    const char *name = describe_name(names, value);
    float number;
    memcpy(&number, &word, sizeof number);
    if (name) {
        describe_put(line, "%s", name);
    } else if (strstr(type, "Flag") || strstr(type, "Mask")) {
        describe_put_flags(line, names, value);
    } else if (width == sizeof number && strcmp(type, "float") == 0) {
        describe_put(line, "%g", (double)number);
    } else if (strcmp(type, "VkBool32") == 0 && value <= 1) {
        describe_put(line, "%s", value ? "true" : "false");
    } else if (strcmp(type, "int32_t") == 0) {
        describe_put(line, "%d", (int)word);
    } else {
        describe_put(line, "%llu", (unsigned long long)value);
    }
}

uint64_t describe_read(const uint8_t *at, size_t width)
{
    uint16_t half;
    uint32_t word;
    uint64_t number;
    switch (width) {
    case sizeof half:
        memcpy(&half, at, sizeof half);
        return half;
    case sizeof word:
        memcpy(&word, at, sizeof word);
        return word;
    case sizeof number:
        memcpy(&number, at, sizeof number);
        return number;
    default:
        return *at;
    }
}
