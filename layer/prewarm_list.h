/* The pipelines that prewarm goes through: which, and in which order. */
#ifndef WARMPIPE_LAYER_PREWARM_LIST_H
#define WARMPIPE_LAYER_PREWARM_LIST_H

#include <stddef.h>

#include "disk/recipe_crashes.h"
#include "disk/recipes.h"

struct prewarm_list {
    const struct recipe_use **uses; /* borrowed from the recipes; the array is the list's */
    size_t count;
};

/* Of the recipes made on the same device, those that need no more than is enabled in `environment`
 * (driver/environment.h), are known to have taken less than half a second, and are not among
 * `crashes`; most used and dearest first. On a lack of memory the list is shorter. */
void prewarm_list_make(const struct recipes *recipes, const struct recipe_crashes *crashes,
                       const void *environment, size_t environment_size,
                       struct prewarm_list *ret_list);
void prewarm_list_free(struct prewarm_list *list);

#endif
