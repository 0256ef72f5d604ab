/* warmpipe policy: what each device of the machine may be given, and who says so. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/glob.h"
#include "driver/policy_load.h"
#include "driver/vulkan_names.h"
#include "output.h"
#include "verb.h"
#include "vulkan_devices.h"

enum { OPTION_JSON, OPTION_VERBOSE };

static const struct option_spec options[] = {
    [OPTION_JSON] = {"json", 0, NULL, "results as a JSON document"},
    [OPTION_VERBOSE] = {"verbose", 'v', NULL, "also the ids, names and versions a rule goes by"},
    {NULL, 0, NULL, NULL},
};

/* What the settings say. */
struct rules {
    bool use_table;
    struct policy_file file;
    const char *path; /* of the file */
};

static void show_identity(struct output *output, const struct driver_identity *identity)
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

static void show_policy(struct output *output, const struct policy *policy)
{
    output_flag(output, "inject", policy->inject);
    output_flag(output, "persist", policy->persist);
    output_flag(output, "serve", policy->serve);
    output_flag(output, "deduplicate", policy->deduplicate);
    output_flag(output, "serialize", policy->serialize);
    output_flag(output, "single_cache", policy->single_cache);
    output_size(output, "max_blob", policy->max_blob);
}

/* "inject=no max-blob=64M": as a policy file says it. */
static void put_statements(const struct policy_rule *rule, char *ret_text, size_t size)
{
    static const struct {
        enum policy_action action;
        const char *asking;
        const char *lifting;
    } words[] = {
        {POLICY_NO_INJECT, "inject=no", "inject=yes"},
        {POLICY_NO_PERSIST, "persist=no", "persist=yes"},
        {POLICY_NO_SERVE, "serve=no", "serve=yes"},
        {POLICY_NO_DEDUPLICATE, "deduplicate=no", "deduplicate=yes"},
        {POLICY_SERIALIZE, "serialize=yes", "serialize=no"},
        {POLICY_SINGLE_CACHE, "single-cache=yes", "single-cache=no"},
    };
    size_t used = 0;
    ret_text[0] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *word = rule->actions & words[i].action  ? words[i].asking
                           : rule->lifted & words[i].action ? words[i].lifting
                                                            : NULL;
        if (word) {
            used += (size_t)snprintf(ret_text + used, size - used, "%s%s", used ? " " : "", word);
        }
    }
    if (rule->max_blob != 0) {
        snprintf(ret_text + used, size - used, "%smax-blob=%" PRIu64 "%s", used ? " " : "",
                 rule->max_blob % (1 << 20) ? rule->max_blob : rule->max_blob >> 20,
                 rule->max_blob % (1 << 20) ? "" : "M");
    }
}

/* `path` is that of the file; NULL: the rule is built in. */
static void show_rule(struct output *output, const struct policy_rule *rule, const char *path)
{
    char statements[256];
    char where[32] = "built in";
    put_statements(rule, statements, sizeof statements);
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

static void show_matching(struct output *output, const struct driver_identity *identity,
                          const struct policy_rule *rules, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++) {
        if (policy_rule_matches(&rules[i], identity)) {
            show_rule(output, &rules[i], path);
        }
    }
}

static void show_device(struct output *output, const struct driver_identity *identity,
                        uint32_t index, const struct rules *rules, bool verbose)
{
    struct policy policy;
    policy_decide(identity, rules->use_table, &rules->file, &policy);
    output_open(output, NULL, OUTPUT_ITEM);
    output_text(output, "device_name", identity->device_name);
    output_number(output, "index", index);
    if (verbose) {
        show_identity(output, identity);
    }
    show_policy(output, &policy);
    output_text(output, "rule", policy.rule);
    output_open(output, "rules", OUTPUT_LIST);
    if (rules->use_table) {
        show_matching(output, identity, policy_table, policy_table_size, NULL);
    }
    show_matching(output, identity, rules->file.rules, rules->file.count, rules->path);
    output_close(output);
    output_close(output);
}

/* DEVICE: all digits are an index, anything else is a part of the name. */
static bool is_selected(const char *selection, const struct driver_identity *identity,
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
    char *pattern;
    if (asprintf(&pattern, "*%s*", selection) < 0) {
        return false;
    }
    bool matches = glob_matches(pattern, identity->device_name);
    free(pattern);
    return matches;
}

/* False after a message if there is a file and it is no good. */
static bool read_file(const struct config *config, struct policy_file *ret_file)
{
    struct policy_file_error error = {0};
    enum reason reason = REASON_ok;
    if (config->policy_path) {
        reason = policy_load(config->policy_path, ret_file, &error);
    }
    if (reason == REASON_bad_policy_file) {
        char line[24] = "";
        if (error.line != 0) {
            snprintf(line, sizeof line, "line %u: ", error.line);
        }
        output_message("policy: '%s': %s%s (%s)", config->policy_path, line, error.text,
                       reason_id(reason));
    }
    return reason == REASON_ok;
}

static const char *read_environment(const char *name)
{
    return getenv(name);
}

static int show_devices(const struct vulkan_devices *devices, const struct rules *rules,
                        const struct arguments *arguments, int status)
{
    const char *selection = arguments->operands[0];
    uint32_t selected = 0;
    struct output output;
    output_begin(&output, arguments->values[OPTION_JSON]);
    output_open(&output, "devices", OUTPUT_LIST);
    for (uint32_t i = 0; i < devices->count; i++) {
        if (is_selected(selection, &devices->identities[i], i)) {
            show_device(&output, &devices->identities[i], i, rules,
                        arguments->values[OPTION_VERBOSE]);
            selected++;
        }
    }
    output_close(&output);
    if (devices->count == 0) {
        output_message("policy: no Vulkan device on this machine");
        status = EXIT_FINDING;
    } else if (selected == 0) {
        output_message("policy: no device '%s' among %" PRIu32, selection, devices->count);
        status = EXIT_USAGE;
    }
    return output_end(&output, status);
}

static int run(const struct arguments *arguments)
{
    struct config config;
    config_read(read_environment, &config);
    struct rules rules = {.use_table = !config.policy_none, .path = config.policy_path};
    int status = read_file(&config, &rules.file) ? EXIT_CLEAN : EXIT_FINDING;
    struct vulkan_devices devices;
    if (vulkan_devices_list("policy", &devices)) {
        status = show_devices(&devices, &rules, arguments, status);
        vulkan_devices_free(&devices);
    } else {
        status = EXIT_USAGE;
    }
    policy_file_free(&rules.file);
    config_free(&config);
    return status;
}

const struct verb verb_policy = {
    .name = "policy",
    .summary = "show what each driver may be given, and why",
    .operands = "[DEVICE]",
    .description =
        "Shows for each Vulkan device of this machine, or for DEVICE (its index, or a\n"
        "part of its name), what the layer gives its driver, and the rules that say so:\n"
        "built in, or from the file that WARMPIPE_POLICY names, by its line.\n\n"
        "Exit status: 0 fine, 1 the file is no good (then the built-in rules hold) or\n"
        "there is no device, 2 there is no such device or no Vulkan loader.",
    .options = options,
    .min_operands = 0,
    .max_operands = 1,
    .run = run,
};
