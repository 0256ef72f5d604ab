// SPDX-License-Identifier: Apache-2.0
/* A Vulkan device for one environment: as the program had it, as far as pipelines are concerned. */
#ifndef WARMPIPE_TOOLS_WARM_WARM_VULKAN_H
#define WARMPIPE_TOOLS_WARM_WARM_VULKAN_H

#include <stdbool.h>
#include <stddef.h>
#include <vulkan/vulkan.h>

#include "common/driver/environment.h"
#include "common/driver/identity.h"
#include "common/replay/replay.h"
#include "tools/vulkan/vulkan_loader.h"

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
    WARM_NOT_MADE,     /* the device does not offer the environment, or refuses it */
    WARM_OTHER_DEVICE, /* it is gone, or another one, or has another identity */
    WARM_NO_DEVICE     /* nothing will work */
};

/* Makes an instance and, if the device offers all of the environment, the device. `index` is the
 * device's place in the loader's order, `identity` the digest that names its files. `offer_only`:
 * do not make the device itself. WARM_NOT_MADE: `tell` was told what the device lacks.
 * WARM_OTHER_DEVICE, WARM_NO_DEVICE: text (of `size` bytes) says why. Closed with
 * warm_vulkan_close, whatever the result. */
enum warm_made warm_vulkan_open(const struct environment *environment, uint32_t index,
                                struct digest identity, bool offer_only,
                                struct warm_vulkan *ret_vulkan, char *text, size_t size,
                                environment_tell *tell, void *user);

void warm_vulkan_close(struct warm_vulkan *vulkan);

/* A command of the device; NULL: it has none of this name. */
PFN_vkVoidFunction warm_vulkan_command(const struct warm_vulkan *vulkan, const char *name);

#endif
