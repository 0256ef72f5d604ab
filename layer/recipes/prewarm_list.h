// SPDX-License-Identifier: Apache-2.0
/* The pipelines that prewarm goes through: which, and in which order. */
#ifndef WARMPIPE_LAYER_RECIPES_PREWARM_LIST_H
#define WARMPIPE_LAYER_RECIPES_PREWARM_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "common/recipes/recipes.h"

struct prewarm_list {
    const struct recipe_use **uses; /* borrowed from the recipes; the array is the list's */
    size_t count;
};

/* The recipes made on the same device that need no more than is enabled in `environment`
 * (driver/environment.h), are known to have taken less than half a second, and are not among
 * `crashes`; without `all` only those that were compiled and never saved. Most used and slowest
 * first. Out of memory: the list is shorter. */
void prewarm_list_make(const struct recipes *recipes, const struct recipe_crashes *crashes,
                       const void *environment, size_t environment_size, bool all,
                       struct prewarm_list *ret_list);
void prewarm_list_free(struct prewarm_list *list);

#endif
