// SPDX-License-Identifier: Apache-2.0
/* Runs compute pipelines, to see that each does what it should whatever cache it came from. */
#ifndef PIPELINES_VERIFY_H
#define PIPELINES_VERIFY_H

#include "workload.h"

struct verification {
    uint32_t dispatched; /* pipelines that ran: those whose shaders use nothing but buffers */
    uint64_t digest;     /* of all that they wrote: the same for the same device and options */
};

/* Needs a device that executes (RADV's null device does not). */
struct verification verify_run(const struct workload *workload, const struct options *options);

#endif
