/* The content digest (codec/digest.h) over pieces that come one after the other. The tool alone
 * reads files in pieces, and in the layer every kilobyte counts. Belongs to one thread. */
#ifndef WARMPIPE_TOOLS_DIGEST_STREAM_H
#define WARMPIPE_TOOLS_DIGEST_STREAM_H

#include <stddef.h>

#include "codec/digest.h"

struct digest_stream;

/* NULL: out of memory. */
struct digest_stream *digest_stream_new(void);

void digest_stream_add(struct digest_stream *stream, const void *data, size_t size);

/* Gives the digest, and frees. */
struct digest digest_stream_end(struct digest_stream *stream);

#endif
