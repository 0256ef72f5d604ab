// SPDX-License-Identifier: Apache-2.0
#include "tools/warm/warm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/bytes.h"
#include "tools/recipes/recipe_tool.h"

/* Opening files. */

static bool warm_recipes_no_memory(void)
{
    output_message("out of memory");
    return false;
}

/* Files in a folder that are not recipes are skipped. */
static bool warm_recipes_open_file(struct warm_recipes *recipes, const char *path, bool in_folder)
{
    const enum status reason = recipes_open_file(path, &recipes->files);
    if (in_folder && (reason == STATUS_bad_magic || reason == STATUS_truncated)) {
        return true;
    }
    if (reason != STATUS_ok) {
        output_reason(reason, "'%s'", path);
    } else if (recipe_tool_is_cut(path, recipes_last(recipes->files))) {
        recipe_tool_tell_cut(path);
        recipes->is_cut = true;
    }
    return reason == STATUS_ok;
}

static bool warm_recipes_open_path(struct warm_recipes *recipes, const char *path)
{
    AUTO_LISTING DIR *folder = opendir(path);
    if (!folder && errno == ENOTDIR) {
        return warm_recipes_open_file(recipes, path, false);
    }
    if (!folder) {
        output_message("cannot open '%s': %s", path, strerror(errno));
        return false;
    }
    bool fine = true;
    for (const char *name; fine && (name = listing_next(folder));) {
        AUTO_FREE char *file = output_format("%s/%s", path, name);
        struct stat status;
        fine = file && (stat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
                        warm_recipes_open_file(recipes, file, true));
    }
    return fine;
}

static bool warm_recipes_open_all(struct warm_recipes *recipes, const char *root, const char *app,
                                  char **paths)
{
    if (!paths || !*paths) {
        const enum status reason = recipes_open(root, app, RECIPES_MAP, &recipes->files);
        if (reason != STATUS_ok && reason != STATUS_no_file) {
            output_reason(reason, "'%s'", app);
        }
        return reason == STATUS_ok || reason == STATUS_no_file;
    }
    recipes->validator = spirv_validator_new();
    if (!recipes->validator) {
        return warm_recipes_no_memory();
    }
    for (; *paths; paths++) {
        if (!warm_recipes_open_path(recipes, *paths)) {
            return false;
        }
    }
    return true;
}

/* Environments. A file from elsewhere may have very many, so they are sorted and searched. */

/* An environment that a use names. */
struct warm_environment {
    struct digest digest;  /* its name: must stand first, for digest_order */
    struct digest meaning; /* of what it says but for the device */
    struct environment *decoded;
    size_t index; /* among the recipes' environments; SIZE_MAX: it cannot be used */
};

static int warm_compare_meanings(const void *left, const void *right)
{
    const struct warm_environment *a = left;
    const struct warm_environment *b = right;
    const int order = digest_compare(a->meaning, b->meaning);
    return order ? order : digest_compare(a->digest, b->digest);
}

static void warm_recipes_decode(const struct warm_recipes *recipes,
                                struct warm_environment *environment)
{
    const void *data;
    size_t size;
    if (recipes_find(recipes->files, RECIPE_ENVIRONMENT, environment->digest, &data, &size)) {
        environment->decoded = environment_decode(data, size);
    }
    if (environment->decoded) {
        environment->meaning = environment_meaning(data, size);
    }
}

/* Of a list in any order with repetitions, decodes each, and gives those of the same meaning one
 * index. Gives how many are left in the list, sorted by digest. */
static size_t warm_recipes_unite(struct warm_recipes *recipes, struct warm_environment *list,
                                 size_t count)
{
    qsort(list, count, sizeof *list, digest_order);
    const size_t kept = array_unique(list, count, sizeof *list, digest_order);
    for (size_t i = 0; i < kept; i++) {
        warm_recipes_decode(recipes, &list[i]);
    }
    qsort(list, kept, sizeof *list, warm_compare_meanings);
    for (size_t i = 0; i < kept; i++) {
        if (!list[i].decoded) {
            list[i].index = SIZE_MAX;
        } else if (i > 0 && list[i - 1].index != SIZE_MAX &&
                   digest_equal(list[i - 1].meaning, list[i].meaning)) {
            list[i].index = list[i - 1].index;
            environment_free(list[i].decoded);
        } else {
            list[i].index = recipes->environment_count;
            recipes->meanings[recipes->environment_count] = list[i].meaning;
            recipes->environments[recipes->environment_count++] = list[i].decoded;
        }
    }
    qsort(list, kept, sizeof *list, digest_order);
    return kept;
}

/* Items. */

/* False: out of memory. */
static bool warm_recipes_take_all(struct warm_recipes *recipes)
{
    const struct recipe_use *uses;
    const size_t count = recipes->files ? recipes_uses(recipes->files, &uses) : 0;
    size_t named = 0;
    AUTO_FREE struct warm_environment *list = calloc(count + 1, sizeof *list);
    recipes->environments = calloc(count + 1, sizeof(*recipes->environments));
    recipes->meanings = calloc(count + 1, sizeof *recipes->meanings);
    recipes->items = calloc(count + 1, sizeof *recipes->items);
    if (!list || !recipes->environments || !recipes->meanings || !recipes->items) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !digest_equal(uses[i - 1].environment, uses[i].environment)) {
            list[named++].digest = uses[i].environment;
        }
    }
    named = warm_recipes_unite(recipes, list, named);
    for (size_t i = 0; i < count; i++) {
        const struct warm_environment *found =
            bsearch(&uses[i].environment, list, named, sizeof *list, digest_order);
        if (!found || found->index == SIZE_MAX) {
            recipes->unusable++;
            continue;
        }
        recipes->items[recipes->item_count++] = (struct warm_item){
            .use = &uses[i],
            .environment = (uint32_t)found->index,
        };
    }
    return true;
}

static int warm_compare_items(const void *left, const void *right)
{
    const struct warm_item *a = left;
    const struct warm_item *b = right;
    const int order = array_order_of(a->environment, b->environment);
    return order ? order : digest_compare(a->use->pipeline, b->use->pipeline);
}

/* Of one that was made both ways, with its code in the stages first: modules are what recipes of
 * before say of all. */
static int warm_compare_ways(const void *left, const void *right)
{
    const struct warm_item *a = left;
    const struct warm_item *b = right;
    const int order = warm_compare_items(a, b);
    return order ? order : (b->use->inline_stages != 0) - (a->use->inline_stages != 0);
}

/* The slowest first: the workers then end together. */
static int warm_compare_cost(const void *left, const void *right)
{
    const struct warm_item *a = left;
    const struct warm_item *b = right;
    const bool of_one = a->environment == b->environment;
    const int order = of_one ? (b->use->compile_us > a->use->compile_us) -
                                   (b->use->compile_us < a->use->compile_us)
                             : 0;
    return order ? order : warm_compare_items(a, b);
}

bool warm_recipes_open(const char *root, const char *app, char **paths,
                       struct warm_recipes *ret_recipes)
{
    struct warm_recipes recipes = {0};
    if (!warm_recipes_open_all(&recipes, root, app, paths) ||
        !(warm_recipes_take_all(&recipes) || warm_recipes_no_memory())) {
        warm_recipes_close(&recipes);
        return false;
    }
    /* Environments that are one here may have the same pipeline. */
    const size_t size = sizeof *recipes.items;
    array_sort(recipes.items, recipes.item_count, size, warm_compare_ways);
    recipes.item_count = array_unique(recipes.items, recipes.item_count, size, warm_compare_items);
    array_sort(recipes.items, recipes.item_count, size, warm_compare_cost);
    *ret_recipes = recipes;
    return true;
}

void warm_recipes_close(struct warm_recipes *recipes)
{
    for (size_t i = 0; i < recipes->environment_count; i++) {
        environment_free(recipes->environments[i]);
    }
    recipes_close(recipes->files);
    spirv_validator_delete(recipes->validator);
    free(recipes->environments);
    free(recipes->items);
    free(recipes->meanings);
    *recipes = (struct warm_recipes){0};
}

static bool warm_recipes_find_record(void *user, bool is_code, struct digest content,
                                     const void **ret_data, size_t *ret_size)
{
    const struct warm_recipes *recipes = user;
    const enum recipe_kind kind = is_code ? RECIPE_CODE : RECIPE_FORM;
    if (!recipes_find(recipes->files, kind, content, ret_data, ret_size)) {
        return false;
    }
    /* Code that is not valid is given as empty: its digest is not the one that the form names. */
    if (is_code && recipes->validator &&
        !spirv_validator_accepts(recipes->validator, *ret_data, *ret_size)) {
        *ret_size = 0;
    }
    return true;
}

/* Whether a program of this environment has its caches named by the target's identity, and ran on
 * that device. */
static bool warm_recipes_are_of(const struct warm_recipes *recipes, struct digest environment,
                                const struct warm_target *target)
{
    struct warm_environment found = {.digest = environment};
    warm_recipes_decode(recipes, &found);
    if (!found.decoded) {
        return false;
    }
    const bool are_of = warm_target_has(target, found.decoded) &&
                        environment_is_of_device(found.decoded, target->identity.vendor_id,
                                                 target->identity.device_id);
    environment_free(found.decoded);
    return are_of;
}

struct recipe_use *warm_recipes_unsaved(const struct warm_target *target, size_t *ret_count)
{
    const struct warm_recipes *recipes = target->recipes;
    const struct recipe_use *uses = NULL;
    const bool is_own = recipes->files && !recipes->validator;
    const size_t count = is_own ? recipes_uses(recipes->files, &uses) : 0;
    struct recipe_use *unsaved = calloc(count + 1, sizeof *unsaved);
    struct recipe_crashes *crashes = NULL;
    struct digest judged = {0};
    bool are_of = false;
    *ret_count = 0;
    recipe_crashes_open(target->root, target->app, target->digest, 0, &crashes);
    for (size_t i = 0; unsaved && i < count; i++) {
        if (!recipe_use_is_unsaved(&uses[i]) ||
            (crashes && recipe_crashes_have(crashes, uses[i].pipeline))) {
            continue;
        }
        if (!digest_equal(judged, uses[i].environment)) {
            judged = uses[i].environment;
            are_of = warm_recipes_are_of(recipes, judged, target);
        }
        if (are_of) {
            unsaved[(*ret_count)++] = uses[i];
        }
    }
    recipe_crashes_close(crashes);
    return unsaved;
}

/* By pipeline, in whichever environment. */
static void warm_recipes_find_done(const struct warm_target *target,
                                   const struct warm_shared *shared, struct digest_set *done)
{
    for (size_t i = 0; i < target->recipes->item_count; i++) {
        const uint8_t outcome = atomic_load(&shared->items[i].outcome);
        if (outcome == REPLAY_COMPILED || outcome == REPLAY_HIT) {
            digest_set_add(done, target->recipes->items[i].use->pipeline.low);
        }
    }
}

void warm_recipes_note_saved(const struct warm_target *target, const struct warm_shared *shared,
                             const struct recipe_use *unsaved, size_t count)
{
    AUTO(digest_set_release) struct digest_set done = {0};
    AUTO(bytes_free) struct bytes batch = {0};
    warm_recipes_find_done(target, shared, &done);
    for (size_t i = 0; i < count; i++) {
        if (digest_set_has(&done, unsaved[i].pipeline.low)) {
            recipe_put_use(&batch, &(struct recipe_use){
                                       .pipeline = unsaved[i].pipeline,
                                       .environment = unsaved[i].environment,
                                       .last_day = unsaved[i].last_day,
                                       .saved = true,
                                   });
        }
    }
    struct recipe_writer *writer =
        batch.size > 0 && !batch.failed
            ? recipe_writer_new(target->root, target->app, UINT64_MAX, RECIPE_SEGMENT_OPEN)
            : NULL;
    if (writer) {
        recipe_writer_append(writer,
                             &batch); /* else the next `warm` finds all of it in the cache */
    }
    recipe_writer_close(writer, true);
}

static unsigned warm_recipes_inline_stages(void *user, struct digest environment,
                                           struct digest pipeline)
{
    const struct warm_recipes *recipes = user;
    return recipes_inline_stages(recipes->files, environment, pipeline);
}

struct replay_source warm_recipes_source(const struct warm_recipes *recipes, size_t environment)
{
    const bool allows_inline = environment_allows_inline_code(recipes->environments[environment]);
    return (struct replay_source){warm_recipes_find_record,
                                  allows_inline ? warm_recipes_inline_stages : NULL,
                                  (void *)(uintptr_t)recipes};
}
