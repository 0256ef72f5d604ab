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

/* Whether pipelines of one are those of the other: devices differ, and nothing else. */
static bool is_same(const struct environment *a, const struct environment *b)
{
    const struct environment_device one = environment_device_of(a);
    const struct environment_device other = environment_device_of(b);
    return environment_includes(a, b) && environment_includes(b, a) &&
           one.has_properties2 == other.has_properties2 &&
           one.application_version == other.application_version &&
           one.engine_version == other.engine_version &&
           strcmp(one.application_name, other.application_name) == 0 &&
           strcmp(one.engine_name, other.engine_name) == 0;
}

/* The place of an environment that is the same, or the one behind the last. */
static size_t find_same(const struct warm_recipes *recipes, const struct environment *environment)
{
    size_t i = 0;
    while (i < recipes->environment_count &&
           !(recipes->environments[i] && is_same(recipes->environments[i], environment))) {
        i++;
    }
    return i;
}

/* Its place: an environment that was met before stands for all that are the same. False: out of
 * memory. */
static bool place_environment(struct warm_recipes *recipes, struct digest digest, size_t *ret_place)
{
    size_t count = recipes->environment_count;
    const void *data;
    size_t size;
    for (size_t i = 0; i < count; i++) {
        if (digest_equal(recipes->environment_digests[i], digest)) {
            *ret_place =
                recipes->environments[i] ? find_same(recipes, recipes->environments[i]) : i;
            return true;
        }
    }
    struct environment **environments =
        reallocarray(recipes->environments, count + 1, sizeof(*environments));
    recipes->environments = environments ? environments : recipes->environments;
    struct digest *digests =
        reallocarray(recipes->environment_digests, count + 1, sizeof(*digests));
    recipes->environment_digests = digests ? digests : recipes->environment_digests;
    if (!environments || !digests) {
        return out_of_memory();
    }
    bool found = find(recipes, RECIPE_ENVIRONMENT, digest, &data, &size);
    environments[count] = found ? environment_decode(data, size) : NULL;
    digests[count] = digest;
    recipes->environment_count++;
    *ret_place = found && environments[count] ? find_same(recipes, environments[count]) : count;
    return true;
}

static bool take_uses(struct warm_recipes *recipes, const struct recipes *file)
{
    const struct recipe_use *uses;
    size_t count = recipes_uses(file, &uses);
    struct warm_item *items =
        reallocarray(recipes->items, recipes->item_count + count + 1, sizeof *items);
    if (!items) {
        return out_of_memory();
    }
    recipes->items = items;
    for (size_t i = 0; i < count; i++) {
        size_t place;
        if (!place_environment(recipes, uses[i].environment, &place)) {
            return false;
        }
        if (!recipes->environments[place]) {
            recipes->unusable++;
            continue;
        }
        items[recipes->item_count++] = (struct warm_item){
            .pipeline = uses[i].pipeline,
            .compile_us = uses[i].compile_us,
            .environment = (uint32_t)place,
        };
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
    bool fine = open_all(&recipes, root, app, paths);
    for (size_t i = 0; fine && i < recipes.file_count; i++) {
        fine = take_uses(&recipes, recipes.files[i]);
    }
    if (!fine) {
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
    for (size_t i = 0; i < recipes->environment_count; i++) {
        environment_free(recipes->environments[i]);
    }
    for (size_t i = 0; i < recipes->file_count; i++) {
        recipes_close(recipes->files[i]);
    }
    spirv_validator_delete(recipes->validator);
    free(recipes->environments);
    free(recipes->environment_digests);
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
