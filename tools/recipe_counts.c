#include "recipe_counts.h"

#include <stdlib.h>
#include <string.h>

#include "disk/recipes.h"
#include "driver/environment.h"

/* A device that recipes were made on. */
struct device {
    struct digest environment;
    uint32_t vendor_id;
    uint32_t device_id;
};

struct recipe_counts {
    struct recipes *recipes;
    const struct recipe_use *uses;
    size_t use_count;
    struct device *devices; /* one for each environment, in the order of the uses */
    size_t device_count;
};

/* One that is damaged, or not there, is that of no device. */
static void add_device(struct recipe_counts *counts, struct digest digest)
{
    struct device *more =
        reallocarray(counts->devices, counts->device_count + 1, sizeof *counts->devices);
    if (!more) {
        return;
    }
    counts->devices = more;
    more += counts->device_count++;
    *more = (struct device){.environment = digest};
    const void *data;
    size_t size;
    struct environment *environment =
        recipes_find(counts->recipes, RECIPE_ENVIRONMENT, digest, &data, &size)
            ? environment_decode(data, size)
            : NULL;
    if (environment) {
        const struct environment_device device = environment_device_of(environment);
        more->vendor_id = device.vendor_id;
        more->device_id = device.device_id;
    }
    environment_free(environment);
}

struct recipe_counts *recipe_counts_open(const char *root, const char *app)
{
    struct recipe_counts *counts = calloc(1, sizeof *counts);
    if (!counts || recipes_open(root, app, RECIPES_MAP, &counts->recipes) != REASON_ok) {
        free(counts);
        return NULL;
    }
    counts->use_count = recipes_uses(counts->recipes, &counts->uses);
    for (size_t i = 0; i < counts->use_count; i++) {
        if (i == 0 || !digest_equal(counts->uses[i - 1].environment, counts->uses[i].environment)) {
            add_device(counts, counts->uses[i].environment);
        }
    }
    return counts;
}

void recipe_counts_close(struct recipe_counts *counts)
{
    if (counts) {
        recipes_close(counts->recipes);
        free(counts->devices);
        free(counts);
    }
}

static int compare(const void *left, const void *right)
{
    const struct digest *a = left;
    const struct digest *b = right;
    if (a->high != b->high) {
        return a->high < b->high ? -1 : 1;
    }
    return a->low == b->low ? 0 : a->low < b->low ? -1 : 1;
}

/* Of uses that are gone through in their order; *place starts with 0. NULL: out of memory when it
 * should have been added. */
static const struct device *next_device(const struct recipe_counts *counts,
                                        struct digest environment, size_t *place)
{
    if (*place + 1 < counts->device_count &&
        digest_equal(counts->devices[*place + 1].environment, environment)) {
        ++*place;
    }
    const bool is_it = *place < counts->device_count &&
                       digest_equal(counts->devices[*place].environment, environment);
    return is_it ? &counts->devices[*place] : NULL;
}

uint64_t recipe_counts_pipelines(const struct recipe_counts *counts,
                                 const struct driver_identity *identity)
{
    struct digest *pipelines = counts ? calloc(counts->use_count + 1, sizeof *pipelines) : NULL;
    size_t count = 0;
    size_t place = 0;
    for (size_t i = 0; pipelines && i < counts->use_count; i++) {
        const struct device *device = next_device(counts, counts->uses[i].environment, &place);
        if (!identity || (device && device->vendor_id == identity->vendor_id &&
                          device->device_id == identity->device_id)) {
            pipelines[count++] = counts->uses[i].pipeline;
        }
    }
    uint64_t different = 0;
    if (count > 0) {
        qsort(pipelines, count, sizeof *pipelines, compare);
        for (size_t i = 0; i < count; i++) {
            different += i == 0 || !digest_equal(pipelines[i], pipelines[i - 1]);
        }
    }
    free(pipelines);
    return different;
}

uint64_t recipe_counts_compile_ns(const struct recipe_counts *counts)
{
    uint64_t known = 0;
    uint64_t sum_us = 0;
    for (size_t i = 0; counts && i < counts->use_count; i++) {
        known += counts->uses[i].compile_us > 0;
        sum_us += counts->uses[i].compile_us;
    }
    return known > 0 ? sum_us * 1000 / known : 0;
}
