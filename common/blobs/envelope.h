// SPDX-License-Identifier: Apache-2.0
/* The envelope of a driver's cache data: the format of <identity>.wpcache. No I/O here.
 * docs/FORMAT.md is the normative description. Strict: one wrong byte anywhere
 * and the whole file is refused, because drivers crash on damaged data
 * (VUID-VkPipelineCacheCreateInfo-initialDataSize-00768, -00769: the caller must not pass it).
 * Canonical: each header has exactly one encoding. */
#ifndef WARMPIPE_BLOBS_ENVELOPE_H
#define WARMPIPE_BLOBS_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/driver/identity.h"

/* Bytes before the blob, in this format version. */
#define ENVELOPE_HEADER_SIZE 960

/* A validated file. Pointers point into the memory that was validated. */
struct envelope {
    struct driver_identity identity;
    uint64_t generation; /* random, another one with every save, never 0 */
    uint64_t saved_at;   /* seconds since the epoch, for people only */
    const uint8_t *blob; /* the driver's own cache data */
    uint64_t blob_size;  /* of a file that was not read whole: more than memory may hold */
    struct digest blob_digest;
};

/* Appends the header (everything before the blob, ENVELOPE_HEADER_SIZE bytes) to `header`; the
 * caller writes it to disk before the unchanged blob. The blob is read once (digest), never copied.
 * Uses identity, generation, saved_at, blob and blob_size of `envelope`. False: memory is out
 * (never if `header` has the room). Thread-safe. */
bool envelope_encode_header(const struct envelope *envelope, struct bytes *header);

/* Checks the `size` bytes at `data` completely. expected NULL: any identity. STATUS_ok and
 * *ret_envelope filled, or the reason with *ret_envelope untouched: nothing of a refused file may
 * be used. The reason is the first of: truncated, bad_magic, bad_format_version, bad_endianness,
 * bad_pointer_size, bad_header_digest, bad_section_table, the identity's difference, truncated or
 * trailing_bytes, bad_section_digest, bad_blob_header. Never reads outside the given bytes.
 * Thread-safe. */
enum status envelope_validate(const void *data, size_t size, const struct driver_identity *expected,
                              struct envelope *ret_envelope);

/* The same for the header alone, ENVELOPE_HEADER_SIZE bytes (fewer if the file is shorter) of a
 * file of `file_size` bytes: every check except bad_section_digest and bad_blob_header. The blob of
 * *ret_envelope is NULL; its size and digest are those in the header. Thread-safe. */
enum status envelope_validate_header(const void *data, size_t size, uint64_t file_size,
                                     const struct driver_identity *expected,
                                     struct envelope *ret_envelope);

/* Parses a header without validation, for `warmpipe inspect`: fields as found, blob NULL. False,
 * with *ret_envelope untouched, only if there are too few bytes for a header or it is of another
 * format. Do not trust the result. */
bool envelope_peek(const void *data, size_t size, struct envelope *ret_envelope);

/* The fields that the format fixes, and that envelope_peek leaves out. */
struct envelope_layout {
    uint8_t magic[8];
    uint32_t format_version;
    uint32_t header_size;
    uint32_t endian_marker; /* ENVELOPE_LITTLE_ENDIAN, ENVELOPE_BIG_ENDIAN, or damage */
    uint32_t pointer_size;
    uint32_t section_count; /* this and the rest: 0 if the file is too short */
    uint32_t section_type;  /* of the first section */
    uint64_t section_offset;
};

#define ENVELOPE_LITTLE_ENDIAN 0x01020304
#define ENVELOPE_BIG_ENDIAN    0x04030201

/* The same for the layout, in any format. False, with *ret_layout untouched, if the file ends
 * before its pointer size. Do not trust the result. */
bool envelope_peek_layout(const void *data, size_t size, struct envelope_layout *ret_layout);

#endif
