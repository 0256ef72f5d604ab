// SPDX-License-Identifier: Apache-2.0
/* Loads the layer without a loader, as the only layer above the test driver, creates a pipeline
 * with it and prints whether the process runs with elevated privileges. For the loader would leave
 * the layer out of a test's elevated process: it then reads manifests of the system alone.
 *
 * usage: secure_probe LAYER DRIVER */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <vulkan/vk_icd.h>
#include <vulkan/vk_layer.h>

static PFN_vkVoidFunction symbol(const char *library, const char *name)
{
    PFN_vkVoidFunction function;
    void *handle = dlopen(library, RTLD_NOW);
    void *found = handle == NULL ? NULL : dlsym(handle, name);
    if (found == NULL) {
        fprintf(stderr, "secure_probe: %s\n", dlerror());
        exit(2);
    }
    memcpy(&function, &found, sizeof function); /* no cast is allowed from data to function */
    return function;
}

static void check(VkResult result, const char *what)
{
    if (result != VK_SUCCESS) {
        fprintf(stderr, "secure_probe: %s: %d\n", what, (int)result);
        exit(1);
    }
}

static VkInstance create_instance(PFN_vkGetInstanceProcAddr layer, PFN_vkGetInstanceProcAddr driver)
{
    VkLayerInstanceLink link = {.pfnNextGetInstanceProcAddr = driver};
    VkLayerInstanceCreateInfo chain = {.sType = VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO,
                                       .function = VK_LAYER_LINK_INFO,
                                       .u.pLayerInfo = &link};
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .apiVersion = VK_API_VERSION_1_3};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pNext = &chain,
                                 .pApplicationInfo = &application};
    VkInstance instance = VK_NULL_HANDLE;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)layer(NULL, "vkCreateInstance");
    check(create(&info, NULL, &instance), "vkCreateInstance");
    return instance;
}

static VkDevice create_device(VkInstance instance, PFN_vkGetInstanceProcAddr layer,
                              PFN_vkGetInstanceProcAddr driver)
{
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    uint32_t count = 1;
    PFN_vkEnumeratePhysicalDevices enumerate =
        (PFN_vkEnumeratePhysicalDevices)driver(instance, "vkEnumeratePhysicalDevices");
    check(enumerate(instance, &count, &physical), "vkEnumeratePhysicalDevices");
    /* The loader gives all handles of an instance one dispatch pointer. */
    *(void **)(void *)physical = *(void **)(void *)instance;

    VkLayerDeviceLink link = {
        .pfnNextGetInstanceProcAddr = driver,
        .pfnNextGetDeviceProcAddr =
            (PFN_vkGetDeviceProcAddr)driver(instance, "vkGetDeviceProcAddr"),
    };
    VkLayerDeviceCreateInfo chain = {.sType = VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO,
                                     .function = VK_LAYER_LINK_INFO,
                                     .u.pLayerInfo = &link};
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &chain,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue};
    VkDevice device = VK_NULL_HANDLE;
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)layer(instance, "vkCreateDevice");
    check(create(physical, &info, NULL, &device), "vkCreateDevice");
    return device;
}

/* The test driver takes any words for shader code. */
static void create_pipeline(VkDevice device, PFN_vkGetDeviceProcAddr get)
{
    static const uint32_t code[5] = {0x07230203, 0x00010000, 0, 1, 0};
    VkShaderModuleCreateInfo module_info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                            .codeSize = sizeof code,
                                            .pCode = code};
    VkPipelineLayoutCreateInfo layout_info = {.sType =
                                                  VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    VkShaderModule module = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkPipeline pipeline = VK_NULL_HANDLE;
    check(((PFN_vkCreateShaderModule)get(device, "vkCreateShaderModule"))(device, &module_info,
                                                                          NULL, &module),
          "vkCreateShaderModule");
    check(((PFN_vkCreatePipelineLayout)get(device, "vkCreatePipelineLayout"))(device, &layout_info,
                                                                              NULL, &layout),
          "vkCreatePipelineLayout");
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"},
        .layout = layout,
    };
    PFN_vkCreateComputePipelines create =
        (PFN_vkCreateComputePipelines)get(device, "vkCreateComputePipelines");
    check(create(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline), "vkCreateComputePipelines");
    ((PFN_vkDestroyPipeline)get(device, "vkDestroyPipeline"))(device, pipeline, NULL);
    ((PFN_vkDestroyPipelineLayout)get(device, "vkDestroyPipelineLayout"))(device, layout, NULL);
    ((PFN_vkDestroyShaderModule)get(device, "vkDestroyShaderModule"))(device, module, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        return 2;
    }
    PFN_vkNegotiateLoaderLayerInterfaceVersion negotiate =
        (PFN_vkNegotiateLoaderLayerInterfaceVersion)symbol(
            argv[1], "vkNegotiateLoaderLayerInterfaceVersion");
    PFN_vkGetInstanceProcAddr driver =
        (PFN_vkGetInstanceProcAddr)symbol(argv[2], "vk_icdGetInstanceProcAddr");
    VkNegotiateLayerInterface interface = {.sType = LAYER_NEGOTIATE_INTERFACE_STRUCT,
                                           .loaderLayerInterfaceVersion = 2};
    check(negotiate(&interface), "vkNegotiateLoaderLayerInterfaceVersion");
    PFN_vkGetInstanceProcAddr layer = interface.pfnGetInstanceProcAddr;

    VkInstance instance = create_instance(layer, driver);
    VkDevice device = create_device(instance, layer, driver);
    PFN_vkGetDeviceProcAddr get = interface.pfnGetDeviceProcAddr;
    create_pipeline(device, get);
    ((PFN_vkDestroyDevice)get(device, "vkDestroyDevice"))(device, NULL);
    ((PFN_vkDestroyInstance)layer(instance, "vkDestroyInstance"))(instance, NULL);
    printf("%lu\n", getauxval(AT_SECURE));
    return 0;
}
