#include "warm_recipes.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "output.h"
#include "spirv_validator.h"

static bool complain(const char *path, enum reason reason)
{
    output_message("warm: '%s': %s (%s)", path, reason_text(reason), reason_id(reason));
    return false;
}

static bool out_of_memory(void)
{
    output_message("warm: out of memory");
    return false;
}

static bool add_file(struct warm_recipes *recipes, struct recipes *file)
{
    struct recipes **more =
        reallocarray(recipes->files, recipes->file_count + 1, sizeof *recipes->files);
    if (!more) {
        recipes_close(file);
        return out_of_memory();
    }
    recipes->files = more;
    recipes->files[recipes->file_count++] = file;
    return true;
}

/* Files in a folder that are no recipes are passed over. */
static bool open_file(struct warm_recipes *recipes, const char *path, bool in_folder)
{
    struct recipes *file;
    enum reason reason = recipes_open_file(path, &file);
    if (in_folder && (reason == REASON_bad_magic || reason == REASON_truncated)) {
        return true;
    }
    return reason == REASON_ok ? add_file(recipes, file) : complain(path, reason);
}

static bool open_folder(struct warm_recipes *recipes, const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        output_message("warm: cannot open '%s': %s", path, strerror(errno));
        return false;
    }
    bool fine = true;
    for (struct dirent *entry; fine && (entry = readdir(folder));) {
        char *name;
        struct stat status;
        if (asprintf(&name, "%s/%s", path, entry->d_name) < 0) {
            fine = out_of_memory();
            break;
        }
        if (stat(name, &status) == 0 && S_ISREG(status.st_mode)) {
            fine = open_file(recipes, name, true);
        }
        free(name);
    }
    closedir(folder);
    return fine;
}

static bool open_path(struct warm_recipes *recipes, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        output_message("warm: cannot open '%s': %s", path, strerror(errno));
        return false;
    }
    return S_ISDIR(status.st_mode) ? open_folder(recipes, path) : open_file(recipes, path, false);
}

static bool open_app(struct warm_recipes *recipes, const char *root, const char *app)
{
    struct recipes *file;
    enum reason reason = recipes_open(root, app, RECIPES_MAP, &file);
    if (reason == REASON_no_file) {
        return true;
    }
    return reason == REASON_ok ? add_file(recipes, file) : complain(app, reason);
}

static bool open_all(struct warm_recipes *recipes, const char *root, const char *app, char **paths)
{
    if (!paths || !*paths) {
        return open_app(recipes, root, app);
    }
    recipes->validator = spirv_validator_new();
    if (!recipes->validator) {
        return out_of_memory();
    }
    for (; *paths; paths++) {
        if (!open_path(recipes, *paths)) {
            return false;
        }
    }
    return true;
}

static bool find(const struct warm_recipes *recipes, enum recipe_kind kind, struct digest content,
                 const void **ret_data, size_t *ret_size)
{
    for (size_t i = 0; i < recipes->file_count; i++) {
        if (recipes_find(recipes->files[i], kind, content, ret_data, ret_size)) {
            return true;
        }
    }
    return false;
}

static bool find_environment(void *user, struct digest digest, const void **ret_data,
                             size_t *ret_size)
{
    return find(user, RECIPE_ENVIRONMENT, digest, ret_data, ret_size);
}

static size_t count_uses(const struct warm_recipes *recipes)
{
    const struct recipe_use *uses;
    size_t count = 0;
    for (size_t i = 0; i < recipes->file_count; i++) {
        count += recipes_uses(recipes->files[i], &uses);
    }
    return count;
}

/* False after a message. */
static bool take_environments(struct warm_recipes *recipes, size_t use_count)
{
    struct digest *digests = calloc(use_count + 1, sizeof *digests);
    size_t kept = 0;
    for (size_t i = 0; digests && i < recipes->file_count; i++) {
        const struct recipe_use *uses;
        const size_t count = recipes_uses(recipes->files[i], &uses);
        for (size_t j = 0; j < count; j++) {
            if (j == 0 || !digest_equal(uses[j - 1].environment, uses[j].environment)) {
                digests[kept++] = uses[j].environment;
            }
        }
    }
    return (digests && warm_environments_make(&recipes->environments, digests, kept,
                                              find_environment, recipes)) ||
           out_of_memory();
}

static void take_uses(struct warm_recipes *recipes, const struct recipes *file)
{
    const struct recipe_use *uses;
    const size_t count = recipes_uses(file, &uses);
    for (size_t i = 0; i < count; i++) {
        size_t place;
        if (!warm_environments_place(&recipes->environments, uses[i].environment, &place)) {
            recipes->unusable++;
            continue;
        }
        recipes->items[recipes->item_count++] = (struct warm_item){
            .pipeline = uses[i].pipeline,
            .compile_us = uses[i].compile_us,
            .environment = (uint32_t)place,
        };
    }
}

/* False after a message. */
static bool take_all(struct warm_recipes *recipes)
{
    const size_t count = count_uses(recipes);
    if (!take_environments(recipes, count)) {
        return false;
    }
    recipes->items = calloc(count + 1, sizeof *recipes->items);
    if (!recipes->items) {
        return out_of_memory();
    }
    for (size_t i = 0; i < recipes->file_count; i++) {
        take_uses(recipes, recipes->files[i]);
    }
    return true;
}

static int compare(uint64_t left, uint64_t right)
{
    return left < right ? -1 : left > right;
}

static int compare_identities(const struct warm_item *a, const struct warm_item *b)
{
    int order = compare(a->environment, b->environment);
    order = order ? order : compare(a->pipeline.high, b->pipeline.high);
    return order ? order : compare(a->pipeline.low, b->pipeline.low);
}

static int compare_items(const void *left, const void *right)
{
    return compare_identities(left, right);
}

/* The dearest first: the threads then end together. */
static int compare_cost(const void *left, const void *right)
{
    const struct warm_item *a = left;
    const struct warm_item *b = right;
    int order = compare(a->environment, b->environment);
    order = order ? order : compare(b->compile_us, a->compile_us);
    return order ? order : compare_identities(a, b);
}

/* Several files may tell of one pipeline. */
static void order_items(struct warm_recipes *recipes)
{
    size_t kept = 0;
    qsort(recipes->items, recipes->item_count, sizeof *recipes->items, compare_items);
    for (size_t i = 0; i < recipes->item_count; i++) {
        if (kept == 0 || compare_items(&recipes->items[kept - 1], &recipes->items[i]) != 0) {
            recipes->items[kept++] = recipes->items[i];
        }
    }
    recipes->item_count = kept;
    qsort(recipes->items, kept, sizeof *recipes->items, compare_cost);
}

bool warm_recipes_open(const char *root, const char *app, char **paths,
                       struct warm_recipes *ret_recipes)
{
    struct warm_recipes recipes = {0};
    if (!open_all(&recipes, root, app, paths) || !take_all(&recipes)) {
        warm_recipes_close(&recipes);
        return false;
    }
    if (recipes.item_count > 0) {
        order_items(&recipes);
    }
    *ret_recipes = recipes;
    return true;
}

void warm_recipes_close(struct warm_recipes *recipes)
{
    warm_environments_free(&recipes->environments);
    for (size_t i = 0; i < recipes->file_count; i++) {
        recipes_close(recipes->files[i]);
    }
    spirv_validator_delete(recipes->validator);
    free(recipes->items);
    free(recipes->files);
    *recipes = (struct warm_recipes){0};
}

static bool find_form(void *user, struct digest content, const void **ret_form, size_t *ret_size)
{
    return find(user, RECIPE_FORM, content, ret_form, ret_size);
}

/* Code that is not valid is given without its bytes: that is not the code that the form means. */
static bool find_code(void *user, struct digest content, const void **ret_code, size_t *ret_size)
{
    const struct warm_recipes *recipes = user;
    if (!find(recipes, RECIPE_CODE, content, ret_code, ret_size)) {
        return false;
    }
    if (recipes->validator && !spirv_validator_accepts(recipes->validator, *ret_code, *ret_size)) {
        *ret_size = 0;
    }
    return true;
}

struct replay_source warm_recipes_source(const struct warm_recipes *recipes)
{
    return (struct replay_source){find_form, find_code, (void *)recipes};
}
