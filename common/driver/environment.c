// SPDX-License-Identifier: Apache-2.0
#include "common/driver/environment.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/io.h"
#include "common/driver/environment_features.h"

#define ENVIRONMENT_VERSION 1

/* The most bytes of an encoded form, and of a string in it (without a terminating zero); longer
 * strings are cut. The most structs of a chain. */
#define MAX_SIZE    (1u << 20)
#define MAX_STRING  255
#define MAX_STRUCTS 512

/* Version, vendorID and deviceID come first. */
#define DEVICE_END 12

/* The smallest sizes of a name and a struct in the encoded form. */
#define LEAST_NAME_SIZE 5
#define STRUCT_SIZE     12

struct environment_decoder {
    struct bytes_reader in;
    char *strings; /* where the next string goes; large enough for every valid string */
};

/* NULL: not valid. */
static const char *environment_get_string(struct environment_decoder *decoder)
{
    uint32_t length = bytes_get_u32(&decoder->in);
    const uint8_t *text = bytes_get(&decoder->in, length);
    if (!text || length > MAX_STRING || memchr(text, 0, length)) {
        return NULL;
    }
    char *string = decoder->strings;
    memcpy(string, text, length);
    string[length] = '\0';
    decoder->strings += length + 1;
    return string;
}

static bool environment_get_device(struct environment_decoder *decoder,
                                   struct environment_device *device)
{
    device->vendor_id = bytes_get_u32(&decoder->in);
    device->device_id = bytes_get_u32(&decoder->in);
    device->api_version = bytes_get_u32(&decoder->in);
    uint32_t has_properties2 = bytes_get_u32(&decoder->in);
    device->has_properties2 = has_properties2 == 1;
    device->application_version = bytes_get_u32(&decoder->in);
    device->engine_version = bytes_get_u32(&decoder->in);
    device->application_name = environment_get_string(decoder);
    device->engine_name = environment_get_string(decoder);
    return device->application_name && device->engine_name && has_properties2 <= 1 &&
           device->api_version == environment_version(device->api_version);
}

/* Room for a list whose entries take at least so many bytes in the encoded form, and `size` in
 * memory. NULL: there cannot be as many, or memory is out. */
static void *environment_get_list(struct environment_decoder *decoder, size_t least, size_t size,
                                  uint32_t *ret_count)
{
    *ret_count = bytes_get_u32(&decoder->in);
    return *ret_count <= bytes_left(&decoder->in) / least ? malloc((*ret_count + 1u) * size) : NULL;
}

static bool environment_get_extensions(struct environment_decoder *decoder,
                                       struct environment *environment)
{
    uint32_t count;
    environment->extensions =
        environment_get_list(decoder, LEAST_NAME_SIZE, sizeof *environment->extensions, &count);
    for (uint32_t i = 0; environment->extensions && i < count; i++) {
        const char *name = environment_get_string(decoder);
        if (!name || strcmp(i == 0 ? "" : environment->extensions[i - 1], name) >= 0) {
            return false;
        }
        environment->extensions[i] = name;
    }
    environment->extension_count = count;
    return environment->extensions;
}

static bool environment_get_structs(struct environment_decoder *decoder,
                                    struct environment *environment)
{
    uint32_t count;
    environment->structs =
        environment_get_list(decoder, STRUCT_SIZE, sizeof *environment->structs, &count);
    for (uint32_t i = 0; environment->structs && i < count; i++) {
        struct environment_features *features = &environment->structs[i];
        features->stype = bytes_get_u32(&decoder->in);
        features->bits = bytes_get_u64(&decoder->in);
        if (i > 0 && features[-1].stype >= features->stype) {
            return false;
        }
        if (features->stype == ENVIRONMENT_CORE_STYPE &&
            (features->bits == 0 || features->bits >> ENVIRONMENT_CORE_COUNT != 0)) {
            return false;
        }
    }
    environment->struct_count = count;
    return environment->structs;
}

struct environment *environment_decode(const void *bytes, size_t size)
{
    struct environment *environment = size <= MAX_SIZE ? calloc(1, sizeof *environment) : NULL;
    if (!environment) {
        return NULL;
    }
    environment->strings = malloc(size + 1);
    struct environment_decoder decoder = {bytes_reader_over(bytes, size), environment->strings};
    if (environment->strings && bytes_get_u32(&decoder.in) == ENVIRONMENT_VERSION &&
        environment_get_device(&decoder, &environment->device) &&
        environment_get_extensions(&decoder, environment) &&
        environment_get_structs(&decoder, environment) && !decoder.in.overrun &&
        bytes_left(&decoder.in) == 0) {
        return environment;
    }
    environment_free(environment);
    return NULL;
}

struct digest environment_meaning(const void *bytes, size_t size)
{
    return digest_of((const char *)bytes + DEVICE_END, size - DEVICE_END);
}

void environment_free(struct environment *environment)
{
    if (environment) {
        free(environment->strings);
        free((void *)environment->extensions);
        free(environment->structs);
        free(environment);
    }
}

struct environment_device environment_device_of(const struct environment *environment)
{
    return environment->device;
}

bool environment_is_of_device(const struct environment *environment, uint32_t vendor_id,
                              uint32_t device_id)
{
    return environment->device.vendor_id == vendor_id && environment->device.device_id == device_id;
}

bool environment_has_extension(const struct environment *environment, const char *name)
{
    for (uint32_t i = 0; i < environment->extension_count; i++) {
        if (strcmp(environment->extensions[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static bool includes_extensions(const struct environment *enabled, const struct environment *needed)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < needed->extension_count; i++) {
        int order = -1;
        while (at < enabled->extension_count &&
               (order = strcmp(enabled->extensions[at], needed->extensions[i])) < 0) {
            at++;
        }
        if (order != 0) {
            return false;
        }
    }
    return true;
}

/* A struct that one encoder did not know includes only the same unknown struct. */
static bool includes_features(const struct environment_features *enabled,
                              const struct environment_features *needed)
{
    return enabled->stype == needed->stype && (needed->bits & ~enabled->bits) == 0 &&
           (needed->bits == 0) == (enabled->bits == 0);
}

/* Older headers lack the later ones. */
static const struct environment_features inline_code_features[] = {
    {55, 1u << 15},    /* VkPhysicalDeviceVulkan14Features::maintenance5 */
    {1000320000, 1u},  /* VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT */
    {1000470000, 1u}}; /* VkPhysicalDeviceMaintenance5Features */

bool environment_allows_inline_code(const struct environment *environment)
{
    bool allows = false;
    for (uint32_t i = 0; i < environment->struct_count; i++) {
        for (size_t j = 0; j < sizeof inline_code_features / sizeof inline_code_features[0]; j++) {
            allows |= includes_features(&environment->structs[i], &inline_code_features[j]);
        }
    }
    return allows;
}

static bool includes_structs(const struct environment *enabled, const struct environment *needed)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < needed->struct_count; i++) {
        const struct environment_features *features = &needed->structs[i];
        while (at < enabled->struct_count && enabled->structs[at].stype < features->stype) {
            at++;
        }
        if (at == enabled->struct_count || !includes_features(&enabled->structs[at], features)) {
            return false;
        }
    }
    return true;
}

bool environment_includes(const struct environment *enabled, const struct environment *needed)
{
    return enabled->device.api_version >= needed->device.api_version &&
           includes_extensions(enabled, needed) && includes_structs(enabled, needed);
}

/* Encoding. */

struct feature_list {
    struct environment_features structs[MAX_STRUCTS + 1];
    uint32_t count;
};

/* Keeps the list in ascending order; a struct that occurs twice gets the features of both. */
static void environment_add_features(struct feature_list *list, uint32_t stype, uint64_t bits)
{
    uint32_t at = list->count;
    while (at > 0 && list->structs[at - 1].stype >= stype) {
        at--;
    }
    struct environment_features *place = &list->structs[at];
    if (at < list->count && place->stype == stype) {
        place->bits |= bits;
        return;
    }
    memmove(place + 1, place, (list->count - at) * sizeof *place);
    *place = (struct environment_features){stype, bits};
    list->count++;
}

static void environment_add_known_features(struct feature_list *list, uint32_t stype,
                                           const VkBool32 *values, size_t count)
{
    const uint64_t bits = environment_bits(values, count);
    if (bits != 0) {
        environment_add_features(list, stype, bits);
    }
}

/* VkDevicePipelineBinaryInternalCacheControlKHR, which older headers lack: whether the driver may
 * keep a cache of its own. */
#define STYPE_INTERNAL_CACHE_CONTROL 1000483008u

static bool environment_is_irrelevant_struct(const VkBaseInStructure *structure)
{
    switch ((uint32_t)structure->sType) {
    case VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO:
    case VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO:
    case VK_STRUCTURE_TYPE_DEVICE_PRIVATE_DATA_CREATE_INFO:
    case VK_STRUCTURE_TYPE_DEVICE_MEMORY_OVERALLOCATION_CREATE_INFO_AMD:
    case VK_STRUCTURE_TYPE_DEVICE_DEVICE_MEMORY_REPORT_CREATE_INFO_EXT:
    case STYPE_INTERNAL_CACHE_CONTROL:
        return true;
    case VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO:
        return ((const VkDeviceGroupDeviceCreateInfo *)structure)->physicalDeviceCount <= 1;
    default:
        return false;
    }
}

static void environment_add_struct(struct feature_list *list, const VkBaseInStructure *structure)
{
    uint32_t stype = (uint32_t)structure->sType;
    const struct feature_struct *known = feature_struct_find(stype);
    if (stype == ENVIRONMENT_CORE_STYPE) {
        const VkPhysicalDeviceFeatures *core =
            &((const VkPhysicalDeviceFeatures2 *)structure)->features;
        environment_add_known_features(list, stype, (const VkBool32 *)core, ENVIRONMENT_CORE_COUNT);
    } else if (known) {
        environment_add_known_features(list, stype, feature_values(structure), known->count);
    } else if (!environment_is_irrelevant_struct(structure)) {
        environment_add_features(list, stype, 0);
    }
}

static void environment_put_features(const VkDeviceCreateInfo *create_info, struct bytes *out)
{
    struct feature_list list = {.count = 0};
    int left = MAX_STRUCTS;
    for (const VkBaseInStructure *s = create_info->pNext; s && left > 0; s = s->pNext, left--) {
        environment_add_struct(&list, s);
    }
    if (create_info->pEnabledFeatures) {
        environment_add_known_features(&list, ENVIRONMENT_CORE_STYPE,
                                       (const VkBool32 *)create_info->pEnabledFeatures,
                                       ENVIRONMENT_CORE_COUNT);
    }
    bytes_put_u32(out, list.count);
    for (uint32_t i = 0; i < list.count; i++) {
        bytes_put_u32(out, list.structs[i].stype);
        bytes_put_u64(out, list.structs[i].bits);
    }
}

static void environment_put_string(struct bytes *out, const char *text)
{
    size_t length = text ? strnlen(text, MAX_STRING) : 0;
    bytes_put_u32(out, (uint32_t)length);
    bytes_put(out, text, length);
}

static int environment_compare_extension_names(const void *a, const void *b)
{
    return strncmp(*(const char *const *)a, *(const char *const *)b, MAX_STRING);
}

static void environment_put_extensions(const VkDeviceCreateInfo *create_info, struct bytes *out)
{
    uint32_t count = create_info->enabledExtensionCount;
    uint32_t different = 0;
    AUTO_FREE const char **names = malloc((count + 1u) * sizeof *names);
    if (!names) {
        out->failed = true;
        return;
    }
    if (count > 0) {
        memcpy(names, create_info->ppEnabledExtensionNames, count * sizeof *names);
        qsort(names, count, sizeof *names, environment_compare_extension_names);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (names[i][0] != '\0' && (different == 0 || environment_compare_extension_names(
                                                          &names[different - 1], &names[i]) != 0)) {
            names[different++] = names[i];
        }
    }
    bytes_put_u32(out, different);
    for (uint32_t i = 0; i < different; i++) {
        environment_put_string(out, names[i]);
    }
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
    environment_put_string(out, device->application_name);
    environment_put_string(out, device->engine_name);
    environment_put_extensions(create_info, out);
    environment_put_features(create_info, out);
}

const struct feature_struct *feature_struct_find(uint32_t stype)
{
    return bsearch(&stype, feature_structs, feature_struct_count, sizeof *feature_structs,
                   array_order_u32);
}
