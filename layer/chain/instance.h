// SPDX-License-Identifier: Apache-2.0
/* An instance as a link of the chain: created, found by its handle, destroyed; and what its devices
 * share. Thread-safe. */
#ifndef WARMPIPE_LAYER_CHAIN_INSTANCE_H
#define WARMPIPE_LAYER_CHAIN_INSTANCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/driver/environment.h"
#include "common/driver/identity.h"
#include "common/files/names.h"
#include "common/settings/config.h"

struct driver_permit;

struct instance {
    atomic_uint references; /* the instance itself and each of its devices */
    VkInstance handle;
    PFN_vkGetInstanceProcAddr next_proc;
    PFN_vkGetInstanceProcAddr lower_next; /* of this library's lower copy in the chain, if any */
    PFN_vkDestroyInstance next_destroy;
    PFN_vkCreateDebugUtilsMessengerEXT next_create_messenger;
    PFN_vkCreateDebugReportCallbackEXT next_create_report_callback;
    struct identity_commands identity; /* get_properties2 NULL: neither 1.1 nor the extension */
    uint32_t api_version; /* that the program asks for (VkApplicationInfo), at least 1.0 */
    struct environment_device application; /* from VkApplicationInfo; owns the names */
    atomic_bool has_callback; /* the driver may call the program back from any creation: there is,
                               * or was, a debug messenger, a report callback or an allocator */
    struct driver_permit *permit; /* for threads of ours, to call the driver; owned */
    bool has_allocator;           /* the instance was created with an allocator */
    bool passive; /* pass everything through: switched off, or a second copy in the chain */
    struct config config;
    char app[NAMES_APP_SIZE];
};

/* When a command is answered with a function of ours, if the next layer has the command. */
enum command_scope {
    COMMAND_ALWAYS,   /* always, and before there is an instance: they link the chain */
    COMMAND_INSTANCE, /* for every instance that we know */
    COMMAND_DEVICE,   /* for every device that we know */
    COMMAND_WORK      /* only where the layer works, not where it passes everything through */
};

struct command {
    PFN_vkVoidFunction function;
    char name[38]; /* in place: a pointer would be bound at every start */
    uint8_t length;
    uint8_t scope; /* enum command_scope */
};

/* vkGetInstanceProcAddr; `command` is our entry for this name, or NULL. Every other command gets
 * the next layer's own pointer, so that it costs the running program nothing. */
PFN_vkVoidFunction instance_get_proc(VkInstance instance, const char *name,
                                     const struct command *command);

/* vkCreateInstance. *permit is malloc'ed (NULL: out of memory), and NULL where it was taken over.
 */
VkResult instance_create(const VkInstanceCreateInfo *create_info,
                         const VkAllocationCallbacks *allocator, struct driver_permit **permit,
                         VkInstance *ret_instance);

/* vkDestroyInstance; its devices must be withdrawn before (device_withdraw_leaked). */
void instance_destroy(VkInstance instance, const VkAllocationCallbacks *allocator);

/* The state of an instance, or of the instance of a physical device; NULL if unknown. Lock-free.
 * `dispatchable` is a VkInstance or VkPhysicalDevice. */
struct instance *instance_of(void *dispatchable);

/* Devices keep their instance's state alive. */
struct instance *instance_reference(struct instance *instance);
void instance_release(struct instance *instance);

/* Whether these extensions, as an instance or a device enables them, have one of this name. */
bool instance_lists(const char *const *extensions, uint32_t count, const char *name);

/* The next layer's function for a command, or NULL. */
PFN_vkVoidFunction instance_next(const struct instance *instance, const char *name);

/* The key by which the loader tells chains apart: the dispatch pointer that every dispatchable
 * handle starts with ("Loader and Layer Interface", dispatchable objects). */
static inline uint64_t dispatch_key(const void *dispatchable)
{
    void *table = *(void *const *)dispatchable;
    return (uint64_t)(uintptr_t)table;
}

#endif
