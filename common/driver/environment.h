// SPDX-License-Identifier: Apache-2.0
/* The device environment of a recipe: the device, and what was enabled on the VkDevice that the
 * pipeline was created on. A recipe is replayed only where all of that is enabled (prewarm in a
 * program) or can be enabled (`warmpipe warm`).
 *
 * Encoded like a canonical form: little-endian, structs by their sType, never by a table index
 * (docs/FORMAT.md). It may come from a hostile file. Every function is thread-safe. */
#ifndef WARMPIPE_DRIVER_ENVIRONMENT_H
#define WARMPIPE_DRIVER_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"

/* The device and its instance. Drivers recognize programs by VkApplicationInfo and have options for
 * some of them that change the compiled code. */
struct environment_device {
    uint32_t vendor_id;
    uint32_t device_id;
    uint32_t api_version; /* that the program may use: the lower of the device's and its own,
                             without the patch */
    bool has_properties2; /* the program has vkGetPhysicalDeviceProperties2, so that the layer
                             knows the driver's whole identity */
    uint32_t application_version;
    uint32_t engine_version;
    const char *application_name; /* cut after 255 bytes; NULL or "": none */
    const char *engine_name;      /* likewise */
};

/* Encodes what vkCreateDevice is asked to enable: the extension names, sorted, and the features
 * that are true in VkPhysicalDeviceFeatures and in every feature struct of the chain that the
 * registry knows. Of any other struct only the sType is encoded: such an environment is included
 * only in one that has that struct too, and cannot be created again. Structs that do not affect
 * pipelines (the loader's own, private data, memory reports and overallocation, whether the
 * driver keeps a cache of its own, a group of one device) are skipped. Appends to `out`; the caller
 * checks out->failed. */
void environment_encode(const struct environment_device *device,
                        const VkDeviceCreateInfo *create_info, struct bytes *out);

/* A digest of all that an encoded form says, less the device: environments that differ in it alone
 * are equal for a replay. It has to be one that environment_decode accepts. */
struct digest environment_meaning(const void *bytes, size_t size);

struct environment;

/* Parses the encoded form. NULL: it is not valid, or memory is out. Nothing is borrowed. */
struct environment *environment_decode(const void *bytes, size_t size);

/* NULL is a no-op. */
void environment_free(struct environment *environment);

/* The strings live as long as the environment and are never NULL. */
struct environment_device environment_device_of(const struct environment *environment);

/* Whether the device is this one, by the vendor's id and its own. */
bool environment_is_of_device(const struct environment *environment, uint32_t vendor_id,
                              uint32_t device_id);

/* Whether `enabled` has at least the Vulkan version of `needed`, and everything that it has
 * enabled. Devices and programs are not compared. A feature that two structs can enable (its own,
 * and VkPhysicalDeviceVulkan12Features, for example) must be enabled in the same struct. */
bool environment_includes(const struct environment *enabled, const struct environment *needed);

/* Whether a stage may bring its code along instead of a module: the feature of graphics pipeline
 * libraries or maintenance5 is enabled (VUID-VkPipelineShaderStageCreateInfo-stage-06845). */
bool environment_allows_inline_code(const struct environment *environment);

bool environment_has_extension(const struct environment *environment, const char *name);

/* The commands for queries; all but the first two may be NULL below Vulkan 1.1. */
struct environment_commands {
    PFN_vkGetPhysicalDeviceProperties get_properties;
    PFN_vkEnumerateDeviceExtensionProperties enumerate_extensions;
    PFN_vkGetPhysicalDeviceFeatures get_features;
    PFN_vkGetPhysicalDeviceFeatures2 get_features2;
};

/* Called once for each thing that a physical device lacks: the name of an extension or of a
 * feature, or words. The name is borrowed during the call. */
typedef void environment_tell(void *user, const char *name);

/* Whether a physical device supports everything in the environment; calls `tell` for what it lacks.
 * Calls Vulkan. */
bool environment_is_offered(const struct environment *environment,
                            const struct environment_commands *commands, VkPhysicalDevice device,
                            environment_tell *tell, void *user);

/* A create-info that enables exactly the environment, with one queue of family 0, in one allocation
 * that the caller frees with free() before the environment. NULL: memory is out, or a struct is not
 * in the table. */
VkDeviceCreateInfo *environment_create_info(const struct environment *environment);

#endif
