// SPDX-License-Identifier: Apache-2.0
#include "common/driver/environment_features.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/io.h"
#include "common/driver/environment.h"
#include "common/driver/identity.h"

/* The alignment of each struct in a chain. */
#define ALIGNMENT sizeof(void *)

bool feature_name(uint32_t stype, uint32_t n, char ret_name[FEATURE_NAME_SIZE])
{
    const struct feature_struct *known = feature_struct_find(stype);
    const char *name = NULL;
    if (known || stype == ENVIRONMENT_CORE_STYPE) {
        name = feature_members[known ? (size_t)(known - feature_structs) : feature_struct_count];
    }
    for (uint32_t i = 0; name && i < n; i++) {
        name = strchr(name, ' ');
        name = name ? name + 1 : NULL;
    }
    const size_t length = name ? strcspn(name, " ") : 0;
    if (length == 0 || length >= FEATURE_NAME_SIZE) {
        return false;
    }
    memcpy(ret_name, name, length);
    ret_name[length] = '\0';
    return true;
}

static const char *environment_struct_name(const struct feature_struct *known)
{
    return feature_struct_names[known - feature_structs];
}

static size_t environment_struct_size(uint32_t stype)
{
    const struct feature_struct *known = feature_struct_find(stype);
    size_t size = sizeof(VkBaseOutStructure) + known->count * sizeof(VkBool32);
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The name of the first struct with features that the table does not know, else NULL. The functions
 * below require that there is none. */
static const char *environment_first_unknown_struct(const struct environment *environment)
{
    for (uint32_t i = 0; i < environment->struct_count; i++) {
        const struct environment_features *features = &environment->structs[i];
        const struct feature_struct *known = feature_struct_find(features->stype);
        if (features->stype == ENVIRONMENT_CORE_STYPE) {
            continue;
        }
        if (!known || features->bits == 0) {
            return known ? environment_struct_name(known) : "a struct that is not known";
        }
        if (known->count < 64 && features->bits >> known->count != 0) {
            return environment_struct_name(known);
        }
    }
    return NULL;
}

/* Bytes of the chain of every struct except VkPhysicalDeviceFeatures. */
static size_t environment_chain_size(const struct environment *environment)
{
    size_t size = 0;
    for (uint32_t i = 0; i < environment->struct_count; i++) {
        if (environment->structs[i].stype != ENVIRONMENT_CORE_STYPE) {
            size += environment_struct_size(environment->structs[i].stype);
        }
    }
    return size;
}

static void environment_set_feature_values(VkBool32 *values, size_t count, uint64_t bits)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = bits >> i & 1;
    }
}

/* Builds the chain in memory of that size, aligned for any type: every feature false, or those of
 * the environment true. Returns its first struct; NULL: there is none. */
static void *environment_make_chain(const struct environment *environment, void *memory,
                                    bool enabled)
{
    VkBaseOutStructure *first = NULL;
    VkBaseOutStructure **link = &first;
    uint8_t *next = memory;
    for (uint32_t i = 0; i < environment->struct_count; i++) {
        const struct environment_features *features = &environment->structs[i];
        if (features->stype == ENVIRONMENT_CORE_STYPE) {
            continue;
        }
        VkBaseOutStructure *structure = (VkBaseOutStructure *)next;
        structure->sType = (VkStructureType)features->stype;
        structure->pNext = NULL;
        environment_set_feature_values((VkBool32 *)(structure + 1),
                                       feature_struct_find(features->stype)->count,
                                       enabled ? features->bits : 0);
        *link = structure;
        link = &structure->pNext;
        next += environment_struct_size(features->stype);
    }
    return first;
}

static uint64_t environment_core_bits(const struct environment *environment)
{
    for (uint32_t i = 0; i < environment->struct_count; i++) {
        if (environment->structs[i].stype == ENVIRONMENT_CORE_STYPE) {
            return environment->structs[i].bits;
        }
    }
    return 0;
}

/* Who is told what is missing, and whether something is. */
struct lacks {
    environment_tell *tell;
    void *user;
    bool any;
};

static void tell_lack(struct lacks *lacks, const char *name)
{
    lacks->tell(lacks->user, name);
    lacks->any = true;
}

/* Tells of each feature by its name, where the table has names for the struct, else of the struct.
 */
static void tell_features(struct lacks *lacks, uint32_t stype, const char *whole, uint64_t missing)
{
    char name[FEATURE_NAME_SIZE];
    for (uint32_t i = 0; missing >> i != 0; i++) {
        if (missing >> i & 1) {
            const bool named = feature_name(stype, i, name);
            tell_lack(lacks, named ? name : whole);
            if (!named || i == 63) {
                return;
            }
        }
    }
}

/* Of a chain as a device has filled it. */
static void tell_missing_features(const struct environment *environment, const void *chain,
                                  const VkPhysicalDeviceFeatures *core, struct lacks *lacks)
{
    const VkBaseInStructure *offered = chain;
    tell_features(lacks, ENVIRONMENT_CORE_STYPE, "VkPhysicalDeviceFeatures",
                  environment_core_bits(environment) &
                      ~environment_bits((const VkBool32 *)core, ENVIRONMENT_CORE_COUNT));
    for (uint32_t i = 0; i < environment->struct_count; i++) {
        const struct environment_features *features = &environment->structs[i];
        if (features->stype != ENVIRONMENT_CORE_STYPE) {
            const struct feature_struct *known = feature_struct_find(features->stype);
            tell_features(lacks, features->stype, environment_struct_name(known),
                          features->bits &
                              ~environment_bits(feature_values(offered), known->count));
            offered = offered->pNext;
        }
    }
}

/* The create-info for vkCreateDevice and what it points to; the feature structs follow. */
struct device_request {
    VkDeviceCreateInfo info;
    VkDeviceQueueCreateInfo queue;
    float priority;
    VkPhysicalDeviceFeatures core;
};

static void environment_find_missing_extensions(const struct environment *environment,
                                                const struct environment_commands *commands,
                                                VkPhysicalDevice device, struct lacks *lacks)
{
    uint32_t count = 0;
    AUTO_FREE VkExtensionProperties *list =
        extensions_list(commands->enumerate_extensions, device, &count);
    if (!list) {
        tell_lack(lacks, "the list of extensions");
    }
    for (uint32_t i = 0; list && i < environment->extension_count; i++) {
        if (!extensions_have(list, count, environment->extensions[i])) {
            tell_lack(lacks, environment->extensions[i]);
        }
    }
}

static void environment_find_missing_features(const struct environment *environment,
                                              const struct environment_commands *commands,
                                              VkPhysicalDevice device, struct lacks *lacks)
{
    const char *unknown = environment_first_unknown_struct(environment);
    if (unknown) {
        tell_lack(lacks, unknown);
        return;
    }
    size_t size = environment_chain_size(environment);
    VkPhysicalDeviceFeatures2 features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
    };
    if (size > 0 && !commands->get_features2) {
        tell_lack(lacks, "vkGetPhysicalDeviceFeatures2");
        return;
    }
    AUTO_FREE void *memory = malloc(size + 1);
    if (!memory) {
        tell_lack(lacks, "memory");
        return;
    }
    features.pNext = environment_make_chain(environment, memory, false);
    if (commands->get_features2) {
        commands->get_features2(device, &features);
    } else {
        commands->get_features(device, &features.features);
    }
    tell_missing_features(environment, features.pNext, &features.features, lacks);
}

bool environment_is_offered(const struct environment *environment,
                            const struct environment_commands *commands, VkPhysicalDevice device,
                            environment_tell *tell, void *user)
{
    struct lacks lacks = {tell, user, false};
    VkPhysicalDeviceProperties properties;
    commands->get_properties(device, &properties);
    if (environment_version(properties.apiVersion) < environment->device.api_version) {
        tell_lack(&lacks, "the Vulkan version");
    }
    environment_find_missing_extensions(environment, commands, device, &lacks);
    environment_find_missing_features(environment, commands, device, &lacks);
    return !lacks.any;
}

VkDeviceCreateInfo *environment_create_info(const struct environment *environment)
{
    if (environment_first_unknown_struct(environment)) {
        return NULL;
    }
    struct device_request *request =
        calloc(1, sizeof *request + environment_chain_size(environment));
    if (!request) {
        return NULL;
    }
    request->priority = 1.0f;
    request->queue = (VkDeviceQueueCreateInfo){
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueCount = 1,
        .pQueuePriorities = &request->priority,
    };
    environment_set_feature_values((VkBool32 *)&request->core, ENVIRONMENT_CORE_COUNT,
                                   environment_core_bits(environment));
    request->info = (VkDeviceCreateInfo){
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = environment_make_chain(environment, request + 1, true),
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &request->queue,
        .enabledExtensionCount = environment->extension_count,
        .ppEnabledExtensionNames = environment->extensions,
        .pEnabledFeatures = &request->core,
    };
    return &request->info;
}
