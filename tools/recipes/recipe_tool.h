// SPDX-License-Identifier: Apache-2.0
/* Functions that the verbs about recipes share. They report failures by messages. Belongs to one
 * thread. */
#ifndef WARMPIPE_TOOLS_RECIPES_RECIPE_TOOL_H
#define WARMPIPE_TOOLS_RECIPES_RECIPE_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/driver/identity.h"
#include "common/recipes/merge.h"
#include "common/recipes/recipes.h"
#include "common/replay/replay.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"

/* What a verb does for one program; gives the exit status. */
typedef int recipe_tool_work(const struct arguments *arguments, const char *root, const char *app);

/* Does the work in a root, for the program that --app names, or otherwise for the only program in
 * the root. Frees the root. Returns the exit status; 2 after a message, or if the root is NULL. */
int recipe_tool_run(const struct arguments *arguments, char *owned_root, recipe_tool_work *work);

/* Reads a recipe file into memory; "-": standard input, to its end. False after a message. If the
 * file was cut, it has a damaged record, and a message says so. */
bool recipe_tool_read(const char *path, struct recipe_segment *ret_segment);

/* Whether a file from elsewhere lacks its end: it ends within a record. False for the name of a
 * program's own segment, whose last write may be cut short. All of the segment's data is in memory.
 */
bool recipe_tool_is_cut(const char *path, const struct recipe_segment *segment);

/* Prints the message that a file is cut. */
void recipe_tool_tell_cut(const char *path);

/* Opens all segments of the program, also those of running processes, to merge them into something
 * new: none is marked as staying. Nobody compacts them until the sources are closed. no_file: there
 * are no recipes; locked: a compaction took more than ten seconds. The caller closes the folder
 * (-1: not opened) and the sources in any case. */
enum status recipe_tool_open_all(const char *root, const char *app, int *ret_folder_fd,
                                 struct recipe_sources *ret_sources);

/* Room for `count` segments from elsewhere, to be merged. False: out of memory. Closed with
 * recipe_sources_close in any case. */
bool recipe_tool_sources(size_t count, struct recipe_sources *ret_sources);

/* Adds one of them, and takes it over. */
void recipe_tool_add(struct recipe_sources *sources, const struct recipe_segment *segment);

/* Removes the program's folder of recipes if no recipe is in it, and the program's folder if it
 * then is empty. */
void recipe_tool_remove_empty(const char *root, const char *app);

/* The merged->size bytes of a merge in one piece, to be freed. NULL: out of memory. */
uint8_t *recipe_tool_join(const struct recipe_merged *merged);

/* Prints a message if so many records of this file or folder are damaged; none if 0. */
void recipe_tool_name_damage(const char *path, uint64_t records);

/* Shows what was taken and what was not, as fields of the open item. */
void recipe_tool_show(struct output *output, const struct recipe_merged *merged);

/* Whether something was left out. */
bool recipe_tool_is_finding(const struct recipe_merge_counts *counts);

/* The recipes of a program for the functions below; NULL: there are none that can be read. Closed
 * with recipes_close. */
struct recipes *recipe_tool_open(const char *root, const char *app);

/* How many different pipelines were used on a device of this vendor and id; identity NULL: on any
 * device. 0 if recipes is NULL. */
uint64_t recipe_tool_count_pipelines(const struct recipes *recipes,
                                     const struct driver_identity *identity);

/* Average compile time of a pipeline, nanoseconds; 0: unknown. */
uint64_t recipe_tool_compile_ns(const struct recipes *recipes);

/* The kind of pipeline that a canonical form describes, in words. Thread-safe. */
const char *recipe_tool_kind(const void *form, size_t size);

/* Whether a file has the name of a recipe file: something.wprecipes. */
bool recipe_tool_has_our_name(const char *name);

/* Whether a file is a recipe file, by its name or its first bytes. */
bool recipe_tool_is_one(const char *name, const void *head, size_t size);

/* What `warmpipe verify` checks of recipe files (verify.c). */

/* The recipe files of a folder, open to be judged together. */
struct verify_recipes;

/* Opens all files with such a name. With `only`, just that file is judged, and the others lie
 * beside it. NULL: out of memory. */
struct verify_recipes *verify_recipes_open(int directory_fd, const char *only);

/* NULL is a no-op. */
void verify_recipes_close(struct verify_recipes *recipes);

/* Checks a file: owner, mode and header; every record; every SPIR-V module, form and environment;
 * that its pipelines are complete, together with the files beside it, and sound. Returns the worst
 * finding: truncated (recipe_tool_is_cut), bad_record, refused_record, incomplete_recipe, or why
 * the file cannot be read at all. */
enum status verify_recipes_judge(struct verify_recipes *recipes, const char *name,
                                 struct recipe_merge_counts *ret_counts);

/* Checks whether the content of a recipe may be used: SPIRV-Tools validate SPIR-V, forms and
 * environments are decoded, and a pipeline's form, code and layouts must fit each other
 * (replay/replay.h). Digests are checked before, and references after (recipes/merge.h). */

/* SPIR-V, as SPIRV-Tools reads it: whether it is valid, and its text. */
struct spirv_validator;

/* A validator with the rules of Vulkan 1.3 and every layout and operand that a feature may allow:
 * the device decides whether the features are enabled. NULL: out of memory. */
struct spirv_validator *spirv_validator_new(void);

/* NULL is a no-op. */
void spirv_validator_delete(struct spirv_validator *validator);

/* Whether SPIR-V is valid. `code` is aligned at 4. Takes about 0.1 ms for each KiB. Thread-safe. */
bool spirv_validator_accepts(const struct spirv_validator *validator, const void *code,
                             size_t size);

/* The disassembly, with names for ids and indented; freed by the caller. NULL: it is not SPIR-V.
 * `code` is aligned at 4. Thread-safe. */
char *spirv_disassemble(const void *code, size_t size);

/* Whether what a render pass says of attachments and subpasses by their numbers is there
 * (VUID-VkRenderPassCreateInfo-attachment-00834, -pNext-01926 to -01929, -srcSubpass-02517, and the
 * same of VkRenderPassCreateInfo2): drivers read beyond their arrays otherwise. Any other
 * create-info is sound. Thread-safe. */
bool render_pass_is_sound(const VkBaseInStructure *info);

struct recipe_refusal {
    const char *kind; /* "module", "form", "environment", "pipeline" */
    struct digest digest;
    const char *reason;
};

/* Notes what it refuses. Belongs to one thread. */
struct recipe_judge {
    struct spirv_validator *validator;
    bool passes_unknown; /* SPIR-V that is too new for SPIRV-Tools: else it is refused */
    struct recipe_refusal *refusals;
    size_t count;
    const struct recipe_graph *graph; /* that is asked about now */
    struct replay_check *check;       /* NULL: nothing was asked yet */
};

/* False: out of memory. Freed with recipe_judge_free. */
bool recipe_judge_init(struct recipe_judge *judge);
void recipe_judge_free(struct recipe_judge *judge);

/* Whether the content of a record may be used, and whether a pipeline of this graph is sound.
 * `judge` is a struct recipe_judge: functions for recipe_merge_limits. */
bool recipe_judge_accepts(void *judge, const struct recipe_record *record);
bool recipe_judge_accepts_pipeline(void *judge, const struct recipe_graph *graph,
                                   struct digest pipeline);

/* Limits for a merge of what the judge accepts, at most max_size bytes. The judge is borrowed. The
 * bytes of the merged records must live until the judge is freed. */
struct recipe_merge_limits recipe_judge_limits(struct recipe_judge *judge, uint64_t max_size);

/* Shows a table "refused": kind, digest and reason of each refused record and pipeline. */
void recipe_judge_show(const struct recipe_judge *judge, struct output *output);

#endif
