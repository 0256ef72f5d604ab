// SPDX-License-Identifier: Apache-2.0
/* Vulkan's numbers as text, and back. Thread-safe. */
#ifndef WARMPIPE_DRIVER_VULKAN_NAMES_H
#define WARMPIPE_DRIVER_VULKAN_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/driver/identity.h"

#define VULKAN_VERSION_SIZE 24

/* "1.3.230"; with a variant other than 0 (Vulkan SC) "1:1.0.14". */
void vulkan_api_version(uint32_t version, char ret_text[VULKAN_VERSION_SIZE]);

/* driverVersion as the vendor writes it, "470.63.1.0". Vulkan leaves the encoding to the vendor;
 * those of NVIDIA and of Intel on Windows are known, any other is assumed to be that of apiVersion.
 */
void vulkan_driver_version(const struct driver_identity *identity,
                           char ret_text[VULKAN_VERSION_SIZE]);

/* The driver's name, for people; "unnamed" where the program cannot ask for it (Vulkan 1.0). */
const char *vulkan_driver_name(const struct driver_identity *identity);

/* Name and version, "radv 23.1.0". */
#define VULKAN_DRIVER_SIZE (VK_MAX_DRIVER_NAME_SIZE + VULKAN_VERSION_SIZE)
void vulkan_driver_words(const struct driver_identity *identity, char ret_text[VULKAN_DRIVER_SIZE]);

/* "MESA_RADV": the name of a VkDriverId without its prefix; "unknown" for 0 and for unknown ids. */
const char *vulkan_driver_id(uint32_t driver_id);

/* The reverse. Parts of a version may have leading zeros, and trailing parts may be omitted:
 * "470.62.02" is 470.62.2.0. False, with the output untouched, for anything else and for parts that
 * are too large for the encoding. A vendor or driver id of 0 is unknown. */
bool vulkan_parse_api_version(const char *text, uint32_t *ret_version);
bool vulkan_parse_driver_version(const char *text, uint32_t vendor_id, uint32_t driver_id,
                                 uint32_t *ret_version);

/* Parses the name of a VkDriverId, with or without VK_DRIVER_ID_, in any case. */
bool vulkan_parse_driver_id(const char *name, uint32_t *ret_driver_id);

#endif
