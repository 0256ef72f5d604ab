/* The envelope of a driver's cache data: the format of <identity>.wpcache. No I/O here.
 * docs/FORMAT.md is the normative description. Strict: one wrong byte anywhere and the whole file
 * is refused, for drivers crash on damaged data (VUID-VkPipelineCacheCreateInfo-initialDataSize-
 * 00768, -00769 make it the caller's duty). Canonical: what a header says has one encoding alone.
 */
#ifndef WARMPIPE_DISK_ENVELOPE_H
#define WARMPIPE_DISK_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/result.h"
#include "driver/identity.h"

/* The file's extension, dot included. */
#define ENVELOPE_SUFFIX ".wpcache"

/* Bytes that precede the blob, in this format version. */
#define ENVELOPE_HEADER_SIZE 960

/* A validated file. Pointers lead into the memory that was validated. */
struct envelope {
    struct driver_identity identity;
    uint64_t generation; /* random, another one with every save, never 0 */
    uint64_t saved_at;   /* seconds since the epoch, for people only */
    const uint8_t *blob; /* the driver's own cache data */
    size_t blob_size;
    struct digest blob_digest;
};

/* Writes the header (everything that precedes the blob) for a blob that will follow it unchanged:
 * ENVELOPE_HEADER_SIZE bytes appended to `header`, which the caller then writes to disk before the
 * blob. The blob is read once (digest), never copied. identity, generation, saved_at, blob and
 * blob_size of `envelope` are used. False when memory is out (never, where `header` has the room).
 * Thread-safe. */
bool envelope_encode_header(const struct envelope *envelope, struct bytes *header);

/* Checks everything there is to check in the `size` bytes at `data`. expected NULL: any identity.
 * REASON_ok and *ret_envelope filled, or the reason, with *ret_envelope untouched: nothing of a
 * refused file may be used. The reason is the first of: truncated, bad_magic, bad_format_version,
 * bad_endianness, bad_pointer_size, bad_header_digest, bad_section_table, the identity's
 * difference, truncated or trailing_bytes, bad_section_digest, bad_blob_header. Never reads outside
 * the bytes given, whatever they hold. Thread-safe. */
enum reason envelope_validate(const void *data, size_t size, const struct driver_identity *expected,
                              struct envelope *ret_envelope);

/* The same for the header alone, ENVELOPE_HEADER_SIZE bytes (fewer, if the file has no more) of a
 * file of `file_size` bytes: everything but bad_section_digest and bad_blob_header. The blob of
 * *ret_envelope is NULL; its size and digest are what the header says. Thread-safe. */
enum reason envelope_validate_header(const void *data, size_t size, uint64_t file_size,
                                     const struct driver_identity *expected,
                                     struct envelope *ret_envelope);

/* Parses what a header says even where validation fails, for `warmpipe inspect`: fields as found,
 * blob NULL. False, with *ret_envelope untouched, only if there are too few bytes for a header or
 * it is of another format. Not to be trusted. */
bool envelope_peek(const void *data, size_t size, struct envelope *ret_envelope);

/* What a file says of its own form: all that the format fixes, and envelope_peek leaves out. */
struct envelope_layout {
    uint8_t magic[8];
    uint32_t format_version;
    uint32_t header_size;
    uint32_t endian_marker; /* ENVELOPE_LITTLE_ENDIAN, ENVELOPE_BIG_ENDIAN, or damage */
    uint32_t pointer_size;
    uint32_t section_count; /* this and what follows: 0 where the file ends before it */
    uint32_t section_type;  /* of the first section */
    uint64_t section_offset;
};

#define ENVELOPE_LITTLE_ENDIAN 0x01020304
#define ENVELOPE_BIG_ENDIAN    0x04030201

/* The same for the layout, whatever the format. False, with *ret_layout untouched, if the file ends
 * before its pointer size. Not to be trusted. */
bool envelope_peek_layout(const void *data, size_t size, struct envelope_layout *ret_layout);

#endif
