/* One rule of the driver policy: whom it matches and what it says. Rules of the built-in table only
 * narrow, so the order in which they apply changes nothing but the name that is reported; rules of
 * the user's file decide, and of two that say different things the later one. */
#ifndef WARMPIPE_DRIVER_POLICY_RULE_H
#define WARMPIPE_DRIVER_POLICY_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "identity.h"

/* What a driver is not given, or needs. Bits. */
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
    unsigned line;      /* in the user's file; 0: built in */
    uint32_t vendor_id;
    uint32_t device_id;
    uint32_t driver_id;      /* VkDriverId */
    const char *driver_name; /* patterns (base/glob.h) */
    const char *device_name;
    uint32_t api_below;     /* the device's apiVersion is lower */
    uint32_t version_from;  /* driverVersion, inclusive */
    uint32_t version_below; /* driverVersion, exclusive */
    unsigned actions;       /* of enum policy_action: what the rule asks for */
    unsigned lifted;        /* of the same: what it takes back; the user's rules alone */
    uint64_t max_blob;      /* bytes; 0: nothing is said of it */
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

/* Whether the rule is about this driver and device. A driver that does not tell who it is (below
 * Vulkan 1.2 without VK_KHR_driver_properties) matches whatever a rule of its vendor says of the
 * driver: a rule too many costs speed, one too few may cost the program. Thread-safe. */
bool policy_rule_matches(const struct policy_rule *rule, const struct driver_identity *identity);

#endif
