/* Command name → our function, for the few commands that warmpipe intercepts; every other name
 * gives the next layer's own pointer, so that the running program pays nothing. */
#ifndef WARMPIPE_LAYER_DISPATCH_H
#define WARMPIPE_LAYER_DISPATCH_H

#include <vulkan/vulkan.h>

/* vkGetInstanceProcAddr and vkGetDeviceProcAddr of this layer. Thread-safe. A command is ours only
 * if the next layer has it too. */
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL dispatch_instance_proc(VkInstance instance,
                                                                const char *name);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL dispatch_device_proc(VkDevice device, const char *name);

/* A name that no Vulkan command has: vkGetInstanceProcAddr answers it (with a pointer that is not
 * to be called) only where a working copy of this layer is in the chain. By it a second copy,
 * loaded from another file, finds out that it is to pass everything through. */
#define DISPATCH_PRESENCE_NAME "warmpipeIsInChain"

#endif
