// SPDX-License-Identifier: Apache-2.0
#include "layer/recipes/prewarm_list.h"

#include <stdlib.h>

#include "common/driver/environment.h"

/* A pipeline that takes longer, or an unknown time, is left to `warmpipe warm`: the program would
 * have to wait for it when it ends. */
#define MAX_COMPILE_US 500000

/* Decides whether the environment that a use names is included in the device's. */
struct prewarm_judge {
    const struct recipes *recipes;
    struct environment *enabled;
    struct digest judged; /* the last one */
    bool fits;
};

static bool prewarm_environment_is_included(const struct prewarm_judge *judge, struct digest digest)
{
    const void *data;
    size_t size;
    struct environment *needed =
        recipes_find(judge->recipes, RECIPE_ENVIRONMENT, digest, &data, &size)
            ? environment_decode(data, size)
            : NULL;
    if (!needed) {
        return false;
    }
    struct environment_device ours = environment_device_of(judge->enabled);
    struct environment_device theirs = environment_device_of(needed);
    bool fits = ours.vendor_id == theirs.vendor_id && ours.device_id == theirs.device_id &&
                environment_includes(judge->enabled, needed);
    environment_free(needed);
    return fits;
}

/* The uses of one environment come one after the other. */
static bool prewarm_environment_fits(struct prewarm_judge *judge, struct digest digest)
{
    if (!digest_equal(judge->judged, digest)) {
        judge->judged = digest;
        judge->fits = prewarm_environment_is_included(judge, digest);
    }
    return judge->fits;
}

static int prewarm_compare_worth(const void *left, const void *right)
{
    const struct recipe_use *a = *(const struct recipe_use *const *)left;
    const struct recipe_use *b = *(const struct recipe_use *const *)right;
    int order = (a->days < b->days) - (a->days > b->days);
    return order ? order : (a->compile_us < b->compile_us) - (a->compile_us > b->compile_us);
}

void prewarm_list_make(const struct recipes *recipes, const struct recipe_crashes *crashes,
                       const void *environment, size_t environment_size, bool all,
                       struct prewarm_list *ret_list)
{
    const struct recipe_use *uses = NULL;
    size_t count = recipes_uses(recipes, &uses);
    struct prewarm_judge judge = {
        .recipes = recipes,
        .enabled = environment_decode(environment, environment_size),
    };
    struct prewarm_list list = {.uses = calloc(count + 1, sizeof *list.uses)};
    for (size_t i = 0; i < count && list.uses && judge.enabled; i++) {
        if ((all || (uses[i].unsaved && !uses[i].saved)) && uses[i].compile_us > 0 &&
            uses[i].compile_us < MAX_COMPILE_US &&
            prewarm_environment_fits(&judge, uses[i].environment) &&
            !recipe_crashes_have(crashes, uses[i].pipeline)) {
            list.uses[list.count++] = &uses[i];
        }
    }
    if (list.count > 0) {
        qsort(list.uses, list.count, sizeof *list.uses, prewarm_compare_worth);
    }
    environment_free(judge.enabled);
    *ret_list = list;
}

void prewarm_list_free(struct prewarm_list *list)
{
    free(list->uses);
    *list = (struct prewarm_list){0};
}
