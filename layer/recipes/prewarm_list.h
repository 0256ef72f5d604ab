// SPDX-License-Identifier: Apache-2.0
/* The pipelines that prewarm goes through: which, and in which order. */
#ifndef WARMPIPE_LAYER_RECIPES_PREWARM_LIST_H
#define WARMPIPE_LAYER_RECIPES_PREWARM_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "common/recipes/recipes.h"
#include "layer/recipes/prewarm_estimate.h"

struct prewarm_item {
    const struct recipe_use *use; /* borrowed from the recipes */
    uint64_t code_bytes;          /* where its compile time is not known, else 0 */
};

struct prewarm_list {
    struct prewarm_item *items;
    size_t count;
    unsigned samples;
    struct prewarm_estimate estimate; /* by the recorded times */
};

/* The recipes made on the same device that need no more than is enabled in `environment`
 * (driver/environment.h), are not known to have taken PREWARM_LONG_US, and are not among `crashes`;
 * without `all` only those that were compiled and never saved. Most used and slowest first, then
 * those of which no time is known. Out of memory: the list is shorter. */
void prewarm_list_make(const struct recipes *recipes, const struct recipe_crashes *crashes,
                       const void *environment, size_t environment_size, bool all,
                       struct prewarm_list *ret_list);
void prewarm_list_free(struct prewarm_list *list);

#endif
