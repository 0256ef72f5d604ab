// SPDX-License-Identifier: Apache-2.0
/* The one JSON object that the program prints. */
#ifndef PIPELINES_REPORT_H
#define PIPELINES_REPORT_H

#include "allocator.h"
#include "app_cache.h"
#include "creator.h"
#include "verify.h"

/* What was seen of one device. */
struct device_report {
    const struct gpu *gpu;
    uint64_t objects_ns; /* modules, layouts, render passes, and describing the pipelines */
    struct creation_counts creation;
    struct app_cache_counts cache;
    struct verification verification;
};

/* Sums first, then an array of devices with the same fields each. Times in nanoseconds, sizes in
 * bytes. */
void report_print(const struct options *options, const struct device_report *devices,
                  uint32_t count, uint64_t wall_ns);

#endif
