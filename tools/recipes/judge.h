// SPDX-License-Identifier: Apache-2.0
/* Whether the content of a recipe may be used: SPIR-V is validated by SPIRV-Tools, forms and
 * environments are decoded, and of pipelines form, code and layouts must fit each other
 * (replay/replay_check.h). Digests are checked before, and references after (recipes/merge.h). */
#ifndef WARMPIPE_TOOLS_RECIPES_JUDGE_H
#define WARMPIPE_TOOLS_RECIPES_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/recipes/merge.h"
#include "common/replay/replay_check.h"
#include "tools/cli/output.h"

struct spirv_validator;

/* A validator with the rules of Vulkan 1.3 and every layout that a feature may allow: whether the
 * features are enabled is for the device to say. NULL: out of memory. */
struct spirv_validator *spirv_validator_new(void);

/* NULL is a no-op. */
void spirv_validator_delete(struct spirv_validator *validator);

/* Whether SPIR-V is valid. `code` is aligned at 4. Takes about 0.1 ms for each KiB. Thread-safe. */
bool spirv_validator_accepts(const struct spirv_validator *validator, const void *code,
                             size_t size);

/* The disassembly, with names for ids and indented; freed by the caller. NULL: it is not SPIR-V.
 * `code` is aligned at 4. Thread-safe. */
char *spirv_disassemble(const void *code, size_t size);

struct recipe_refusal {
    const char *kind; /* "module", "form", "environment", "pipeline" */
    struct digest digest;
    const char *reason;
};

/* Notes what it refuses. Belongs to one thread. */
struct recipe_judge {
    struct spirv_validator *validator;
    struct recipe_refusal *refusals;
    size_t count;
    const struct recipe_graph *graph; /* that is asked about now */
    struct replay_check *check;       /* NULL: nothing was asked yet */
};

/* False: out of memory. Freed with recipe_judge_free. */
bool recipe_judge_init(struct recipe_judge *judge);
void recipe_judge_free(struct recipe_judge *judge);

/* For recipe_merge_limits: `judge` is a struct recipe_judge. */
bool recipe_judge_accepts(void *judge, const struct recipe_record *record);

/* The same for a pipeline that is complete in the graph. The bytes of its records, not the graph,
 * must live until the judge is freed. */
bool recipe_judge_accepts_pipeline(void *judge, const struct recipe_graph *graph,
                                   struct digest pipeline);

/* Shows a table "refused": kind, digest and reason of each refused record and pipeline. */
void recipe_judge_show(const struct recipe_judge *judge, struct output *output);

#endif
