// SPDX-License-Identifier: Apache-2.0
/* A device as a link of the layer chain: its handle, the next layer's commands, and the map from
 * the handle to them. What the layer does for a device is in device_services.h; the chain only
 * carries a pointer to it.
 *
 * States of a device:
 *
 *     arrow                     function
 *     none ──▶ LINKED           device_link: the device is created
 *     LINKED ──▶ PUBLISHED      device_publish: device_of finds it
 *     PUBLISHED ──▶ WITHDRAWN   device_withdraw, device_withdraw_leaked: no longer found
 *     WITHDRAWN ──▶ none        device_free
 *
 * Thread-safe. */
#ifndef WARMPIPE_LAYER_CHAIN_DEVICE_H
#define WARMPIPE_LAYER_CHAIN_DEVICE_H

#include <stdint.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include DISPATCH_TABLE_HEADER

struct command;
struct device_services;
struct instance;

/* The device commands of the next layer or of the driver. The type is the distribution's own:
 * VkLayerDispatchTable, or VkuDeviceDispatchTable where the former is gone. Only the members that
 * warmpipe calls are filled; a command that the device does not have is NULL. */
typedef DEVICE_DISPATCH_TABLE device_table;

/* A non-dispatchable handle is a pointer or a 64-bit number, depending on the platform. Tables keep
 * the number. */
#if VK_USE_64_BIT_PTR_DEFINES
#define HANDLE_VALUE(handle)     ((uint64_t)(uintptr_t)(handle))
#define HANDLE_OF(Handle, value) ((Handle)(uintptr_t)(value))
#else
#define HANDLE_VALUE(handle)     ((uint64_t)(handle))
#define HANDLE_OF(Handle, value) ((Handle)(value))
#endif

struct device {
    VkDevice handle;
    struct instance *instance; /* referenced */
    device_table table;
    PFN_vkGetDeviceProcAddr lower_next; /* the library's lower copy in the chain; NULL: none */
    struct device_services *services;   /* set between link and publish; NULL: pass all through */
    struct device *next_kept;           /* list of devices that have ended and are never freed */
};

/* Calls the next vkCreateDevice. *ret_link: the new link, to be published; NULL on failure, and if
 * this call comes from this library's lower copy in the chain. */
VkResult device_link(VkPhysicalDevice physical_device, const VkDeviceCreateInfo *create_info,
                     const VkAllocationCallbacks *allocator, VkDevice *ret_device,
                     struct device **ret_link);
void device_publish(struct device *device);

/* Returns the link, which device_of finds no more; NULL: the device is unknown. */
struct device *device_withdraw(VkDevice device);

/* Withdraws one of the devices that the program has not destroyed before their instance. NULL:
 * there are no more. */
struct device *device_withdraw_leaked(const struct instance *instance);

/* Frees the link, not the services. */
void device_free(struct device *device);

/* Returns the link of a published device, else NULL. Lock-free. */
struct device *device_of(VkDevice device);

/* vkGetDeviceProcAddr. `command` is our entry for this name, or NULL. */
PFN_vkVoidFunction device_get_proc(VkDevice device, const char *name,
                                   const struct command *command);

#endif
