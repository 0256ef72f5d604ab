// SPDX-License-Identifier: Apache-2.0
#include "layer/recipes/prewarm_list.h"

#include <stdlib.h>

#include "common/driver/environment.h"

/* A pipeline that takes longer, or an unknown time, is left to `warmpipe warm`: the program would
 * have to wait for it when it ends. */
#define MAX_COMPILE_US 500000

/* Of recipes of another device so many at most: what this one takes for them is not known. */
#define MAX_OTHERS 256

/* Decides whether the environment that a use names is included in the device's. */
struct prewarm_judge {
    const struct recipes *recipes;
    struct environment *enabled;
    struct digest judged; /* the last one */
    bool fits;
    bool any_device; /* of the program nothing was recorded on this device yet */
};

/* NULL: it is missing or damaged, or memory is out. */
static struct environment *prewarm_environment(const struct prewarm_judge *judge,
                                               struct digest digest)
{
    const void *data;
    size_t size;
    return recipes_find(judge->recipes, RECIPE_ENVIRONMENT, digest, &data, &size)
               ? environment_decode(data, size)
               : NULL;
}

static bool prewarm_environment_is_ours(const struct prewarm_judge *judge,
                                        const struct environment *needed)
{
    struct environment_device ours = environment_device_of(judge->enabled);
    struct environment_device theirs = environment_device_of(needed);
    return ours.vendor_id == theirs.vendor_id && ours.device_id == theirs.device_id;
}

static bool prewarm_environment_is_included(const struct prewarm_judge *judge, struct digest digest)
{
    struct environment *needed = prewarm_environment(judge, digest);
    const bool fits = needed && (judge->any_device || prewarm_environment_is_ours(judge, needed)) &&
                      environment_includes(judge->enabled, needed);
    environment_free(needed);
    return fits;
}

/* Whether nothing is recorded of this device: the program came with recipes, or the GPU is new. */
static bool prewarm_device_is_new(const struct prewarm_judge *judge, const struct recipe_use *uses,
                                  size_t count)
{
    bool found = !judge->enabled;
    for (size_t i = 0; i < count && !found; i++) {
        if (i == 0 || !digest_equal(uses[i - 1].environment, uses[i].environment)) {
            struct environment *needed = prewarm_environment(judge, uses[i].environment);
            found = needed && prewarm_environment_is_ours(judge, needed);
            environment_free(needed);
        }
    }
    return !found;
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
    judge.any_device = all && prewarm_device_is_new(&judge, uses, count);
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
    if (judge.any_device && list.count > MAX_OTHERS) {
        list.count = MAX_OTHERS;
    }
    environment_free(judge.enabled);
    *ret_list = list;
}

void prewarm_list_free(struct prewarm_list *list)
{
    free(list->uses);
    *list = (struct prewarm_list){0};
}
