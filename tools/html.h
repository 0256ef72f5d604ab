/* HTML, appended to bytes. Lack of memory: bytes.failed. */
#ifndef WARMPIPE_TOOLS_HTML_H
#define WARMPIPE_TOOLS_HTML_H

#include "base/bytes.h"

/* Appends the format as it stands, each %s in it replaced by a text that is escaped, for elements
 * and for attributes in quotes: what stands in a file must not become markup. Control characters,
 * and bytes that are not UTF-8, become U+FFFD. Nothing but %s may stand in the format. */
void html_put(struct bytes *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A JSON document for a <script type="application/json">: nothing in it can end the element. */
void html_put_json(struct bytes *out, const struct bytes *json);

#endif
