// SPDX-License-Identifier: Apache-2.0
/* The parts of `warmpipe doctor`. Each part checks one thing and reports what it finds. Files from
 * bottom to top: findings.c, vulkan_probe.c; storage.c, variables.c, loader.c; driver_cache.c,
 * which uses storage.c; probes.c; cmd_doctor.c, which calls all. Single-threaded. */
#ifndef WARMPIPE_TOOLS_DOCTOR_DOCTOR_H
#define WARMPIPE_TOOLS_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/driver/identity.h"
#include "common/settings/config.h"
#include "tools/cli/output.h"

enum verdict {
    VERDICT_OK,
    VERDICT_NOTE,    /* works, but not everywhere or not as well as it could */
    VERDICT_PROBLEM, /* does not work: exit status 1 */
    VERDICT_COUNT
};

struct doctor {
    struct output output;
    const struct config *config;
    unsigned told[VERDICT_COUNT];
    bool mesa_told; /* the driver's own cache is reported once, however many devices use it */
    bool nvidia_told;
};

/* Reports one finding. advice NULL: there is nothing to do about it. */
void doctor_tell(struct doctor *doctor, enum verdict verdict, const char *check, const char *advice,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* How a child process ended. */
struct child_end {
    bool answered; /* *ret_answer is filled */
    int signal;    /* that killed the child; SIGALRM: it took longer than `seconds`; 0: none */
};

/* Runs work that may crash or hang in a child process, whose output goes to /dev/null. The work
 * fills `answer`: `size` bytes of zeroed memory of the child, which come back through a pipe. Call
 * it while there is only one thread. If fork fails, the child has not answered. */
struct child_end doctor_try(void (*work)(void *answer, const void *task), const void *task,
                            unsigned seconds, void *ret_answer, size_t size);

/* How long a child process may take, seconds. */
#define DOCTOR_CHILD_SECONDS 60

/* Whether a child has not answered; reports that as a problem: "a process that DOING dies". */
bool doctor_child_died(struct doctor *doctor, const char *check, struct child_end end,
                       const char *doing);

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

/* Tries whether pipelines can be created on a device, and whether its driver finds in a cache what
 * it has put there (vulkan_probe.c). Drivers may crash: call it in a child process (doctor_try).
 * index: of the device, in the loader's order. PROBE_INSTANCE also stands for a loader that cannot
 * be opened. */
void vulkan_probe(enum probe_kind kind, uint32_t index, struct probe_result *ret_result);

/* Checks the loader, and whether programs get the layer. False: there is no loader, so nothing else
 * about Vulkan can be checked. */
bool doctor_check_loader(struct doctor *doctor);

/* Checks the manifests that the loader finds, and whether the libraries that they name load. */
void doctor_check_manifests(struct doctor *doctor);

/* Finds running programs that should have the layer, and have opened the driver without the loader.
 */
void doctor_check_processes(struct doctor *doctor);

/* Checks the variables of warmpipe, and those by which the loader finds layers and drivers. */
void doctor_check_variables(struct doctor *doctor);

/* Tests the driver's pipeline caches on the device of this index, without the layer: compute and
 * graphics pipelines, feedback about hits, the sizes of its data, and, if may_merge, merges. False:
 * its data cannot be kept, or is of no use. */
bool doctor_check_driver(struct doctor *doctor, uint32_t index, bool may_merge);

/* Two starts under the layer: the second must load what the first saved. */
void doctor_check_layer_starts(struct doctor *doctor, uint32_t index);

/* Checks the shader cache that the device's driver itself keeps on disk: whether it is on, has a
 * folder and room, and outlives a container. */
void doctor_check_driver_cache(struct doctor *doctor, const struct driver_identity *identity);

/* Checks the directory of the caches: permissions, space, contents. */
void doctor_check_storage(struct doctor *doctor);

/* Reports each program for which nothing is compiled ahead on this driver any more, because
 * processes died of that. */
void doctor_check_deaths(struct doctor *doctor, const struct driver_identity *identity);

/* `path` shortened to its nearest parent that exists, or as it is. To be freed; NULL: no memory. */
char *doctor_nearest_folder(const char *path);

/* Whether this process runs in a container, and `path`, or its nearest existing parent, is lost
 * with the container. */
bool doctor_dies_with_container(const char *path);

#endif
