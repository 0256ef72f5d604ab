#include "prewarm_list.h"

#include <stdlib.h>

#include "driver/environment.h"

/* What takes longer, or nobody knows how long, is for `warmpipe warm`: it would keep the program
 * waiting when it ends. */
#define MAX_COMPILE_US 500000

/* Whether an environment that uses name is included in the device's. */
struct judge {
    const struct recipes *recipes;
    struct environment *enabled;
    struct digest judged; /* the last one */
    bool fits;
};

static bool fits(const struct judge *judge, struct digest digest)
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
static bool environment_fits(struct judge *judge, struct digest digest)
{
    if (!digest_equal(judge->judged, digest)) {
        judge->judged = digest;
        judge->fits = fits(judge, digest);
    }
    return judge->fits;
}

static int by_worth(const void *left, const void *right)
{
    const struct recipe_use *a = *(const struct recipe_use *const *)left;
    const struct recipe_use *b = *(const struct recipe_use *const *)right;
    int order = (a->days < b->days) - (a->days > b->days);
    return order ? order : (a->compile_us < b->compile_us) - (a->compile_us > b->compile_us);
}

void prewarm_list_make(const struct recipes *recipes, const struct recipe_crashes *crashes,
                       const void *environment, size_t environment_size,
                       struct prewarm_list *ret_list)
{
    const struct recipe_use *uses = NULL;
    size_t count = recipes_uses(recipes, &uses);
    struct judge judge = {
        .recipes = recipes,
        .enabled = environment_decode(environment, environment_size),
    };
    struct prewarm_list list = {.uses = calloc(count + 1, sizeof *list.uses)};
    for (size_t i = 0; i < count && list.uses && judge.enabled; ++i) {
        if (uses[i].compile_us > 0 && uses[i].compile_us < MAX_COMPILE_US &&
            environment_fits(&judge, uses[i].environment) &&
            !recipe_crashes_have(crashes, uses[i].pipeline)) {
            list.uses[list.count++] = &uses[i];
        }
    }
    if (list.count > 0) {
        qsort(list.uses, list.count, sizeof *list.uses, by_worth);
    }
    environment_free(judge.enabled);
    *ret_list = list;
}

void prewarm_list_free(struct prewarm_list *list)
{
    free(list->uses);
    *list = (struct prewarm_list){0};
}
