// SPDX-License-Identifier: Apache-2.0
/* The pipelines that processes have died of, or so it seems: nobody can tell a kill, or an _exit,
 * from a crash (common/recipes/recipes.h). What the program of one device asks for itself, and
 * lives with, is no killer.
 *
 *     1 NONE        zero-initialized
 *     2 ACCUSED     some of them the program has not asked for
 *     3 DISPROVED   it has asked for all
 *     4 WRITTEN     the list on disk is emptied, or was not to be
 *
 *     1 → 2  accused_set         2 → 3  accused_ask, of the last one
 *     3 → 4  accused_are_disproved, behind a save, then accused_write
 *
 * accused_set once, by any thread, beside the others; accused_ask by any number of threads. */
#ifndef WARMPIPE_LAYER_RECIPES_ACCUSED_H
#define WARMPIPE_LAYER_RECIPES_ACCUSED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"

/* Of two deaths of some threads each; where there are more, `warmpipe warm` was there. */
#define ACCUSED_MAX 64

struct accused {
    struct digest identity; /* of the device */
    struct digest pipelines[ACCUSED_MAX];
    _Atomic size_t count;  /* 0: none; what stands above stays then */
    _Atomic uint64_t left; /* bits of those that the program has not asked for */
    atomic_bool is_taken;
};

/* More than ACCUSED_MAX are not taken. */
void accused_set(struct accused *accused, struct digest identity, const struct digest *pipelines,
                 size_t count);

/* The program is about to create this pipeline. A load where nothing is accused. */
void accused_ask(struct accused *accused, struct digest pipeline);

/* Whether there are some, and the program has asked for all. True once. */
bool accused_are_disproved(struct accused *accused);

/* Empties the list on disk: recipe_crashes_absolve, of which it has the waits. */
void accused_write(const struct accused *accused, const char *root, const char *app);

#endif
