/* What a driver may be given: the built-in table of known driver bugs (policy_table.c) and the
 * user's own rules (policy_file.h), decided once for each device. */
#ifndef WARMPIPE_DRIVER_POLICY_H
#define WARMPIPE_DRIVER_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "identity.h"

struct policy_file;

/* Longer ones are cut. */
#define POLICY_ID_SIZE     64
#define POLICY_SOURCE_SIZE 128

struct policy {
    bool persist;                    /* load and save blobs */
    bool inject;                     /* give the driver a cache at all */
    bool serve;                      /* the hot cache in place of a program's empty one */
    bool deduplicate;                /* share handles */
    bool serialize;                  /* cache users must not run at once */
    bool single_cache;               /* never a second cache object: no merges, no temporary ones */
    uint64_t max_blob;               /* bytes */
    char rule[POLICY_ID_SIZE];       /* id of the rule that applied, "default" if none; of several
                                        the user's last, else the table's first */
    char source[POLICY_SOURCE_SIZE]; /* where the rule comes from; "" if none */
};

/* Decides for one device: every matching rule of the table narrows the default, and what the file
 * says (NULL: there is none) overrides that, rule by rule. `use_table` false is
 * WARMPIPE_POLICY=none. Whatever is said, a driver that is given no cache has none to load, save or
 * serve. The result borrows nothing. Thread-safe. */
void policy_decide(const struct driver_identity *identity, bool use_table,
                   const struct policy_file *file, struct policy *ret_policy);

#endif
