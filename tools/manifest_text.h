/* A layer manifest as text: read, and changed in the few places that an installation changes. */
#ifndef WARMPIPE_TOOLS_MANIFEST_TEXT_H
#define WARMPIPE_TOOLS_MANIFEST_TEXT_H

#include <stdbool.h>

#include "base/bytes.h"

/* Its library_path, made absolute where it is relative to the manifest at `path`; a plain name
 * stays one. To be freed; NULL: it is no manifest of this layer, or memory is out. */
char *manifest_text_library(const struct bytes *text, const char *path);

/* Whether it is one of this layer, with this very library_path. */
bool manifest_text_names(const struct bytes *text, const char *library_path);

/* Appends it with another library_path; always: without enable_environment, so that the layer is
 * in every program. False: it is no manifest of this layer, or memory is out. */
bool manifest_text_change(const struct bytes *text, const char *library_path, bool always,
                          struct bytes *out);

#endif
