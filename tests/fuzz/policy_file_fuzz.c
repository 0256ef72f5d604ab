// SPDX-License-Identifier: Apache-2.0
/* A policy file as hostile as it likes: refused with a line that it has, or rules that may be
 * decided by. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/driver/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static unsigned count_lines(const uint8_t *data, size_t size)
{
    unsigned lines = 1;
    for (size_t i = 0; i < size; i++) {
        lines += data[i] == '\n';
    }
    return lines;
}

static void check_error(const struct policy_file_error *error, unsigned lines)
{
    require(error->text[0] != '\0', "an error says something");
    require(memchr(error->text, '\0', sizeof error->text), "an error ends");
    require(error->line <= lines, "an error's line is one of the file's");
}

static void check_rule(const struct policy_rule *rule, unsigned lines)
{
    unsigned all = 0;
    for (size_t i = 0; i < POLICY_MEMBER_COUNT; i++) {
        all |= policy_members[i].action;
    }
    require(rule->id[0] && strlen(rule->id) < POLICY_ID_SIZE, "a rule has a name that fits");
    require(strlen(rule->source) < POLICY_SOURCE_SIZE, "a source fits");
    require(rule->line >= 1 && rule->line <= lines, "a rule's line is one of the file's");
    require(((rule->actions | rule->lifted) & ~all) == 0, "actions are known ones");
    require((rule->actions & rule->lifted) == 0, "what is asked for is not taken back");
    require(rule->actions || rule->lifted || rule->max_blob, "a rule says something");
    require(rule->version_below == 0 || rule->version_from < rule->version_below,
            "a range holds a version");
}

static void check_decision(const struct policy_file *file, uint32_t vendor_id, uint32_t driver_id)
{
    struct driver_identity identity = {
        .vendor_id = vendor_id,
        .device_id = 1,
        .api_version = VK_API_VERSION_1_1,
        .driver_version = VK_MAKE_API_VERSION(0, 22, 3, 6),
        .driver_id = driver_id,
        .pointer_size = 8,
        .device_name = "Device (A) #1",
        .driver_name = "driver",
    };
    struct policy policy;
    policy_decide(&identity, true, file, &policy);
    require(policy.inject || !(policy.persist || policy.serve), "nothing is kept without a cache");
    require(policy.max_blob != 0, "a blob has room");
    require(policy.rule[0] != '\0', "some rule is named");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const unsigned lines = count_lines(data, size);
    struct policy_file file = {0};
    struct policy_file_error error = {0};
    enum status reason = policy_file_parse(data, size, &file, &error);
    if (reason == STATUS_bad_policy_file) {
        check_error(&error, lines);
        require(!file.text && !file.rules && file.count == 0, "nothing of a bad file is left");
        return 0;
    }
    if (reason != STATUS_ok) {
        return 0;
    }
    require(file.count <= POLICY_FILE_MAX_RULES, "rules are bounded");
    for (size_t i = 0; i < file.count; i++) {
        check_rule(&file.rules[i], lines);
    }
    check_decision(&file, 0x10de, VK_DRIVER_ID_NVIDIA_PROPRIETARY);
    check_decision(&file, 0x1002, VK_DRIVER_ID_MESA_RADV);
    check_decision(&file, 1, 0);
    policy_file_free(&file);
    return 0;
}
