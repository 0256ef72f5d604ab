// SPDX-License-Identifier: Apache-2.0
/* The identity of a driver and device: everything in Vulkan that cache data may depend on. Source:
 * chapter "Devices and Queues" (VkPhysicalDeviceProperties, VkPhysicalDeviceDriverProperties) and
 * "Pipeline Cache Header". Without deviceUUID, which is not persistent. */
#ifndef WARMPIPE_DRIVER_IDENTITY_H
#define WARMPIPE_DRIVER_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/base/digest.h"
#include "common/base/status.h"

struct driver_identity {
    uint32_t vendor_id;
    uint32_t device_id;
    uint32_t api_version;    /* of the device */
    uint32_t driver_version; /* encoded as its vendor does */
    uint32_t driver_id;      /* VkDriverId; 0: unknown */
    uint32_t pointer_size;   /* bytes, of this process */
    uint8_t conformance[4];  /* major, minor, subminor, patch; zeros: unknown */
    uint8_t pipeline_cache_uuid[VK_UUID_SIZE];
    char device_name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE]; /* always terminated, zero-padded */
    char driver_name[VK_MAX_DRIVER_NAME_SIZE];
    char driver_info[VK_MAX_DRIVER_INFO_SIZE];
};

/* The next layer's commands. The last two may be NULL; then, or if the device has neither
 * Vulkan 1.2 nor VK_KHR_driver_properties, the driver's id, name and info stay empty. */
struct identity_commands {
    PFN_vkGetPhysicalDeviceProperties get_properties;
    PFN_vkGetPhysicalDeviceProperties2 get_properties2;
    PFN_vkEnumerateDeviceExtensionProperties enumerate_extensions;
};

/* Every extension of a device, to be freed; NULL: the query fails, or memory is out. */
VkExtensionProperties *extensions_list(PFN_vkEnumerateDeviceExtensionProperties list_them,
                                       VkPhysicalDevice device, uint32_t *ret_count);
bool extensions_have(const VkExtensionProperties *list, uint32_t count, const char *name);

/* Queries the driver. Calls down the chain; thread-safe as those commands are. Cannot fail: if
 * memory is out, a driver below Vulkan 1.2 stays unnamed. */
void identity_query(const struct identity_commands *commands, VkPhysicalDevice device,
                    struct driver_identity *ret_identity);

/* The digest that names this identity's files: over every field, in explicit little-endian. */
struct digest identity_digest(const struct driver_identity *identity);

/* The identity in explicit little-endian, IDENTITY_ENCODED_SIZE bytes appended to `bytes`, and
 * back. Strings are always terminated within their array; the reader's `overrun` tells whether
 * there were too few bytes. */
#define IDENTITY_ENCODED_SIZE (6 * 4 + 4 + VK_UUID_SIZE + 3 * 256)
void identity_put(struct bytes *bytes, const struct driver_identity *identity);
void identity_get(struct bytes_reader *reader, struct driver_identity *ret_identity);

/* STATUS_ok when both are equal in every field, else the reason that names the first difference
 * (bad_pointer_size, other_vendor, other_device, other_driver, other_driver_version,
 * other_api_version, other_cache_uuid). */
enum status identity_compare(const struct driver_identity *found,
                             const struct driver_identity *expected);

/* Cache data of at most this size, in bytes, holds no pipeline: it is the header and, of some
 * drivers of Mesa, a count of zero entries. */
#define DRIVER_CACHE_EMPTY_SIZE (sizeof(VkPipelineCacheHeaderVersionOne) + 4)

/* Whether `blob` starts with a VkPipelineCacheHeaderVersionOne of this very device: 32 bytes,
 * version ONE, vendorID, deviceID, pipelineCacheUUID (chapter "Pipeline Cache Header"). */
bool identity_matches_blob(const struct driver_identity *identity, const void *blob, size_t size);

/* The driver's global pipeline key (VK_KHR_pipeline_binary, vkGetPipelineKeyKHR without a
 * create-info): two devices with the same key compile alike; with another key they find nothing of
 * each other's in a cache. It depends on the driver, on what is enabled, and on settings of the
 * process that Vulkan does not know (RADV_PERFTEST, for example). Thread-safe. */

/* Has to be enabled on the device; the layer never enables it (docs/decisions/0135). */
#define PIPELINE_KEY_EXTENSION "VK_KHR_pipeline_binary"

/* Asks the driver for the key of a device; `get` is the next layer's. The policy must allow it.
 * False: it does not tell; *ret_key, a digest of the key, is untouched. */
bool pipeline_key_query(PFN_vkGetDeviceProcAddr get, VkDevice device, struct digest *ret_key);

/* The digest under which a key is recorded: of the driver's identity, and of the meaning of the
 * environment (environment_meaning). */
struct digest pipeline_key_device(struct digest identity, struct digest meaning);

/* Driver settings that Vulkan does not know and that change what a driver compiles: variables of a
 * process (RADV_PERFTEST, for example), and the program's name, for which Mesa has special options
 * (driconf). They are in no identity, so program.json keeps a program's settings, and `warmpipe
 * warm` replays its recipes with them (docs/decisions/0180).
 *
 * As text: "NAME=VALUE", a semicolon between two, in the order of the table; "": not known. */

#define DRIVER_SETTINGS_SIZE 512 /* with the 0 at its end */

/* Writes the settings of this process; "" if they cannot be written: one is too long, or has a
 * separator character. Thread-safe, as long as nobody changes the environment. */
void driver_settings_of_process(char ret_text[DRIVER_SETTINGS_SIZE]);

/* Whether the settings of this process differ from those of the text, which may hold anything. ""
 * differs from nothing. */
bool driver_settings_differ(const char *text);

/* Makes the settings of the text this process's own, the name included; variables that the text
 * does not name are removed. "" is a no-op. Unknown names are ignored. Call it with one thread,
 * before a driver is loaded: some drivers read their settings only once. */
void driver_settings_use(const char *text);

#endif
