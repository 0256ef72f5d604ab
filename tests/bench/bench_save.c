// SPDX-License-Identifier: Apache-2.0
/* A save of 256 MiB whose file is what this process wrote last, against write and fsync of as many
 * bytes, in interleaved pairs in the same folder. Prints one JSON object; exit 0: the limit is met,
 * 1: it is not.
 *
 * usage: bench_save FOLDER   (an existing one, on the disk that is meant) */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/blobs/store.h"
#include "pairs.h"

#define BLOB_SIZE ((size_t)256 << 20)

struct bench {
    struct driver_identity identity;
    struct store *store;
    uint8_t *blob;
    char *path; /* of what is written beside the store */
};

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

static double time_save(void *user)
{
    struct bench *bench = user;
    struct store_foreign foreign;
    const double start = pairs_now();
    if (store_begin(bench->store, &foreign) != STATUS_ok || foreign.count != 0 ||
        store_commit(bench->store, bench->blob, BLOB_SIZE) != STATUS_ok) {
        fail("the save failed, or had to merge");
    }
    return pairs_now() - start;
}

static double time_write(void *user)
{
    const struct bench *bench = user;
    unlink(bench->path);
    const double start = pairs_now();
    int fd = open(bench->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    for (size_t done = 0; done < BLOB_SIZE;) {
        ssize_t wrote = write(fd, bench->blob + done, BLOB_SIZE - done);
        if (wrote <= 0) {
            fail("cannot write");
        }
        done += (size_t)wrote;
    }
    if (fsync(fd) != 0) {
        fail("cannot sync");
    }
    close(fd);
    return pairs_now() - start;
}

static void prepare(void *user, int pair)
{
    struct bench *bench = user;
    fill(bench->blob, &bench->identity, (uint64_t)pair + 2);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fail("no folder named");
    }
    struct bench bench = {.identity = {.vendor_id = 1, .device_id = 2, .pointer_size = 8}};
    struct store_options options = {.root = argv[1], .app = "bench_save", .max_blob = BLOB_SIZE};
    bench.store = store_open(&options, &bench.identity);
    bench.blob = aligned_alloc(64, BLOB_SIZE);
    if (!bench.store || !bench.blob || asprintf(&bench.path, "%s/bench_save.bin", argv[1]) < 0) {
        fail("out of memory");
    }
    fill(bench.blob, &bench.identity, 1);
    time_save(&bench);
    const struct pairs pairs = {
        .name = "save",
        .says = "a save of 256 MiB / write and fsync of as much",
        .ours = time_save,
        .theirs = time_write,
        .prepare = prepare,
        .user = &bench,
        .limit = 1.3,
    };
    const bool met = pairs_measure(&pairs);
    unlink(bench.path);
    free(bench.path);
    free(bench.blob);
    store_close(bench.store);
    return met ? 0 : 1;
}
