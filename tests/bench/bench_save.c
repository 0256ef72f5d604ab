/* A save of 256 MiB whose file is what this process wrote last, against write and fsync of as many
 * bytes, in interleaved pairs in the same folder. Prints one JSON object; exit 0: the limit is met,
 * 1: it is not.
 *
 * usage: bench_save FOLDER   (an existing one, on the disk that is meant) */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "disk/store.h"

#define PAIRS     31
#define BLOB_SIZE ((size_t)256 << 20)
#define LIMIT     1.3
/* Ranks of the order statistics that enclose the median of 31 values with 95% confidence. */
#define LOW_RANK  9
#define HIGH_RANK 21

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "bench_save: %s\n", what);
    exit(2);
}

/* Cache data of the driver, other bytes at each call. */
static void fill(uint8_t *blob, const struct driver_identity *identity, uint64_t state)
{
    struct bytes header = {.data = blob, .capacity = 32};
    bytes_put_u32(&header, 32);
    bytes_put_u32(&header, VK_PIPELINE_CACHE_HEADER_VERSION_ONE);
    bytes_put_u32(&header, identity->vendor_id);
    bytes_put_u32(&header, identity->device_id);
    bytes_put_zeros(&header, VK_UUID_SIZE);
    for (size_t i = 32; i < BLOB_SIZE; i += sizeof state) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        memcpy(blob + i, &state, sizeof state);
    }
}

static double time_save(struct store *store, const uint8_t *blob)
{
    struct store_foreign foreign;
    double start = now_ns();
    if (store_begin(store, &foreign) != REASON_ok || foreign.count != 0 ||
        store_commit(store, blob, BLOB_SIZE) != REASON_ok) {
        fail("the save failed, or had to merge");
    }
    return now_ns() - start;
}

static double time_write(const char *path, const uint8_t *blob)
{
    unlink(path);
    double start = now_ns();
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    for (size_t done = 0; done < BLOB_SIZE;) {
        ssize_t wrote = write(fd, blob + done, BLOB_SIZE - done);
        if (wrote <= 0) {
            fail("cannot write");
        }
        done += (size_t)wrote;
    }
    if (fsync(fd) != 0) {
        fail("cannot sync");
    }
    close(fd);
    return now_ns() - start;
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

int main(int argc, char **argv)
{
    if (argc != 2) {
        fail("no folder named");
    }
    struct driver_identity identity = {.vendor_id = 1, .device_id = 2, .pointer_size = 8};
    struct store_options options = {.root = argv[1], .app = "bench_save", .max_blob = BLOB_SIZE};
    struct store *store = store_open(&options, &identity);
    uint8_t *blob = aligned_alloc(64, BLOB_SIZE);
    char *path = NULL;
    if (!store || !blob || asprintf(&path, "%s/bench_save.bin", argv[1]) < 0) {
        fail("out of memory");
    }
    fill(blob, &identity, 1);
    time_save(store, blob);
    double saves[PAIRS];
    double writes[PAIRS];
    double ratios[PAIRS];
    double self[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        fill(blob, &identity, (uint64_t)i + 2);
        /* Which of them comes first alternates. */
        double first = i % 2 ? time_write(path, blob) : 0;
        saves[i] = time_save(store, blob);
        writes[i] = i % 2 ? first : time_write(path, blob);
        ratios[i] = saves[i] / writes[i];
        self[i] = time_write(path, blob) / writes[i];
    }
    unlink(path);
    free(path);
    free(blob);
    store_close(store);
    qsort(saves, PAIRS, sizeof *saves, compare);
    qsort(writes, PAIRS, sizeof *writes, compare);
    qsort(ratios, PAIRS, sizeof *ratios, compare);
    qsort(self, PAIRS, sizeof *self, compare);
    bool met = ratios[LOW_RANK] <= LIMIT;
    printf("{\"name\":\"save\",\"says\":\"a save of 256 MiB / write and fsync of as much\","
           "\"limit\":\"≤ %.1f\",\"met\":%s,",
           LIMIT, met ? "true" : "false");
    print_ratio("ratio", ratios);
    print_ratio("self", self);
    printf("\"ours\":%.0f,\"theirs\":%.0f}\n", saves[PAIRS / 2], writes[PAIRS / 2]);
    return met ? 0 : 1;
}
