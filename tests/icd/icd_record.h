// SPDX-License-Identifier: Apache-2.0
/* What reached the driver: counts of calls, events, violations; and the faults that a call meets.
 */
#ifndef ICD_RECORD_H
#define ICD_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "icd_commands.h"
#include "icd_settings.h"

/* Calls what test_icd_on_call has set. */
void icd_tell(const char *moment);

/* Counts a call. Returns how many there have been, this one included. */
uint64_t icd_count(enum icd_command command);

/* Counts a call and gives the result that WPTEST_ICD_FAIL or WPTEST_ICD_OOM want it to fail with;
 * VK_SUCCESS if it is to go on. */
VkResult icd_call(const struct icd_settings *settings, enum icd_command command);

/* What a successful call returns: VK_SUCCESS, or what WPTEST_ICD_RESULT wants. */
VkResult icd_success(const struct icd_settings *settings, enum icd_command command);

/* Says that something reached the driver that never may. `id` is what tests look for. */
void icd_violation(const char *id, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One line of the log in the making: {"event":…,…}. */
struct icd_event {
    char text[8192];
    unsigned length;
};

void icd_event_begin(struct icd_event *event, const char *name);
void icd_event_number(struct icd_event *event, const char *key, int64_t value);
void icd_event_bool(struct icd_event *event, const char *key, bool value);
void icd_event_handle(struct icd_event *event, const char *key, uint64_t value); /* hex text */
void icd_event_text(struct icd_event *event, const char *key, const char *value);
/* The sTypes of a pNext chain, in order, and the addresses of the structs. */
void icd_event_chain(struct icd_event *event, const void *chain);
/* Writes the line, if there is a log. */
void icd_event_end(struct icd_event *event);

/* Writes the counts of calls so far as an event. */
void icd_record_counts(void);

#endif
