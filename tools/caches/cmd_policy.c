// SPDX-License-Identifier: Apache-2.0
/* warmpipe policy: what each device of the machine may be given, and who says so. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/driver/policy.h"
#include "common/driver/vulkan_names.h"
#include "common/settings/config.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"
#include "tools/vulkan/vulkan_loader.h"

static const struct option_spec options[] = {
    VERB_JSON_OPTION,
    {"verbose", 'v', NULL, "also the ids, names and versions that rules match"},
    {NULL, 0, NULL, NULL},
};

static void policy_show_identity(struct output *output, const struct driver_identity *identity)
{
    char version[VULKAN_VERSION_SIZE];
    char api_version[VULKAN_VERSION_SIZE];
    vulkan_driver_version(identity, version);
    vulkan_api_version(identity->api_version, api_version);
    output_hex(output, "vendor", identity->vendor_id);
    output_hex(output, "device", identity->device_id);
    output_text(output, "driver", vulkan_driver_id(identity->driver_id));
    output_text(output, "driver_name", identity->driver_name);
    output_text(output, "driver_info", identity->driver_info);
    output_text(output, "version", version);
    output_text(output, "api_version", api_version);
}

/* "inject=no max-blob=64M", as in a policy file. */
static void policy_put_statements(const struct policy_rule *rule, char *ret_text, size_t size)
{
    size_t used = 0;
    ret_text[0] = '\0';
    for (size_t i = 0; i < POLICY_MEMBER_COUNT; i++) {
        const struct policy_member *member = &policy_members[i];
        const bool is_asked = rule->actions & member->action;
        if (is_asked || (rule->lifted & member->action)) {
            used += (size_t)snprintf(ret_text + used, size - used, "%s%s=%s", used ? " " : "",
                                     member->key, is_asked == member->asked ? "yes" : "no");
        }
    }
    for (char *c = ret_text; *c; c++) {
        *c = *c == '_' ? '-' : *c;
    }
    if (rule->max_blob != 0) {
        const bool is_whole = rule->max_blob % (1 << 20) == 0;
        snprintf(ret_text + used, size - used, "%smax-blob=%" PRIu64 "%s", used ? " " : "",
                 is_whole ? rule->max_blob >> 20 : rule->max_blob, is_whole ? "M" : "");
    }
}

/* `path` is that of the file; NULL: the rule is built in. */
static void policy_show_rule(struct output *output, const struct policy_rule *rule,
                             const char *path)
{
    char statements[256];
    char where[32] = "built in";
    policy_put_statements(rule, statements, sizeof statements);
    if (path) {
        snprintf(where, sizeof where, "line %u", rule->line);
    }
    output_open(output, NULL, OUTPUT_ROW);
    output_text(output, "where", where);
    output_text(output, "rule", rule->id);
    output_text(output, "says", statements);
    output_text(output, "source", path && !*rule->source ? path : rule->source);
    output_close(output);
}

static void policy_show_matching(struct output *output, const struct driver_identity *identity,
                                 const struct policy_rule *rules, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++) {
        if (policy_rule_matches(&rules[i], identity)) {
            policy_show_rule(output, &rules[i], path);
        }
    }
}

static void policy_show_device(struct output *output, const struct driver_identity *identity,
                               uint32_t index, const struct config *config,
                               const struct policy_file *file, bool verbose)
{
    struct policy policy;
    policy_decide(identity, !config->policy_none, file, &policy);
    output_open(output, NULL, OUTPUT_ITEM);
    output_text(output, "device_name", identity->device_name);
    output_number(output, "index", index);
    if (verbose) {
        policy_show_identity(output, identity);
    }
    for (size_t i = 0; i < POLICY_MEMBER_COUNT; i++) {
        const struct policy_member *member = &policy_members[i];
        output_flag(output, member->key, *(const bool *)((const char *)&policy + member->offset));
    }
    output_size(output, "max_blob", policy.max_blob);
    output_text(output, "rule", policy.rule);
    output_open(output, "rules", OUTPUT_LIST);
    if (!config->policy_none) {
        policy_show_matching(output, identity, policy_table, policy_table_size, NULL);
    }
    policy_show_matching(output, identity, file->rules, file->count, config->policy_path);
    output_close(output);
    output_close(output);
}

/* DEVICE: digits are an index, anything else is a part of the name. */
static bool policy_is_selected(const char *selection, const struct driver_identity *identity,
                               uint32_t index)
{
    if (!selection) {
        return true;
    }
    if (selection[strspn(selection, "0123456789")] == '\0') {
        char digits[16];
        snprintf(digits, sizeof digits, "%" PRIu32, index);
        return strcmp(digits, selection) == 0;
    }
    AUTO_FREE char *pattern = output_format("*%s*", selection);
    return pattern && pattern_matches(pattern, identity->device_name);
}

/* False after a message if there is a file and it is not valid. */
static bool policy_read_rules(const struct config *config, struct policy_file *ret_file)
{
    struct policy_file_error error = {0};
    enum status reason = STATUS_ok;
    if (config->policy_path) {
        reason = policy_load(config->policy_path, ret_file, &error);
    }
    if (reason == STATUS_bad_policy_file) {
        char line[24] = "";
        if (error.line != 0) {
            snprintf(line, sizeof line, "line %u: ", error.line);
        }
        output_message("'%s': %s%s (%s)", config->policy_path, line, error.text, status_id(reason));
        output_note_error();
    }
    return reason == STATUS_ok;
}

static int policy_show_devices(const struct vulkan_devices *devices, const struct config *config,
                               const struct policy_file *file, const struct arguments *arguments,
                               int status)
{
    const bool verbose = options_value(arguments, "verbose");
    const char *selection = arguments->operands[0];
    uint32_t selected = 0;
    struct output output;
    output_begin(&output, arguments->json);
    output_open(&output, "devices", OUTPUT_LIST);
    for (uint32_t i = 0; i < devices->count; i++) {
        if (policy_is_selected(selection, &devices->identities[i], i)) {
            policy_show_device(&output, &devices->identities[i], i, config, file, verbose);
            selected++;
        }
    }
    output_close(&output);
    if (devices->count == 0) {
        output_message("no Vulkan device on this machine");
        output_note_error();
        status = EXIT_FINDING;
    } else if (selected == 0) {
        output_message("no device '%s'; see 'warmpipe policy'", selection);
        status = EXIT_USAGE;
    }
    return output_end(&output, status);
}

static int policy_run(const struct arguments *arguments)
{
    AUTO(config_free) struct config config;
    config_read(config_environment, &config);
    AUTO(policy_file_free) struct policy_file file = {0};
    const int status = policy_read_rules(&config, &file) ? EXIT_CLEAN : EXIT_FINDING;
    AUTO(vulkan_devices_free) struct vulkan_devices devices = {0};
    return vulkan_devices_list(&devices)
               ? policy_show_devices(&devices, &config, &file, arguments, status)
               : EXIT_USAGE;
}

const struct verb verb_policy = {
    .name = "policy",
    .doing = "asking for the devices",
    .summary = "show what the layer may do with each driver, and why",
    .operands = "[DEVICE]",
    .description = "Shows for each Vulkan device of this machine, or for DEVICE (its index, or a\n"
                   "part of its name), what the layer may do with its driver, and the rules that\n"
                   "decide it: built in, or lines of the file that WARMPIPE_POLICY names.\n\n"
                   "Exit status: 0 fine, 1 the file is not valid (then only the built-in rules\n"
                   "apply) or there is no device, 2 no such device, or no Vulkan loader.",
    .options = options,
    .max_operands = 1,
    .run = policy_run,
};
