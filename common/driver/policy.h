/* What a driver may be given: the built-in table of known driver bugs (policy_table.c), decided
 * once for each device. */
#ifndef WARMPIPE_DRIVER_POLICY_H
#define WARMPIPE_DRIVER_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "identity.h"

struct policy {
    bool persist;       /* load and save blobs */
    bool inject;        /* give the driver a cache at all */
    bool serve;         /* the hot cache in place of a program's empty one */
    bool deduplicate;   /* share handles */
    bool serialize;     /* cache users must not run at once */
    bool single_cache;  /* never a second cache object: no merges, no temporary caches */
    uint64_t max_blob;  /* bytes */
    const char *rule;   /* id of the rule that applied (several: the first); "default" if none */
    const char *source; /* where the rule's fact comes from; "" if none */
};

/* Decides for one device: every matching rule narrows the default. `use_table` false is
 * WARMPIPE_POLICY=none: the default for all. Thread-safe; strings are static. */
void policy_decide(const struct driver_identity *identity, bool use_table,
                   struct policy *ret_policy);

#endif
