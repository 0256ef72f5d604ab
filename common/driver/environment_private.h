/* What the environment's files share. */
#ifndef WARMPIPE_DRIVER_ENVIRONMENT_PRIVATE_H
#define WARMPIPE_DRIVER_ENVIRONMENT_PRIVATE_H

#include "driver/environment.h"

/* Of the encoded form; changes with it. */
#define ENVIRONMENT_VERSION 1

/* VkPhysicalDeviceFeatures stands under the sType of the struct that wraps it. */
#define ENVIRONMENT_CORE_STYPE ((uint32_t)VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2)
#define ENVIRONMENT_CORE_COUNT (sizeof(VkPhysicalDeviceFeatures) / sizeof(VkBool32))

/* Bytes of a string, without a terminating zero; longer ones are cut. */
#define ENVIRONMENT_MAX_STRING 255

/* A struct of the device's chain. Bit n: its n-th VkBool32 is true. No bit: the struct is not known
 * to who encoded it. */
struct environment_features {
    uint32_t stype;
    uint64_t bits;
};

/* How every feature struct lies in memory. */
struct environment_struct {
    VkStructureType stype;
    void *next;
    VkBool32 values[];
};

struct environment {
    struct environment_device device;
    const char **extensions; /* ascending, each once */
    uint32_t extension_count;
    uint32_t struct_count;
    struct environment_features *structs; /* ascending, each once */
    char *strings;
};

/* A version without what no feature hangs on: the patch. */
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

#endif
