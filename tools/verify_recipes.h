/* What `warmpipe verify` checks of a recipe file. */
#ifndef WARMPIPE_TOOLS_VERIFY_RECIPES_H
#define WARMPIPE_TOOLS_VERIFY_RECIPES_H

#include <stdbool.h>

#include "base/result.h"
#include "disk/recipe_merge.h"

/* Whether a file is called like one of recipes: something.wprecipes. */
bool verify_recipes_has_our_name(const char *name);

/* Whether a file is one of recipes, by its name or its content. */
bool verify_recipes_is_one(int directory_fd, const char *name);

/* The recipe files of a folder, open to be judged together. */
struct verify_recipes;

/* Opens all that are called like one; with `only`, that file is to be judged and the others lie
 * beside it, else all are. NULL: out of memory. */
struct verify_recipes *verify_recipes_open(int directory_fd, const char *only);

/* NULL is a no-op. */
void verify_recipes_close(struct verify_recipes *recipes);

/* Of one that is to be judged: owner, mode and header; every record; that pipelines are complete,
 * with what lies beside it; every SPIR-V module, form and environment. The worst of what was found:
 * bad_record, refused_record, incomplete_recipe, or why the file cannot be read at all. */
enum reason verify_recipes_judge(const struct verify_recipes *recipes, const char *name,
                                 struct recipe_merge_counts *ret_counts);

#endif
