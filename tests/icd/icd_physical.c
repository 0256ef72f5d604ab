// SPDX-License-Identifier: Apache-2.0
/* The queries of a physical device. */
#include <stdio.h>
#include <string.h>

#include "icd_properties.h"

uint32_t icd_physical_device_id(const struct icd_physical_device *physical)
{
    return physical->instance->settings.device_id + physical->index;
}

void icd_physical_uuid(const struct icd_physical_device *physical, uint8_t uuid[VK_UUID_SIZE])
{
    memcpy(uuid, physical->instance->settings.uuid, VK_UUID_SIZE);
    uuid[VK_UUID_SIZE - 1] = (uint8_t)(uuid[VK_UUID_SIZE - 1] + physical->index);
}

void icd_GetPhysicalDeviceFeatures(VkPhysicalDevice device, VkPhysicalDeviceFeatures *features)
{
    (void)device;
    VkBool32 *flags = (VkBool32 *)(void *)features;
    for (size_t i = 0; i < sizeof *features / sizeof *flags; ++i) {
        flags[i] = VK_TRUE;
    }
}

void icd_GetPhysicalDeviceFeatures2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *features)
{
    icd_GetPhysicalDeviceFeatures(device, &features->features);
    icd_fill_feature_chain(features->pNext);
}

/* Generous enough for small programs, and for the validation layer's own checks. */
static void fill_limits(const struct icd_settings *settings, VkPhysicalDeviceLimits *limits)
{
    limits->maxImageDimension1D = limits->maxImageDimension2D = 16384;
    limits->maxImageDimension3D = limits->maxImageDimensionCube = 4096;
    limits->maxImageArrayLayers = 2048;
    limits->maxUniformBufferRange = limits->maxStorageBufferRange = 1u << 30;
    limits->maxPushConstantsSize = 256;
    limits->maxMemoryAllocationCount = 1u << 20;
    limits->maxSamplerAllocationCount = settings->max_samplers;
    limits->bufferImageGranularity = 1;
    limits->maxBoundDescriptorSets = 8;
    limits->maxPerStageDescriptorSamplers = limits->maxPerStageDescriptorUniformBuffers =
        limits->maxPerStageDescriptorStorageBuffers = limits->maxPerStageDescriptorSampledImages =
            limits->maxPerStageDescriptorStorageImages =
                limits->maxPerStageDescriptorInputAttachments = 1024;
    limits->maxPerStageResources = 4096;
    limits->maxDescriptorSetSamplers = limits->maxDescriptorSetUniformBuffers =
        limits->maxDescriptorSetUniformBuffersDynamic = limits->maxDescriptorSetStorageBuffers =
            limits->maxDescriptorSetStorageBuffersDynamic = limits->maxDescriptorSetSampledImages =
                limits->maxDescriptorSetStorageImages = limits->maxDescriptorSetInputAttachments =
                    1024;
    limits->maxVertexInputAttributes = limits->maxVertexInputBindings = 32;
    limits->maxVertexInputAttributeOffset = limits->maxVertexInputBindingStride = 2048;
    limits->maxVertexOutputComponents = limits->maxFragmentInputComponents = 128;
    limits->maxFragmentOutputAttachments = limits->maxColorAttachments = 8;
    limits->maxFragmentCombinedOutputResources = 64;
    limits->maxComputeSharedMemorySize = 65536;
    limits->maxComputeWorkGroupInvocations = 1024;
    for (unsigned i = 0; i < 3; ++i) {
        limits->maxComputeWorkGroupCount[i] = 65535;
        limits->maxComputeWorkGroupSize[i] = 1024;
    }
    limits->maxSamplerAnisotropy = 16;
    limits->maxSamplerLodBias = 16;
    limits->maxViewports = 16;
    limits->maxViewportDimensions[0] = limits->maxViewportDimensions[1] = 16384;
    limits->viewportBoundsRange[0] = -32768;
    limits->viewportBoundsRange[1] = 32767;
    limits->minMemoryMapAlignment = 64;
    limits->minTexelBufferOffsetAlignment = limits->minUniformBufferOffsetAlignment =
        limits->minStorageBufferOffsetAlignment = limits->nonCoherentAtomSize = 64;
    limits->maxFramebufferWidth = limits->maxFramebufferHeight = 16384;
    limits->maxFramebufferLayers = 1024;
    limits->framebufferColorSampleCounts = limits->framebufferDepthSampleCounts =
        limits->framebufferStencilSampleCounts = limits->framebufferNoAttachmentsSampleCounts =
            limits->sampledImageColorSampleCounts = VK_SAMPLE_COUNT_1_BIT | VK_SAMPLE_COUNT_4_BIT;
    limits->pointSizeRange[0] = limits->pointSizeRange[1] = 1;
    limits->lineWidthRange[0] = limits->lineWidthRange[1] = 1;
    limits->timestampPeriod = 1;
}

void icd_GetPhysicalDeviceProperties(VkPhysicalDevice device,
                                     VkPhysicalDeviceProperties *properties)
{
    const struct icd_physical_device *physical = icd_physical_from(device);
    const struct icd_settings *settings = &physical->instance->settings;
    memset(properties, 0, sizeof *properties);
    properties->apiVersion = settings->api_version;
    properties->driverVersion = settings->driver_version;
    properties->vendorID = settings->vendor_id;
    properties->deviceID = icd_physical_device_id(physical);
    properties->deviceType = VK_PHYSICAL_DEVICE_TYPE_OTHER;
    memcpy(properties->deviceName, settings->device_name, sizeof properties->deviceName);
    if (physical->index != 0) {
        size_t length = strlen(properties->deviceName);
        snprintf(properties->deviceName + length, sizeof properties->deviceName - length, " %u",
                 physical->index % ICD_MAX_DEVICES);
    }
    icd_physical_uuid(physical, properties->pipelineCacheUUID);
    fill_limits(settings, &properties->limits);
}

void icd_GetPhysicalDeviceProperties2(VkPhysicalDevice device,
                                      VkPhysicalDeviceProperties2 *properties)
{
    icd_GetPhysicalDeviceProperties(device, &properties->properties);
    icd_fill_property_chain(icd_physical_from(device), properties->pNext);
}

void icd_GetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice device, uint32_t *count,
                                                VkQueueFamilyProperties *families)
{
    (void)device;
    if (families != NULL && *count >= 1) {
        families[0] = (VkQueueFamilyProperties){
            .queueFlags = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT,
            .queueCount = 1,
            .timestampValidBits = 64,
            .minImageTransferGranularity = {1, 1, 1},
        };
    }
    *count = families == NULL || *count >= 1 ? 1 : 0;
}

void icd_GetPhysicalDeviceQueueFamilyProperties2(VkPhysicalDevice device, uint32_t *count,
                                                 VkQueueFamilyProperties2 *families)
{
    icd_GetPhysicalDeviceQueueFamilyProperties(
        device, count, families == NULL ? NULL : &families->queueFamilyProperties);
}

void icd_GetPhysicalDeviceMemoryProperties(VkPhysicalDevice device,
                                           VkPhysicalDeviceMemoryProperties *memory)
{
    (void)device;
    memset(memory, 0, sizeof *memory);
    memory->memoryTypeCount = 1;
    memory->memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT |
                                           VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                           VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    memory->memoryHeapCount = 1;
    memory->memoryHeaps[0] = (VkMemoryHeap){1u << 30, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
}

void icd_GetPhysicalDeviceMemoryProperties2(VkPhysicalDevice device,
                                            VkPhysicalDeviceMemoryProperties2 *memory)
{
    icd_GetPhysicalDeviceMemoryProperties(device, &memory->memoryProperties);
}

/* Every format can do whatever a format can. */
void icd_GetPhysicalDeviceFormatProperties(VkPhysicalDevice device, VkFormat format,
                                           VkFormatProperties *properties)
{
    (void)device;
    (void)format;
    *properties = (VkFormatProperties){INT32_MAX, INT32_MAX, INT32_MAX};
}

void icd_GetPhysicalDeviceFormatProperties2(VkPhysicalDevice device, VkFormat format,
                                            VkFormatProperties2 *properties)
{
    icd_GetPhysicalDeviceFormatProperties(device, format, &properties->formatProperties);
    VkFormatProperties3 *more =
        (void *)(uintptr_t)icd_chain_find(properties->pNext, VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_3);
    if (more != NULL) {
        more->linearTilingFeatures = more->optimalTilingFeatures = more->bufferFeatures = INT32_MAX;
    }
}

VkResult icd_GetPhysicalDeviceImageFormatProperties(VkPhysicalDevice device, VkFormat format,
                                                    VkImageType type, VkImageTiling tiling,
                                                    VkImageUsageFlags usage,
                                                    VkImageCreateFlags flags,
                                                    VkImageFormatProperties *properties)
{
    (void)device;
    (void)format;
    (void)type;
    (void)tiling;
    (void)usage;
    (void)flags;
    *properties =
        (VkImageFormatProperties){{4096, 4096, 1}, 13, 2048, VK_SAMPLE_COUNT_1_BIT, 1u << 30};
    return VK_SUCCESS;
}

VkResult icd_GetPhysicalDeviceImageFormatProperties2(VkPhysicalDevice device,
                                                     const VkPhysicalDeviceImageFormatInfo2 *info,
                                                     VkImageFormatProperties2 *properties)
{
    return icd_GetPhysicalDeviceImageFormatProperties(device, info->format, info->type,
                                                      info->tiling, info->usage, info->flags,
                                                      &properties->imageFormatProperties);
}

void icd_GetPhysicalDeviceSparseImageFormatProperties(VkPhysicalDevice device, VkFormat format,
                                                      VkImageType type,
                                                      VkSampleCountFlagBits samples,
                                                      VkImageUsageFlags usage, VkImageTiling tiling,
                                                      uint32_t *count,
                                                      VkSparseImageFormatProperties *properties)
{
    (void)device;
    (void)format;
    (void)type;
    (void)samples;
    (void)usage;
    (void)tiling;
    (void)properties;
    *count = 0;
}

void icd_GetPhysicalDeviceSparseImageFormatProperties2(
    VkPhysicalDevice device, const VkPhysicalDeviceSparseImageFormatInfo2 *info, uint32_t *count,
    VkSparseImageFormatProperties2 *properties)
{
    (void)device;
    (void)info;
    (void)properties;
    *count = 0;
}

void icd_GetPhysicalDeviceExternalBufferProperties(VkPhysicalDevice device,
                                                   const VkPhysicalDeviceExternalBufferInfo *info,
                                                   VkExternalBufferProperties *properties)
{
    (void)device;
    (void)info;
    memset(&properties->externalMemoryProperties, 0, sizeof properties->externalMemoryProperties);
}

void icd_GetPhysicalDeviceExternalFenceProperties(VkPhysicalDevice device,
                                                  const VkPhysicalDeviceExternalFenceInfo *info,
                                                  VkExternalFenceProperties *properties)
{
    (void)device;
    (void)info;
    properties->exportFromImportedHandleTypes = 0;
    properties->compatibleHandleTypes = 0;
    properties->externalFenceFeatures = 0;
}

void icd_GetPhysicalDeviceExternalSemaphoreProperties(
    VkPhysicalDevice device, const VkPhysicalDeviceExternalSemaphoreInfo *info,
    VkExternalSemaphoreProperties *properties)
{
    (void)device;
    (void)info;
    properties->exportFromImportedHandleTypes = 0;
    properties->compatibleHandleTypes = 0;
    properties->externalSemaphoreFeatures = 0;
}

VkResult icd_GetPhysicalDeviceToolProperties(VkPhysicalDevice device, uint32_t *count,
                                             VkPhysicalDeviceToolProperties *properties)
{
    (void)device;
    (void)properties;
    *count = 0;
    return VK_SUCCESS;
}
