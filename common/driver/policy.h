// SPDX-License-Identifier: Apache-2.0
/* The driver policy: the features of warmpipe that each driver supports, from the built-in table of
 * known driver bugs and the user's own rules, decided once for each device. Thread-safe. */
#ifndef WARMPIPE_DRIVER_POLICY_H
#define WARMPIPE_DRIVER_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/driver/identity.h"
#include "common/settings/config.h"

/* Longer ones are cut. */
#define POLICY_ID_SIZE     64
#define POLICY_SOURCE_SIZE 128

struct policy {
    bool persist;                    /* load and save blobs */
    bool inject;                     /* give the driver a cache at all */
    bool serve;                      /* the device cache in place of a program's empty one */
    bool deduplicate;                /* share handles */
    bool serialize;                  /* calls that use a cache must not run at the same time */
    bool single_cache;               /* never a second cache object: no merges, no temporary ones */
    bool strict;                     /* no cache for a call with an unknown struct */
    bool snapshot_at_exit;           /* an atexit handler may still call the driver */
    bool pipeline_key;               /* ask for the device's global pipeline key */
    bool count_costs;                /* do without calls that take the driver too long */
    uint64_t max_blob;               /* bytes */
    char rule[POLICY_ID_SIZE];       /* id of the rule that applied, "default" if none; if several,
                                        the user's last, else the table's first */
    char source[POLICY_SOURCE_SIZE]; /* where the rule comes from; "" if none */
};

/* Rules: the drivers that a rule matches, and what it says. Rules of the built-in table only add
 * actions and lower max_blob, so their order only decides which name is reported. Rules of the
 * user's file override the table, and a later rule an earlier one. */

/* What a driver does not get, or needs. Bits. */
enum policy_action {
    POLICY_NO_PERSIST = 1 << 0,
    POLICY_NO_INJECT = 1 << 1, /* also no load, save or serve, which need a cache of ours */
    POLICY_NO_SERVE = 1 << 2,
    POLICY_NO_DEDUPLICATE = 1 << 3,
    POLICY_SERIALIZE = 1 << 4,
    POLICY_SINGLE_CACHE = 1 << 5,
    POLICY_STRICT = 1 << 6,
    POLICY_SNAPSHOT_AT_EXIT = 1 << 7, /* a permission */
    POLICY_NO_PIPELINE_KEY = 1 << 8,
    POLICY_NO_COUNT_COSTS = 1 << 9
};

/* The yes-or-no members of a policy, and what a rule does about them. */
struct policy_member {
    char key[20];    /* with dashes for underscores in a policy file */
    uint32_t offset; /* of the bool in struct policy */
    enum policy_action action;
    bool asked; /* what the action makes of the member */
};
#define POLICY_MEMBER_COUNT 10
extern const struct policy_member policy_members[POLICY_MEMBER_COUNT];

/* A field of 0 or NULL matches everything. Versions are compared as the driver's raw numbers: in
 * every vendor's encoding the most significant part is highest, so that raw numbers of one vendor
 * are ordered as its versions are. */
struct policy_rule {
    const char *id;     /* outward interface (log, `warmpipe policy`) */
    const char *source; /* where the fact comes from */
    unsigned line;      /* in the user's file; 0: built in */
    uint32_t vendor_id;
    uint32_t device_id;
    uint32_t driver_id;      /* VkDriverId */
    const char *driver_name; /* patterns (base/text.h) */
    const char *device_name;
    uint32_t api_below;     /* the device's apiVersion is lower */
    uint32_t version_from;  /* driverVersion, inclusive */
    uint32_t version_below; /* driverVersion, exclusive */
    unsigned actions;       /* of enum policy_action: what the rule asks for */
    unsigned lifted;        /* of the same: what it lifts; only in the user's rules */
    uint64_t max_blob;      /* bytes; 0: no limit of its own */
};

/* Vulkan leaves the encoding of driverVersion to the vendors. Mesa, AMD, Qualcomm and Imagination
 * use VK_MAKE_API_VERSION. */
#define POLICY_NVIDIA_VERSION(major, minor, secondary, tertiary)                                   \
    ((uint32_t)(major) << 22 | (uint32_t)(minor) << 14 | (uint32_t)(secondary) << 6 |              \
     (uint32_t)(tertiary))

/* The built-in table. */
extern const struct policy_rule policy_table[];
extern const size_t policy_table_size;

/* Whether the rule matches this driver and device. A driver of unknown id (below Vulkan 1.2 without
 * VK_KHR_driver_properties) matches every driver of its vendor: a rule too many costs speed, a rule
 * too few may crash the program. */
bool policy_rule_matches(const struct policy_rule *rule, const struct driver_identity *identity);

/* The user's policy file: docs/POLICY.md describes the format, policy_keys.def lists the keys. One
 * invalid line refuses the whole file, because half a policy is worse than none. */

/* The most bytes and rules of one file. */
#define POLICY_FILE_MAX_SIZE  (64 << 10)
#define POLICY_FILE_MAX_RULES 256

struct policy_file {
    char *text; /* the rules' strings point into it */
    struct policy_rule *rules;
    size_t count; /* in the order of the file */
};

/* What is wrong with a file. */
struct policy_file_error {
    unsigned line;  /* from 1; 0: the file as a whole */
    char text[160]; /* may quote the file */
};

/* Parses `size` bytes; no I/O. STATUS_ok: free *ret_file with policy_file_free; an empty file has
 * no rules. bad_policy_file: *ret_error describes the first invalid line. *ret_file is untouched
 * then, and with out_of_memory. */
enum status policy_file_parse(const void *data, size_t size, struct policy_file *ret_file,
                              struct policy_file_error *ret_error);

/* Frees the memory and zeroes the struct. */
void policy_file_free(struct policy_file *file);

/* Reads and parses the file at `path`. The user has named it, so links are followed and its owner
 * is not checked (volumes of containers show files as links); but it must be a regular file, so
 * that the call does not block. Results are those of policy_file_parse; a file that cannot be read
 * is bad_policy_file with line 0. */
enum status policy_load(const char *path, struct policy_file *ret_file,
                        struct policy_file_error *ret_error);

/* Decides for one device. Every matching rule of the table narrows the default, then the rules of
 * the file (NULL: none) override that one by one. use_table false: WARMPIPE_POLICY=none. A driver
 * that gets no cache never loads, saves or serves one. The result borrows nothing. */
void policy_decide(const struct driver_identity *identity, bool use_table,
                   const struct policy_file *file, struct policy *ret_policy);

/* Decides for one device by the settings (policy_path, policy_none). If the file is invalid, one
 * log line of this process says why, and the built-in table decides alone. */
void policy_of_settings(const struct config *config, const struct driver_identity *identity,
                        struct policy *ret_policy);

#endif
