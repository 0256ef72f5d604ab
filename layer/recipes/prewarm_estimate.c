// SPDX-License-Identifier: Apache-2.0
#include "layer/recipes/prewarm_estimate.h"

#include "common/codec/canonical.h"

/* Bytes that are short before anything is known: a small compute shader has 1 to 5 KiB. */
#define UNKNOWN_BYTES (UINT64_C(8) << 10)

/* A pipeline takes so many times what its size lets expect, and is so many times as large as one
 * that is known to be short, at most. */
#define CAUTION 4

/* Nesting, as a replay allows it. */
#define MAX_DEPTH  16
#define MAX_VISITS 4096

void prewarm_estimate_add(struct prewarm_estimate *estimate, uint64_t bytes, uint64_t us)
{
    if (bytes == 0 || bytes == UINT64_MAX) {
        return;
    }
    estimate->bytes += bytes;
    estimate->us += us;
    if (us < PREWARM_LONG_US && bytes > estimate->largest) {
        estimate->largest = bytes;
    }
}

bool prewarm_estimate_is_short(const struct prewarm_estimate *estimate, uint64_t bytes)
{
    const uint64_t known = estimate->largest * CAUTION;
    const double us = estimate->bytes > 0 ? (double)estimate->us / (double)estimate->bytes : 0;
    return bytes <= (known > UNKNOWN_BYTES ? known : UNKNOWN_BYTES) &&
           us * (double)bytes * CAUTION < PREWARM_LONG_US;
}

struct prewarm_sum {
    const struct recipes *recipes;
    uint64_t bytes;
    unsigned depth;
    unsigned visits; /* forms may name each other so that there is no end of them */
};

static bool prewarm_sum_form(struct prewarm_sum *sum, struct digest content);

static bool prewarm_sum_reference(void *user, VkObjectType type, struct digest content)
{
    struct prewarm_sum *sum = user;
    const void *code;
    size_t size = 0;
    switch (type) {
    case VK_OBJECT_TYPE_UNKNOWN:
        if (!recipes_find(sum->recipes, RECIPE_CODE, content, &code, &size)) {
            return false;
        }
        sum->bytes += size;
        return true;
    case VK_OBJECT_TYPE_SHADER_MODULE:
    case VK_OBJECT_TYPE_PIPELINE:
        return prewarm_sum_form(sum, content);
    default:
        return true;
    }
}

static bool prewarm_sum_form(struct prewarm_sum *sum, struct digest content)
{
    const void *form;
    size_t size = 0;
    if (sum->depth == MAX_DEPTH || ++sum->visits > MAX_VISITS ||
        !recipes_find(sum->recipes, RECIPE_FORM, content, &form, &size)) {
        return false;
    }
    sum->depth++;
    const bool whole = canonical_references(form, size, prewarm_sum_reference, sum);
    sum->depth--;
    return whole;
}

uint64_t prewarm_code_bytes(const struct recipes *recipes, struct digest pipeline)
{
    struct prewarm_sum sum = {.recipes = recipes};
    return prewarm_sum_form(&sum, pipeline) ? sum.bytes : UINT64_MAX;
}
