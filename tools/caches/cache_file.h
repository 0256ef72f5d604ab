// SPDX-License-Identifier: Apache-2.0
/* Files that may be cache files. Thread-safe. */
#ifndef WARMPIPE_TOOLS_CACHES_CACHE_FILE_H
#define WARMPIPE_TOOLS_CACHES_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/status.h"
#include "common/blobs/envelope.h"

/* Whether a file has a name of ours: <identity>.wpcache, <identity>.<number>.part. */
bool cache_file_has_our_name(const char *name);

/* Whether a file's first bytes are those of one of our files. */
bool cache_file_has_our_magic(const void *data, size_t size);

struct cache_file {
    bool ours;  /* by its name or its first bytes */
    bool known; /* the header is whole, and `envelope` filled (without the blob) */
    struct envelope envelope;
};

/* Makes every check that the layer makes: who may write the file, its content, and that its name
 * fits the driver and device in it (`renamed` if not). Reads the file in pieces. too_large: more
 * than 1 GiB, which no driver's policy allows. */
enum status cache_file_check(int directory_fd, const char *name, struct cache_file *ret_file);

#endif
