// SPDX-License-Identifier: Apache-2.0
/* The driver's global pipeline key (VK_KHR_pipeline_binary, vkGetPipelineKeyKHR without a
 * create-info): two devices with the same key compile alike; with another key they find nothing of
 * each other's in a cache. It depends on the driver, on what is enabled, and on settings of the
 * process that Vulkan does not know (RADV_PERFTEST, for example). Thread-safe. */
#ifndef WARMPIPE_DRIVER_PIPELINE_KEY_H
#define WARMPIPE_DRIVER_PIPELINE_KEY_H

#include <stdbool.h>
#include <vulkan/vulkan.h>

#include "common/base/digest.h"

/* Has to be enabled on the device; the layer never enables it (docs/decisions/0135). */
#define PIPELINE_KEY_EXTENSION "VK_KHR_pipeline_binary"

/* Asks the driver for the key of a device; `get` is the next layer's. The policy must allow it.
 * False: it does not tell; *ret_key, a digest of the key, is untouched. */
bool pipeline_key_query(PFN_vkGetDeviceProcAddr get, VkDevice device, struct digest *ret_key);

/* What a recorded key is found by: the driver's identity, and the meaning of the environment
 * (environment_meaning). */
struct digest pipeline_key_device(struct digest identity, struct digest meaning);

#endif
