/* The device chain: creation and destruction, and what the intercepted commands find of a device.
 */
#ifndef WARMPIPE_LAYER_DEVICE_H
#define WARMPIPE_LAYER_DEVICE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "base/stats.h"
#include "next.h"

struct instance;
struct housekeeper;
struct injector;
struct prewarm;
struct app_caches;
struct recorder;
struct sharing;
struct trace;

struct device {
    VkDevice handle;
    struct instance *instance;          /* referenced */
    device_table table;                 /* the next layer's commands */
    PFN_vkGetDeviceProcAddr lower_next; /* that of this library's lower copy in the chain, if any */
    bool passive;                       /* pass everything through */
    bool feedback; /* creation feedback may be chained: Vulkan 1.3 or its extension is enabled */
    struct stats stats;
    struct housekeeper *housekeeper;
    struct injector *injector;     /* NULL if passive */
    struct app_caches *app_caches; /* NULL if passive */
    struct sharing *sharing;       /* NULL: handles are neither shared nor named here */
    struct recorder *recorder;     /* NULL: nothing is recorded; else there is a sharing */
    struct prewarm *prewarm;       /* NULL: nothing is compiled ahead */
    struct trace *trace;           /* NULL: nothing is traced */
    pthread_mutex_t name_lock;     /* held across calls that name objects */
};

VKAPI_ATTR VkResult VKAPI_CALL device_create(VkPhysicalDevice physical_device,
                                             const VkDeviceCreateInfo *create_info,
                                             const VkAllocationCallbacks *allocator,
                                             VkDevice *ret_device);
VKAPI_ATTR void VKAPI_CALL device_destroy(VkDevice device, const VkAllocationCallbacks *allocator);

/* The state of a device that is known and not destroyed, else NULL. Lock-free. */
struct device *device_of(VkDevice device);

/* As instance_next and instance_nested_next, for devices. */
PFN_vkVoidFunction device_next(const struct device *device, const char *name);
PFN_vkGetDeviceProcAddr device_nested_next(void);

#endif
