/* One program on one device: what `warmpipe warm` does a run for. */
#ifndef WARMPIPE_TOOLS_WARM_TARGET_H
#define WARMPIPE_TOOLS_WARM_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "driver/policy.h"
#include "warm_recipes.h"

struct warm_target {
    const char *root;
    const char *app;
    const struct warm_recipes *recipes;
    struct driver_identity identity; /* that the program's caches are named by */
    struct digest digest;            /* of it */
    uint32_t device;                 /* its place in the loader's order */
    struct policy policy;
    uint64_t max_blob; /* bytes: the policy's limit and the settings' */
    unsigned jobs;
    uint64_t patience_ns; /* a pipeline that takes longer hangs */
    bool offer_only;      /* nothing is replayed: only what the device offers is found out */
};

/* Whether a program with this environment has its caches named by that identity. */
bool warm_target_has(const struct warm_target *target, const struct environment *environment);

/* Whether there is a cache that the layer would load. */
bool warm_target_has_cache(const struct warm_target *target);

/* How many of the recipes are for it. */
size_t warm_target_count(const struct warm_target *target);

/* The identity as a program below Vulkan 1.1, without vkGetPhysicalDeviceProperties2, sees it. */
struct driver_identity warm_target_basic_identity(const struct driver_identity *identity);

#endif
