/* The instance chain: creation and destruction, and what an instance's devices share. */
#ifndef WARMPIPE_LAYER_INSTANCE_H
#define WARMPIPE_LAYER_INSTANCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "base/config.h"
#include "disk/paths.h"
#include "driver/environment.h"

struct instance {
    atomic_uint references; /* the instance itself and each of its devices */
    VkInstance handle;
    PFN_vkGetInstanceProcAddr next_proc;
    PFN_vkGetInstanceProcAddr
        lower_next; /* that of this library's lower copy in the chain, if any */
    PFN_vkDestroyInstance next_destroy;
    PFN_vkCreateDebugUtilsMessengerEXT next_create_messenger;
    PFN_vkCreateDebugReportCallbackEXT next_create_report_callback;
    PFN_vkGetPhysicalDeviceProperties get_properties;
    PFN_vkGetPhysicalDeviceProperties2 get_properties2; /* NULL: neither 1.1 nor the extension */
    PFN_vkEnumerateDeviceExtensionProperties enumerate_extensions;
    uint32_t
        api_version; /* what the program asked for: VkApplicationInfo::apiVersion, at least 1.0 */
    struct environment_device application; /* what VkApplicationInfo tells, the names owned */
    atomic_bool has_callback; /* the driver may call the program back from any creation: a debug
                               * messenger, a report callback or an allocator was given, ever */
    bool has_allocator;       /* the instance was created with an allocator */
    bool passive; /* pass everything through: switched off, or a second copy in the chain */
    struct config config;
    char app[PATHS_APP_SIZE];
};

VKAPI_ATTR VkResult VKAPI_CALL instance_create(const VkInstanceCreateInfo *create_info,
                                               const VkAllocationCallbacks *allocator,
                                               VkInstance *ret_instance);
VKAPI_ATTR void VKAPI_CALL instance_destroy(VkInstance instance,
                                            const VkAllocationCallbacks *allocator);

/* The state of an instance, or of the instance that a physical device belongs to; NULL if unknown.
 * `dispatchable` is a VkInstance or VkPhysicalDevice. Lock-free. */
struct instance *instance_of(void *dispatchable);

/* Devices keep their instance's state alive: programs may destroy the two in any order. */
struct instance *instance_reference(struct instance *instance);
void instance_release(struct instance *instance);

/* What the next layer has for a command. */
PFN_vkVoidFunction instance_next(const struct instance *instance, const char *name);

/* While this thread is inside our own vkCreateInstance or instance_next, and this same library
 * stands in the chain a second time, below: the second copy's next vkGetInstanceProcAddr, else
 * NULL. */
PFN_vkGetInstanceProcAddr instance_nested_next(void);

/* The key by which the loader tells objects of one chain: the dispatch pointer that every
 * dispatchable handle starts with ("Loader and Layer Interface", dispatchable objects). */
static inline uint64_t dispatch_key(const void *dispatchable)
{
    return (uint64_t)(uintptr_t) * (void *const *)dispatchable;
}

#endif
