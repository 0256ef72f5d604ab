// SPDX-License-Identifier: Apache-2.0
/* Pipeline caches that work: what was compiled into one is found in it, in its data, and in what it
 * is merged into. */
#ifndef ICD_CACHE_H
#define ICD_CACHE_H

#include "icd.h"

struct icd_cache;

/* The cache that a creation of pipelines names, in use until released; NULL for VK_NULL_HANDLE. */
struct icd_cache *icd_cache_acquire(const struct icd_device *device, VkPipelineCache handle,
                                    enum icd_command command);
void icd_cache_release(struct icd_cache *cache);

/* Whether it holds a pipeline; and puts one in. NULL: no, and nothing. */
bool icd_cache_has(struct icd_cache *cache, uint64_t pipeline);
void icd_cache_add(struct icd_cache *cache, uint64_t pipeline);

#endif
