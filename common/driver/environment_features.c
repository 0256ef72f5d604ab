#include "driver/environment_features.h"

#include <string.h>

#include "driver/feature_table.h"

/* Structs are laid out at multiples of this. */
#define ALIGNMENT sizeof(void *)

static size_t struct_size(uint32_t stype)
{
    const struct feature_struct *known = feature_struct_find(stype);
    size_t size = sizeof(struct environment_struct) + known->count * sizeof(VkBool32);
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

const char *environment_features_unknown(const struct environment *environment)
{
    for (uint32_t i = 0; i < environment->struct_count; i++) {
        const struct environment_features *features = &environment->structs[i];
        const struct feature_struct *known = feature_struct_find(features->stype);
        if (features->stype == ENVIRONMENT_CORE_STYPE) {
            continue;
        }
        if (!known || features->bits == 0) {
            return known ? known->name : "a struct that is not known";
        }
        if (known->count < 64 && features->bits >> known->count != 0) {
            return known->name;
        }
    }
    return NULL;
}

size_t environment_features_size(const struct environment *environment)
{
    size_t size = 0;
    for (uint32_t i = 0; i < environment->struct_count; i++) {
        if (environment->structs[i].stype != ENVIRONMENT_CORE_STYPE) {
            size += struct_size(environment->structs[i].stype);
        }
    }
    return size;
}

static void set_values(VkBool32 *values, size_t count, uint64_t bits)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = bits >> i & 1;
    }
}

void *environment_features_chain(const struct environment *environment, void *memory, bool enabled)
{
    struct environment_struct *first = NULL;
    void **link = (void **)&first;
    uint8_t *next = memory;
    for (uint32_t i = 0; i < environment->struct_count; i++) {
        const struct environment_features *features = &environment->structs[i];
        if (features->stype == ENVIRONMENT_CORE_STYPE) {
            continue;
        }
        struct environment_struct *structure = (struct environment_struct *)next;
        structure->stype = (VkStructureType)features->stype;
        structure->next = NULL;
        set_values(structure->values, feature_struct_find(features->stype)->count,
                   enabled ? features->bits : 0);
        *link = structure;
        link = &structure->next;
        next += struct_size(features->stype);
    }
    return first;
}

static uint64_t core_bits(const struct environment *environment)
{
    for (uint32_t i = 0; i < environment->struct_count; i++) {
        if (environment->structs[i].stype == ENVIRONMENT_CORE_STYPE) {
            return environment->structs[i].bits;
        }
    }
    return 0;
}

void environment_features_core(const struct environment *environment,
                               VkPhysicalDeviceFeatures *ret_core)
{
    set_values((VkBool32 *)ret_core, ENVIRONMENT_CORE_COUNT, core_bits(environment));
}

const char *environment_features_missing(const struct environment *environment, const void *chain,
                                         const VkPhysicalDeviceFeatures *core)
{
    const struct environment_struct *offered = chain;
    if (core_bits(environment) &
        ~environment_bits((const VkBool32 *)core, ENVIRONMENT_CORE_COUNT)) {
        return "VkPhysicalDeviceFeatures";
    }
    for (uint32_t i = 0; i < environment->struct_count; i++) {
        const struct environment_features *features = &environment->structs[i];
        if (features->stype == ENVIRONMENT_CORE_STYPE) {
            continue;
        }
        const struct feature_struct *known = feature_struct_find(features->stype);
        if (features->bits & ~environment_bits(offered->values, known->count)) {
            return known->name;
        }
        offered = offered->next;
    }
    return NULL;
}
