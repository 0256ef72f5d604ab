/* The table of the next layer's (or the driver's) device commands, as the distribution's own
 * headers define it: VkLayerDispatchTable, or VkuDeviceDispatchTable where the former is gone. Only
 * the members that warmpipe calls are filled; one that the device does not have is NULL. */
#ifndef WARMPIPE_LAYER_NEXT_H
#define WARMPIPE_LAYER_NEXT_H

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include DISPATCH_TABLE_HEADER

typedef DEVICE_DISPATCH_TABLE device_table;

#endif
