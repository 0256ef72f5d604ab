// SPDX-License-Identifier: Apache-2.0
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor_heap.h"
#include "heaps.h"

/* VkPhysicalDeviceMaintenance5Features */
#define STYPE_MAINTENANCE_5 1000470000
#define MAINTENANCE_5       "VK_KHR_maintenance5"

struct maintenance_5 {
    VkStructureType stype;
    void *next;
    VkBool32 enabled;
};

static void must(VkResult result, const char *what)
{
    if (result < VK_SUCCESS) {
        fprintf(stderr, "heaps: %s: %d\n", what, result);
        exit(1);
    }
}

static _Noreturn void skip(const char *what)
{
    printf("skipped: no %s\n", what);
    exit(0);
}

static bool has_extension(VkPhysicalDevice physical, const char *name)
{
    uint32_t count = 0;
    must(vkEnumerateDeviceExtensionProperties(physical, NULL, &count, NULL), "extensions");
    VkExtensionProperties *all = calloc(count + 1, sizeof *all);
    if (!all) {
        exit(1);
    }
    must(vkEnumerateDeviceExtensionProperties(physical, NULL, &count, all), "extensions");
    bool found = false;
    for (uint32_t i = 0; i < count; i++) {
        found |= strcmp(all[i].extensionName, name) == 0;
    }
    free(all);
    return found;
}

struct heaps_device heaps_open(void)
{
    static const char *const extensions[] = {
        HEAP_EXTENSION,
        MAINTENANCE_5,
        VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
        VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME,
        VK_EXT_SHADER_MODULE_IDENTIFIER_EXTENSION_NAME,
    };
    enum { COUNT = sizeof extensions / sizeof *extensions };
    struct heaps_device opened = {0};
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .pApplicationName = "heaps",
                                     .apiVersion = VK_API_VERSION_1_3};
    VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                     .pApplicationInfo = &application};
    must(vkCreateInstance(&instance, NULL, &opened.instance), "vkCreateInstance");
    uint32_t one = 1;
    must(vkEnumeratePhysicalDevices(opened.instance, &one, &opened.physical), "devices");
    if (one == 0) {
        skip("device");
    }
    for (int i = 0; i < COUNT; i++) {
        if (!has_extension(opened.physical, extensions[i])) {
            skip(extensions[i]);
        }
    }
    VkPhysicalDeviceVulkan13Features core = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .dynamicRendering = VK_TRUE,
        .pipelineCreationCacheControl = VK_TRUE,
        .maintenance4 = VK_TRUE,
    };
    VkPhysicalDeviceBufferDeviceAddressFeatures address = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
        .pNext = &core,
        .bufferDeviceAddress = VK_TRUE,
    };
    VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT library = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT,
        .pNext = &address,
        .graphicsPipelineLibrary = VK_TRUE,
    };
    VkPhysicalDeviceShaderModuleIdentifierFeaturesEXT identifier = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_MODULE_IDENTIFIER_FEATURES_EXT,
        .pNext = &library,
        .shaderModuleIdentifier = VK_TRUE,
    };
    struct maintenance_5 maintenance = {(VkStructureType)STYPE_MAINTENANCE_5, &identifier, VK_TRUE};
    struct heap_features heap = {(VkStructureType)HEAP_STYPE_FEATURES, &maintenance, VK_TRUE,
                                 VK_FALSE};
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                 .pNext = &heap,
                                 .queueCreateInfoCount = 1,
                                 .pQueueCreateInfos = &queue,
                                 .enabledExtensionCount = COUNT,
                                 .ppEnabledExtensionNames = extensions};
    must(vkCreateDevice(opened.physical, &device, NULL, &opened.device), "vkCreateDevice");
    opened.get_identifier = (PFN_vkGetShaderModuleCreateInfoIdentifierEXT)vkGetDeviceProcAddr(
        opened.device, "vkGetShaderModuleCreateInfoIdentifierEXT");
    return opened;
}

void heaps_close(const struct heaps_device *device)
{
    vkDestroyDevice(device->device, NULL);
    vkDestroyInstance(device->instance, NULL);
}
