// SPDX-License-Identifier: Apache-2.0
/* A cache file as hostile as it likes, as it comes and with its digests made right (a mutator finds
 * no digest by itself). What is accepted is exactly what would be written of it; nothing is read
 * outside of it; and the header alone is judged as it is in the whole file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/blobs/envelope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEADER_DIGEST_OFFSET  (ENVELOPE_HEADER_SIZE - 16)
#define SECTION_DIGEST_OFFSET 880

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static void put_digest(uint8_t *to, struct digest digest)
{
    struct bytes bytes = {.data = to, .capacity = 16};
    digest_put(&bytes, digest);
}

static void check_accepted(const uint8_t *data, size_t size, const struct envelope *envelope)
{
    require(envelope->blob == data + ENVELOPE_HEADER_SIZE, "the blob lies behind the header");
    require(envelope->blob_size == size - ENVELOPE_HEADER_SIZE, "the blob is all the rest");
    require(envelope->generation != 0, "a generation is never 0");
    require(identity_matches_blob(&envelope->identity, envelope->blob, envelope->blob_size),
            "the blob is the identity's");
    struct bytes header = {0};
    require(envelope_encode_header(envelope, &header), "memory");
    require(header.size == ENVELOPE_HEADER_SIZE &&
                memcmp(header.data, data, ENVELOPE_HEADER_SIZE) == 0,
            "what is accepted is what is written");
    bytes_free(&header);

    struct envelope again;
    require(envelope_validate(data, size, &envelope->identity, &again) == STATUS_ok,
            "its own identity is accepted");
    struct driver_identity other = envelope->identity;
    other.driver_version ^= 1;
    require(envelope_validate(data, size, &other, &again) == STATUS_other_driver_version,
            "another is not");
}

static void check(const uint8_t *data, size_t size)
{
    struct envelope envelope;
    struct envelope header;
    struct envelope peeked;
    enum status reason = envelope_validate(data, size, NULL, &envelope);
    enum status header_reason = envelope_validate_header(
        data, size < ENVELOPE_HEADER_SIZE ? size : ENVELOPE_HEADER_SIZE, size, NULL, &header);
    bool blob_is_bad = reason == STATUS_bad_section_digest || reason == STATUS_bad_blob_header;
    require(header_reason == (blob_is_bad ? STATUS_ok : reason), "the header is judged alike");
    bool peeks = envelope_peek(data, size, &peeked);
    if (header_reason == STATUS_ok) {
        require(peeks && peeked.generation == header.generation &&
                    peeked.blob_size == header.blob_size &&
                    identity_compare(&peeked.identity, &header.identity) == STATUS_ok,
                "a look gives what validation gives");
    }
    if (reason == STATUS_ok) {
        check_accepted(data, size, &envelope);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check(data, size);
    if (size >= ENVELOPE_HEADER_SIZE) {
        uint8_t *signed_file = malloc(size);
        require(signed_file != NULL, "memory");
        memcpy(signed_file, data, size);
        put_digest(signed_file + SECTION_DIGEST_OFFSET,
                   digest_of(data + ENVELOPE_HEADER_SIZE, size - ENVELOPE_HEADER_SIZE));
        put_digest(signed_file + HEADER_DIGEST_OFFSET,
                   digest_of(signed_file, HEADER_DIGEST_OFFSET));
        check(signed_file, size);
        free(signed_file);
    }
    return 0;
}
