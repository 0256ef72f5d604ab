// SPDX-License-Identifier: Apache-2.0
/* What `warmpipe verify` checks of recipe files, and what `warmpipe inspect` shows of one
 * (inspect.c). Belongs to one thread. */
#ifndef WARMPIPE_TOOLS_RECIPES_VERIFY_H
#define WARMPIPE_TOOLS_RECIPES_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/recipes/merge.h"

/* Whether a file has the name of a recipe file: something.wprecipes. */
bool verify_recipes_has_our_name(const char *name);

/* Whether a file is a recipe file, by its name or its content. */
bool verify_recipes_is_one(int directory_fd, const char *name);

/* The recipe files of a folder, open to be judged together. */
struct verify_recipes;

/* Opens all files with such a name. With `only`, just that file is judged, and the others lie
 * beside it. NULL: out of memory. */
struct verify_recipes *verify_recipes_open(int directory_fd, const char *only);

/* NULL is a no-op. */
void verify_recipes_close(struct verify_recipes *recipes);

/* Checks a file that is to be judged: owner, mode and header; every record; every SPIR-V module,
 * form and environment; that its pipelines are complete, with what lies beside it, and sound. The
 * worst finding: bad_record, refused_record, incomplete_recipe, or why the file cannot be read at
 * all. */
enum status verify_recipes_judge(struct verify_recipes *recipes, const char *name,
                                 struct recipe_merge_counts *ret_counts);

/* Inspecting. */

/* Whether a file is a recipe file, by its name or its content. */
bool inspect_recipes_is_one(const char *name, const uint8_t *data, size_t size);

/* The kind of pipeline that a canonical form describes, in words. Thread-safe. */
const char *inspect_recipes_kind(const void *form, size_t size);

struct inspect_recipes_choice {
    const char *spirv;    /* digest of code to disassemble, or NULL */
    const char *pipeline; /* digest of a form to show, or NULL */
    bool verbose;
    bool json;
};

/* Shows the file, or what was chosen of it. Takes the malloc'ed data over. The exit status. */
int inspect_recipes(const char *path, uint8_t *data, size_t size,
                    const struct inspect_recipes_choice *choice);

#endif
