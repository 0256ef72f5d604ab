#include "digest_stream.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

struct digest_stream *digest_stream_new(void)
{
    XXH3_state_t *state = XXH3_createState();
    if (state) {
        XXH3_128bits_reset(state);
    }
    return (struct digest_stream *)state;
}

void digest_stream_add(struct digest_stream *stream, const void *data, size_t size)
{
    XXH3_128bits_update((XXH3_state_t *)stream, data, size);
}

struct digest digest_stream_end(struct digest_stream *stream)
{
    XXH128_hash_t hash = XXH3_128bits_digest((XXH3_state_t *)stream);
    XXH3_freeState((XXH3_state_t *)stream);
    return (struct digest){.low = hash.low64, .high = hash.high64};
}
