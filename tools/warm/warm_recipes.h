// SPDX-License-Identifier: Apache-2.0
/* The recipes that one run of `warmpipe warm` replays: those of a program's folder, or of files
 * from anywhere, whose SPIR-V is then validated before a driver gets it. */
#ifndef WARMPIPE_TOOLS_WARM_WARM_RECIPES_H
#define WARMPIPE_TOOLS_WARM_WARM_RECIPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/driver/environment.h"
#include "common/recipes/recipes.h"
#include "common/replay/replay.h"

/* One pipeline in one environment. */
struct warm_item {
    struct digest pipeline;
    uint32_t compile_us;  /* 0: unknown */
    uint32_t environment; /* index */
};

struct warm_recipes {
    struct recipes **files;
    size_t file_count;
    struct spirv_validator *validator; /* NULL: code is trusted */
    struct environment *
        *environments;       /* each once; those that differ in the device alone are one */
    struct digest *meanings; /* of each environment: environment_meaning */
    size_t environment_count;
    struct warm_item *items; /* by environment, then the slowest first */
    size_t item_count;
    size_t unusable; /* uses whose environment is missing or does not decode */
};

/* Opens the recipes of the program `app` below the root, or, unless `paths` (NULL-terminated) is
 * NULL or empty, those files and the files in those folders. A program without recipes has no
 * items. False after a message. Freed with warm_recipes_close. */
bool warm_recipes_open(const char *root, const char *app, char **paths,
                       struct warm_recipes *ret_recipes);

void warm_recipes_close(struct warm_recipes *recipes);

/* Borrows the recipes. For any number of threads at once. */
struct replay_source warm_recipes_source(const struct warm_recipes *recipes);

#endif
