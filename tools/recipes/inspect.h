// SPDX-License-Identifier: Apache-2.0
/* What `warmpipe inspect` shows of a recipe file. */
#ifndef WARMPIPE_TOOLS_RECIPES_INSPECT_H
#define WARMPIPE_TOOLS_RECIPES_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
