// SPDX-License-Identifier: Apache-2.0
/* Deferred operations: pipelines are made when the program joins, not before. */
#ifndef ICD_DEFERRED_H
#define ICD_DEFERRED_H

#include "icd_cache.h"
#include "icd_request.h"

/* One call of vkCreate*Pipelines. Its cache is in use until it has run. */
struct icd_batch {
    struct icd_device *device;
    enum icd_command command;
    enum icd_request_kind kind;
    VkPipelineCache cache_handle;
    struct icd_cache *cache;
    uint32_t count;
    const void *infos;
    const VkAllocationCallbacks *allocator;
    VkPipeline *pipelines;
    bool deferred;
};

/* Makes the pipelines and releases the cache. */
VkResult icd_batch_run(struct icd_batch *batch);

/* Keeps the call, with the program's own memory, for the join. */
VkResult icd_deferred_begin(VkDeferredOperationKHR operation, const struct icd_batch *batch);

#endif
