// SPDX-License-Identifier: Apache-2.0
/* The pipelines for prewarm, and their order. */
#ifndef WARMPIPE_LAYER_RECIPES_PREWARM_LIST_H
#define WARMPIPE_LAYER_RECIPES_PREWARM_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/recipes/recipes.h"

/* Estimates how long the driver will take for a pipeline of unknown compile time: from the size of
 * its code and the driver's time for a byte so far. Size is not the only factor, so the estimate is
 * cautious, and moves in small steps from what is known. Not thread-safe. */

/* Microseconds: a pipeline that takes this long is not compiled ahead (docs/decisions/0122). */
#define PREWARM_LONG_US 250000

/* What is known of the driver: sums over the pipelines that it has compiled. Zero-initialize it. */
struct prewarm_estimate {
    uint64_t bytes;
    uint64_t us;
    uint64_t largest; /* bytes of the largest that did not take long */
};

/* Adds a pipeline of so many bytes of code that took so long. */
void prewarm_estimate_add(struct prewarm_estimate *estimate, uint64_t bytes, uint64_t us);

/* Whether a pipeline of so many bytes may be begun. */
bool prewarm_estimate_is_short(const struct prewarm_estimate *estimate, uint64_t bytes);

/* Returns the bytes of SPIR-V of everything that the pipeline is made of, libraries included;
 * UINT64_MAX: something is missing. Reads it from disk. *visits grows by the number of forms that
 * were walked. */
uint64_t prewarm_code_bytes(const struct recipes *recipes, struct digest pipeline,
                            unsigned *visits);

struct prewarm_item {
    const struct recipe_use *use; /* borrowed from the recipes */
    uint64_t code_bytes;          /* if its compile time is not known, else 0 */
    bool is_taken;
};

struct prewarm_list {
    struct prewarm_item *items;
    size_t count;
    size_t first; /* those before it are taken */
    unsigned samples;
    struct prewarm_estimate estimate; /* by the recorded times */
    unsigned visits;                  /* forms walked to learn the size of code */
    bool allows_inline_code;          /* the device does: environment_allows_inline_code */
};

/* Lists the recipes made on the same device that need no more than is enabled in `environment`
 * (driver/environment.h), are not known to have taken PREWARM_LONG_US, and are not among `crashes`.
 * If there are any crashes, only recipes that the program has had compiled on this machine. Without
 * `all`, only those that were compiled and never saved; with it, recipes of any device if none was
 * made on this one (decision 0127). Order: those of known time, the most used and slowest first;
 * then the others, smallest code first. Out of memory: the list is shorter. */
void prewarm_list_make(const struct recipes *recipes, const struct recipe_crashes *crashes,
                       const void *environment, size_t environment_size, bool all,
                       struct prewarm_list *ret_list);
void prewarm_list_free(struct prewarm_list *list);

/* Takes the first item that is likely to be short, if compiles take `slowdown` times as long as
 * alone on a core. NULL: none is, as far as known; a skipped item may be taken later, when the
 * machine is less busy or more is known of the driver. Not thread-safe. */
const struct prewarm_item *prewarm_list_take(struct prewarm_list *list, unsigned slowdown);

#endif
