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

/* What a file in a folder is. */
struct cache_file {
    bool ours;  /* by its name, or by how it starts */
    bool known; /* the header is whole: `envelope` is filled, without the blob */
    struct envelope envelope;
};

/* Every check that the layer makes: who may write the file, its content, and that it is called
 * after the driver and device in it (`renamed` if not). Reads it in pieces, whatever its size;
 * beyond 1 GiB no driver's policy lets one grow (too_large). */
enum reason cache_file_check(int directory_fd, const char *name, struct cache_file *ret_file);

#endif
