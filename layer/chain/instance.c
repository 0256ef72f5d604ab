// SPDX-License-Identifier: Apache-2.0
#include "layer/chain/instance.h"

#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>

#include "common/settings/config.h"
#include "layer/chain/handle_map.h"
#include "layer/chain/host.h"

/* A name that no Vulkan command has. vkGetInstanceProcAddr answers it (with a pointer that must not
 * be called) only where a working copy of this layer is in the chain: so a second copy, loaded from
 * another file, learns that it must pass everything through. */
#define PRESENCE_NAME "warmpipeIsInChain"

static struct handle_map instances = HANDLE_MAP_INIT;

/* The vkCreateInstance, or the query to the next layer, that this thread is in. The same library
 * can be in the chain twice (under two names). Both copies share this code: the lower one is the
 * one whose link is in the list of the upper one. (A layer below may also create an instance of its
 * own meanwhile: that has another list.) */
struct instance_creation {
    const VkLayerInstanceLink *links;     /* below the upper copy */
    PFN_vkGetInstanceProcAddr lower_next; /* set once the lower copy was called */
};
static _Thread_local struct instance_creation current;

PFN_vkVoidFunction instance_next(const struct instance *instance, const char *name)
{
    struct instance_creation outer = current;
    current.lower_next = instance->lower_next;
    PFN_vkVoidFunction function = instance->next_proc(instance->handle, name);
    current = outer;
    return function;
}

static bool instance_is_lower_copy(const VkLayerInstanceLink *link)
{
    const VkLayerInstanceLink *below = current.links;
    while (below && below != link) {
        below = below->pNext;
    }
    return below;
}

struct instance *instance_of(void *dispatchable)
{
    return dispatchable ? handle_map_get(&instances, dispatch_key(dispatchable)) : NULL;
}

struct instance *instance_reference(struct instance *instance)
{
    atomic_fetch_add(&instance->references, 1);
    return instance;
}

void instance_release(struct instance *instance)
{
    if (instance && atomic_fetch_sub(&instance->references, 1) == 1) {
        config_free(&instance->config);
        free((char *)(uintptr_t)instance->application.application_name);
        free((char *)(uintptr_t)instance->application.engine_name);
        free(instance->permit);
        free(instance);
    }
}

static VkLayerInstanceCreateInfo *instance_find_link(const VkInstanceCreateInfo *create_info)
{
    const VkLayerInstanceCreateInfo *info = create_info->pNext;
    while (info && !(info->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
                     info->function == VK_LAYER_LINK_INFO)) {
        info = info->pNext;
    }
    return (VkLayerInstanceCreateInfo *)(uintptr_t)info;
}

bool instance_lists(const char *const *extensions, uint32_t count, const char *name)
{
    uint32_t i = 0;
    while (i < count && strcmp(extensions[i], name) != 0) {
        i++;
    }
    return i < count;
}

/* The commands are queried while the instance is being created: later the loader of Debian 12
 * answers some names with its own entry, which would come back to us. */
static void instance_take_commands(struct instance *instance, VkInstance handle,
                                   const VkInstanceCreateInfo *create_info)
{
    PFN_vkGetInstanceProcAddr next = instance->next_proc;
    instance->next_destroy = (PFN_vkDestroyInstance)next(handle, "vkDestroyInstance");
    instance->next_create_messenger =
        (PFN_vkCreateDebugUtilsMessengerEXT)next(handle, "vkCreateDebugUtilsMessengerEXT");
    instance->next_create_report_callback =
        (PFN_vkCreateDebugReportCallbackEXT)next(handle, "vkCreateDebugReportCallbackEXT");
    instance->identity.get_properties =
        (PFN_vkGetPhysicalDeviceProperties)next(handle, "vkGetPhysicalDeviceProperties");
    instance->identity.enumerate_extensions = (PFN_vkEnumerateDeviceExtensionProperties)next(
        handle, "vkEnumerateDeviceExtensionProperties");
    if (instance->api_version >= VK_API_VERSION_1_1) {
        instance->identity.get_properties2 =
            (PFN_vkGetPhysicalDeviceProperties2)next(handle, "vkGetPhysicalDeviceProperties2");
    } else if (instance_lists(create_info->ppEnabledExtensionNames,
                              create_info->enabledExtensionCount,
                              VK_KHR_GET_PHYSICAL_DEVICE_PROPERTIES_2_EXTENSION_NAME)) {
        instance->identity.get_properties2 =
            (PFN_vkGetPhysicalDeviceProperties2)next(handle, "vkGetPhysicalDeviceProperties2KHR");
    }
}

/* Copies the names: the program may free them when vkCreateInstance has returned. */
static void instance_keep_application(struct instance *instance,
                                      const VkApplicationInfo *application)
{
    const char *name = application->pApplicationName;
    const char *engine = application->pEngineName;
    instance->application = (struct environment_device){
        .application_version = application->applicationVersion,
        .engine_version = application->engineVersion,
        .application_name = name ? strdup(name) : NULL,
        .engine_name = engine ? strdup(engine) : NULL,
    };
}

static void instance_init(struct instance *instance, VkInstance handle,
                          PFN_vkGetInstanceProcAddr next, const VkInstanceCreateInfo *create_info)
{
    atomic_init(&instance->references, 1);
    instance->handle = handle;
    instance->next_proc = next;
    instance->lower_next = current.lower_next;
    const VkApplicationInfo *application = create_info->pApplicationInfo;
    instance->api_version = application && application->apiVersion
                                ? application->apiVersion & ~UINT32_C(0xE0000FFF)
                                : VK_API_VERSION_1_0;
    instance_take_commands(instance, handle, create_info);
    instance->passive = host_is_off_limits() || next(handle, PRESENCE_NAME);
    if (!instance->passive) {
        config_read_given(config_environment, host_each_setting, create_info, &instance->config);
        instance->passive = host_is_replayer();
        host_app_name(instance->config.app, application, instance->app);
        if (application) {
            instance_keep_application(instance, application);
        }
    }
}

VkResult instance_create(const VkInstanceCreateInfo *create_info,
                         const VkAllocationCallbacks *allocator, struct driver_permit **permit,
                         VkInstance *ret_instance)
{
    VkLayerInstanceCreateInfo *link = instance_find_link(create_info);
    PFN_vkGetInstanceProcAddr next =
        link && link->u.pLayerInfo ? link->u.pLayerInfo->pfnNextGetInstanceProcAddr : NULL;
    PFN_vkCreateInstance next_create =
        next ? (PFN_vkCreateInstance)next(NULL, "vkCreateInstance") : NULL;
    if (!next_create) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    bool lower_copy = instance_is_lower_copy(link->u.pLayerInfo);
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    if (lower_copy) {
        current.lower_next = next;
        return next_create(create_info, allocator, ret_instance);
    }

    /* Memory first: not every loader survives a layer that destroys an instance for lack of memory
     * while it is being created. Until the instance has a key its entry has one of our own. */
    struct instance *instance = calloc(1, sizeof *instance);
    uint64_t place = (uint64_t)(uintptr_t)instance;
    if (!*permit || !handle_map_put(&instances, place, instance)) {
        free(instance);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    struct instance_creation outer = current;
    current = (struct instance_creation){.links = link->u.pLayerInfo};
    VkResult result = next_create(create_info, allocator, ret_instance);
    if (result == VK_SUCCESS) {
        instance_init(instance, *ret_instance, next, create_info);
        instance->has_allocator = allocator != NULL;
        instance->permit = *permit;
        *permit = NULL;
        handle_map_rename(&instances, place, dispatch_key(*ret_instance));
    } else {
        free(handle_map_remove(&instances, place));
    }
    current = outer;
    return result;
}

void instance_destroy(VkInstance instance, const VkAllocationCallbacks *allocator)
{
    struct instance *state =
        instance ? handle_map_remove(&instances, dispatch_key(instance)) : NULL;
    if (state) {
        state->next_destroy(instance, allocator);
        instance_release(state);
    }
}

PFN_vkVoidFunction instance_get_proc(VkInstance instance, const char *name,
                                     const struct command *command)
{
    if (command && command->scope == COMMAND_ALWAYS) {
        return command->function;
    }
    if (current.lower_next) {
        return current.lower_next(instance, name);
    }
    const struct instance *state = instance_of(instance);
    if (!state) {
        return NULL;
    }
    if (!state->passive && strcmp(name, PRESENCE_NAME) == 0) {
        return (PFN_vkVoidFunction)instance_get_proc;
    }
    PFN_vkVoidFunction next = instance_next(state, name);
    bool ours = command && next && (command->scope != COMMAND_WORK || !state->passive);
    return ours ? command->function : next;
}
