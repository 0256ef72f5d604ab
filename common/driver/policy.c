#include "policy.h"

#include <stdio.h>

#include "base/glob.h"
#include "policy_file.h"
#include "policy_rule.h"

#define MIB ((uint64_t)1 << 20)

static bool version_in_range(const struct policy_rule *rule, uint32_t version)
{
    return version >= rule->version_from &&
           (rule->version_below == 0 || version < rule->version_below);
}

static bool driver_matches(const struct policy_rule *rule, const struct driver_identity *identity)
{
    if (identity->driver_id == 0 && rule->vendor_id != 0) {
        return true;
    }
    return (rule->driver_id == 0 || rule->driver_id == identity->driver_id) &&
           (!rule->driver_name || glob_matches(rule->driver_name, identity->driver_name));
}

bool policy_rule_matches(const struct policy_rule *rule, const struct driver_identity *identity)
{
    if ((rule->vendor_id != 0 && rule->vendor_id != identity->vendor_id) ||
        (rule->device_id != 0 && rule->device_id != identity->device_id) ||
        !driver_matches(rule, identity)) {
        return false;
    }
    if (rule->device_name && !glob_matches(rule->device_name, identity->device_name)) {
        return false;
    }
    if (rule->api_below != 0 && identity->api_version >= rule->api_below) {
        return false;
    }
    return version_in_range(rule, identity->driver_version);
}

/* What the rules have come to so far. */
struct verdict {
    unsigned actions;
    uint64_t max_blob;
    const struct policy_rule *rule; /* the one to be named */
};

static void narrow(struct verdict *verdict, const struct policy_rule *rule)
{
    verdict->actions |= rule->actions;
    if (rule->max_blob != 0 && rule->max_blob < verdict->max_blob) {
        verdict->max_blob = rule->max_blob;
    }
    if (!verdict->rule) {
        verdict->rule = rule;
    }
}

static void override(struct verdict *verdict, const struct policy_rule *rule)
{
    verdict->actions = (verdict->actions & ~rule->lifted) | rule->actions;
    if (rule->max_blob != 0) {
        verdict->max_blob = rule->max_blob;
    }
    verdict->rule = rule;
}

static void name_rule(const struct policy_rule *rule, struct policy *policy)
{
    snprintf(policy->rule, sizeof policy->rule, "%s", rule ? rule->id : "default");
    if (rule && rule->line != 0 && !*rule->source) {
        snprintf(policy->source, sizeof policy->source, "line %u of the policy file", rule->line);
    } else {
        snprintf(policy->source, sizeof policy->source, "%s", rule ? rule->source : "");
    }
}

static struct policy policy_of(const struct verdict *verdict)
{
    unsigned actions = verdict->actions;
    if (actions & POLICY_NO_INJECT) {
        actions |= POLICY_NO_PERSIST | POLICY_NO_SERVE;
    }
    struct policy policy = {
        .persist = !(actions & POLICY_NO_PERSIST),
        .inject = !(actions & POLICY_NO_INJECT),
        .serve = !(actions & POLICY_NO_SERVE),
        .deduplicate = !(actions & POLICY_NO_DEDUPLICATE),
        .serialize = actions & POLICY_SERIALIZE,
        .single_cache = actions & POLICY_SINGLE_CACHE,
        .max_blob = verdict->max_blob,
    };
    name_rule(verdict->rule, &policy);
    return policy;
}

void policy_decide(const struct driver_identity *identity, bool use_table,
                   const struct policy_file *file, struct policy *ret_policy)
{
    /* A 32-bit program has little address space left for a second copy of its caches. */
    struct verdict verdict = {.max_blob = (identity->pointer_size == 4 ? 64 : 512) * MIB};
    for (size_t i = 0; use_table && i < policy_table_size; i++) {
        if (policy_rule_matches(&policy_table[i], identity)) {
            narrow(&verdict, &policy_table[i]);
        }
    }
    for (size_t i = 0; file && i < file->count; i++) {
        if (policy_rule_matches(&file->rules[i], identity)) {
            override(&verdict, &file->rules[i]);
        }
    }
    *ret_policy = policy_of(&verdict);
}
