// SPDX-License-Identifier: Apache-2.0
/* Feature structs: the generated table of those that the registry knows, and the parsed form of an
 * environment, shared by environment.c (codec) and environment_device.c (Vulkan). */
#ifndef WARMPIPE_DRIVER_ENVIRONMENT_FEATURES_H
#define WARMPIPE_DRIVER_ENVIRONMENT_FEATURES_H

#include <stddef.h>
#include <stdint.h>

#include "common/driver/environment.h"

/* VkPhysicalDeviceFeatures has the sType of the struct that wraps it. */
#define ENVIRONMENT_CORE_STYPE ((uint32_t)VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2)
#define ENVIRONMENT_CORE_COUNT (sizeof(VkPhysicalDeviceFeatures) / sizeof(VkBool32))

/* A struct of the device's chain. Bit n: its n-th VkBool32 is true. No bit: the encoder did not
 * know the struct. */
struct environment_features {
    uint32_t stype;
    uint64_t bits;
};

/* The features of a feature struct: they follow sType and pNext. */
static inline const VkBool32 *feature_values(const void *structure)
{
    return (const VkBool32 *)((const VkBaseInStructure *)structure + 1);
}

struct environment {
    struct environment_device device;
    const char **extensions; /* ascending, each once */
    uint32_t extension_count;
    uint32_t struct_count;
    struct environment_features *structs; /* ascending, each once */
    char *strings;
};

/* A version without the patch, which no feature depends on. */
static inline uint32_t environment_version(uint32_t api_version)
{
    return api_version & ~0xfffu;
}

static inline uint64_t environment_bits(const VkBool32 *values, size_t count)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++) {
        bits |= (uint64_t)(values[i] != VK_FALSE) << i;
    }
    return bits;
}

/* The generated table: structs that extend VkPhysicalDeviceFeatures2 and consist of VkBool32 alone,
 * ascending by sType. Written by tools/codegen/features.py. */

struct feature_struct {
    uint32_t stype;
    uint32_t count; /* of its VkBool32 members, 1 to 64 */
};

extern const struct feature_struct feature_structs[];
extern const size_t feature_struct_count;

/* In the order of feature_structs, for messages of the tool; the layer is linked without them. */
extern const char *const feature_struct_names[];

/* The members of each struct, separated by spaces, in that order; "": the registry that this was
 * built with does not know it. Then those of VkPhysicalDeviceFeatures. */
extern const char *const feature_members[];

#define FEATURE_NAME_SIZE 128

/* Writes the name of the n-th feature of a struct of the table, or of VkPhysicalDeviceFeatures.
 * False: it is not known, and nothing is written. Thread-safe. */
bool feature_name(uint32_t stype, uint32_t n, char ret_name[FEATURE_NAME_SIZE]);

/* NULL: not in the table. Thread-safe. */
const struct feature_struct *feature_struct_find(uint32_t stype);

#endif
