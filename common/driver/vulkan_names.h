/* Vulkan's numbers as people write them, and back. */
#ifndef WARMPIPE_DRIVER_VULKAN_NAMES_H
#define WARMPIPE_DRIVER_VULKAN_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "identity.h"

#define VULKAN_VERSION_SIZE 24

/* "1.3.230"; a variant other than 0 (Vulkan SC) stands before it: "1:1.0.14". */
void vulkan_api_version(uint32_t version, char ret_text[VULKAN_VERSION_SIZE]);

/* driverVersion as the driver's own vendor writes it, "470.63.1.0". Vulkan leaves the encoding to
 * the vendor; NVIDIA's and Intel's (on Windows) are known, any other is taken to be that of
 * apiVersion. */
void vulkan_driver_version(const struct driver_identity *identity,
                           char ret_text[VULKAN_VERSION_SIZE]);

/* "MESA_RADV": the name of a VkDriverId less its prefix; "unknown" for 0 and for later ones. */
const char *vulkan_driver_id(uint32_t driver_id);

/* Back. A version's parts may have leading zeros, and those at the end may be left out: "470.62.02"
 * is 470.62.2.0. False, with the output untouched, for anything else and for parts that the
 * encoding has no room for. A vendor or driver id of 0 is unknown. Thread-safe. */
bool vulkan_parse_api_version(const char *text, uint32_t *ret_version);
bool vulkan_parse_driver_version(const char *text, uint32_t vendor_id, uint32_t driver_id,
                                 uint32_t *ret_version);

/* A VkDriverId by its name, with or without VK_DRIVER_ID_, in any case. */
bool vulkan_parse_driver_id(const char *name, uint32_t *ret_driver_id);

#endif
