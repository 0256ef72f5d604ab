/* Vulkan's numbers as people write them. */
#ifndef WARMPIPE_TOOLS_VULKAN_NAMES_H
#define WARMPIPE_TOOLS_VULKAN_NAMES_H

#include <stdint.h>

#include "driver/identity.h"

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

#endif
