// SPDX-License-Identifier: Apache-2.0
/* One pipeline as a program asks for it, whatever its bind point. */
#ifndef ICD_REQUEST_H
#define ICD_REQUEST_H

#include "icd.h"

/* Newer than the headers of some distributions. Source: VkPipelineCreateFlags2CreateInfo and
 * VkPipelineBinaryInfoKHR in the registry. */
#define ICD_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2 ((VkStructureType)1000470005)
#define ICD_STRUCTURE_TYPE_PIPELINE_BINARY_INFO    ((VkStructureType)1000483002)
#define ICD_PIPELINE_CREATE_2_CAPTURE_DATA         UINT64_C(0x80000000)

struct icd_request {
    const void *chain;
    uint64_t flags; /* VkPipelineCreateFlags2 where given */
    uint32_t binary_count;
    uint32_t stage_count;
    uint64_t content; /* what makes it this pipeline: what a cache knows it by */
    bool shareable;   /* content is all there is to it */
};

enum icd_request_kind { ICD_COMPUTE, ICD_GRAPHICS, ICD_RAY_TRACING_KHR, ICD_RAY_TRACING_NV };

/* The element of the array of create-infos. Reads only what the specification lets a driver read.
 */
void icd_request_read(const struct icd_device *device, enum icd_request_kind kind,
                      const void *infos, uint32_t index, enum icd_command command,
                      struct icd_request *ret_request);

#endif
