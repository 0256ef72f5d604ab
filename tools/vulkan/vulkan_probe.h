// SPDX-License-Identifier: Apache-2.0
/* Tries whether pipelines can be created on a device, and whether its driver finds in a cache what
 * it has put there. Drivers may crash: call it in a child process (tools/cli/child.h). */
#ifndef WARMPIPE_TOOLS_VULKAN_VULKAN_PROBE_H
#define WARMPIPE_TOOLS_VULKAN_VULKAN_PROBE_H

#include <stdbool.h>
#include <stdint.h>

enum probe_step {
    PROBE_INSTANCE,
    PROBE_DEVICE,   /* there is no such device, or it cannot be opened */
    PROBE_PIPELINE, /* the small compute pipeline cannot be created */
    PROBE_SAVE,     /* its cache cannot be read */
    PROBE_LOAD,     /* the driver does not accept its own data */
    PROBE_DONE
};

struct probe_result {
    enum probe_step step; /* that failed; PROBE_DONE: none */
    int32_t result;       /* VkResult of that step */
    uint64_t data_size;   /* bytes of cache data */
    bool tells_hits;      /* the driver gives feedback */
    bool hit;             /* it was one */
    uint64_t cold_ns;
    uint64_t warm_ns;
};

enum probe_kind {
    PROBE_ROUND_TRIP, /* compile, save, load, compile again and ask for a hit */
    PROBE_CREATE,     /* one pipeline without a cache, for a layer to see */
};

/* index: of the device, in the loader's order. PROBE_INSTANCE also stands for a loader that cannot
 * be opened. */
void vulkan_probe(enum probe_kind kind, uint32_t index, struct probe_result *ret_result);

#endif
