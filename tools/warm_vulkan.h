/* A Vulkan device made for one environment: as the program had it, as far as pipelines go. */
#ifndef WARMPIPE_TOOLS_WARM_VULKAN_H
#define WARMPIPE_TOOLS_WARM_VULKAN_H

#include <stdbool.h>
#include <stddef.h>
#include <vulkan/vulkan.h>

#include "driver/environment.h"
#include "driver/identity.h"
#include "driver/replay.h"
#include "vulkan_loader.h"

struct warm_vulkan {
    struct vulkan_loader loader;
    VkPhysicalDevice physical;
    VkDevice device;
    PFN_vkGetDeviceProcAddr get;
    struct replay_commands commands;
    struct replay_limits limits;
    bool feedback; /* creation feedback may be chained */
};

enum warm_made {
    WARM_MADE,
    WARM_NOT_MADE, /* the device does not offer the environment, or refuses it */
    WARM_NO_DEVICE /* it is not there, or another one: nothing will work */
};

/* Makes an instance and, if the device offers all of the environment, the device. `index` is the
 * device's place in the loader's order, `identity` the digest that its files are named by. Of what
 * is not made, text (of `size` bytes) tells why. Closed with warm_vulkan_close whatever comes out.
 * `offer_only`: the device itself is not made. */
enum warm_made warm_vulkan_open(const struct environment *environment, uint32_t index,
                                struct digest identity, bool offer_only,
                                struct warm_vulkan *ret_vulkan, char *text, size_t size);

void warm_vulkan_close(struct warm_vulkan *vulkan);

PFN_vkVoidFunction warm_vulkan_command(const struct warm_vulkan *vulkan, const char *name);

#endif
