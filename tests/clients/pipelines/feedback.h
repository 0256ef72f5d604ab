// SPDX-License-Identifier: Apache-2.0
/* Creation feedback: what the driver says about where a pipeline came from. */
#ifndef PIPELINES_FEEDBACK_H
#define PIPELINES_FEEDBACK_H

#include "workload.h"

struct feedback_counts {
    uint64_t valid;      /* pipelines with VALID */
    uint64_t hits;       /* of those, found in the application's cache */
    uint64_t stage_hits; /* stages found there */
    uint64_t untouched;  /* outputs, of pipelines or stages, that were neither set nor cleared */
};

struct feedback;

/* Chains feedback into every create-info of the workload. */
struct feedback *feedback_create(struct workload *workload);

/* Fills the outputs of these pipelines with what no driver writes. */
void feedback_poison(struct feedback *feedback, enum pipeline_type type, uint32_t first,
                     uint32_t count);

/* Adds what was written for these pipelines to counts. */
void feedback_count(const struct feedback *feedback, enum pipeline_type type, uint32_t first,
                    uint32_t count, struct feedback_counts *counts);

void feedback_destroy(struct feedback *feedback);

#endif
