/* What a program sets of this layer itself: VK_EXT_layer_settings. */
#ifndef WARMPIPE_LAYER_LAYER_SETTINGS_H
#define WARMPIPE_LAYER_LAYER_SETTINGS_H

#include "base/config.h"

#define LAYER_SETTINGS_LAYER "VK_LAYER_WARMPIPE_pipeline_cache"

/* Gives `take` the settings of this layer that stand in the pNext chain of a VkInstanceCreateInfo,
 * in order, each as a settings file would have it: several values with commas between, switches as
 * 0 and 1. Key and value are borrowed for the call. Thread-safe; without memory there are none. */
void layer_settings_each(const void *create_info, config_take_fn take, void *user);

#endif
