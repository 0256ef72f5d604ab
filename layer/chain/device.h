// SPDX-License-Identifier: Apache-2.0
/* A device as a link of the chain: its handle, the next layer's commands, and the way from the one
 * to the other. What the layer does for a device stands above (device_services.h): the chain only
 * carries a pointer to it.
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

#include <vulkan/vulkan.h>

#include "layer/chain/next.h"

struct command;
struct device_services;
struct instance;

struct device {
    VkDevice handle;
    struct instance *instance;          /* referenced */
    device_table table;                 /* the next layer's commands */
    PFN_vkGetDeviceProcAddr lower_next; /* of this library's lower copy in the chain, if any */
    struct device_services *services;   /* set between link and publish; NULL: pass everything
                                         * through */
    struct device *next_kept;           /* of those that have ended and are never freed */
};

/* vkCreateDevice, passed down. *ret_link: the new link, to be published; NULL on failure, and where
 * this call is that of this library's lower copy in the chain. */
VkResult device_link(VkPhysicalDevice physical_device, const VkDeviceCreateInfo *create_info,
                     const VkAllocationCallbacks *allocator, VkDevice *ret_device,
                     struct device **ret_link);
void device_publish(struct device *device);

/* NULL: the device is unknown. */
struct device *device_withdraw(VkDevice device);

/* Withdraws one of the devices that the program has left to an instance that goes; NULL: there are
 * no more. */
struct device *device_withdraw_leaked(const struct instance *instance);

/* Frees the link, not the services. */
void device_free(struct device *device);

/* The link of a device that is published, else NULL. Lock-free. */
struct device *device_of(VkDevice device);

/* vkGetDeviceProcAddr; `command` is our entry for this name, or NULL. */
PFN_vkVoidFunction device_get_proc(VkDevice device, const char *name,
                                   const struct command *command);

#endif
