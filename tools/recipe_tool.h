/* What the verbs that move recipes share. Each tells what went wrong by a message that begins with
 * the verb's name. */
#ifndef WARMPIPE_TOOLS_RECIPE_TOOL_H
#define WARMPIPE_TOOLS_RECIPE_TOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "disk/recipe_merge.h"
#include "output.h"
#include "verb.h"

/* What a verb does for one program; its exit status. */
typedef int recipe_tool_work(const struct arguments *arguments, const char *root, const char *app);

/* Does the work in a root, for the program `app` (--app) or else the only one in that root. Frees
 * the root. Gives the exit status, or 2 after a message, also of whoever gave NULL as the root. */
int recipe_tool_run(const char *verb, const struct arguments *arguments, char *root,
                    const char *app, recipe_tool_work *work);

/* Reads one recipe file into memory. False after a message. */
bool recipe_tool_read(const char *verb, const char *path, struct recipe_segment *ret_segment);

/* A message where records of this file, or folder, are damaged. */
void recipe_tool_name_damage(const char *verb, const char *path,
                             const struct recipe_merge_counts *counts);

/* Fields of the item in hand: what was taken, and what was not. */
void recipe_tool_show(struct output *output, const struct recipe_merged *merged);

/* Whether something was not taken that should not have been there. */
bool recipe_tool_is_finding(const struct recipe_merge_counts *counts);

#endif
