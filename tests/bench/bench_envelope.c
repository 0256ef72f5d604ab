// SPDX-License-Identifier: Apache-2.0
/* The envelope's check of 256 MiB against XXH3-128 over the same bytes, in interleaved pairs.
 * Prints one JSON object; exit 0: the limit is met, 1: it is not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/blobs/envelope.h"
#include "pairs.h"

#define FILE_SIZE ((size_t)256 << 20)

struct bench {
    struct driver_identity identity;
    uint8_t *file;
};

/* A valid file of FILE_SIZE bytes with something in every page of it. */
static uint8_t *make_file(struct driver_identity *identity)
{
    uint8_t *file = malloc(FILE_SIZE);
    if (!file) {
        return NULL;
    }
    uint64_t state = 1;
    for (size_t i = 0; i < FILE_SIZE; i += sizeof(state)) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        memcpy(file + i, &state, sizeof(state));
    }
    *identity = (struct driver_identity){.vendor_id = 1, .device_id = 2, .pointer_size = 8};
    uint8_t *blob = file + ENVELOPE_HEADER_SIZE;
    struct bytes blob_header = {.data = blob, .capacity = 32};
    bytes_put_u32(&blob_header, 32);
    bytes_put_u32(&blob_header, VK_PIPELINE_CACHE_HEADER_VERSION_ONE);
    bytes_put_u32(&blob_header, identity->vendor_id);
    bytes_put_u32(&blob_header, identity->device_id);
    bytes_put_zeros(&blob_header, VK_UUID_SIZE);
    const struct envelope envelope = {
        .identity = *identity,
        .generation = 1,
        .blob = blob,
        .blob_size = FILE_SIZE - ENVELOPE_HEADER_SIZE,
    };
    struct bytes header = {.data = file, .capacity = ENVELOPE_HEADER_SIZE};
    envelope_encode_header(&envelope, &header);
    return file;
}

static double time_check(void *user)
{
    const struct bench *bench = user;
    struct envelope envelope;
    const double start = pairs_now();
    enum status reason = envelope_validate(bench->file, FILE_SIZE, &bench->identity, &envelope);
    const double took = pairs_now() - start;
    if (reason != STATUS_ok) {
        fprintf(stderr, "the file is refused: %s\n", status_id(reason));
        exit(2);
    }
    return took;
}

static double time_digest(void *user)
{
    static volatile uint64_t kept;
    const struct bench *bench = user;
    const double start = pairs_now();
    kept = digest_of(bench->file, FILE_SIZE).low;
    const double took = pairs_now() - start;
    (void)kept;
    return took;
}

int main(void)
{
    struct bench bench;
    bench.file = make_file(&bench.identity);
    if (!bench.file) {
        fprintf(stderr, "out of memory\n");
        return 2;
    }
    const struct pairs pairs = {
        .name = "envelope",
        .says = "speed of the envelope's check / XXH3-128 of the same 256 MiB",
        .ours = time_check,
        .theirs = time_digest,
        .user = &bench,
        .speed = true,
        .limit = 0.8,
    };
    const bool met = pairs_measure(&pairs);
    free(bench.file);
    return met ? 0 : 1;
}
