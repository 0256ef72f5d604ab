// SPDX-License-Identifier: Apache-2.0
/* What the environment asks of the driver: one instance's copy. test_icd.h tells what each means.
 */
#ifndef ICD_SETTINGS_H
#define ICD_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#define ICD_MAX_DEVICES 4
#define ICD_MAX_TEXT    1024

enum icd_data_fault {
    ICD_DATA_RIGHT,
    ICD_DATA_INCOMPLETE,
    ICD_DATA_GROWING,
    ICD_DATA_HEADER,
    ICD_DATA_ZERO,
    ICD_DATA_SHORT,
    ICD_DATA_FOREIGN,
    ICD_DATA_STALE_SIZE,
    ICD_DATA_OVERREPORT,
    ICD_DATA_COUNTED
};

enum icd_create_fault {
    ICD_CREATE_RIGHT,
    ICD_CREATE_FAIL_DATA,
    ICD_CREATE_FAIL,
    ICD_CREATE_ABORT_DATA,
    ICD_CREATE_ABORT_SECOND,
    ICD_CREATE_IGNORE_DATA
};

enum icd_feedback { ICD_FEEDBACK_TRUE, ICD_FEEDBACK_HIT, ICD_FEEDBACK_MISS };

struct icd_settings {
    uint32_t api_version;
    uint32_t device_count;
    bool group;
    uint32_t vendor_id;
    uint32_t device_id;
    uint32_t driver_version;
    uint32_t driver_id;
    char device_name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    char driver_name[VK_MAX_DRIVER_NAME_SIZE];
    char driver_info[VK_MAX_DRIVER_INFO_SIZE];
    VkConformanceVersion conformance;
    uint8_t uuid[VK_UUID_SIZE];
    char without[ICD_MAX_TEXT];
    uint64_t compile_us;
    uint32_t record_bytes;
    bool no_feedback;
    bool old_feedback;
    bool inline_apart;
    enum icd_feedback feedback;
    uint64_t key;
    uint32_t wander;
    uint32_t garbage;
    uint64_t uncached; /* pipelines of the process that no cache takes up */
    char device_after[ICD_MAX_TEXT];
    char killed_by[ICD_MAX_TEXT];
    uint64_t killed_content;
    bool serialize;
    bool recycle;
    bool equal_handles;
    bool merge_moves;
    bool trust;
    char fail[ICD_MAX_TEXT];
    char result[ICD_MAX_TEXT];
    uint64_t oom;
    int32_t fail_element; /* -1: none */
    VkResult fail_element_result;
    enum icd_create_fault cache_create;
    enum icd_data_fault data;
    uint64_t data_us;
    bool not_deferred;
    uint32_t max_samplers;
    uint64_t crash_content; /* 0: none */
    uint64_t hang_content;
    char crash_entry[ICD_MAX_TEXT]; /* "": none */
    bool instance_gone; /* not from the environment: the instance was destroyed before a device */
};

/* Reads the environment. A value that cannot be read ends the process: a test must not run with
 * another fault than it asked for. */
void icd_settings_read(struct icd_settings *settings);

/* Whether the comma-separated list `without` names this extension or command. */
bool icd_settings_lacks(const struct icd_settings *settings, const char *name);

#endif
