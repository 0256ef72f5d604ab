// SPDX-License-Identifier: Apache-2.0
#include "tools/report/report.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"

static void html_put_escaped(struct bytes *out, const char *text)
{
    static const char *const entities[UCHAR_MAX + 1] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    while (*text) {
        const size_t length = utf8_length(text);
        const char *escape = entities[(unsigned char)*text];
        if (escape) {
            bytes_put_text(out, escape);
        } else if (utf8_shown_length(text) == 0) {
            bytes_put_text(out, "\xef\xbf\xbd");
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
        html_put_escaped(out, va_arg(arguments, const char *));
        format = hole + 2;
    }
    bytes_put_text(out, format);
    va_end(arguments);
}

void html_put_json(struct bytes *out, const struct bytes *json)
{
    for (size_t i = 0; i < json->size; i++) {
        const uint8_t byte = json->data[i];
        if (byte == '<' || byte == '>' || byte == '&') {
            bytes_put_text(out, byte == '<' ? "\\u003c" : byte == '>' ? "\\u003e" : "\\u0026");
        } else {
            bytes_put_u8(out, byte);
        }
    }
    out->failed |= json->failed;
}

struct html_figure html_format(const char *format, ...)
{
    struct html_figure figure;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(figure.text, sizeof figure.text, format, arguments);
    va_end(arguments);
    return figure;
}

/* With three digits. */
static struct html_figure html_measure(double value, const char *unit)
{
    return html_format("%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit);
}

struct html_figure html_duration(uint64_t nanoseconds)
{
    const double seconds = (double)nanoseconds / 1e9;
    if (nanoseconds == 0) {
        return (struct html_figure){"0"};
    }
    if (seconds >= 0.9995) {
        return html_measure(seconds, "s");
    }
    return seconds >= 0.9995e-3 ? html_measure(seconds * 1e3, "ms")
                                : html_measure(seconds * 1e6, "µs");
}

struct html_figure html_size(uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    size_t unit = 0;
    while (value >= 1023.5 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    return bytes == 0 ? (struct html_figure){"0"} : html_measure(value, units[unit]);
}

struct html_figure html_count(uint64_t number)
{
    const struct html_figure digits = html_format("%" PRIu64, number);
    const size_t count = strlen(digits.text);
    struct html_figure figure = {""};
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0) {
            figure.text[used++] = ',';
        }
        figure.text[used++] = digits.text[i];
    }
    return figure;
}

struct html_figure html_percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? (struct html_figure){"–"}
                      : html_format("%.*f %%", part == 0 || part == whole ? 0 : 1,
                                    100.0 * (double)part / (double)whole);
}

/* Bars are drawings whose widths are thousandths: the page's policy allows no styles in attributes.
 */
#define BAR_WIDTH 1000

/* A part that is not 0 is at least two thousandths wide, so that it shows. */
static uint64_t html_bar_share(uint64_t part, uint64_t whole)
{
    const double share = whole > 0 ? (double)part / (double)whole : 0;
    return part > 0 && share < 2.0 / BAR_WIDTH ? 2 : (uint64_t)(share * BAR_WIDTH + 0.5);
}

void html_put_bar(struct bytes *out, const struct html_segment *segments, size_t count,
                  uint64_t whole)
{
    uint64_t at = 0;
    html_put(out, "<svg class=\"bar\" viewBox=\"0 0 1000 1\" preserveAspectRatio=\"none\" "
                  "aria-hidden=\"true\">");
    for (size_t i = 0; i < count; i++) {
        const uint64_t width = html_bar_share(segments[i].part, whole);
        if (width > 0) {
            html_put(out, "<rect class=\"%s\" x=\"%s\" width=\"%s\" height=\"1\"/>",
                     segments[i].kind, html_format("%" PRIu64, at).text,
                     html_format("%" PRIu64, width).text);
        }
        at += width;
    }
    html_put(out, "</svg>");
}
