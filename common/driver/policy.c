// SPDX-License-Identifier: Apache-2.0
#include "common/driver/policy.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/files/file.h"

/* The built-in table: known driver bugs. A remedy that suits every driver is in the code instead
 * (docs/decisions/0010-driver-policy.md). A new row needs a source, and tests on both sides of each
 * end of its range. */

enum vendor {
    VENDOR_AMD = 0x1002,
    VENDOR_IMAGINATION = 0x1010,
    VENDOR_NVIDIA = 0x10de,
    VENDOR_ARM = 0x13b5,
    VENDOR_BROADCOM = 0x14e4,
    VENDOR_QUALCOMM = 0x5143,
    VENDOR_INTEL = 0x8086,
    VENDOR_MESA = 0x10005 /* VK_VENDOR_ID_MESA */
};

/* VkDriverId; older headers lack the later names. */
enum driver {
    DRIVER_RADV = 3,
    DRIVER_TURNIP = 18,
    DRIVER_VENUS = 22,
    DRIVER_NVK = 24,
    DRIVER_HONEYKRISP = 26
};

const struct policy_rule policy_table[] = {
    {
        /* Pipelines made with one cache corrupt one another. */
        .id = "qualcomm-before-1.0.66",
        .source = "ncnn gpu.cpp",
        .vendor_id = VENDOR_QUALCOMM,
        .api_below = VK_MAKE_API_VERSION(0, 1, 0, 66),
        .actions = POLICY_NO_INJECT | POLICY_NO_DEDUPLICATE,
    },
    {
        /* vkCreatePipelineCache crashes on its own data (one report). */
        .id = "imagination-dxt-48",
        .source = "godotengine/godot#115171",
        .vendor_id = VENDOR_IMAGINATION,
        .driver_id = VK_DRIVER_ID_IMAGINATION_PROPRIETARY,
        .device_name = "*DXT-48*",
        .actions = POLICY_NO_PERSIST,
    },
    {
        /* Pipeline creation does not lock the cache that it uses. */
        .id = "nvidia-before-441",
        .source = "ANGLE vk_renderer.cpp",
        .vendor_id = VENDOR_NVIDIA,
        .driver_id = VK_DRIVER_ID_NVIDIA_PROPRIETARY,
        .version_below = POLICY_NVIDIA_VERSION(441, 0, 0, 0),
        .actions = POLICY_SERIALIZE,
    },
    {
        /* Each cache object takes a huge amount of memory. */
        .id = "nvidia-470-before-470.62.02",
        .source = "vkd3d-proton 0e216b2b",
        .vendor_id = VENDOR_NVIDIA,
        .driver_id = VK_DRIVER_ID_NVIDIA_PROPRIETARY,
        .version_from = POLICY_NVIDIA_VERSION(470, 0, 0, 0),
        .version_below = POLICY_NVIDIA_VERSION(470, 62, 2, 0),
        .actions = POLICY_SINGLE_CACHE,
    },
    {
        /* The same, on a branch that got the fix one release later. */
        .id = "nvidia-470.63.01",
        .source = "vkd3d-proton 0e216b2b",
        .vendor_id = VENDOR_NVIDIA,
        .driver_id = VK_DRIVER_ID_NVIDIA_PROPRIETARY,
        .version_from = POLICY_NVIDIA_VERSION(470, 63, 1, 0),
        .version_below = POLICY_NVIDIA_VERSION(470, 63, 2, 0),
        .actions = POLICY_SINGLE_CACHE,
    },
    {
        /* Each cache returns the data of the whole process, which can be very large. */
        .id = "nvidia-large-blob",
        .source = "ANGLE vk_renderer.cpp",
        .vendor_id = VENDOR_NVIDIA,
        .driver_id = VK_DRIVER_ID_NVIDIA_PROPRIETARY,
        .max_blob = (uint64_t)256 << 20,
    },
    {
        /* vkGetPipelineKeyKHR without a create-info overwrites a register of its caller. */
        .id = "nvidia-pipeline-key",
        .source = "Fossilize de951cf",
        .vendor_id = VENDOR_NVIDIA,
        .driver_id = VK_DRIVER_ID_NVIDIA_PROPRIETARY,
        .actions = POLICY_NO_PIPELINE_KEY,
    },
    {
        /* The key is hashed from memory that nothing wrote. */
        .id = "intel-pipeline-key",
        .source = "tests/drivers: Mesa 26.1.6",
        .vendor_id = VENDOR_INTEL,
        .driver_id = VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA,
        .version_from = VK_MAKE_API_VERSION(0, 26, 1, 0),
        .version_below = VK_MAKE_API_VERSION(0, 26, 2, 0),
        .actions = POLICY_NO_PIPELINE_KEY,
    },
    {
        /* Concurrent creation corrupts the cache; releases 22.5.1 to late 2022. Their driverVersion
         * is 2.0.x and rarely reported (22.5.1: 2.0.226, yuzu-emu/yuzu#8518), so the range is wider
         * at both ends. */
        .id = "amd-proprietary-2022",
        .source = "yuzu-emu/yuzu#8507",
        .vendor_id = VENDOR_AMD,
        .driver_id = VK_DRIVER_ID_AMD_PROPRIETARY,
        .version_from = VK_MAKE_API_VERSION(0, 2, 0, 220),
        .version_below = VK_MAKE_API_VERSION(0, 2, 0, 260),
        .actions = POLICY_SERIALIZE,
    },
    {
        /* It compiles behind the calls that create; a read of the cache waits for that. */
        .id = "venus-reads",
        .source = "tests/clients/pipelines: Mesa 26.2.6",
        .driver_id = DRIVER_VENUS,
        .actions = POLICY_NO_COUNT_COSTS,
    },
    /* Drivers whose vkGetPipelineCacheData works in an atexit handler, tested with the test client
     * that returns from main without destroying anything. Older versions were not tested. */
    {
        .id = "radv-exit",
        .source = "tests/drivers: Mesa 22.3.6, 26.2.6",
        .vendor_id = VENDOR_AMD,
        .driver_id = DRIVER_RADV,
        .version_from = VK_MAKE_API_VERSION(0, 22, 3, 6),
        .actions = POLICY_SNAPSHOT_AT_EXIT,
    },
    {
        .id = "intel-exit",
        .source = "tests/drivers: Mesa 22.3.6, 26.2.6",
        .vendor_id = VENDOR_INTEL,
        .driver_id = VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA,
        .version_from = VK_MAKE_API_VERSION(0, 22, 3, 6),
        .actions = POLICY_SNAPSHOT_AT_EXIT,
    },
    {
        .id = "nvk-exit",
        .source = "tests/drivers: Mesa 26.2.6",
        .vendor_id = VENDOR_NVIDIA,
        .driver_id = DRIVER_NVK,
        .version_from = VK_MAKE_API_VERSION(0, 26, 2, 0),
        .actions = POLICY_SNAPSHOT_AT_EXIT,
    },
    {
        .id = "turnip-exit",
        .source = "tests/drivers: Mesa 26.2.6",
        .vendor_id = VENDOR_QUALCOMM,
        .driver_id = DRIVER_TURNIP,
        .version_from = VK_MAKE_API_VERSION(0, 26, 2, 0),
        .actions = POLICY_SNAPSHOT_AT_EXIT,
    },
    {
        .id = "honeykrisp-exit",
        .source = "tests/drivers: Mesa 26.2.6",
        .vendor_id = VENDOR_MESA,
        .driver_id = DRIVER_HONEYKRISP,
        .version_from = VK_MAKE_API_VERSION(0, 26, 2, 0),
        .actions = POLICY_SNAPSHOT_AT_EXIT,
    },
    {
        .id = "v3dv-exit",
        .source = "tests/drivers: Mesa 26.2.6",
        .vendor_id = VENDOR_BROADCOM,
        .driver_id = VK_DRIVER_ID_MESA_V3DV,
        .version_from = VK_MAKE_API_VERSION(0, 26, 2, 0),
        .actions = POLICY_SNAPSHOT_AT_EXIT,
    },
    {
        .id = "panvk-exit",
        .source = "tests/drivers: Mesa 26.2.6",
        .vendor_id = VENDOR_ARM,
        .driver_id = VK_DRIVER_ID_MESA_PANVK,
        .version_from = VK_MAKE_API_VERSION(0, 26, 2, 0),
        .actions = POLICY_SNAPSHOT_AT_EXIT,
    },
};

const size_t policy_table_size = sizeof policy_table / sizeof policy_table[0];

#define MIB ((uint64_t)1 << 20)

static bool policy_driver_matches(const struct policy_rule *rule,
                                  const struct driver_identity *identity)
{
    if (identity->driver_id == 0 && rule->vendor_id != 0) {
        return true;
    }
    return (rule->driver_id == 0 || rule->driver_id == identity->driver_id) &&
           (!rule->driver_name || pattern_matches(rule->driver_name, identity->driver_name));
}

bool policy_rule_matches(const struct policy_rule *rule, const struct driver_identity *identity)
{
    if ((rule->vendor_id != 0 && rule->vendor_id != identity->vendor_id) ||
        (rule->device_id != 0 && rule->device_id != identity->device_id) ||
        !policy_driver_matches(rule, identity)) {
        return false;
    }
    if (rule->device_name && !pattern_matches(rule->device_name, identity->device_name)) {
        return false;
    }
    if (rule->api_below != 0 && identity->api_version >= rule->api_below) {
        return false;
    }
    return identity->driver_version >= rule->version_from &&
           (rule->version_below == 0 || identity->driver_version < rule->version_below);
}

/* A rule that only permits something does not explain what is missing, and must not be applied to a
 * driver of unknown id. */
static bool policy_rule_only_permits(const struct policy_rule *rule)
{
    return rule->actions == POLICY_SNAPSHOT_AT_EXIT && rule->max_blob == 0;
}

/* The result of the rules so far. */
struct policy_verdict {
    unsigned actions;
    uint64_t max_blob;
    const struct policy_rule *rule; /* the one to report */
};

static void policy_apply_table_rule(struct policy_verdict *verdict, const struct policy_rule *rule)
{
    verdict->actions |= rule->actions;
    if (rule->max_blob != 0 && rule->max_blob < verdict->max_blob) {
        verdict->max_blob = rule->max_blob;
    }
    if (!verdict->rule && !policy_rule_only_permits(rule)) {
        verdict->rule = rule;
    }
}

static void policy_apply_user_rule(struct policy_verdict *verdict, const struct policy_rule *rule)
{
    verdict->actions = (verdict->actions & ~rule->lifted) | rule->actions;
    if (rule->max_blob != 0) {
        verdict->max_blob = rule->max_blob;
    }
    verdict->rule = rule;
}

static void policy_report_rule(const struct policy_rule *rule, struct policy *policy)
{
    snprintf(policy->rule, sizeof policy->rule, "%s", rule ? rule->id : "default");
    if (rule && rule->line != 0 && !*rule->source) {
        snprintf(policy->source, sizeof policy->source, "line %u of the policy file", rule->line);
    } else {
        snprintf(policy->source, sizeof policy->source, "%s", rule ? rule->source : "");
    }
}

static struct policy policy_of(const struct policy_verdict *verdict)
{
    unsigned actions = verdict->actions;
    if (actions & POLICY_NO_INJECT) {
        actions |= POLICY_NO_PERSIST | POLICY_NO_SERVE;
    }
    struct policy policy = {.max_blob = verdict->max_blob};
    for (size_t i = 0; i < POLICY_MEMBER_COUNT; i++) {
        const struct policy_member *member = &policy_members[i];
        *(bool *)((char *)&policy + member->offset) = !(actions & member->action) != member->asked;
    }
    policy_report_rule(verdict->rule, &policy);
    return policy;
}

void policy_decide(const struct driver_identity *identity, bool use_table,
                   const struct policy_file *file, struct policy *ret_policy)
{
    /* A 32-bit program has little address space for a second copy of its caches. */
    struct policy_verdict verdict = {.max_blob = (identity->pointer_size == 4 ? 64 : 512) * MIB};
    for (size_t i = 0; use_table && i < policy_table_size; i++) {
        const bool is_guess =
            identity->driver_id == 0 && policy_rule_only_permits(&policy_table[i]);
        if (!is_guess && policy_rule_matches(&policy_table[i], identity)) {
            policy_apply_table_rule(&verdict, &policy_table[i]);
        }
    }
    for (size_t i = 0; file && i < file->count; i++) {
        if (policy_rule_matches(&file->rules[i], identity)) {
            policy_apply_user_rule(&verdict, &file->rules[i]);
        }
    }
    *ret_policy = policy_of(&verdict);
}

enum status policy_load(const char *path, struct policy_file *ret_file,
                        struct policy_file_error *ret_error)
{
    AUTO_FREE uint8_t *data = NULL;
    size_t size;
    const enum status reason = file_read_any(path, POLICY_FILE_MAX_SIZE, &data, &size);
    if (reason == STATUS_ok) {
        return policy_file_parse(data, size, ret_file, ret_error);
    }
    const int error = errno;
    ret_error->line = 0;
    if (reason == STATUS_too_large) {
        snprintf(ret_error->text, sizeof ret_error->text, "larger than %d bytes",
                 POLICY_FILE_MAX_SIZE);
    } else {
        snprintf(ret_error->text, sizeof ret_error->text, "cannot be read: %s",
                 reason == STATUS_not_a_file ? "not a regular file" : strerror(error));
    }
    return STATUS_bad_policy_file;
}

static void policy_warn_of_file(const char *path, const struct policy_file_error *error)
{
    static atomic_bool warned;
    if (atomic_exchange(&warned, true)) {
        return;
    }
    char where[24] = "";
    if (error->line != 0) {
        snprintf(where, sizeof where, ", line %u", error->line);
    }
    log_warn("policy file '%.1024s'%s: %s; the built-in table is used (%s)", path, where,
             error->text, status_id(STATUS_bad_policy_file));
}

void policy_of_settings(const struct config *config, const struct driver_identity *identity,
                        struct policy *ret_policy)
{
    AUTO(policy_file_free) struct policy_file file = {0};
    struct policy_file_error error;
    if (config->policy_path &&
        policy_load(config->policy_path, &file, &error) == STATUS_bad_policy_file) {
        policy_warn_of_file(config->policy_path, &error);
    }
    policy_decide(identity, !config->policy_none, &file, ret_policy);
}
