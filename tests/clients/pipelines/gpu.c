// SPDX-License-Identifier: Apache-2.0
#include "gpu.h"

#include <stdio.h>
#include <string.h>

#include "allocator.h"
#include "util.h"

enum { MAX_PHYSICAL_DEVICES = 16, MAX_EXTENSIONS = 16 };

VkInstance gpu_create_instance(const struct options *options)
{
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .pApplicationName = "pipelines",
                                     .apiVersion = options->api_version};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &application};
    const char *properties2 = VK_KHR_GET_PHYSICAL_DEVICE_PROPERTIES_2_EXTENSION_NAME;
    if (options->properties2) {
        info.enabledExtensionCount = 1;
        info.ppEnabledExtensionNames = &properties2;
    }
    VkInstance instance;
    must(vkCreateInstance(&info, options->allocator ? allocator_callbacks() : NULL, &instance),
         "vkCreateInstance");
    return instance;
}

static uint32_t enumerate(VkInstance instance, VkPhysicalDevice all[MAX_PHYSICAL_DEVICES])
{
    uint32_t count = MAX_PHYSICAL_DEVICES;
    VkResult result = vkEnumeratePhysicalDevices(instance, &count, all);
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) {
        fail("vkEnumeratePhysicalDevices", result);
    }
    return count;
}

void gpu_list(VkInstance instance)
{
    static const char *const types[] = {"other", "integrated", "discrete", "virtual", "cpu"};
    VkPhysicalDevice all[MAX_PHYSICAL_DEVICES];
    uint32_t count = enumerate(instance, all);
    for (uint32_t i = 0; i < count; i++) {
        VkPhysicalDeviceProperties properties;
        vkGetPhysicalDeviceProperties(all[i], &properties);
        uint32_t type = properties.deviceType;
        printf("%u %s %s\n", i, types[type < COUNT_OF(types) ? type : 0], properties.deviceName);
    }
}

static VkPhysicalDevice find_physical(VkInstance instance, uint32_t index)
{
    VkPhysicalDevice all[MAX_PHYSICAL_DEVICES];
    uint32_t count = enumerate(instance, all);
    if (index >= count) {
        fprintf(stderr, "pipelines: no device %u, there are %u\n", index, count);
        exit(1);
    }
    return all[index];
}

static uint32_t find_queue_family(VkPhysicalDevice physical)
{
    VkQueueFamilyProperties families[16];
    uint32_t count = COUNT_OF(families);
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) {
            return i;
        }
    }
    fail("finding a compute queue", VK_ERROR_FEATURE_NOT_PRESENT);
}

static void learn_identity(struct gpu *gpu, const struct options *options)
{
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(gpu->physical, &properties);
    memcpy(gpu->name, properties.deviceName, sizeof(gpu->name));
    gpu->is_cpu = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    gpu->api_version =
        properties.apiVersion < options->api_version ? properties.apiVersion : options->api_version;
    if (gpu->api_version >= VK_API_VERSION_1_2) {
        VkPhysicalDeviceDriverProperties driver = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
        VkPhysicalDeviceProperties2 more = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                            .pNext = &driver};
        vkGetPhysicalDeviceProperties2(gpu->physical, &more);
        memcpy(gpu->driver, driver.driverName, sizeof(gpu->driver));
    }
}

/* Structs that a device may be created with, linked as they are needed. */
struct features {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDeviceVulkan13Features vulkan13;
    VkPhysicalDeviceBufferDeviceAddressFeatures address;
    VkPhysicalDeviceAccelerationStructureFeaturesKHR acceleration;
    VkPhysicalDeviceRayTracingPipelineFeaturesKHR raytracing;
    VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT libraries;
    const char *extensions[MAX_EXTENSIONS];
    uint32_t extension_count;
};

static void link_features(struct features *f, bool vulkan13, bool raytracing, bool libraries)
{
    f->core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    f->vulkan13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
    f->address.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES;
    f->acceleration.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR;
    f->raytracing.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_FEATURES_KHR;
    f->address.pNext = &f->acceleration;
    f->acceleration.pNext = &f->raytracing;
    f->libraries.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT;
    void *chain = raytracing ? &f->address : NULL;
    if (libraries) {
        f->libraries.pNext = chain;
        chain = &f->libraries;
    }
    if (vulkan13) {
        f->vulkan13.pNext = chain;
        chain = &f->vulkan13;
    }
    f->core.pNext = chain;
}

/* Asks what there is, and keeps of it only what this program uses. */
static void choose_features(struct gpu *gpu, const struct options *options, struct features *f)
{
    bool vulkan13 = gpu->api_version >= VK_API_VERSION_1_3;
    link_features(f, vulkan13, options->raytracing > 0, options->libraries);
    if (gpu->api_version >= VK_API_VERSION_1_1) {
        vkGetPhysicalDeviceFeatures2(gpu->physical, &f->core);
    }
    gpu->dynamic_rendering = f->vulkan13.dynamicRendering && !options->render_pass;
    if (options->raytracing > 0 && !f->raytracing.rayTracingPipeline) {
        fail("finding ray tracing pipelines", VK_ERROR_FEATURE_NOT_PRESENT);
    }
    if (options->libraries && !f->libraries.graphicsPipelineLibrary) {
        fail("finding graphics pipeline libraries", VK_ERROR_FEATURE_NOT_PRESENT);
    }
    bool raytracing = options->raytracing > 0;
    gpu->libraries = options->libraries && f->libraries.graphicsPipelineLibrary;
    memset(f, 0, sizeof(*f));
    link_features(f, vulkan13, raytracing, gpu->libraries);
    f->libraries.graphicsPipelineLibrary = gpu->libraries;
    f->vulkan13.dynamicRendering = gpu->dynamic_rendering;
    f->address.bufferDeviceAddress = raytracing;
    f->acceleration.accelerationStructure = raytracing;
    f->raytracing.rayTracingPipeline = raytracing;
    if (raytracing) {
        f->extensions[f->extension_count++] = VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME;
        f->extensions[f->extension_count++] = VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME;
        f->extensions[f->extension_count++] = VK_KHR_RAY_TRACING_PIPELINE_EXTENSION_NAME;
    }
    if (gpu->libraries) {
        f->extensions[f->extension_count++] = VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME;
        f->extensions[f->extension_count++] = VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME;
    }
    if (options->feedback_extension) {
        f->extensions[f->extension_count++] = VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME;
    } else if (options->feedback && !vulkan13) {
        fail("finding creation feedback", VK_ERROR_FEATURE_NOT_PRESENT);
    }
}

struct gpu gpu_open(VkInstance instance, const struct options *options, uint32_t index)
{
    struct gpu gpu = {.physical = find_physical(instance, index)};
    gpu.allocator = options->allocator ? allocator_callbacks() : NULL;
    gpu.queue_family = find_queue_family(gpu.physical);
    learn_identity(&gpu, options);
    struct features features = {0};
    choose_features(&gpu, options, &features);

    float priority = 1.0f;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = gpu.queue_family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = features.core.pNext,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue,
                               .enabledExtensionCount = features.extension_count,
                               .ppEnabledExtensionNames = features.extensions};
    must(vkCreateDevice(gpu.physical, &info, gpu.allocator, &gpu.device), "vkCreateDevice");
    vkGetDeviceQueue(gpu.device, gpu.queue_family, 0, &gpu.queue);
    gpu.create_raytracing = (PFN_vkCreateRayTracingPipelinesKHR)vkGetDeviceProcAddr(
        gpu.device, "vkCreateRayTracingPipelinesKHR");
    return gpu;
}

void gpu_close(struct gpu *gpu)
{
    vkDestroyDevice(gpu->device, gpu->allocator);
}
