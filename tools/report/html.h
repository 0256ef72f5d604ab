// SPDX-License-Identifier: Apache-2.0
/* HTML, appended to bytes; and figures and bars as the page of a report shows them. Lack of memory:
 * bytes.failed. Thread-safe. */
#ifndef WARMPIPE_TOOLS_REPORT_HTML_H
#define WARMPIPE_TOOLS_REPORT_HTML_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"

/* Appends the format as it stands. Each %s in it is replaced by a text that is escaped for elements
 * and for attributes in quotes, so nothing in a file can become markup. Control characters, and
 * bytes that are not UTF-8, become U+FFFD. The format may hold no other conversion than %s. */
void html_put(struct bytes *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A JSON document for a <script type="application/json">: nothing in it can end the element. */
void html_put_json(struct bytes *out, const struct bytes *json);

/* A bar: segments side by side, each in the colour of its kind, `whole` being the width of the bar.
 * It shows without the page's script. */
struct html_segment {
    const char *kind; /* a class of page.css */
    uint64_t part;
};
void html_put_bar(struct bytes *out, const struct html_segment *segments, size_t count,
                  uint64_t whole);

/* A number as a reader wants it. */
struct html_figure {
    char text[48];
};
struct html_figure html_duration(uint64_t nanoseconds);         /* "812 ms", "1.24 s" */
struct html_figure html_size(uint64_t bytes);                   /* "1.50 MiB" */
struct html_figure html_count(uint64_t number);                 /* "12,345" */
struct html_figure html_percent(uint64_t part, uint64_t whole); /* "98.4 %"; whole 0: "–" */

#endif
