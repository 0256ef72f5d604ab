#include "instance.h"

#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>

#include "dispatch.h"
#include "handle_map.h"
#include "host.h"
#include "layer_settings.h"

static struct handle_map instances = HANDLE_MAP_INIT;

/* The vkCreateInstance, or the question to the next layer, that this thread is in. The same library
 * can stand in the chain twice (under two names); both copies share this code, so the lower one is
 * told by finding its link in the list of the upper. (A layer below may also create an instance of
 * its own meanwhile: another list.) */
struct creation {
    const VkLayerInstanceLink *links;     /* those below the upper copy */
    PFN_vkGetInstanceProcAddr lower_next; /* set once the lower copy has been called */
};
static _Thread_local struct creation current;

PFN_vkGetInstanceProcAddr instance_nested_next(void)
{
    return current.lower_next;
}

PFN_vkVoidFunction instance_next(const struct instance *instance, const char *name)
{
    struct creation outer = current;
    current.lower_next = instance->lower_next;
    PFN_vkVoidFunction function = instance->next_proc(instance->handle, name);
    current = outer;
    return function;
}

static bool is_lower_copy(const VkLayerInstanceLink *link)
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
        free(instance);
    }
}

static VkLayerInstanceCreateInfo *find_link(const VkInstanceCreateInfo *create_info)
{
    const VkLayerInstanceCreateInfo *info = create_info->pNext;
    while (info && !(info->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
                     info->function == VK_LAYER_LINK_INFO)) {
        info = info->pNext;
    }
    return (VkLayerInstanceCreateInfo *)(uintptr_t)info;
}

static const char *read_environment(const char *name)
{
    return secure_getenv(name);
}

static bool extension_enabled(const VkInstanceCreateInfo *create_info, const char *name)
{
    for (uint32_t i = 0; i < create_info->enabledExtensionCount; ++i) {
        if (strcmp(create_info->ppEnabledExtensionNames[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Taken while the instance is being created: later the loader of Debian 12 answers some names with
 * its own entry, which would come back to us. */
static void take_commands(struct instance *instance, VkInstance handle,
                          const VkInstanceCreateInfo *create_info)
{
    PFN_vkGetInstanceProcAddr next = instance->next_proc;
    instance->next_destroy = (PFN_vkDestroyInstance)next(handle, "vkDestroyInstance");
    instance->next_create_messenger =
        (PFN_vkCreateDebugUtilsMessengerEXT)next(handle, "vkCreateDebugUtilsMessengerEXT");
    instance->next_create_report_callback =
        (PFN_vkCreateDebugReportCallbackEXT)next(handle, "vkCreateDebugReportCallbackEXT");
    instance->get_properties =
        (PFN_vkGetPhysicalDeviceProperties)next(handle, "vkGetPhysicalDeviceProperties");
    instance->enumerate_extensions = (PFN_vkEnumerateDeviceExtensionProperties)next(
        handle, "vkEnumerateDeviceExtensionProperties");
    if (instance->api_version >= VK_API_VERSION_1_1) {
        instance->get_properties2 =
            (PFN_vkGetPhysicalDeviceProperties2)next(handle, "vkGetPhysicalDeviceProperties2");
    } else if (extension_enabled(create_info,
                                 VK_KHR_GET_PHYSICAL_DEVICE_PROPERTIES_2_EXTENSION_NAME)) {
        instance->get_properties2 =
            (PFN_vkGetPhysicalDeviceProperties2)next(handle, "vkGetPhysicalDeviceProperties2KHR");
    }
}

/* The program may free it when vkCreateInstance has returned. */
static void keep_application(struct instance *instance, const VkApplicationInfo *application)
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
    take_commands(instance, handle, create_info);
    instance->passive = host_is_off_limits() || next(handle, DISPATCH_PRESENCE_NAME);
    if (!instance->passive) {
        config_read_given(read_environment, layer_settings_each, create_info, &instance->config);
        instance->passive = host_is_replayer();
        host_app_name(instance->config.app, application, instance->app);
        if (application) {
            keep_application(instance, application);
        }
    }
}

VKAPI_ATTR VkResult VKAPI_CALL instance_create(const VkInstanceCreateInfo *create_info,
                                               const VkAllocationCallbacks *allocator,
                                               VkInstance *ret_instance)
{
    VkLayerInstanceCreateInfo *link = find_link(create_info);
    if (!link || !link->u.pLayerInfo) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    PFN_vkCreateInstance next_create = (PFN_vkCreateInstance)next(NULL, "vkCreateInstance");
    if (!next_create) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    bool lower_copy = is_lower_copy(link->u.pLayerInfo);
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    if (lower_copy) {
        current.lower_next = next;
        return next_create(create_info, allocator, ret_instance);
    }

    /* Memory first: not every loader lives through a layer that destroys an instance, because
     * memory is out, while it is being created. Until it has a key the entry has one of our own. */
    struct instance *instance = calloc(1, sizeof *instance);
    uint64_t place = (uint64_t)(uintptr_t)instance;
    if (!handle_map_put(&instances, place, instance)) {
        free(instance);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    struct creation outer = current;
    current = (struct creation){.links = link->u.pLayerInfo};
    VkResult result = next_create(create_info, allocator, ret_instance);
    if (result == VK_SUCCESS) {
        instance_init(instance, *ret_instance, next, create_info);
        instance->has_allocator = allocator != NULL;
        handle_map_rename(&instances, place, dispatch_key(*ret_instance));
    } else {
        free(handle_map_remove(&instances, place));
    }
    current = outer;
    return result;
}

VKAPI_ATTR void VKAPI_CALL instance_destroy(VkInstance instance,
                                            const VkAllocationCallbacks *allocator)
{
    if (!instance) {
        return;
    }
    struct instance *state = handle_map_remove(&instances, dispatch_key(instance));
    if (state) {
        state->next_destroy(instance, allocator);
        instance_release(state);
    }
}
