// SPDX-License-Identifier: Apache-2.0
/* Presentation: to any surface, seen by nobody. */
#include <stdlib.h>

#include "play.h"

static VkResult VKAPI_CALL present_get_surface_support(VkPhysicalDevice physical_device,
                                                       uint32_t family, VkSurfaceKHR surface,
                                                       VkBool32 *supported)
{
    *supported = VK_TRUE;
    return VK_SUCCESS;
}

/* Of vkGetPhysicalDeviceXcbPresentationSupportKHR and its like. */
static VkBool32 VKAPI_CALL present_get_presentation_support(void)
{
    return VK_TRUE;
}

static void present_fill_capabilities(VkSurfaceCapabilitiesKHR *capabilities)
{
    *capabilities = (VkSurfaceCapabilitiesKHR){
        .minImageCount = 2,
        .maxImageCount = MAX_SWAPCHAIN_SIZE,
        .currentExtent = {320, 240},
        .minImageExtent = {1, 1},
        .maxImageExtent = {16384, 16384},
        .maxImageArrayLayers = 1,
        .supportedTransforms = VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR,
        .currentTransform = VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR,
        .supportedCompositeAlpha =
            VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR | VK_COMPOSITE_ALPHA_INHERIT_BIT_KHR,
        .supportedUsageFlags = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                               VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT |
                               VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT |
                               VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT,
    };
}

static VkResult VKAPI_CALL present_get_surface_capabilities(VkPhysicalDevice physical_device,
                                                            VkSurfaceKHR surface,
                                                            VkSurfaceCapabilitiesKHR *capabilities)
{
    present_fill_capabilities(capabilities);
    return VK_SUCCESS;
}

static VkResult VKAPI_CALL present_get_surface_capabilities2(
    VkPhysicalDevice physical_device, const VkPhysicalDeviceSurfaceInfo2KHR *info,
    VkSurfaceCapabilities2KHR *capabilities)
{
    present_fill_capabilities(&capabilities->surfaceCapabilities);
    return VK_SUCCESS;
}

static const VkSurfaceFormatKHR surface_formats[] = {
    {VK_FORMAT_B8G8R8A8_SRGB, VK_COLOR_SPACE_SRGB_NONLINEAR_KHR},
    {VK_FORMAT_B8G8R8A8_UNORM, VK_COLOR_SPACE_SRGB_NONLINEAR_KHR},
};
#define SURFACE_FORMATS (sizeof(surface_formats) / sizeof(surface_formats[0]))

static const VkPresentModeKHR present_modes[] = {
    VK_PRESENT_MODE_FIFO_KHR,
    VK_PRESENT_MODE_IMMEDIATE_KHR,
    VK_PRESENT_MODE_MAILBOX_KHR,
};
#define PRESENT_MODES (sizeof(present_modes) / sizeof(present_modes[0]))

/* Vulkan's way to return an array: how many of the `available` are to be written. */
static VkResult present_enumerate(uint32_t available, const void *array, uint32_t *count,
                                  uint32_t *written)
{
    *written = !array ? 0 : *count < available ? *count : available;
    *count = array ? *written : available;
    return array && *written < available ? VK_INCOMPLETE : VK_SUCCESS;
}

static VkResult VKAPI_CALL present_get_surface_formats(VkPhysicalDevice physical_device,
                                                       VkSurfaceKHR surface, uint32_t *count,
                                                       VkSurfaceFormatKHR *formats)
{
    uint32_t written;
    VkResult result = present_enumerate(SURFACE_FORMATS, formats, count, &written);
    for (uint32_t i = 0; i < written; i++) {
        formats[i] = surface_formats[i];
    }
    return result;
}

static VkResult VKAPI_CALL present_get_surface_formats2(VkPhysicalDevice physical_device,
                                                        const VkPhysicalDeviceSurfaceInfo2KHR *info,
                                                        uint32_t *count,
                                                        VkSurfaceFormat2KHR *formats)
{
    uint32_t written;
    VkResult result = present_enumerate(SURFACE_FORMATS, formats, count, &written);
    for (uint32_t i = 0; i < written; i++) {
        formats[i].surfaceFormat = surface_formats[i];
    }
    return result;
}

static VkResult VKAPI_CALL present_get_present_modes(VkPhysicalDevice physical_device,
                                                     VkSurfaceKHR surface, uint32_t *count,
                                                     VkPresentModeKHR *modes)
{
    uint32_t written;
    VkResult result = present_enumerate(PRESENT_MODES, modes, count, &written);
    for (uint32_t i = 0; i < written; i++) {
        modes[i] = present_modes[i];
    }
    return result;
}

static VkResult VKAPI_CALL present_create_swapchain(VkDevice device,
                                                    const VkSwapchainCreateInfoKHR *info,
                                                    const VkAllocationCallbacks *allocator,
                                                    VkSwapchainKHR *swapchain)
{
    struct played *object = play_new();
    object->image_count =
        info->minImageCount < MAX_SWAPCHAIN_SIZE ? info->minImageCount : MAX_SWAPCHAIN_SIZE;
    for (uint32_t i = 0; i < object->image_count; i++) {
        object->images[i] = (VkImage)play_new();
    }
    *swapchain = (VkSwapchainKHR)object;
    return VK_SUCCESS;
}

static void VKAPI_CALL present_destroy_swapchain(VkDevice device, VkSwapchainKHR swapchain,
                                                 const VkAllocationCallbacks *allocator)
{
    for (uint32_t i = 0; swapchain && i < PLAYED(swapchain)->image_count; i++) {
        free(PLAYED(PLAYED(swapchain)->images[i]));
    }
    free(PLAYED(swapchain));
}

static VkResult VKAPI_CALL present_get_swapchain_images(VkDevice device, VkSwapchainKHR swapchain,
                                                        uint32_t *count, VkImage *images)
{
    uint32_t written;
    VkResult result = present_enumerate(PLAYED(swapchain)->image_count, images, count, &written);
    for (uint32_t i = 0; i < written; i++) {
        images[i] = PLAYED(swapchain)->images[i];
    }
    return result;
}

static VkResult VKAPI_CALL present_acquire_next_image(VkDevice device, VkSwapchainKHR swapchain,
                                                      uint64_t timeout, VkSemaphore semaphore,
                                                      VkFence fence, uint32_t *index)
{
    *index = (uint32_t)(PLAYED(swapchain)->value++ % PLAYED(swapchain)->image_count);
    play_signal_fence(fence);
    return VK_SUCCESS;
}

static VkResult VKAPI_CALL present_acquire_next_image2(VkDevice device,
                                                       const VkAcquireNextImageInfoKHR *info,
                                                       uint32_t *index)
{
    return present_acquire_next_image(device, info->swapchain, info->timeout, info->semaphore,
                                      info->fence, index);
}

static VkResult VKAPI_CALL present_queue_present(VkQueue queue, const VkPresentInfoKHR *info)
{
    for (uint32_t i = 0; info->pResults && i < info->swapchainCount; i++) {
        info->pResults[i] = VK_SUCCESS;
    }
    return VK_SUCCESS;
}

const struct played_command play_present[] = {
    {"vkGetPhysicalDeviceSurfaceSupport", PLAY(present_get_surface_support)},
    {"vkGetPhysicalDeviceXcbPresentationSupport", PLAY(present_get_presentation_support)},
    {"vkGetPhysicalDeviceXlibPresentationSupport", PLAY(present_get_presentation_support)},
    {"vkGetPhysicalDeviceWaylandPresentationSupport", PLAY(present_get_presentation_support)},
    {"vkGetPhysicalDeviceSurfaceCapabilities", PLAY(present_get_surface_capabilities)},
    {"vkGetPhysicalDeviceSurfaceCapabilities2", PLAY(present_get_surface_capabilities2)},
    {"vkGetPhysicalDeviceSurfaceFormats", PLAY(present_get_surface_formats)},
    {"vkGetPhysicalDeviceSurfaceFormats2", PLAY(present_get_surface_formats2)},
    {"vkGetPhysicalDeviceSurfacePresentModes", PLAY(present_get_present_modes)},
    {"vkCreateSwapchain", PLAY(present_create_swapchain)},
    {"vkDestroySwapchain", PLAY(present_destroy_swapchain)},
    {"vkGetSwapchainImages", PLAY(present_get_swapchain_images)},
    {"vkAcquireNextImage", PLAY(present_acquire_next_image)},
    {"vkAcquireNextImage2", PLAY(present_acquire_next_image2)},
    {"vkQueuePresent", PLAY(present_queue_present)},
    {"vkSetHdrMetadata", PLAY(play_succeed)},
    {NULL, NULL},
};
