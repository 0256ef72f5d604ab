// SPDX-License-Identifier: Apache-2.0
/* How long the driver will take for a pipeline whose compile time is not known: the size of its
 * code against what this driver has taken for a byte. Size does not tell everything, so that the
 * estimate is careful, and goes in small steps from what is known. Not thread-safe. */
#ifndef WARMPIPE_LAYER_RECIPES_PREWARM_ESTIMATE_H
#define WARMPIPE_LAYER_RECIPES_PREWARM_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/recipes/recipes.h"

/* Microseconds: what takes as long or longer is not compiled ahead (docs/decisions/0122). */
#define PREWARM_LONG_US 250000

/* What is known of the driver: the sums over the pipelines that it has compiled. Zero-initialize
 * it. */
struct prewarm_estimate {
    uint64_t bytes;
    uint64_t us;
    uint64_t largest; /* bytes of the largest that did not take long */
};

/* A pipeline of so many bytes of code took so long. */
void prewarm_estimate_add(struct prewarm_estimate *estimate, uint64_t bytes, uint64_t us);

/* Whether one of so many bytes may be begun. */
bool prewarm_estimate_is_short(const struct prewarm_estimate *estimate, uint64_t bytes);

/* Bytes of SPIR-V of all that the pipeline is made of, libraries included; UINT64_MAX: something is
 * missing. Reads it from disk. */
uint64_t prewarm_code_bytes(const struct recipes *recipes, struct digest pipeline);

#endif
