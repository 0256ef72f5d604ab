// SPDX-License-Identifier: Apache-2.0
/* An instance as a link of the layer chain: created, found by its handle, destroyed; and the state
 * that its devices share. Thread-safe. */
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
    PFN_vkGetInstanceProcAddr lower_next; /* the library's lower copy in the chain; NULL: none */
    PFN_vkDestroyInstance next_destroy;
    PFN_vkCreateDebugUtilsMessengerEXT next_create_messenger;
    PFN_vkCreateDebugReportCallbackEXT next_create_report_callback;
    struct identity_commands identity; /* get_properties2 NULL: neither 1.1 nor the extension */
    uint32_t api_version; /* that the program requests (VkApplicationInfo), at least 1.0 */
    struct environment_device application; /* from VkApplicationInfo; owns the names */
    atomic_bool has_callback; /* the driver may call the program back in any creation: there is, or
                                 was, a debug messenger, a report callback or an allocator */
    struct driver_permit *permit; /* allows our own threads to call the driver; owned */
    bool has_allocator;           /* the instance was created with an allocator */
    bool passive; /* pass everything through: switched off, or a second copy in the chain */
    struct config config;
    char app[NAMES_APP_SIZE];
};

/* When the layer returns its own function for a command, provided that the next layer has the
 * command. */
enum command_scope {
    COMMAND_ALWAYS,   /* also before there is an instance: these commands link the chain */
    COMMAND_INSTANCE, /* for every instance that we know */
    COMMAND_DEVICE,   /* for every device that we know */
    COMMAND_WORK      /* only where the layer works, not where it passes everything through */
};

struct command {
    PFN_vkVoidFunction function;
    char name[38]; /* an array, since a pointer would be relocated at every start */
    uint8_t length;
    uint8_t scope; /* enum command_scope */
};

/* vkGetInstanceProcAddr. `command` is our entry for this name, or NULL. For every other command it
 * returns the next layer's own pointer, so that the command costs the running program nothing. */
PFN_vkVoidFunction instance_get_proc(VkInstance instance, const char *name,
                                     const struct command *command);

/* vkCreateInstance. *permit is malloc'ed (NULL: out of memory); it is set to NULL if the instance
 * has taken it over. */
VkResult instance_create(const VkInstanceCreateInfo *create_info,
                         const VkAllocationCallbacks *allocator, struct driver_permit **permit,
                         VkInstance *ret_instance);

/* vkDestroyInstance. The instance's devices must be withdrawn before (device_withdraw_leaked). */
void instance_destroy(VkInstance instance, const VkAllocationCallbacks *allocator);

/* Returns the state of an instance, or of a physical device's instance; NULL if it is unknown.
 * Lock-free. `dispatchable` is a VkInstance or VkPhysicalDevice. */
struct instance *instance_of(void *dispatchable);

/* Adds and drops a reference. Each device holds one, so an instance's state outlives its devices.
 */
struct instance *instance_reference(struct instance *instance);
void instance_release(struct instance *instance);

/* Whether a list of enabled extensions, of an instance or a device, has this name. */
bool instance_lists(const char *const *extensions, uint32_t count, const char *name);

/* Returns the next layer's function for a command, or NULL. */
PFN_vkVoidFunction instance_next(const struct instance *instance, const char *name);

/* Returns the key by which the loader tells chains apart: the dispatch pointer at the start of
 * every dispatchable handle ("Loader and Layer Interface", dispatchable objects). */
static inline uint64_t dispatch_key(const void *dispatchable)
{
    void *table = *(void *const *)dispatchable;
    return (uint64_t)(uintptr_t)table;
}

#endif
