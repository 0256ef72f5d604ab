// SPDX-License-Identifier: Apache-2.0
/* Creates the workload's pipelines, on several threads if need be, and times it. */
#ifndef PIPELINES_CREATOR_H
#define PIPELINES_CREATOR_H

#include "app_cache.h"
#include "feedback.h"
#include "workload.h"

struct creation_counts {
    uint64_t create_ns; /* inside vkCreate*Pipelines, summed over threads */
    uint64_t first_ns;  /* inside the very first of these calls */
    uint64_t wall_ns;   /* from the first call to the last return */
    uint64_t failed_calls;
    struct feedback_counts feedback;
};

/* Creates every pipeline of the workload once, for the round-th time, and adds to counts. feedback
 * may be NULL. With APP_CACHE_READBACK a further thread reads the cache back meanwhile. */
void creator_run(struct workload *workload, struct app_cache *cache, struct feedback *feedback,
                 const struct options *options, uint32_t round, struct creation_counts *counts);

#endif
