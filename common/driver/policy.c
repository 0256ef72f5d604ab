#include "policy.h"

#include <string.h>

#include "policy_rule.h"

#define MIB ((uint64_t)1 << 20)

static const char default_rule[] = "default";

static bool version_in_range(const struct policy_rule *rule, uint32_t version)
{
    return version >= rule->version_from &&
           (rule->version_below == 0 || version < rule->version_below);
}

bool policy_rule_matches(const struct policy_rule *rule, const struct driver_identity *identity)
{
    if (rule->vendor_id != 0 && rule->vendor_id != identity->vendor_id) {
        return false;
    }
    /* Without VK_KHR_driver_properties several drivers of one vendor look alike: a rule that then
     * matches too much costs speed, one that matches too little costs the program. */
    if (rule->driver_id != 0 && identity->driver_id != 0 &&
        rule->driver_id != identity->driver_id) {
        return false;
    }
    if (rule->device_name && !strstr(identity->device_name, rule->device_name)) {
        return false;
    }
    if (rule->api_below != 0 && identity->api_version >= rule->api_below) {
        return false;
    }
    return version_in_range(rule, identity->driver_version);
}

void policy_rule_apply(const struct policy_rule *rule, struct policy *policy)
{
    unsigned actions = rule->actions;
    if (actions & POLICY_NO_INJECT) {
        actions |= POLICY_NO_PERSIST | POLICY_NO_SERVE;
    }
    policy->persist &= !(actions & POLICY_NO_PERSIST);
    policy->inject &= !(actions & POLICY_NO_INJECT);
    policy->serve &= !(actions & POLICY_NO_SERVE);
    policy->deduplicate &= !(actions & POLICY_NO_DEDUPLICATE);
    policy->serialize |= (actions & POLICY_SERIALIZE) != 0;
    policy->single_cache |= (actions & POLICY_SINGLE_CACHE) != 0;
    if (rule->max_blob != 0 && rule->max_blob < policy->max_blob) {
        policy->max_blob = rule->max_blob;
    }
    if (policy->rule == default_rule) {
        policy->rule = rule->id;
        policy->source = rule->source;
    }
}

void policy_decide(const struct driver_identity *identity, bool use_table,
                   struct policy *ret_policy)
{
    struct policy policy = {
        .persist = true,
        .inject = true,
        .serve = true,
        .deduplicate = true,
        /* A 32-bit program has little address space left for a second copy of its caches. */
        .max_blob = (identity->pointer_size == 4 ? 64 : 512) * MIB,
        .rule = default_rule,
        .source = "",
    };
    for (size_t i = 0; use_table && i < policy_table_size; i++) {
        if (policy_rule_matches(&policy_table[i], identity)) {
            policy_rule_apply(&policy_table[i], &policy);
        }
    }
    *ret_policy = policy;
}
