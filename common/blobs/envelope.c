// SPDX-License-Identifier: Apache-2.0
#include "common/blobs/envelope.h"

#include <string.h>

/* The layout, in the order of docs/FORMAT.md. The magic is made like PNG's: it detects text-mode
 * transfers and transfers of seven bits, and "type FILE" stops at it. */
static const uint8_t magic[8] = {0x89, 'W', 'P', 'C', '\r', '\n', 0x1a, '\n'};

#define FORMAT_VERSION     1
#define PREAMBLE_SIZE      24 /* magic to pointer size: checked before the digest */
#define SECTION_TYPE_BLOB  1
#define DIGEST_SIZE        16
#define DIGEST_OFFSET      (ENVELOPE_HEADER_SIZE - DIGEST_SIZE)
#define SECTION_ALIGNMENT  64
#define SECTION_ENTRY_SIZE (4 + 4 + 8 + 8 + DIGEST_SIZE)

_Static_assert(ENVELOPE_HEADER_SIZE % SECTION_ALIGNMENT == 0, "the blob follows, aligned");
_Static_assert(PREAMBLE_SIZE + 2 * 8 + IDENTITY_ENCODED_SIZE + 4 + SECTION_ENTRY_SIZE <=
                   DIGEST_OFFSET,
               "all fields have room before the digest");

/* The blob has the byte order of the machine that made it, so this one number is written in that
 * order too: read as little-endian, it shows the writer's byte order. */
static uint32_t envelope_own_endian_marker(void)
{
    const uint32_t native = 0x01020304;
    uint8_t memory[sizeof native];
    memcpy(memory, &native, sizeof native);
    struct bytes_reader reader = bytes_reader_over(memory, sizeof memory);
    return bytes_get_u32(&reader);
}

static void envelope_put_header(const struct envelope *envelope, struct bytes *header)
{
    size_t start = header->size;
    bytes_put(header, magic, sizeof magic);
    bytes_put_u32(header, FORMAT_VERSION);
    bytes_put_u32(header, ENVELOPE_HEADER_SIZE);
    bytes_put_u32(header, envelope_own_endian_marker());
    bytes_put_u32(header, envelope->identity.pointer_size);
    bytes_put_u64(header, envelope->generation);
    bytes_put_u64(header, envelope->saved_at);
    identity_put(header, &envelope->identity);
    bytes_put_u32(header, 1); /* sections */
    bytes_put_u32(header, SECTION_TYPE_BLOB);
    bytes_put_u32(header, 0);
    bytes_put_u64(header, ENVELOPE_HEADER_SIZE);
    bytes_put_u64(header, envelope->blob_size);
    digest_put(header, envelope->blob_digest);
    bytes_put_zeros(header, start + DIGEST_OFFSET - header->size);
    digest_put(header, digest_of(header->data + start, DIGEST_OFFSET));
}

bool envelope_encode_header(const struct envelope *envelope, struct bytes *header)
{
    if (!bytes_reserve(header, ENVELOPE_HEADER_SIZE)) {
        return false;
    }
    struct envelope complete = *envelope;
    complete.blob_digest = digest_of(envelope->blob, envelope->blob_size);
    envelope_put_header(&complete, header);
    return true;
}

/* What stands before the identity, but for the magic. */
static struct envelope_layout envelope_get_preamble(struct bytes_reader *reader)
{
    struct envelope_layout layout = {0};
    bytes_get(reader, sizeof magic);
    layout.format_version = bytes_get_u32(reader);
    layout.header_size = bytes_get_u32(reader);
    layout.endian_marker = bytes_get_u32(reader);
    layout.pointer_size = bytes_get_u32(reader);
    return layout;
}

/* Skips fields that have only one valid value (sizes, counts, padding):
 * envelope_is_canonical_header checks them.
 */
static struct envelope envelope_get_fields(const void *data)
{
    struct bytes_reader reader = bytes_reader_over(data, ENVELOPE_HEADER_SIZE);
    envelope_get_preamble(&reader);
    struct envelope envelope = {0};
    envelope.generation = bytes_get_u64(&reader);
    envelope.saved_at = bytes_get_u64(&reader);
    identity_get(&reader, &envelope.identity);
    bytes_get(&reader, 4 + 4 + 4 + 8);
    envelope.blob_size = bytes_get_u64(&reader);
    envelope.blob_digest = digest_get(&reader);
    return envelope;
}

/* Encoding the fields again must give the same bytes: no two headers mean the same, and no unused
 * byte can have a value of its own. */
static bool envelope_is_canonical_header(const void *data, const struct envelope *envelope)
{
    uint8_t memory[ENVELOPE_HEADER_SIZE];
    struct bytes header = {.data = memory, .capacity = sizeof memory};
    envelope_put_header(envelope, &header);
    return envelope->generation != 0 && memcmp(data, memory, sizeof memory) == 0;
}

static enum status envelope_check_preamble(const void *data, size_t size,
                                           const struct driver_identity *expected)
{
    if (size > 0 && memcmp(data, magic, size < sizeof magic ? size : sizeof magic) != 0) {
        return STATUS_bad_magic;
    }
    if (size < PREAMBLE_SIZE) {
        return STATUS_truncated;
    }
    struct bytes_reader reader = bytes_reader_over(data, size);
    const struct envelope_layout layout = envelope_get_preamble(&reader);
    if (layout.format_version != FORMAT_VERSION) {
        return STATUS_bad_format_version;
    }
    if (layout.endian_marker != envelope_own_endian_marker()) {
        return STATUS_bad_endianness;
    }
    if (expected && layout.pointer_size != expected->pointer_size) {
        return STATUS_bad_pointer_size;
    }
    return STATUS_ok;
}

enum status envelope_validate_header(const void *data, size_t size, uint64_t file_size,
                                     const struct driver_identity *expected,
                                     struct envelope *ret_envelope)
{
    enum status reason = envelope_check_preamble(data, size, expected);
    if (reason != STATUS_ok) {
        return reason;
    }
    if (size < ENVELOPE_HEADER_SIZE) {
        return STATUS_truncated;
    }
    struct bytes_reader reader =
        bytes_reader_over((const uint8_t *)data + DIGEST_OFFSET, DIGEST_SIZE);
    if (!digest_equal(digest_get(&reader), digest_of(data, DIGEST_OFFSET))) {
        return STATUS_bad_header_digest;
    }
    struct envelope envelope = envelope_get_fields(data);
    if (!envelope_is_canonical_header(data, &envelope)) {
        return STATUS_bad_section_table;
    }
    if (expected) {
        reason = identity_compare(&envelope.identity, expected);
        if (reason != STATUS_ok) {
            return reason;
        }
    }
    if (file_size - ENVELOPE_HEADER_SIZE != envelope.blob_size) {
        return file_size - ENVELOPE_HEADER_SIZE < envelope.blob_size ? STATUS_truncated
                                                                     : STATUS_trailing_bytes;
    }
    *ret_envelope = envelope;
    return STATUS_ok;
}

enum status envelope_validate(const void *data, size_t size, const struct driver_identity *expected,
                              struct envelope *ret_envelope)
{
    struct envelope envelope;
    enum status reason = envelope_validate_header(data, size, size, expected, &envelope);
    if (reason != STATUS_ok) {
        return reason;
    }
    envelope.blob = (const uint8_t *)data + ENVELOPE_HEADER_SIZE;
    if (!digest_equal(digest_of(envelope.blob, envelope.blob_size), envelope.blob_digest)) {
        return STATUS_bad_section_digest;
    }
    if (!identity_matches_blob(&envelope.identity, envelope.blob, envelope.blob_size)) {
        return STATUS_bad_blob_header;
    }
    *ret_envelope = envelope;
    return STATUS_ok;
}

bool envelope_peek(const void *data, size_t size, struct envelope *ret_envelope)
{
    enum status reason = envelope_check_preamble(data, size, NULL);
    if (size < ENVELOPE_HEADER_SIZE || reason == STATUS_bad_magic ||
        reason == STATUS_bad_format_version) {
        return false;
    }
    *ret_envelope = envelope_get_fields(data);
    return true;
}

bool envelope_peek_layout(const void *data, size_t size, struct envelope_layout *ret_layout)
{
    if (size < PREAMBLE_SIZE) {
        return false;
    }
    struct bytes_reader reader = bytes_reader_over(data, size);
    struct envelope_layout layout = envelope_get_preamble(&reader);
    memcpy(layout.magic, data, sizeof layout.magic);
    bytes_get(&reader, 8 + 8 + IDENTITY_ENCODED_SIZE); /* generation to identity */
    layout.section_count = bytes_get_u32(&reader);
    layout.section_type = bytes_get_u32(&reader);
    bytes_get_u32(&reader);
    layout.section_offset = bytes_get_u64(&reader);
    *ret_layout = layout;
    return true;
}
