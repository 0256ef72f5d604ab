// SPDX-License-Identifier: Apache-2.0
#include "layer/chain/device.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer/chain/handle_map.h"
#include "layer/chain/instance.h"

static struct handle_map devices = HANDLE_MAP_INIT;

/* As in instance.c: the vkCreateDevice, or the query to the next layer, that this thread is in. */
struct device_creation {
    const VkLayerDeviceLink *links;
    PFN_vkGetDeviceProcAddr lower_next;
};
static _Thread_local struct device_creation current;

struct device *device_of(VkDevice device)
{
    return device ? handle_map_get(&devices, dispatch_key(device)) : NULL;
}

static bool device_is_lower_copy(const VkLayerDeviceLink *link)
{
    const VkLayerDeviceLink *below = current.links;
    while (below && below != link) {
        below = below->pNext;
    }
    return below;
}

static VkLayerDeviceCreateInfo *device_find_link(const VkDeviceCreateInfo *create_info)
{
    const VkLayerDeviceCreateInfo *info = create_info->pNext;
    while (info && !(info->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO &&
                     info->function == VK_LAYER_LINK_INFO)) {
        info = info->pNext;
    }
    return (VkLayerDeviceCreateInfo *)(uintptr_t)info;
}

/* The commands of the next layer that warmpipe calls. */
enum next_kind {
    NEXT_PLAIN,
    NEXT_PROMOTED,   /* devices that have no other may have it by the name that it had as KHR */
    NEXT_OF_INSTANCE /* of an extension of the instance */
};

#define NEXT_NAME_SIZE 34

/* clang-format off */
#define NEXT(member)             {"vk" #member, NEXT_PLAIN, offsetof(device_table, member)}
#define NEXT_PROMOTED(member)    {"vk" #member, NEXT_PROMOTED, offsetof(device_table, member)}
#define NEXT_OF_INSTANCE(member) {"vk" #member, NEXT_OF_INSTANCE, offsetof(device_table, member)}
/* clang-format on */

/* Names in the table itself: pointers would be relocated at each start of a program. */
static const struct {
    char name[NEXT_NAME_SIZE];
    uint8_t kind; /* enum next_kind */
    uint16_t offset;
} next_commands[] = {
    NEXT(DestroyDevice),
    NEXT(CreatePipelineCache),
    NEXT(DestroyPipelineCache),
    NEXT(GetPipelineCacheData),
    NEXT(MergePipelineCaches),
    NEXT(CreateComputePipelines),
    NEXT(CreateGraphicsPipelines),
    NEXT(CreateRayTracingPipelinesKHR),
    NEXT(CreateRayTracingPipelinesNV),
    NEXT(DeferredOperationJoinKHR),
    NEXT(DestroyPipeline),
    NEXT(CreateShaderModule),
    NEXT(DestroyShaderModule),
    NEXT(CreateDescriptorSetLayout),
    NEXT(DestroyDescriptorSetLayout),
    NEXT(CreatePipelineLayout),
    NEXT(DestroyPipelineLayout),
    NEXT_PROMOTED(CreateDescriptorUpdateTemplate),
    NEXT_PROMOTED(DestroyDescriptorUpdateTemplate),
    NEXT(CreateSampler),
    NEXT(DestroySampler),
    NEXT_PROMOTED(CreateSamplerYcbcrConversion),
    NEXT_PROMOTED(DestroySamplerYcbcrConversion),
    NEXT(CreateRenderPass),
    NEXT_PROMOTED(CreateRenderPass2),
    NEXT(DestroyRenderPass),
    NEXT_OF_INSTANCE(SetDebugUtilsObjectNameEXT),
    NEXT_OF_INSTANCE(SetDebugUtilsObjectTagEXT),
    NEXT(DebugMarkerSetObjectNameEXT),
    NEXT(DebugMarkerSetObjectTagEXT),
};

static void device_take_commands(struct device *device, PFN_vkGetDeviceProcAddr next)
{
    device->table.GetDeviceProcAddr = next;
    device->lower_next = current.lower_next;
    for (size_t i = 0; i < sizeof next_commands / sizeof next_commands[0]; i++) {
        const enum next_kind kind = (enum next_kind)next_commands[i].kind;
        PFN_vkVoidFunction function = next(device->handle, next_commands[i].name);
        if (!function && kind == NEXT_PROMOTED) {
            char older[NEXT_NAME_SIZE + 3];
            snprintf(older, sizeof older, "%.*sKHR", NEXT_NAME_SIZE - 1, next_commands[i].name);
            function = next(device->handle, older);
        }
        /* Loaders put what vkGetInstanceProcAddr gives for these into the device's own table,
         * whether or not the extension is enabled: programs call us, and we must call the next
         * layer in the same way. (For other commands some loaders give an entry that begins at the
         * top of the chain again.) */
        if (!function && kind == NEXT_OF_INSTANCE) {
            function = instance_next(device->instance, next_commands[i].name);
        }
        memcpy((char *)&device->table + next_commands[i].offset, &function, sizeof function);
    }
}

void device_free(struct device *device)
{
    if (device) {
        instance_release(device->instance);
        free(device);
    }
}

/* Until it is published the link is in the map under a key of its own: all memory that a device
 * cannot do without is taken before there is a device. NULL: out of memory. */
static struct device *device_new(struct instance *instance)
{
    struct device *device = calloc(1, sizeof *device);
    if (device) {
        device->instance = instance_reference(instance);
    }
    if (!handle_map_put(&devices, (uint64_t)(uintptr_t)device, device)) {
        device_free(device);
        device = NULL;
    }
    return device;
}

VkResult device_link(VkPhysicalDevice physical_device, const VkDeviceCreateInfo *create_info,
                     const VkAllocationCallbacks *allocator, VkDevice *ret_device,
                     struct device **ret_link)
{
    *ret_link = NULL;
    VkLayerDeviceCreateInfo *link = device_find_link(create_info);
    struct instance *instance = instance_of(physical_device);
    if (!link || !link->u.pLayerInfo || !instance) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    PFN_vkGetInstanceProcAddr next_instance_proc = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    PFN_vkGetDeviceProcAddr next_proc = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    bool lower_copy = device_is_lower_copy(link->u.pLayerInfo);
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateDevice next_create =
        (PFN_vkCreateDevice)next_instance_proc(instance->handle, "vkCreateDevice");
    if (!next_create) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    if (lower_copy) {
        current.lower_next = next_proc;
        return next_create(physical_device, create_info, allocator, ret_device);
    }

    struct device *device = device_new(instance);
    if (!device) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    struct device_creation outer = current;
    current = (struct device_creation){.links = link->u.pLayerInfo};
    VkResult result = next_create(physical_device, create_info, allocator, ret_device);
    if (result == VK_SUCCESS) {
        device->handle = *ret_device;
        device_take_commands(device, next_proc);
        *ret_link = device;
    } else {
        device_free(handle_map_remove(&devices, (uint64_t)(uintptr_t)device));
    }
    current = outer;
    return result;
}

void device_publish(struct device *device)
{
    handle_map_rename(&devices, (uint64_t)(uintptr_t)device, dispatch_key(device->handle));
}

struct device *device_withdraw(VkDevice device)
{
    return device ? handle_map_remove(&devices, dispatch_key(device)) : NULL;
}

static bool device_belongs_to(const void *value, const void *user)
{
    return ((const struct device *)value)->instance == user;
}

struct device *device_withdraw_leaked(const struct instance *instance)
{
    return handle_map_remove_if(&devices, device_belongs_to, instance);
}

PFN_vkVoidFunction device_get_proc(VkDevice device, const char *name, const struct command *command)
{
    if (current.lower_next) {
        return current.lower_next(device, name);
    }
    const struct device *state = device_of(device);
    if (!state) {
        return NULL;
    }
    struct device_creation outer = current;
    current.lower_next = state->lower_next;
    PFN_vkVoidFunction next = state->table.GetDeviceProcAddr(device, name);
    current = outer;
    bool ours =
        command && next &&
        (command->scope == COMMAND_DEVICE || (command->scope == COMMAND_WORK && state->services));
    return ours ? command->function : next;
}
