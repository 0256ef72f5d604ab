// SPDX-License-Identifier: Apache-2.0
/* A layer that writes down what each device has enabled, and the key by which its driver tells
 * whether two devices compile alike: vkGetPipelineKeyKHR without a create-info. Where the driver
 * has VK_KHR_pipeline_binary it is enabled on every device; else the key is "".
 *
 *     DEVICE_KEYS          a file: one line of JSON is appended for each device
 *     DEVICE_KEYS_STRUCTS  "sType:members sType:members...": the feature structs whose members, all
 * of them VkBool32, are written down as well; of others only that they are there */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include "tests/clients/features/newer.h"

#define BINARY         "VK_KHR_pipeline_binary"
#define MAINTENANCE_5  "VK_KHR_maintenance5"
#define EXPORT         __attribute__((visibility("default"))) VKAPI_ATTR
#define MAX_EXTENSIONS 512

/* One instance a process is all that the programs of these tests have. */
static PFN_vkGetInstanceProcAddr next_instance_proc;
static PFN_vkGetDeviceProcAddr next_device_proc;
static VkInstance instance;

struct feature {
    VkStructureType stype;
    void *next;
    VkBool32 members[];
};

static unsigned members_of(uint32_t stype)
{
    const char *at = getenv("DEVICE_KEYS_STRUCTS");
    while (at && *at) {
        char *end;
        const unsigned long found = strtoul(at, &end, 10);
        const unsigned long members = *end == ':' ? strtoul(end + 1, &end, 10) : 0;
        if (found == stype) {
            return (unsigned)members;
        }
        at = *end == ' ' ? end + 1 : NULL;
    }
    return 0;
}

static void write_members(FILE *file, const VkBool32 *members, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        fputc(members[i] ? '1' : '0', file);
    }
}

static bool is_loaders(const VkBaseInStructure *structure)
{
    return structure->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO;
}

static void write_structs(FILE *file, const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceFeatures *core = info->pEnabledFeatures;
    const char *comma = "";
    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext) {
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2) {
            core = &((const VkPhysicalDeviceFeatures2 *)s)->features;
        } else if (!is_loaders(s)) {
            fprintf(file, "%s\"%u\": \"", comma, (unsigned)s->sType);
            write_members(file, ((const struct feature *)s)->members,
                          members_of((uint32_t)s->sType));
            fputs("\"", file);
            comma = ", ";
        }
    }
    fprintf(file, "%s\"core\": \"", comma);
    if (core) {
        write_members(file, (const VkBool32 *)core, sizeof *core / sizeof(VkBool32));
    }
    fputs("\"", file);
}

static void write_key(FILE *file, VkDevice device)
{
    get_pipeline_key get = (get_pipeline_key)next_device_proc(device, "vkGetPipelineKeyKHR");
    struct binary_key key = {.stype = (VkStructureType)STYPE_BINARY_KEY};
    if (get && get(device, NULL, &key) == VK_SUCCESS) {
        for (uint32_t i = 0; i < key.size; i++) {
            fprintf(file, "%02x", key.key[i]);
        }
    }
}

static void write_device(VkDevice device, const VkDeviceCreateInfo *info)
{
    const char *path = getenv("DEVICE_KEYS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) {
        return;
    }
    fputs("{\"key\": \"", file);
    write_key(file, device);
    fputs("\", \"structs\": {", file);
    write_structs(file, info);
    fputs("}, \"extensions\": [", file);
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++) {
        fprintf(file, "%s\"%s\"", i ? ", " : "", info->ppEnabledExtensionNames[i]);
    }
    fputs("]}\n", file);
    fclose(file);
}

static bool has_binaries(VkPhysicalDevice physical)
{
    static VkExtensionProperties all[MAX_EXTENSIONS];
    uint32_t count = MAX_EXTENSIONS;
    PFN_vkEnumerateDeviceExtensionProperties list =
        (PFN_vkEnumerateDeviceExtensionProperties)next_instance_proc(
            instance, "vkEnumerateDeviceExtensionProperties");
    bool found = false;
    if (list(physical, NULL, &count, all) >= VK_SUCCESS) {
        for (uint32_t i = 0; i < count; i++) {
            found |= strcmp(all[i].extensionName, BINARY) == 0;
        }
    }
    return found;
}

/* Of a create-info that may have either already. */
struct added {
    VkDeviceCreateInfo info;
    const char *names[MAX_EXTENSIONS];
    struct {
        VkStructureType stype;
        const void *next;
        VkBool32 enabled;
    } structs[2];
};

static void add_extension(struct added *added, const char *name, uint32_t stype, int place)
{
    bool has_name = false;
    bool has_struct = false;
    for (uint32_t i = 0; i < added->info.enabledExtensionCount; i++) {
        has_name |= strcmp(added->names[i], name) == 0;
    }
    for (const VkBaseInStructure *s = added->info.pNext; s; s = s->pNext) {
        has_struct |= (uint32_t)s->sType == stype;
    }
    if (!has_name) {
        added->names[added->info.enabledExtensionCount++] = name;
    }
    if (!has_struct) {
        added->structs[place].stype = (VkStructureType)stype;
        added->structs[place].next = added->info.pNext;
        added->structs[place].enabled = VK_TRUE;
        added->info.pNext = &added->structs[place];
    }
}

static VKAPI_ATTR VkResult VKAPI_CALL key_create_device(VkPhysicalDevice physical,
                                                        const VkDeviceCreateInfo *info,
                                                        const VkAllocationCallbacks *allocator,
                                                        VkDevice *ret_device)
{
    VkLayerDeviceCreateInfo *link = (VkLayerDeviceCreateInfo *)(uintptr_t)info->pNext;
    while (link->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO ||
           link->function != VK_LAYER_LINK_INFO) {
        link = (VkLayerDeviceCreateInfo *)(uintptr_t)link->pNext;
    }
    next_device_proc = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    static struct added added;
    added.info = *info;
    if (info->enabledExtensionCount < MAX_EXTENSIONS - 2 && has_binaries(physical)) {
        memcpy(added.names, info->ppEnabledExtensionNames,
               info->enabledExtensionCount * sizeof *added.names);
        added.info.ppEnabledExtensionNames = added.names;
        add_extension(&added, MAINTENANCE_5, STYPE_MAINTENANCE_5_FEATURES, 0);
        add_extension(&added, BINARY, STYPE_BINARY_FEATURES, 1);
    }
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)next_instance_proc(instance, "vkCreateDevice");
    const VkResult result = create(physical, &added.info, allocator, ret_device);
    if (result == VK_SUCCESS) {
        write_device(*ret_device, info);
    }
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL key_create_instance(const VkInstanceCreateInfo *info,
                                                          const VkAllocationCallbacks *allocator,
                                                          VkInstance *ret_instance)
{
    VkLayerInstanceCreateInfo *link = (VkLayerInstanceCreateInfo *)(uintptr_t)info->pNext;
    while (link->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO ||
           link->function != VK_LAYER_LINK_INFO) {
        link = (VkLayerInstanceCreateInfo *)(uintptr_t)link->pNext;
    }
    next_instance_proc = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateInstance create =
        (PFN_vkCreateInstance)next_instance_proc(NULL, "vkCreateInstance");
    const VkResult result = create(info, allocator, ret_instance);
    instance = result == VK_SUCCESS ? *ret_instance : NULL;
    return result;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL key_device_proc(VkDevice device, const char *name)
{
    return strcmp(name, "vkGetDeviceProcAddr") == 0 ? (PFN_vkVoidFunction)key_device_proc
                                                    : next_device_proc(device, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL key_instance_proc(VkInstance of, const char *name)
{
    if (strcmp(name, "vkCreateInstance") == 0) {
        return (PFN_vkVoidFunction)key_create_instance;
    }
    if (strcmp(name, "vkCreateDevice") == 0) {
        return (PFN_vkVoidFunction)key_create_device;
    }
    if (strcmp(name, "vkGetInstanceProcAddr") == 0) {
        return (PFN_vkVoidFunction)key_instance_proc;
    }
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
        return (PFN_vkVoidFunction)key_device_proc;
    }
    return next_instance_proc ? next_instance_proc(of, name) : NULL;
}

EXPORT VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *negotiation);

EXPORT VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *negotiation)
{
    negotiation->loaderLayerInterfaceVersion = 2;
    negotiation->pfnGetInstanceProcAddr = key_instance_proc;
    negotiation->pfnGetDeviceProcAddr = key_device_proc;
    negotiation->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
