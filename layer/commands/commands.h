// SPDX-License-Identifier: Apache-2.0
/* The intercepted commands. Each family has a file, which lists its commands by name. A function in
 * a family has the signature, and keeps the contract, of the command of its name. */
#ifndef WARMPIPE_LAYER_COMMANDS_COMMANDS_H
#define WARMPIPE_LAYER_COMMANDS_COMMANDS_H

#include <stddef.h>
#include <vulkan/vulkan.h>

#include "layer/chain/device.h"
#include "layer/chain/instance.h"
#include "layer/device_services.h"

struct command_family {
    const struct command *commands;
    size_t count;
};

extern const struct command_family object_commands;   /* objects that pipelines are made of */
extern const struct command_family pipeline_commands; /* pipelines and pipeline caches */
extern const struct command_family name_commands;     /* object names, debug callbacks */

/* clang-format off */
#define COMMAND(name, function, scope) {(PFN_vkVoidFunction)(function), name, sizeof name - 1, scope}
#define COMMAND_FAMILY(commands) {commands, sizeof (commands) / sizeof (commands)[0]}
/* clang-format on */

/* Returns the services of a device. NULL: it has none; a layer above us may have got a command of
 * scope COMMAND_WORK from the instance. */
static inline struct device_services *services_of(VkDevice device)
{
    return device_of(device)->services;
}

#endif
