/* Uses: of records, and as a list in which those of one pipeline in one environment are added up.
 * Belongs to one thread at a time. */
#ifndef WARMPIPE_DISK_RECIPE_USES_H
#define WARMPIPE_DISK_RECIPE_USES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "recipes.h"

/* Zero-initialize; free with recipe_uses_free. */
struct recipe_uses {
    struct recipe_use *uses;
    size_t count;
    size_t capacity;
    bool failed; /* out of memory: what is there is not all */
};

void recipe_uses_free(struct recipe_uses *uses);

/* Adds one use, or those of a record's data. False: the data is none. */
void recipe_uses_add(struct recipe_uses *uses, const struct recipe_use *use);
bool recipe_uses_add_record(struct recipe_uses *uses, const void *data, size_t size);

/* Sorts by environment and pipeline, and makes one of those that have both in common: their days
 * add up, one day that both end with counts once; the last day and the longest compile time. */
void recipe_uses_fold(struct recipe_uses *uses);

/* In a folded list, or NULL. */
const struct recipe_use *recipe_uses_find(const struct recipe_uses *uses, struct digest pipeline,
                                          struct digest environment);

/* Appends the uses of a folded list as records, one for each environment. */
void recipe_uses_put(struct bytes *out, const struct recipe_uses *uses);

#endif
