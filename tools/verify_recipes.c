#include "verify_recipes.h"

#include <stdlib.h>
#include <string.h>

#include "disk/file.h"
#include "disk/listing.h"
#include "disk/recipe_folder.h"
#include "disk/recipe_graph.h"
#include "disk/recipe_uses.h"
#include "recipe_judge.h"

/* Of those beside: each takes a descriptor. */
#define MAX_HELD 64

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

/* A file, and what was found in it. */
struct file {
    char *name;
    enum reason reason; /* why it could not be opened */
    size_t place;       /* among the segments, if it was */
    struct recipe_merge_counts counts;
};

struct verify_recipes {
    struct file *files;
    size_t file_count;
    struct recipe_segment *segments;
    struct recipe_merge_input *inputs; /* of the same places */
    size_t count;
    struct recipe_graph graph;
    struct recipe_judge judge;
    size_t judged; /* the file whose records are being judged */
};

/* All of it is read into memory: whatever happens to the file meanwhile, each record is judged by
 * bytes that stay. */
static enum reason read_segment(int directory_fd, const char *name, struct recipe_segment *segment)
{
    uint8_t *data;
    size_t size;
    enum reason reason = file_read(directory_fd, name, RECIPES_MAX_FILE, &data, &size);
    if (reason == REASON_ok) {
        reason = recipe_segment_take(data, size, segment);
        if (reason != REASON_ok) {
            free(data);
        }
    }
    return reason;
}

/* False: out of memory. */
static bool add_file(struct verify_recipes *recipes, int directory_fd, const char *name,
                     bool is_judged)
{
    const size_t count = recipes->file_count + 1;
    struct file *files = reallocarray(recipes->files, count, sizeof *files);
    recipes->files = files ? files : recipes->files;
    struct recipe_segment *segments = reallocarray(recipes->segments, count, sizeof *segments);
    recipes->segments = segments ? segments : recipes->segments;
    struct recipe_merge_input *inputs = reallocarray(recipes->inputs, count, sizeof *inputs);
    recipes->inputs = inputs ? inputs : recipes->inputs;
    char *own_name = strdup(name);
    if (!files || !segments || !inputs || !own_name) {
        free(own_name);
        return false;
    }
    struct file *file = &files[recipes->file_count++];
    *file = (struct file){.name = own_name, .place = recipes->count};
    file->reason = is_judged ? read_segment(directory_fd, name, &segments[recipes->count])
                             : recipe_segment_open(directory_fd, name, RECIPES_READ,
                                                   &segments[recipes->count]);
    if (file->reason == REASON_ok) {
        inputs[recipes->count++] = (struct recipe_merge_input){.stays = !is_judged};
    }
    return file->reason != REASON_out_of_memory;
}

static bool add_files(struct verify_recipes *recipes, int directory_fd, const char *only)
{
    bool enough_memory = !only || add_file(recipes, directory_fd, only, true);
    DIR *listing = listing_open(directory_fd, ".");
    const char *name;
    while (enough_memory && listing && (name = listing_next(listing))) {
        if (verify_recipes_has_our_name(name) && (!only || strcmp(name, only) != 0)) {
            enough_memory = add_file(recipes, directory_fd, name, !only);
        }
    }
    if (listing) {
        closedir(listing);
    }
    for (size_t i = 0; i < recipes->count; i++) {
        recipes->inputs[i].segment = &recipes->segments[i];
        if (recipe_segment_is_held(&recipes->segments[i]) && i >= MAX_HELD) {
            recipe_segment_rest(&recipes->segments[i]);
        }
    }
    return enough_memory;
}

/* Files are gone through in the order of the segments, and what is judged lies in their memory. */
static bool accepts(void *user, const struct recipe_record *record)
{
    struct verify_recipes *recipes = user;
    struct file *file = &recipes->files[recipes->judged];
    const struct recipe_segment *segment = &recipes->segments[file->place];
    while (file->reason != REASON_ok || record->data < segment->data ||
           record->data > segment->data + segment->size) {
        file = &recipes->files[++recipes->judged];
        segment = &recipes->segments[file->place];
    }
    const bool accepted = recipe_judge_accepts(&recipes->judge, record);
    file->counts.refused += !accepted;
    return accepted;
}

struct verify_recipes *verify_recipes_open(int directory_fd, const char *only)
{
    struct verify_recipes *recipes = calloc(1, sizeof *recipes);
    const struct recipe_merge_limits limits = {.accepts = accepts, .user = recipes};
    if (recipes && add_files(recipes, directory_fd, only) && recipe_judge_init(&recipes->judge) &&
        recipe_graph_build(recipes->inputs, recipes->count, &limits, &recipes->graph)) {
        return recipes;
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
        recipe_segment_close(&recipes->segments[i]);
    }
    for (size_t i = 0; i < recipes->file_count; i++) {
        free(recipes->files[i].name);
    }
    free(recipes->segments);
    free(recipes->inputs);
    free(recipes->files);
    free(recipes);
}

static uint64_t count_damaged(const struct recipe_segment *segment)
{
    uint64_t damaged = segment->dropped;
    for (unsigned kind = RECIPE_CODE; kind <= RECIPE_ENVIRONMENT; kind++) {
        struct recipe_record record;
        size_t at = SIZE_MAX;
        while (recipe_segment_next_of(segment, kind, &at, &record)) {
            damaged += !record.data;
        }
    }
    return damaged;
}

static int compare_pipelines(const void *left, const void *right)
{
    const struct digest *a = &((const struct recipe_use *)left)->pipeline;
    const struct digest *b = &((const struct recipe_use *)right)->pipeline;
    const int order = (a->high > b->high) - (a->high < b->high);
    return order ? order : (a->low > b->low) - (a->low < b->low);
}

/* Each pipeline that is used in an environment counts once. */
static void count_pipelines(const struct recipe_graph *graph, struct recipe_uses *uses,
                            struct recipe_merge_counts *counts)
{
    if (uses->count > 0) {
        qsort(uses->uses, uses->count, sizeof *uses->uses, compare_pipelines);
    }
    const struct recipe_use *last = NULL;
    for (size_t i = 0; i < uses->count; i++) {
        const struct recipe_use *use = &uses->uses[i];
        if (!recipe_graph_find(graph, RECIPE_ENVIRONMENT, use->environment) ||
            (last && digest_equal(last->pipeline, use->pipeline))) {
            continue;
        }
        struct recipe_node *node = recipe_graph_find(graph, RECIPE_FORM, use->pipeline);
        const bool is_whole = node && recipe_graph_is_pipeline(graph, node);
        counts->pipelines += is_whole;
        counts->incomplete += !is_whole;
        last = use;
    }
}

static enum reason worst_of(const struct recipe_merge_counts *counts)
{
    return counts->damaged      ? REASON_bad_record
           : counts->refused    ? REASON_refused_record
           : counts->incomplete ? REASON_incomplete_recipe
                                : REASON_ok;
}

static enum reason judge(const struct verify_recipes *recipes, const struct file *file,
                         struct recipe_merge_counts *ret_counts)
{
    const struct recipe_segment *segment = &recipes->segments[file->place];
    struct recipe_merge_counts counts = file->counts;
    struct recipe_uses uses = {0};
    struct recipe_record record;
    size_t at = SIZE_MAX;
    counts.damaged = count_damaged(segment);
    while (recipe_segment_next_of(segment, RECIPE_USES, &at, &record)) {
        counts.damaged += !record.data || !recipe_uses_add_record(&uses, record.data, record.size);
    }
    count_pipelines(&recipes->graph, &uses, &counts);
    const bool failed = uses.failed;
    recipe_uses_free(&uses);
    *ret_counts = counts;
    return failed ? REASON_out_of_memory : worst_of(&counts);
}

enum reason verify_recipes_judge(const struct verify_recipes *recipes, const char *name,
                                 struct recipe_merge_counts *ret_counts)
{
    for (size_t i = 0; i < recipes->file_count; i++) {
        const struct file *file = &recipes->files[i];
        if (strcmp(file->name, name) == 0) {
            return file->reason == REASON_ok ? judge(recipes, file, ret_counts) : file->reason;
        }
    }
    return REASON_no_file;
}
