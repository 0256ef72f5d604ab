#include "driver/environment.h"

#include <stdlib.h>
#include <string.h>

#include "driver/environment_private.h"
#include "driver/feature_table.h"

/* Longer chains belong to no real program. */
#define MAX_STRUCTS 512

struct gathered {
    struct environment_features structs[MAX_STRUCTS + 1];
    uint32_t count;
};

/* Keeps them ascending; of a struct that comes twice, every feature. */
static void gather(struct gathered *gathered, uint32_t stype, uint64_t bits)
{
    uint32_t at = gathered->count;
    while (at > 0 && gathered->structs[at - 1].stype >= stype) {
        at--;
    }
    struct environment_features *place = &gathered->structs[at];
    if (at < gathered->count && place->stype == stype) {
        place->bits |= bits;
        return;
    }
    memmove(place + 1, place, (gathered->count - at) * sizeof(*place));
    *place = (struct environment_features){stype, bits};
    gathered->count++;
}

static bool shapes_no_pipeline(const VkBaseInStructure *structure)
{
    switch ((uint32_t)structure->sType) {
    case VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO:
    case VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO:
    case VK_STRUCTURE_TYPE_DEVICE_PRIVATE_DATA_CREATE_INFO:
    case VK_STRUCTURE_TYPE_DEVICE_MEMORY_OVERALLOCATION_CREATE_INFO_AMD:
    case VK_STRUCTURE_TYPE_DEVICE_DEVICE_MEMORY_REPORT_CREATE_INFO_EXT:
        return true;
    case VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO:
        return ((const VkDeviceGroupDeviceCreateInfo *)structure)->physicalDeviceCount <= 1;
    default:
        return false;
    }
}

static void gather_struct(struct gathered *gathered, const VkBaseInStructure *structure)
{
    uint32_t stype = (uint32_t)structure->sType;
    const struct feature_struct *known = feature_struct_find(stype);
    if (stype == ENVIRONMENT_CORE_STYPE) {
        const VkPhysicalDeviceFeatures *core =
            &((const VkPhysicalDeviceFeatures2 *)structure)->features;
        uint64_t bits = environment_bits((const VkBool32 *)core, ENVIRONMENT_CORE_COUNT);
        if (bits != 0) {
            gather(gathered, stype, bits);
        }
    } else if (known) {
        uint64_t bits =
            environment_bits(((const struct environment_struct *)structure)->values, known->count);
        if (bits != 0) {
            gather(gathered, stype, bits);
        }
    } else if (!shapes_no_pipeline(structure)) {
        gather(gathered, stype, 0);
    }
}

static void put_features(const VkDeviceCreateInfo *create_info, struct bytes *out)
{
    struct gathered gathered = {.count = 0};
    int left = MAX_STRUCTS;
    for (const VkBaseInStructure *s = create_info->pNext; s && left > 0; s = s->pNext, left--) {
        gather_struct(&gathered, s);
    }
    if (create_info->pEnabledFeatures) {
        uint64_t bits = environment_bits((const VkBool32 *)create_info->pEnabledFeatures,
                                         ENVIRONMENT_CORE_COUNT);
        if (bits != 0) {
            gather(&gathered, ENVIRONMENT_CORE_STYPE, bits);
        }
    }
    bytes_put_u32(out, gathered.count);
    for (uint32_t i = 0; i < gathered.count; i++) {
        bytes_put_u32(out, gathered.structs[i].stype);
        bytes_put_u64(out, gathered.structs[i].bits);
    }
}

static void put_string(struct bytes *out, const char *text)
{
    size_t length = text ? strnlen(text, ENVIRONMENT_MAX_STRING) : 0;
    bytes_put_u32(out, (uint32_t)length);
    bytes_put(out, text, length);
}

static int compare_names(const void *a, const void *b)
{
    return strncmp(*(const char *const *)a, *(const char *const *)b, ENVIRONMENT_MAX_STRING);
}

static void put_extensions(const VkDeviceCreateInfo *create_info, struct bytes *out)
{
    uint32_t count = create_info->enabledExtensionCount;
    uint32_t different = 0;
    const char **names = malloc((count + 1u) * sizeof(*names));
    if (!names) {
        out->failed = true;
        return;
    }
    if (count > 0) {
        memcpy(names, create_info->ppEnabledExtensionNames, count * sizeof(*names));
        qsort(names, count, sizeof(*names), compare_names);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (names[i][0] != '\0' &&
            (different == 0 || compare_names(&names[different - 1], &names[i]) != 0)) {
            names[different++] = names[i];
        }
    }
    bytes_put_u32(out, different);
    for (uint32_t i = 0; i < different; i++) {
        put_string(out, names[i]);
    }
    free(names);
}

void environment_encode(const struct environment_device *device,
                        const VkDeviceCreateInfo *create_info, struct bytes *out)
{
    bytes_put_u32(out, ENVIRONMENT_VERSION);
    bytes_put_u32(out, device->vendor_id);
    bytes_put_u32(out, device->device_id);
    bytes_put_u32(out, environment_version(device->api_version));
    bytes_put_u32(out, device->has_properties2);
    bytes_put_u32(out, device->application_version);
    bytes_put_u32(out, device->engine_version);
    put_string(out, device->application_name);
    put_string(out, device->engine_name);
    put_extensions(create_info, out);
    put_features(create_info, out);
}
