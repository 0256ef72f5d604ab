/* The Vulkan devices of this machine, as the loader finds them. The loader is opened when it is
 * asked for, so that the tool runs where there is none. */
#ifndef WARMPIPE_TOOLS_VULKAN_DEVICES_H
#define WARMPIPE_TOOLS_VULKAN_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "driver/identity.h"
#include "vulkan_loader.h"

struct vulkan_devices {
    struct driver_identity *identities; /* in the loader's order, which is that of programs */
    uint32_t count;
};

/* Creates an instance, asks, and destroys it again. No device: true with a count of 0. False after
 * a message that begins with the verb's name. Freed with vulkan_devices_free. */
bool vulkan_devices_list(const char *verb, struct vulkan_devices *ret_devices);

/* The same, but the instance stays; it is NULL where there is no driver. */
bool vulkan_devices_ask(const char *verb, struct vulkan_loader *ret_loader,
                        struct vulkan_devices *ret_devices);

void vulkan_devices_free(struct vulkan_devices *devices);

#endif
