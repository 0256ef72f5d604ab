/* Files that may be caches, as the verbs come upon them. */
#ifndef WARMPIPE_TOOLS_CACHE_FILE_H
#define WARMPIPE_TOOLS_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "disk/envelope.h"

/* Whether a file is called like one of ours: <identity>.wpcache, <identity>.<number>.part. */
bool cache_file_has_our_name(const char *name);

/* Whether these bytes, the first of a file, start as one of ours does. */
bool cache_file_has_our_magic(const void *data, size_t size);

/* Every check of the content, and that the file is called after the driver and device in it
 * (`renamed` if not). *ret_envelope, which leads into `data`, is filled unless the content itself
 * is refused. */
enum reason cache_file_check(const char *name, const void *data, size_t size,
                             struct envelope *ret_envelope);

#endif
