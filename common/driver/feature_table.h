/* The generated table of feature structs: what extends VkPhysicalDeviceFeatures2 and is made of
 * VkBool32 alone, ascending by sType. Written by tools/codegen/features.py. Constant. */
#ifndef WARMPIPE_DRIVER_FEATURE_TABLE_H
#define WARMPIPE_DRIVER_FEATURE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct feature_struct {
    uint32_t stype;
    uint32_t count; /* of its VkBool32 members, 1 to 64 */
    const char *name;
};

extern const struct feature_struct feature_structs[];
extern const size_t feature_struct_count;

/* NULL: not known. */
const struct feature_struct *feature_struct_find(uint32_t stype);

#endif
