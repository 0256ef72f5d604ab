// SPDX-License-Identifier: Apache-2.0
#include "tools/recipes/recipe_tool.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/files/file.h"

/* Files beside that keep a descriptor. */
#define MAX_OPEN_FDS 64

/* A file, and what was found in it. */
struct verified_file {
    char name[NAME_MAX + 1];
    enum status status; /* why it could not be opened */
    bool is_judged;     /* else it lies beside */
    struct recipe_segment segment;
    struct recipe_merge_counts counts;
};

struct verify_recipes {
    struct verified_file *files;
    size_t count;
    struct recipe_merge_input *inputs; /* the files that could be opened */
    struct recipe_graph graph;
    struct recipe_judge judge;
    size_t judged; /* the file whose records are being judged */
};

/* False: out of memory. */
static bool verify_add_file(struct verify_recipes *recipes, int directory_fd, const char *name,
                            bool is_judged)
{
    if (!array_reserve(&recipes->files, recipes->count, sizeof *recipes->files)) {
        return false;
    }
    struct verified_file *file = &recipes->files[recipes->count];
    *file = (struct verified_file){.is_judged = is_judged};
    snprintf(file->name, sizeof file->name, "%s", name);
    if (is_judged) {
        /* The whole file: whatever happens to it meanwhile, all checks see the same bytes. */
        uint8_t *data;
        size_t size;
        file->status = file_read(directory_fd, name, RECIPES_MAX_FILE, &data, &size);
        if (file->status == STATUS_ok) {
            file->status = recipe_segment_take(data, size, &file->segment);
        }
    } else {
        file->status = recipe_segment_open(directory_fd, name, RECIPES_READ, &file->segment);
    }
    if (recipes->count++ >= MAX_OPEN_FDS) {
        recipe_segment_close_fd(&file->segment);
    }
    return file->status != STATUS_out_of_memory;
}

static bool verify_add_files(struct verify_recipes *recipes, int directory_fd, const char *only)
{
    bool enough_memory = !only || verify_add_file(recipes, directory_fd, only, true);
    AUTO_LISTING DIR *listing = listing_open(directory_fd, ".");
    const char *name;
    while (enough_memory && (name = listing_next(listing))) {
        if (recipe_tool_has_our_name(name) && (!only || strcmp(name, only) != 0)) {
            enough_memory = verify_add_file(recipes, directory_fd, name, !only);
        }
    }
    return enough_memory;
}

/* The graph goes through the files in their order, and each judged record lies in the memory of its
 * segment: finds the file that it belongs to. */
static bool verify_accepts_record(void *user, const struct recipe_record *record)
{
    struct verify_recipes *recipes = user;
    struct verified_file *file = &recipes->files[recipes->judged];
    while (file->status != STATUS_ok || record->data < file->segment.data ||
           record->data > file->segment.data + file->segment.size) {
        file = &recipes->files[++recipes->judged];
    }
    const bool accepted = recipe_judge_accepts(&recipes->judge, record);
    file->counts.refused += !accepted;
    return accepted;
}

/* False: out of memory. */
static bool verify_build_graph(struct verify_recipes *recipes)
{
    const struct recipe_merge_limits limits = {.accepts = verify_accepts_record, .user = recipes};
    size_t count = 0;
    recipes->inputs = calloc(recipes->count + 1, sizeof *recipes->inputs);
    for (size_t i = 0; recipes->inputs && i < recipes->count; i++) {
        const struct verified_file *file = &recipes->files[i];
        if (file->status == STATUS_ok) {
            recipes->inputs[count++] =
                (struct recipe_merge_input){.segment = &file->segment, .stays = !file->is_judged};
        }
    }
    return recipes->inputs && recipe_graph_build(recipes->inputs, count, &limits, &recipes->graph);
}

struct verify_recipes *verify_recipes_open(int directory_fd, const char *only)
{
    struct verify_recipes *recipes = calloc(1, sizeof *recipes);
    if (recipes && verify_add_files(recipes, directory_fd, only) &&
        recipe_judge_init(&recipes->judge)) {
        recipes->judge.passes_unknown = true; /* it is no damage */
        if (verify_build_graph(recipes)) {
            return recipes;
        }
    }
    verify_recipes_close(recipes);
    return NULL;
}

void verify_recipes_close(struct verify_recipes *recipes)
{
    if (!recipes) {
        return;
    }
    recipe_graph_free(&recipes->graph);
    recipe_judge_free(&recipes->judge);
    for (size_t i = 0; i < recipes->count; i++) {
        recipe_segment_close(&recipes->files[i].segment);
    }
    free(recipes->inputs);
    free(recipes->files);
    free(recipes);
}

/* Counts each pipeline that is used in a known environment once. */
static void verify_count_pipelines(struct verify_recipes *recipes, struct recipe_uses *uses,
                                   struct recipe_merge_counts *counts)
{
    const struct recipe_graph *graph = &recipes->graph;
    array_sort(uses->uses, uses->count, sizeof *uses->uses, digest_order);
    const struct recipe_use *last = NULL;
    for (size_t i = 0; i < uses->count; i++) {
        const struct recipe_use *use = &uses->uses[i];
        if (!recipe_graph_find(graph, RECIPE_ENVIRONMENT, use->environment) ||
            (last && digest_equal(last->pipeline, use->pipeline))) {
            continue;
        }
        struct recipe_node *node = recipe_graph_find(graph, RECIPE_FORM, use->pipeline);
        const bool is_whole = node && recipe_graph_is_pipeline(graph, node);
        const bool is_sound =
            is_whole && recipe_judge_accepts_pipeline(&recipes->judge, graph, use->pipeline);
        counts->pipelines += is_sound;
        counts->refused += is_whole && !is_sound;
        counts->incomplete += !is_whole;
        last = use;
    }
}

static enum status verify_worst_of(const struct recipe_merge_counts *counts, bool is_cut)
{
    return is_cut               ? STATUS_truncated
           : counts->damaged    ? STATUS_bad_record
           : counts->refused    ? STATUS_refused_record
           : counts->incomplete ? STATUS_incomplete_recipe
                                : STATUS_ok;
}

static enum status verify_file(struct verify_recipes *recipes, const struct verified_file *file,
                               struct recipe_merge_counts *ret_counts)
{
    const struct recipe_segment *segment = &file->segment;
    struct recipe_merge_counts counts = file->counts;
    struct recipe_uses uses = {0};
    recipe_segment_add_uses(segment, &uses);
    counts.damaged = recipe_segment_damaged(segment);
    verify_count_pipelines(recipes, &uses, &counts);
    const bool failed = uses.failed;
    recipe_uses_free(&uses);
    *ret_counts = counts;
    return failed ? STATUS_out_of_memory
                  : verify_worst_of(&counts, recipe_tool_is_cut(file->name, segment));
}

enum status verify_recipes_judge(struct verify_recipes *recipes, const char *name,
                                 struct recipe_merge_counts *ret_counts)
{
    for (size_t i = 0; i < recipes->count; i++) {
        const struct verified_file *file = &recipes->files[i];
        if (strcmp(file->name, name) == 0) {
            return file->status == STATUS_ok ? verify_file(recipes, file, ret_counts)
                                             : file->status;
        }
    }
    return STATUS_no_file;
}
