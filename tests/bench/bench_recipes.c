// SPDX-License-Identifier: Apache-2.0
/* Recipes of 100,000 pipelines, in the folder that is given: opening them against a read of their
 * index alone, in interleaved pairs; and what of them ten processes hold that have all of it in
 * use. Prints a JSON object a line; exit 0: the limits are met, 1: one is not. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/files/file.h"
#include "common/recipes/recipes.h"
#include "common/recipes/segment.h"

#define PIPELINES ((uint64_t)100000)
#define CODE_SIZE 600
#define FORM_SIZE 200
#define BATCH     1000
#define PAIRS     31
#define PROCESSES 10
/* Ranks of the order statistics that enclose the median of 31 values with 95% confidence. */
#define LOW_RANK  9
#define HIGH_RANK 21

#define OPEN_LIMIT    2.0
#define SHARED_LIMIT  1.1
#define PRIVATE_LIMIT 0.02

static void fail(const char *what)
{
    fprintf(stderr, "bench_recipes: %s\n", what);
    exit(2);
}

static void fill(uint64_t number, uint8_t code[CODE_SIZE], uint8_t form[FORM_SIZE])
{
    memset(code, 0x5a, CODE_SIZE);
    memset(form, 0xa5, FORM_SIZE);
    memcpy(code, &number, sizeof number);
    memcpy(form, &number, sizeof number);
}

static struct digest put(struct bytes *batch, enum recipe_kind kind, const void *data, size_t size)
{
    const struct digest digest = digest_of(data, size);
    recipe_put_record(batch, kind, digest, data, size);
    return digest;
}

static void make_recipes(const char *root)
{
    struct recipe_writer *writer = recipe_writer_new(root, "app", UINT64_MAX, 0);
    struct bytes batch = {0};
    struct recipe_use use = {.last_day = 20000, .days = 1, .compile_us = 1000};
    use.environment = put(&batch, RECIPE_ENVIRONMENT, "environment", 11);
    for (uint64_t i = 0; i < PIPELINES; i++) {
        uint8_t code[CODE_SIZE];
        uint8_t form[FORM_SIZE];
        fill(i, code, form);
        put(&batch, RECIPE_CODE, code, sizeof code);
        use.pipeline = put(&batch, RECIPE_FORM, form, sizeof form);
        recipe_put_use(&batch, &use);
        if (i % BATCH == BATCH - 1) {
            if (recipe_writer_append(writer, &batch) != STATUS_ok) {
                fail("cannot write");
            }
            batch.size = 0;
        }
    }
    recipe_writer_close(writer, true);
    bytes_free(&batch);
}

static struct recipes *open_recipes(const char *root, enum recipes_access access)
{
    struct recipes *recipes;
    if (recipes_open(root, "app", access, &recipes) != STATUS_ok) {
        fail("cannot open");
    }
    return recipes;
}

/* Where the index lies. */
struct place {
    int fd;
    size_t size;
    off_t offset;
};

static struct place find_index(const char *root)
{
    int folder_fd;
    struct recipe_segment segment;
    if (recipe_folder_open(root, "app", false, &folder_fd) != STATUS_ok) {
        fail("no folder");
    }
    DIR *listing = listing_open(folder_fd, ".");
    const char *name = recipe_folder_next_segment(listing);
    if (!name || recipe_segment_open(folder_fd, name, RECIPES_MAP, &segment) != STATUS_ok ||
        !segment.is_sealed) {
        fail("no segment");
    }
    const struct place place = {
        .fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC),
        .size = segment.index.count * RECIPE_INDEX_ENTRY,
        .offset = segment.index.entries - segment.data,
    };
    recipe_segment_close(&segment);
    closedir(listing);
    close(folder_fd);
    return place;
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double time_open(const char *root, enum recipes_access access)
{
    const double start = now_ns();
    struct recipes *recipes = open_recipes(root, access);
    const double took = now_ns() - start;
    recipes_close(recipes);
    return took;
}

/* Into memory that is new to the process, as it is to one that starts. */
static double time_read(const struct place *place)
{
    const double start = now_ns();
    uint8_t *index =
        mmap(NULL, place->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (index == MAP_FAILED ||
        pread(place->fd, index, place->size, place->offset) != (ssize_t)place->size) {
        fail("cannot read");
    }
    const double took = now_ns() - start;
    munmap(index, place->size);
    return took;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_ratio(const char *name, const double *sorted)
{
    printf("\"%s\":{\"value\":%.3f,\"low\":%.3f,\"high\":%.3f},", name, sorted[PAIRS / 2],
           sorted[LOW_RANK], sorted[HIGH_RANK]);
}

static bool measure_open(const char *root, const struct place *place, enum recipes_access access,
                         const char *name, const char *how)
{
    double opens[PAIRS];
    double reads[PAIRS];
    double ratios[PAIRS];
    double self[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        /* Which of them comes first alternates. */
        const double first = i % 2 ? time_read(place) : 0;
        opens[i] = time_open(root, access);
        reads[i] = i % 2 ? first : time_read(place);
        ratios[i] = opens[i] / reads[i];
        self[i] = time_read(place) / reads[i];
    }
    qsort(opens, PAIRS, sizeof *opens, compare);
    qsort(reads, PAIRS, sizeof *reads, compare);
    qsort(ratios, PAIRS, sizeof *ratios, compare);
    qsort(self, PAIRS, sizeof *self, compare);
    const bool met = ratios[HIGH_RANK] <= OPEN_LIMIT;
    printf("{\"name\":\"opening.%s\",\"says\":\"opening recipes of 100,000 pipelines, %s / reading "
           "their index of %zu bytes\",\"limit\":\"≤ %g\",\"met\":%s,",
           name, how, place->size, OPEN_LIMIT, met ? "true" : "false");
    print_ratio("ratio", ratios);
    print_ratio("self", self);
    printf("\"ours\":%.0f,\"theirs\":%.0f}\n", opens[PAIRS / 2], reads[PAIRS / 2]);
    return met;
}

/* KiB of this process, by the kernel's name for them. */
static long memory_of(const char *name)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    char line[256];
    long value = -1;
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':') {
            value = atol(line + strlen(name) + 1);
        }
    }
    if (file) {
        fclose(file);
    }
    return value;
}

static void use_all(struct recipes *recipes)
{
    for (uint64_t i = 0; i < PIPELINES; i++) {
        uint8_t code[CODE_SIZE];
        uint8_t form[FORM_SIZE];
        const void *data;
        size_t size;
        fill(i, code, form);
        if (!recipes_find(recipes, RECIPE_CODE, digest_of(code, sizeof code), &data, &size) ||
            !recipes_find(recipes, RECIPE_FORM, digest_of(form, sizeof form), &data, &size)) {
            fail("a record is not found");
        }
    }
}

struct holding {
    long pss; /* KiB more than before */
    long own; /* likewise, of its own */
};

/* A process that has found everything tells when it has, and what it holds when all others have. */
static void hold(const char *root, int ready, int go, int result, int leave)
{
    char byte = 0;
    const long pss = memory_of("Pss");
    const long own = memory_of("Private_Dirty");
    use_all(open_recipes(root, RECIPES_MAP));
    if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1) {
        _exit(1);
    }
    const struct holding holding = {memory_of("Pss") - pss, memory_of("Private_Dirty") - own};
    if (write(result, &holding, sizeof holding) != (ssize_t)sizeof holding) {
        _exit(1);
    }
    /* Nobody leaves before all have looked. */
    _exit(read(leave, &byte, 1) == 1 ? 0 : 1);
}

static struct holding measure_holding(const char *root, int processes)
{
    int ready[2];
    int go[2];
    int result[2];
    int leave[2];
    struct holding sum = {0};
    char bytes[PROCESSES] = {0};
    if (pipe(ready) != 0 || pipe(go) != 0 || pipe(result) != 0 || pipe(leave) != 0) {
        fail("no pipes");
    }
    fflush(stdout);
    for (int i = 0; i < processes; i++) {
        if (fork() == 0) {
            hold(root, ready[1], go[0], result[1], leave[0]);
        }
    }
    for (int i = 0; i < processes; i++) {
        if (read(ready[0], bytes, 1) != 1) {
            fail("a process died");
        }
    }
    bool fine = write(go[1], bytes, (size_t)processes) == processes;
    for (int i = 0; fine && i < processes; i++) {
        struct holding holding;
        fine = read(result[0], &holding, sizeof holding) == (ssize_t)sizeof holding;
        sum.pss += holding.pss;
        sum.own = holding.own > sum.own ? holding.own : sum.own;
    }
    fine = fine && write(leave[1], bytes, (size_t)processes) == processes;
    while (wait(NULL) > 0) {
    }
    if (!fine) {
        fail("a process died");
    }
    return sum;
}

static bool print_value(const char *name, const char *says, double value, double limit)
{
    printf("{\"name\":\"opening.%s\",\"says\":\"%s\",\"limit\":\"≤ %g\",\"met\":%s,"
           "\"value\":%.3f}\n",
           name, says, limit, value <= limit ? "true" : "false", value);
    return value <= limit;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fail("usage: bench_recipes FOLDER");
    }
    make_recipes(argv[1]);
    const struct place place = find_index(argv[1]);
    bool met = measure_open(argv[1], &place, RECIPES_MAP, "map", "mapped");
    met &= measure_open(argv[1], &place, RECIPES_READ, "read", "read");
    const struct holding one = measure_holding(argv[1], 1);
    const struct holding ten = measure_holding(argv[1], PROCESSES);
    met &= print_value("shared", "Pss of ten processes that use all recipes / of one",
                       (double)ten.pss / (double)one.pss, SHARED_LIMIT);
    met &= print_value("copied",
                       "memory of its own of a process that uses all recipes / their "
                       "SPIR-V",
                       (double)ten.own * 1024 / (double)(PIPELINES * CODE_SIZE), PRIVATE_LIMIT);
    close(place.fd);
    return met ? 0 : 1;
}
