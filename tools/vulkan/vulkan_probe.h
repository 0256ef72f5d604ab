// SPDX-License-Identifier: Apache-2.0
/* Tries whether pipelines can be created on a device, and whether its driver finds in a cache what
 * it has put there. Drivers may crash: call it in a child process (doctor_try). */
#ifndef WARMPIPE_TOOLS_VULKAN_VULKAN_PROBE_H
#define WARMPIPE_TOOLS_VULKAN_VULKAN_PROBE_H

#include <stdbool.h>
#include <stdint.h>

enum probe_step {
    PROBE_INSTANCE,
    PROBE_DEVICE,   /* there is no such device, or it cannot be opened */
    PROBE_PIPELINE, /* the small pipeline cannot be created */
    PROBE_SAVE,     /* its cache cannot be read */
    PROBE_LOAD,     /* the driver does not accept its own data */
    PROBE_MERGE,    /* or does not merge it */
    PROBE_DONE
};

struct probe_result {
    enum probe_step step; /* that failed; PROBE_DONE: none */
    int32_t result;       /* VkResult of that step; VK_ERROR_FEATURE_NOT_PRESENT at PROBE_DEVICE: no
                             queue family for pipelines of this kind */
    bool tells_hits;      /* the driver gives feedback */
    bool cold_hit;        /* it told of a hit in an empty cache */
    bool hit;             /* the second pipeline was one */
    bool prefers_own;     /* it prefers the cache that it keeps by itself (pipeline binaries) */
    uint64_t data_size;   /* bytes of cache data */
    uint64_t merged_size; /* bytes that a merge brought into an empty cache */
    uint64_t left_size;   /* bytes that the merged cache has afterwards */
    uint64_t cold_ns;
    uint64_t warm_ns;
};

enum probe_kind {
    PROBE_COMPUTE,  /* compile, save, load, compile again and ask for a hit */
    PROBE_GRAPHICS, /* the same, of a graphics pipeline */
    PROBE_MERGING,  /* compile, and merge that cache into an empty one */
    PROBE_CREATE,   /* one pipeline without a cache, for a layer to see */
};

/* index: of the device, in the loader's order. PROBE_INSTANCE also stands for a loader that cannot
 * be opened. */
void vulkan_probe(enum probe_kind kind, uint32_t index, struct probe_result *ret_result);

#endif
