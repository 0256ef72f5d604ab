/* One row of the driver policy: whom it matches and what it takes away. A rule only ever narrows,
 * so the order in which rules apply changes nothing but the name that is reported. */
#ifndef WARMPIPE_DRIVER_POLICY_RULE_H
#define WARMPIPE_DRIVER_POLICY_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "identity.h"
#include "policy.h"

/* Bits of policy_rule.actions: what the matched driver is not given, or needs. */
enum policy_action {
    POLICY_NO_PERSIST = 1 << 0,
    POLICY_NO_INJECT = 1 << 1, /* nor load, save or serve, which need a cache of ours */
    POLICY_NO_SERVE = 1 << 2,
    POLICY_NO_DEDUPLICATE = 1 << 3,
    POLICY_SERIALIZE = 1 << 4,
    POLICY_SINGLE_CACHE = 1 << 5
};

/* A field of 0 or NULL matches everything. Versions are compared as the raw number that the driver
 * gives: every vendor's encoding puts its most significant part highest, so within one vendor raw
 * numbers are ordered as the versions are. */
struct policy_rule {
    const char *id;     /* outward interface (log, `warmpipe policy`) */
    const char *source; /* where the fact comes from */
    uint32_t vendor_id;
    uint32_t driver_id;      /* VkDriverId; a driver that does not tell its own matches too */
    const char *device_name; /* a part of deviceName */
    uint32_t api_below;      /* the device's apiVersion is lower */
    uint32_t version_from;   /* driverVersion, inclusive */
    uint32_t version_below;  /* driverVersion, exclusive */
    unsigned actions;        /* of enum policy_action */
    uint64_t max_blob;       /* bytes */
};

/* The encodings of driverVersion. Vulkan leaves them to the vendors; Mesa, AMD, Qualcomm and
 * Imagination use that of apiVersion, VK_MAKE_API_VERSION. */
#define POLICY_NVIDIA_VERSION(major, minor, secondary, tertiary)                                   \
    ((uint32_t)(major) << 22 | (uint32_t)(minor) << 14 | (uint32_t)(secondary) << 6 |              \
     (uint32_t)(tertiary))
#define POLICY_INTEL_WINDOWS_VERSION(branch, build) ((uint32_t)(branch) << 14 | (uint32_t)(build))

/* The built-in table. */
extern const struct policy_rule policy_table[];
extern const size_t policy_table_size;

/* Whether the rule is about this driver and device. Thread-safe. */
bool policy_rule_matches(const struct policy_rule *rule, const struct driver_identity *identity);

/* Narrows the policy by one rule that matched; the first one so applied gives rule and source their
 * values (borrowed from it). */
void policy_rule_apply(const struct policy_rule *rule, struct policy *policy);

#endif
