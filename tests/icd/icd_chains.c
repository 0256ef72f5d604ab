// SPDX-License-Identifier: Apache-2.0
/* The structs that programs chain to VkPhysicalDeviceFeatures2 and VkPhysicalDeviceProperties2. */
#include <string.h>

#include "icd_properties.h"

/* A struct that holds nothing but VkBool32 after its header (and padding at its end). */
struct feature_struct {
    VkStructureType type;
    size_t last; /* offset of the last member */
};

/* clang-format off */
#define FEATURES(TYPE, Struct, last)                                                               \
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##TYPE, offsetof(VkPhysicalDevice##Struct, last)}
/* clang-format on */

static const struct feature_struct feature_structs[] = {
    FEATURES(VULKAN_1_1_FEATURES, Vulkan11Features, shaderDrawParameters),
    FEATURES(VULKAN_1_2_FEATURES, Vulkan12Features, subgroupBroadcastDynamicId),
    FEATURES(VULKAN_1_3_FEATURES, Vulkan13Features, maintenance4),
    FEATURES(SAMPLER_YCBCR_CONVERSION_FEATURES, SamplerYcbcrConversionFeatures,
             samplerYcbcrConversion),
    FEATURES(PRIVATE_DATA_FEATURES, PrivateDataFeatures, privateData),
    FEATURES(MAINTENANCE_4_FEATURES, Maintenance4Features, maintenance4),
    FEATURES(DYNAMIC_RENDERING_FEATURES, DynamicRenderingFeatures, dynamicRendering),
    FEATURES(PIPELINE_CREATION_CACHE_CONTROL_FEATURES, PipelineCreationCacheControlFeatures,
             pipelineCreationCacheControl),
    FEATURES(SYNCHRONIZATION_2_FEATURES, Synchronization2Features, synchronization2),
    FEATURES(RAY_TRACING_PIPELINE_FEATURES_KHR, RayTracingPipelineFeaturesKHR,
             rayTraversalPrimitiveCulling),
    FEATURES(GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT, GraphicsPipelineLibraryFeaturesEXT,
             graphicsPipelineLibrary),
    FEATURES(SHADER_MODULE_IDENTIFIER_FEATURES_EXT, ShaderModuleIdentifierFeaturesEXT,
             shaderModuleIdentifier),
    FEATURES(BUFFER_DEVICE_ADDRESS_FEATURES, BufferDeviceAddressFeatures,
             bufferDeviceAddressMultiDevice),
    FEATURES(DESCRIPTOR_INDEXING_FEATURES, DescriptorIndexingFeatures, runtimeDescriptorArray),
};

/* The limits of descriptors that are updated after bind: first and last of them. */
#define DESCRIPTOR_LIMITS(Struct)                                                                  \
    offsetof(Struct, maxPerStageDescriptorUpdateAfterBindSamplers),                                \
        offsetof(Struct, maxDescriptorSetUpdateAfterBindInputAttachments)
#define DESCRIPTORS 1024

/* Sets the 32-bit members from one offset to another, both included. */
static void fill_words(void *structure, size_t first, size_t last, uint32_t value)
{
    for (size_t at = first; at <= last; at += sizeof value) {
        memcpy((char *)structure + at, &value, sizeof value);
    }
}

void icd_fill_feature_chain(void *chain)
{
    for (VkBaseOutStructure *next = chain; next != NULL; next = next->pNext) {
        for (size_t i = 0; i < sizeof feature_structs / sizeof feature_structs[0]; ++i) {
            if (feature_structs[i].type == next->sType) {
                fill_words(next, sizeof *next, feature_structs[i].last, VK_TRUE);
            }
        }
    }
}

static void fill_driver(const struct icd_settings *settings, VkDriverId *id, char *name, char *info,
                        VkConformanceVersion *conformance)
{
    *id = (VkDriverId)settings->driver_id;
    memcpy(name, settings->driver_name, VK_MAX_DRIVER_NAME_SIZE);
    memcpy(info, settings->driver_info, VK_MAX_DRIVER_INFO_SIZE);
    *conformance = settings->conformance;
}

static void fill_ray_tracing(uint32_t *handle_size, uint32_t *depth, uint32_t *stride,
                             uint32_t *alignment)
{
    *handle_size = 32;
    *depth = 8;
    *stride = 4096;
    *alignment = 64;
}

static void fill_properties(const struct icd_physical_device *physical, VkBaseOutStructure *next)
{
    const struct icd_settings *settings = &physical->instance->settings;
    switch ((int)next->sType) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES: {
        VkPhysicalDeviceDriverProperties *driver = (void *)next;
        fill_driver(settings, &driver->driverID, driver->driverName, driver->driverInfo,
                    &driver->conformanceVersion);
        break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES: {
        VkPhysicalDeviceVulkan12Properties *all = (void *)next;
        fill_driver(settings, &all->driverID, all->driverName, all->driverInfo,
                    &all->conformanceVersion);
        fill_words(all, DESCRIPTOR_LIMITS(VkPhysicalDeviceVulkan12Properties), DESCRIPTORS);
        break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_INDEXING_PROPERTIES:
        fill_words(next, DESCRIPTOR_LIMITS(VkPhysicalDeviceDescriptorIndexingProperties),
                   DESCRIPTORS);
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES: {
        VkPhysicalDeviceVulkan11Properties *all = (void *)next;
        icd_physical_uuid(physical, all->deviceUUID);
        icd_physical_uuid(physical, all->driverUUID);
        all->subgroupSize = 32;
        all->maxPerSetDescriptors = DESCRIPTORS;
        all->maxMemoryAllocationSize = 1u << 30;
        break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES: {
        VkPhysicalDeviceIDProperties *id = (void *)next;
        icd_physical_uuid(physical, id->deviceUUID);
        icd_physical_uuid(physical, id->driverUUID);
        id->deviceLUIDValid = VK_FALSE;
        break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES: {
        VkPhysicalDeviceMaintenance3Properties *limits = (void *)next;
        limits->maxPerSetDescriptors = DESCRIPTORS;
        limits->maxMemoryAllocationSize = 1u << 30;
        break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_PROPERTIES_KHR: {
        VkPhysicalDeviceRayTracingPipelinePropertiesKHR *limits = (void *)next;
        fill_ray_tracing(&limits->shaderGroupHandleSize, &limits->maxRayRecursionDepth,
                         &limits->maxShaderGroupStride, &limits->shaderGroupBaseAlignment);
        limits->shaderGroupHandleAlignment = 32;
        break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PROPERTIES_NV: {
        VkPhysicalDeviceRayTracingPropertiesNV *limits = (void *)next;
        fill_ray_tracing(&limits->shaderGroupHandleSize, &limits->maxRecursionDepth,
                         &limits->maxShaderGroupStride, &limits->shaderGroupBaseAlignment);
        break;
    }
    default:
        break;
    }
}

void icd_fill_property_chain(const struct icd_physical_device *physical, void *chain)
{
    for (VkBaseOutStructure *next = chain; next != NULL; next = next->pNext) {
        fill_properties(physical, next);
    }
}
