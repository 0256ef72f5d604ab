/* The envelope of a driver's cache data: the format of <identity>.wpcache. No I/O here.
 * docs/FORMAT.md is the normative description. Strict: one wrong byte anywhere and the whole file
 * is refused, for drivers crash on damaged data (VUID-VkPipelineCacheCreateInfo-initialDataSize-
 * 00768, -00769 make it the caller's duty). */
#ifndef WARMPIPE_DISK_ENVELOPE_H
#define WARMPIPE_DISK_ENVELOPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/result.h"
#include "driver/identity.h"

/* The file's extension, dot included. */
#define ENVELOPE_SUFFIX ".wpcache"

/* A validated file. Pointers lead into the memory that was validated. */
struct envelope {
    struct driver_identity identity;
    uint64_t generation; /* random, another one with every save */
    uint64_t saved_at;   /* seconds since the epoch, for people only */
    const uint8_t *blob; /* the driver's own cache data */
    size_t blob_size;
    struct digest blob_digest;
};

/* Writes the header (everything that precedes the blob) for a blob that will follow it unchanged:
 * appended to `header`, which the caller then writes to disk before the blob. The blob is read once
 * (digest), never copied. identity, generation, saved_at, blob and blob_size of `envelope` are
 * used. False when memory is out. Thread-safe. */
bool envelope_encode_header(const struct envelope *envelope, struct bytes *header);

/* Checks everything there is to check in the `size` bytes at `data`. expected NULL: any identity.
 * REASON_ok and *ret_envelope filled, or the reason, with *ret_envelope untouched: nothing of a
 * refused file may be used. Never reads outside the bytes given, whatever they hold. Thread-safe. */
enum reason envelope_validate(const void *data, size_t size,
                              const struct driver_identity *expected,
                              struct envelope *ret_envelope);

/* Parses and prints what a header says even where validation fails, for `warmpipe inspect`: fields
 * as found. False only if there are too few bytes for a header. Not to be trusted. */
bool envelope_peek(const void *data, size_t size, struct envelope *ret_envelope);

#endif
