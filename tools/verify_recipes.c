#include "verify_recipes.h"

#include <stdlib.h>
#include <string.h>

#include "disk/file.h"
#include "disk/listing.h"
#include "disk/recipe_folder.h"
#include "recipe_judge.h"

#define MAX_BESIDE ((size_t)1024)

bool verify_recipes_has_our_name(const char *name)
{
    const size_t length = strlen(name);
    const size_t suffix = sizeof RECIPE_SUFFIX - 1;
    return length > suffix && strcmp(name + length - suffix, RECIPE_SUFFIX) == 0;
}

bool verify_recipes_is_one(int directory_fd, const char *name)
{
    uint8_t head[RECIPE_HEADER_SIZE];
    size_t read;
    uint64_t size;
    return verify_recipes_has_our_name(name) ||
           (file_read_head(directory_fd, name, head, sizeof head, &read, &size) == REASON_ok &&
            read > 0 && recipe_check_header(head, read) != REASON_bad_magic);
}

/* The file that is judged, first, and those beside it. */
struct folder {
    struct recipe_segment *segments;
    struct recipe_merge_input *inputs;
    size_t count;
};

/* False: out of memory. */
static bool reserve(struct folder *folder)
{
    const size_t count = folder->count + 1;
    struct recipe_segment *segments = reallocarray(folder->segments, count, sizeof *segments);
    folder->segments = segments ? segments : folder->segments;
    return segments;
}

static enum reason open_one(struct folder *folder, int directory_fd, const char *name)
{
    if (!reserve(folder)) {
        return REASON_out_of_memory;
    }
    const enum reason reason =
        recipe_segment_open(directory_fd, name, RECIPES_READ, &folder->segments[folder->count]);
    folder->count += reason == REASON_ok;
    return reason;
}

static enum reason open_all(struct folder *folder, int directory_fd, const char *name)
{
    enum reason reason = open_one(folder, directory_fd, name);
    DIR *listing = reason == REASON_ok ? listing_open(directory_fd, ".") : NULL;
    const char *other;
    while (listing && folder->count < MAX_BESIDE && (other = listing_next(listing))) {
        if (verify_recipes_has_our_name(other) && strcmp(other, name) != 0) {
            open_one(folder, directory_fd, other);
        }
    }
    if (listing) {
        closedir(listing);
    }
    folder->inputs = calloc(folder->count + 1, sizeof *folder->inputs);
    for (size_t i = 0; folder->inputs && i < folder->count; i++) {
        folder->inputs[i] =
            (struct recipe_merge_input){.segment = &folder->segments[i], .stays = i > 0};
    }
    return folder->inputs ? reason : REASON_out_of_memory;
}

static void close_all(struct folder *folder)
{
    for (size_t i = 0; i < folder->count; i++) {
        recipe_segment_close(&folder->segments[i]);
    }
    free(folder->segments);
    free(folder->inputs);
}

static enum reason worst_of(const struct recipe_merge_counts *counts)
{
    return counts->damaged      ? REASON_bad_record
           : counts->refused    ? REASON_refused_record
           : counts->incomplete ? REASON_incomplete_recipe
                                : REASON_ok;
}

static enum reason judge(const struct folder *folder, struct recipe_merge_counts *ret_counts)
{
    struct recipe_judge judge;
    struct recipe_merged merged;
    if (!recipe_judge_init(&judge)) {
        return REASON_out_of_memory;
    }
    const struct recipe_merge_limits limits = {
        .max_size = UINT64_MAX,
        .accepts = recipe_judge_accepts,
        .user = &judge,
    };
    enum reason reason = recipe_merge(folder->inputs, folder->count, &limits, &merged);
    if (reason == REASON_ok) {
        *ret_counts = merged.counts;
        reason = worst_of(&merged.counts);
        recipe_merge_free(&merged);
    }
    recipe_judge_free(&judge);
    return reason;
}

enum reason verify_recipes(int directory_fd, const char *name,
                           struct recipe_merge_counts *ret_counts)
{
    struct folder folder = {0};
    enum reason reason = open_all(&folder, directory_fd, name);
    if (reason == REASON_ok) {
        reason = judge(&folder, ret_counts);
    }
    close_all(&folder);
    return reason;
}
