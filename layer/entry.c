/* What the loader finds in this library: one exported name. */
#include <vulkan/vk_layer.h>

#include "dispatch.h"

/* Loader-layer interface version 2: all else goes through the pointers given here. */
#define INTERFACE_VERSION 2

__attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *negotiation)
{
    if (!negotiation || negotiation->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT ||
        negotiation->loaderLayerInterfaceVersion < INTERFACE_VERSION) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    negotiation->loaderLayerInterfaceVersion = INTERFACE_VERSION;
    negotiation->pfnGetInstanceProcAddr = dispatch_instance_proc;
    negotiation->pfnGetDeviceProcAddr = dispatch_device_proc;
    negotiation->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
