/* The device environment of a recipe: what was enabled on the VkDevice that the pipeline was
 * created on, and which device that was. A recipe is replayed only where all that was enabled is
 * enabled (in a program: prewarm) or can be enabled (`warmpipe warm`).
 *
 * Encoded like a canonical form: little-endian, structs by their sType, never by a table index; its
 * layout stands in docs/FORMAT.md. It may come from a hostile file. */
#ifndef WARMPIPE_DRIVER_ENVIRONMENT_H
#define WARMPIPE_DRIVER_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "base/bytes.h"
#include "codec/digest.h"

/* Of the device itself, and of its instance. Drivers have options for single programs, which they
 * tell by VkApplicationInfo, and which go into what they compile. */
struct environment_device {
    uint32_t vendor_id;
    uint32_t device_id;
    uint32_t api_version; /* what the program may use: the lower of the device's and its own; the
                             patch is dropped */
    bool has_properties2; /* the program has vkGetPhysicalDeviceProperties2, so that the layer
                             knows the driver's whole identity */
    uint32_t application_version;
    uint32_t engine_version;
    const char *application_name; /* cut after 255 bytes; NULL or "": none */
    const char *engine_name;      /* likewise */
};

/* Encodes what vkCreateDevice is asked to enable: extension names, sorted; VkPhysicalDeviceFeatures
 * and every feature struct of the chain that the registry knows, the features that are true. Of a
 * struct of the chain that it does not know, its sType alone: such an environment is included only
 * in one that has that struct too, and cannot be made again. Structs that shape no pipeline (the
 * loader's own, private data, memory reports and overallocation, a group of one) are passed over.
 * Appends to `out`; the caller looks at out->failed. Thread-safe. */
void environment_encode(const struct environment_device *device,
                        const VkDeviceCreateInfo *create_info, struct bytes *out);

struct environment;

/* NULL: a byte is wrong, or memory is out. Nothing is borrowed. */
struct environment *environment_decode(const void *bytes, size_t size);

/* NULL is a no-op. */
void environment_free(struct environment *environment);

/* Its strings live as long as the environment, and are never NULL. */
struct environment_device environment_device_of(const struct environment *environment);

/* Whether all that `needed` has enabled is enabled in `enabled`; devices and programs are not
 * compared, the Vulkan version must be as high. A feature that two structs can enable (one of its
 * own, and VkPhysicalDeviceVulkan12Features, say) is looked for in the same struct only. */
bool environment_includes(const struct environment *enabled, const struct environment *needed);

bool environment_has_extension(const struct environment *environment, const char *name);

/* The commands that a device is asked with; all but the first two may be NULL below Vulkan 1.1. */
struct environment_commands {
    PFN_vkGetPhysicalDeviceProperties get_properties;
    PFN_vkEnumerateDeviceExtensionProperties enumerate_extensions;
    PFN_vkGetPhysicalDeviceFeatures get_features;
    PFN_vkGetPhysicalDeviceFeatures2 get_features2;
};

/* Whether a physical device offers all of it. *ret_missing (a static or borrowed string, for
 * people): the first thing that it does not offer. Calls Vulkan. */
bool environment_is_offered(const struct environment *environment,
                            const struct environment_commands *commands, VkPhysicalDevice device,
                            const char **ret_missing);

/* A create-info that enables just that, with one queue of family 0, in one allocation that the
 * caller frees with free() before the environment; NULL: memory is out, or a struct of it is not
 * known here. */
VkDeviceCreateInfo *environment_create_info(const struct environment *environment);

#endif
