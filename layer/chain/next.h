// SPDX-License-Identifier: Apache-2.0
/* The table of the next layer's (or the driver's) device commands, as the distribution's own
 * headers define it: VkLayerDispatchTable, or VkuDeviceDispatchTable where the former is gone. Only
 * the members that warmpipe calls are filled; one that the device does not have is NULL. */
#ifndef WARMPIPE_LAYER_CHAIN_NEXT_H
#define WARMPIPE_LAYER_CHAIN_NEXT_H

#include <stdint.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include DISPATCH_TABLE_HEADER

typedef DEVICE_DISPATCH_TABLE device_table;

/* Non-dispatchable handles are pointers or 64-bit numbers, as the platform has it; tables keep the
 * latter. */
#if VK_USE_64_BIT_PTR_DEFINES
#define HANDLE_VALUE(handle)     ((uint64_t)(uintptr_t)(handle))
#define HANDLE_OF(Handle, value) ((Handle)(uintptr_t)(value))
#else
#define HANDLE_VALUE(handle)     ((uint64_t)(handle))
#define HANDLE_OF(Handle, value) ((Handle)(value))
#endif

#endif
