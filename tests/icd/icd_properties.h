// SPDX-License-Identifier: Apache-2.0
/* What a device says of itself. */
#ifndef ICD_PROPERTIES_H
#define ICD_PROPERTIES_H

#include "icd.h"

/* Fills the two-call idiom with those of `names` that the settings do not withhold. */
VkResult icd_list_extensions(const struct icd_settings *settings, const char *const names[],
                             uint32_t name_count, uint32_t *count,
                             VkExtensionProperties *ret_properties);

/* Fills the structs that it knows; others stay as they came. */
void icd_fill_feature_chain(void *chain);
void icd_fill_property_chain(const struct icd_physical_device *physical, void *chain);

#endif
