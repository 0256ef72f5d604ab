// SPDX-License-Identifier: Apache-2.0
/* Whether the content of a recipe may be used: SPIR-V is validated by SPIRV-Tools, forms and
 * environments are decoded, and of pipelines form, code and layouts must fit each other
 * (replay/replay.h). Digests are checked before, and references after (recipes/merge.h). */
#ifndef WARMPIPE_TOOLS_RECIPES_JUDGE_H
#define WARMPIPE_TOOLS_RECIPES_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/recipes/merge.h"
#include "common/replay/replay.h"
#include "tools/cli/output.h"

/* SPIR-V, as SPIRV-Tools reads it: whether it is valid, and its text. */
struct spirv_validator;

/* A validator with the rules of Vulkan 1.3 and every layout and operand that a feature may allow:
 * whether the features are enabled is for the device to say. NULL: out of memory. */
struct spirv_validator *spirv_validator_new(void);

/* NULL is a no-op. */
void spirv_validator_delete(struct spirv_validator *validator);

/* Whether SPIR-V is valid. `code` is aligned at 4. Takes about 0.1 ms for each KiB. Thread-safe. */
bool spirv_validator_accepts(const struct spirv_validator *validator, const void *code,
                             size_t size);

/* Whether SPIRV-Tools knows each capability and execution mode that SPIR-V declares, and what
 * VK_KHR_maintenance8 and 9 allow; what it does not know it takes for invalid. `code` is aligned
 * at 4. Thread-safe. */
bool spirv_validator_knows(const struct spirv_validator *validator, const void *code, size_t size);

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

/* What a merge takes that the judge, which is borrowed, accepts; no more than max_size bytes. The
 * bytes of the merged records must live until the judge is freed. */
struct recipe_merge_limits recipe_judge_limits(struct recipe_judge *judge, uint64_t max_size);

/* Shows a table "refused": kind, digest and reason of each refused record and pipeline. */
void recipe_judge_show(const struct recipe_judge *judge, struct output *output);

#endif
