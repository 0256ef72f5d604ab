// SPDX-License-Identifier: Apache-2.0
#include "icd_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void refuse(const char *name, const char *value)
{
    fprintf(stderr, "test driver: cannot read %s='%s'\n", name, value);
    abort();
}

static uint64_t read_number(const char *name, uint64_t fallback)
{
    const char *value = getenv(name);
    if (value == NULL || *value == '\0') {
        return fallback;
    }
    char *end;
    uint64_t number = strtoull(value, &end, 0);
    if (*end != '\0') {
        refuse(name, value);
    }
    return number;
}

static bool read_flag(const char *name)
{
    return read_number(name, 0) != 0;
}

static void read_text(const char *name, const char *fallback, char *text, size_t size)
{
    const char *value = getenv(name);
    if (value == NULL) {
        value = fallback;
    }
    if (strlen(value) >= size) {
        refuse(name, value);
    }
    memset(text, 0, size);
    memcpy(text, value, strlen(value));
}

/* The index of the value among the words; 0 if the variable is unset. */
static unsigned read_word(const char *name, const char *const words[], unsigned count)
{
    const char *value = getenv(name);
    if (value == NULL || *value == '\0') {
        return 0;
    }
    for (unsigned i = 1; i < count; ++i) {
        if (strcmp(words[i], value) == 0) {
            return i;
        }
    }
    refuse(name, value);
    return 0;
}

static void read_api_version(uint32_t *api_version)
{
    const char *value = getenv("WPTEST_ICD_API");
    unsigned minor = 3;
    unsigned patch = VK_HEADER_VERSION;
    if (value != NULL && (sscanf(value, "1.%u.%u", &minor, &patch) < 1 || minor > 3)) {
        refuse("WPTEST_ICD_API", value);
    }
    *api_version = VK_MAKE_API_VERSION(0, 1, minor, patch);
}

static void read_uuid(uint8_t uuid[VK_UUID_SIZE])
{
    const char *value = getenv("WPTEST_ICD_UUID");
    if (value == NULL) {
        value = "5a17c0de00112233445566778899aa00";
    }
    for (unsigned i = 0; i < VK_UUID_SIZE; ++i) {
        if (sscanf(value + 2 * i, "%2hhx", &uuid[i]) != 1) {
            refuse("WPTEST_ICD_UUID", value);
        }
    }
}

static void read_conformance(VkConformanceVersion *version)
{
    const char *value = getenv("WPTEST_ICD_CONFORMANCE");
    if (value == NULL) {
        value = "1.3.0.0";
    }
    if (sscanf(value, "%hhu.%hhu.%hhu.%hhu", &version->major, &version->minor, &version->subminor,
               &version->patch) != 4) {
        refuse("WPTEST_ICD_CONFORMANCE", value);
    }
}

static void read_fail_element(struct icd_settings *settings)
{
    const char *value = getenv("WPTEST_ICD_FAIL_ELEMENT");
    int element = -1;
    int result = 0;
    if (value != NULL && sscanf(value, "%d=%d", &element, &result) != 2) {
        refuse("WPTEST_ICD_FAIL_ELEMENT", value);
    }
    settings->fail_element = element;
    settings->fail_element_result = (VkResult)result;
}

void icd_settings_read(struct icd_settings *settings)
{
    static const char *const create_faults[] = {"",           "fail_data",    "fail",
                                                "abort_data", "abort_second", "ignore_data"};
    static const char *const data_faults[] = {"",           "incomplete", "growing", "header",
                                              "zero",       "short",      "foreign", "stale_size",
                                              "overreport", "counted"};

    static const char *const feedbacks[] = {"", "hit", "miss"};

    memset(settings, 0, sizeof *settings);
    read_api_version(&settings->api_version);
    settings->device_count = (uint32_t)read_number("WPTEST_ICD_DEVICES", 1);
    if (settings->device_count > ICD_MAX_DEVICES) {
        refuse("WPTEST_ICD_DEVICES", getenv("WPTEST_ICD_DEVICES"));
    }
    settings->group = read_flag("WPTEST_ICD_GROUP");
    settings->vendor_id = (uint32_t)read_number("WPTEST_ICD_VENDOR_ID", 0x1ffff);
    settings->device_id = (uint32_t)read_number("WPTEST_ICD_DEVICE_ID", 0x7e57);
    settings->driver_version = (uint32_t)read_number("WPTEST_ICD_DRIVER_VERSION", 1);
    settings->driver_id = (uint32_t)read_number("WPTEST_ICD_DRIVER_ID", 0x7fff0001);
    read_text("WPTEST_ICD_DEVICE_NAME", "Warmpipe test device", settings->device_name,
              sizeof settings->device_name - 4);
    read_text("WPTEST_ICD_DRIVER_NAME", "warmpipe test driver", settings->driver_name,
              sizeof settings->driver_name);
    read_text("WPTEST_ICD_DRIVER_INFO", "1", settings->driver_info, sizeof settings->driver_info);
    read_conformance(&settings->conformance);
    read_uuid(settings->uuid);
    read_text("WPTEST_ICD_WITHOUT", "", settings->without, sizeof settings->without);
    settings->key = read_number("WPTEST_ICD_KEY", 1);
    const char *options = getenv("RADV_PERFTEST");
    if (options) {
        settings->key += strlen(options);
        settings->uuid[0] ^= strcmp(options, "uuid") == 0;
    }
    read_text("WPTEST_ICD_DEVICE_AFTER", "", settings->device_after, sizeof settings->device_after);
    read_text("WPTEST_ICD_KILLED_BY", "", settings->killed_by, sizeof settings->killed_by);
    settings->compile_us = read_number("WPTEST_ICD_COMPILE_US", 0);
    settings->record_bytes = (uint32_t)read_number("WPTEST_ICD_RECORD_BYTES", 64);
    settings->no_feedback = read_flag("WPTEST_ICD_NO_FEEDBACK");
    settings->old_feedback = read_flag("WPTEST_ICD_OLD_FEEDBACK");
    settings->inline_apart = read_flag("WPTEST_ICD_INLINE_APART");
    settings->feedback = (enum icd_feedback)read_word("WPTEST_ICD_FEEDBACK", feedbacks, 3);
    const char *wander = getenv("WPTEST_ICD_WANDER");
    settings->wander = wander && strcmp(wander, "process") == 0
                           ? 1 + (uint32_t)getpid() % 1000
                           : (uint32_t)read_number("WPTEST_ICD_WANDER", 0);
    settings->garbage = (uint32_t)read_number("WPTEST_ICD_GARBAGE", 0);
    settings->uncached = read_number("WPTEST_ICD_UNCACHED", 0);
    settings->serialize = read_flag("WPTEST_ICD_SERIALIZE");
    settings->recycle = read_flag("WPTEST_ICD_RECYCLE");
    settings->equal_handles = read_flag("WPTEST_ICD_EQUAL_HANDLES");
    settings->merge_moves = read_flag("WPTEST_ICD_MERGE_MOVES");
    settings->trust = read_flag("WPTEST_ICD_TRUST");
    read_text("WPTEST_ICD_FAIL", "", settings->fail, sizeof settings->fail);
    read_text("WPTEST_ICD_RESULT", "", settings->result, sizeof settings->result);
    settings->oom = read_number("WPTEST_ICD_OOM", 0);
    read_fail_element(settings);
    settings->cache_create =
        (enum icd_create_fault)read_word("WPTEST_ICD_CACHE_CREATE", create_faults, 6);
    settings->data = (enum icd_data_fault)read_word("WPTEST_ICD_DATA", data_faults, 10);
    settings->data_us = read_number("WPTEST_ICD_DATA_US", 0);
    settings->crash_content = read_number("WPTEST_ICD_CRASH", 0);
    settings->killed_content = read_number("WPTEST_ICD_KILLED_AT", 0);
    settings->hang_content = read_number("WPTEST_ICD_HANG", 0);
    settings->max_samplers = (uint32_t)read_number("WPTEST_ICD_MAX_SAMPLERS", 1u << 20);
    read_text("WPTEST_ICD_CRASH_ENTRY", "", settings->crash_entry, sizeof settings->crash_entry);
    settings->not_deferred = read_flag("WPTEST_ICD_NOT_DEFERRED");
}

bool icd_settings_lacks(const struct icd_settings *settings, const char *name)
{
    size_t length = strlen(name);
    for (const char *word = settings->without; *word != '\0';) {
        size_t word_length = strcspn(word, ",");
        if (word_length == length && strncmp(word, name, length) == 0) {
            return true;
        }
        word += word_length;
        word += *word == ',';
    }
    return false;
}
