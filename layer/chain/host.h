// SPDX-License-Identifier: Apache-2.0
/* The program that has loaded the layer: whether the layer may work in it, the program's name, and
 * the settings that it gives the layer itself (VK_EXT_layer_settings). Thread-safe. */
#ifndef WARMPIPE_LAYER_CHAIN_HOST_H
#define WARMPIPE_LAYER_CHAIN_HOST_H

#include <limits.h>
#include <stdbool.h>
#include <vulkan/vulkan.h>

#include "common/files/names.h"
#include "common/settings/config.h"

#define HOST_LAYER_NAME "VK_LAYER_WARMPIPE_pipeline_cache"

/* Whether the layer must pass everything through in this process and read nothing, not even its
 * settings: WARMPIPE_DISABLE is set, or the process has elevated privileges (hazard 43: such a
 * process must not read files that its caller chooses). */
bool host_is_off_limits(void);

/* Whether the process is a replayer (Fossilize). It creates other programs' pipelines and keeps its
 * own caches, so everything passes through (hazard 58). Logs that. */
bool host_is_replayer(void);

/* Writes the file name of the program's executable; "" if it is unknown. */
void host_executable_name(char ret_name[NAME_MAX + 1]);

/* Writes the name of the program's folder. app_setting is WARMPIPE_APP or NULL. */
void host_app_name(const char *app_setting, const VkApplicationInfo *application,
                   char ret_name[NAMES_APP_SIZE]);

/* Calls `take` for each setting of this layer in the pNext chain of a VkInstanceCreateInfo, in
 * order. The value has the form of a settings file: several values with commas between, switches as
 * 0 and 1. Key and value are borrowed for the call. Makes no call if memory is out. */
void host_each_setting(const void *create_info, config_take_fn take, void *user);

#endif
