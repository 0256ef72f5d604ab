/* Whether records of somebody else's may be taken: SPIR-V by SPIRV-Tools, forms by the checking
 * decoder, environments by theirs. Digests are checked before, and references after
 * (disk/recipe_merge.h). */
#ifndef WARMPIPE_TOOLS_RECIPE_JUDGE_H
#define WARMPIPE_TOOLS_RECIPE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "disk/recipe_format.h"
#include "output.h"
#include "spirv_validator.h"

struct recipe_refusal {
    unsigned kind;
    struct digest digest;
};

struct recipe_judge {
    struct spirv_validator *validator;
    struct recipe_refusal *refusals;
    size_t count;
};

/* False: out of memory. Freed with recipe_judge_free. */
bool recipe_judge_init(struct recipe_judge *judge);
void recipe_judge_free(struct recipe_judge *judge);

/* For recipe_merge_limits: `judge` is a struct recipe_judge, which notes what it refuses. */
bool recipe_judge_accepts(void *judge, const struct recipe_record *record);

/* A table "refused": kind, digest and reason of each. */
void recipe_judge_show(const struct recipe_judge *judge, struct output *output);

#endif
