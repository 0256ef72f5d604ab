/* The envelope's check of 256 MiB against XXH3-128 over the same bytes, in interleaved pairs.
 * Prints one JSON object; exit 0: the limit is met, 1: it is not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "disk/envelope.h"

#define PAIRS     31
#define FILE_SIZE ((size_t)256 << 20)
#define LIMIT     0.8
/* Ranks of the order statistics that enclose the median of 31 values with 95% confidence. */
#define LOW_RANK  9
#define HIGH_RANK 21

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

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

static double time_check(const uint8_t *file, const struct driver_identity *identity)
{
    struct envelope envelope;
    double start = now_ns();
    enum reason reason = envelope_validate(file, FILE_SIZE, identity, &envelope);
    double took = now_ns() - start;
    if (reason != REASON_ok) {
        fprintf(stderr, "the file is refused: %s\n", reason_id(reason));
        exit(2);
    }
    return took;
}

static double time_digest(const uint8_t *file)
{
    static volatile uint64_t kept;
    double start = now_ns();
    kept = digest_of(file, FILE_SIZE).low;
    double took = now_ns() - start;
    (void)kept;
    return took;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_ratio(const char *name, const double *sorted)
{
    printf("\"%s\":{\"value\":%.3f,\"low\":%.3f,\"high\":%.3f},", name, sorted[PAIRS / 2],
           sorted[LOW_RANK], sorted[HIGH_RANK]);
}

int main(void)
{
    struct driver_identity identity;
    uint8_t *file = make_file(&identity);
    if (!file) {
        fprintf(stderr, "out of memory\n");
        return 2;
    }
    double checks[PAIRS];
    double digests[PAIRS];
    double ratios[PAIRS];
    double self[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        /* Which of them comes first alternates. */
        double first = i % 2 ? time_digest(file) : 0;
        checks[i] = time_check(file, &identity);
        digests[i] = i % 2 ? first : time_digest(file);
        ratios[i] = digests[i] / checks[i];
        self[i] = time_digest(file) / digests[i];
    }
    free(file);
    qsort(checks, PAIRS, sizeof(*checks), compare);
    qsort(digests, PAIRS, sizeof(*digests), compare);
    qsort(ratios, PAIRS, sizeof(*ratios), compare);
    qsort(self, PAIRS, sizeof(*self), compare);
    bool met = ratios[LOW_RANK] >= LIMIT;
    printf("{\"name\":\"envelope\",\"says\":\"speed of the envelope's check / XXH3-128 of the same "
           "256 MiB\",\"limit\":\"≥ %.1f\",\"met\":%s,",
           LIMIT, met ? "true" : "false");
    print_ratio("ratio", ratios);
    print_ratio("self", self);
    printf("\"ours\":%.0f,\"theirs\":%.0f}\n", checks[PAIRS / 2], digests[PAIRS / 2]);
    return met ? 0 : 1;
}
