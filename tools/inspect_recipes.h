/* What `warmpipe inspect` tells of a recipe file. */
#ifndef WARMPIPE_TOOLS_INSPECT_RECIPES_H
#define WARMPIPE_TOOLS_INSPECT_RECIPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the file is one of recipes, by its name or its content. */
bool inspect_recipes_is_one(const char *name, const uint8_t *data, size_t size);

/* What kind of pipeline a canonical form is, in words. */
const char *inspect_recipes_kind(const void *form, size_t size);

struct inspect_recipes_choice {
    const char *spirv;    /* digest of code to disassemble, or NULL */
    const char *pipeline; /* digest of a form to show, or NULL */
    bool verbose;
    bool json;
};

/* Takes the malloc'ed data. Gives the verb's exit status. */
int inspect_recipes(const char *path, uint8_t *data, size_t size,
                    const struct inspect_recipes_choice *choice);

#endif
