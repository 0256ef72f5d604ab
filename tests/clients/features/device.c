// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "features.h"

/* What every feature struct begins with; its members follow. */
struct feature_request {
    VkStructureType stype;
    void *next;
    VkBool32 members[64];
};

void feature_must(VkResult result, const char *what)
{
    if (result < VK_SUCCESS) {
        fprintf(stderr, "features: %s: %d\n", what, result);
        exit(1);
    }
}

_Noreturn void feature_skip(const char *what)
{
    printf("{\"skipped\": \"no %s\"}\n", what);
    exit(0);
}

PFN_vkVoidFunction feature_command(const struct feature_device *device, const char *name)
{
    PFN_vkVoidFunction command = vkGetDeviceProcAddr(device->device, name);
    if (!command) {
        fprintf(stderr, "features: no %s\n", name);
        exit(1);
    }
    return command;
}

static bool device_has_extension(VkPhysicalDevice physical, const char *name)
{
    uint32_t count = 0;
    feature_must(vkEnumerateDeviceExtensionProperties(physical, NULL, &count, NULL), "extensions");
    VkExtensionProperties *all = calloc(count + 1, sizeof *all);
    if (!all) {
        exit(1);
    }
    feature_must(vkEnumerateDeviceExtensionProperties(physical, NULL, &count, all), "extensions");
    bool found = false;
    for (uint32_t i = 0; i < count; i++) {
        found |= strcmp(all[i].extensionName, name) == 0;
    }
    free(all);
    return found;
}

/* Chains the structs, asks whether the device has what is to be enabled, and leaves that enabled.
 */
static void request_structs(VkPhysicalDevice physical, const struct feature_struct *structs,
                            struct feature_request *requests, void *next)
{
    for (int i = 0; i < MAX_NEEDS && structs[i].stype; i++) {
        requests[i] = (struct feature_request){.stype = (VkStructureType)structs[i].stype};
        VkPhysicalDeviceFeatures2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                         .pNext = &requests[i]};
        const bool is_feature = structs[i].stype != STYPE_INTERNAL_CACHE_CONTROL;
        if (is_feature) {
            vkGetPhysicalDeviceFeatures2(physical, &all);
        }
        for (int member = 0; member < 32; member++) {
            const bool wanted = structs[i].members >> member & 1;
            if (wanted && is_feature && !requests[i].members[member]) {
                feature_skip("such feature in the driver");
            }
            requests[i].members[member] = wanted;
        }
        requests[i].next = next;
        next = &requests[i];
    }
}

static void open_instance(struct feature_device *device, const struct feature *feature)
{
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .pApplicationName = feature->name,
                                           .apiVersion = VK_API_VERSION_1_3};
    const VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                           .pApplicationInfo = &application};
    feature_must(vkCreateInstance(&instance, NULL, &device->instance), "vkCreateInstance");
    uint32_t one = 1;
    feature_must(vkEnumeratePhysicalDevices(device->instance, &one, &device->physical), "devices");
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(device->physical, &properties);
    if (one == 0 || properties.apiVersion < VK_API_VERSION_1_3) {
        feature_skip("device of Vulkan 1.3");
    }
}

/* The feature without what the device has not of it. */
static struct feature narrow_feature(const struct feature_device *device,
                                     const struct feature *feature)
{
    const bool is_any = strcmp(feature->name, FEATURE_OF_MANY) == 0;
    struct feature narrow = *feature;
    int kept = 0;
    for (int i = 0; i < MAX_NEEDS && is_any && feature->extensions[i]; i++) {
        if (device_has_extension(device->physical, feature->extensions[i])) {
            narrow.extensions[kept] = feature->extensions[i];
            narrow.structs[kept++] = feature->structs[i];
        }
    }
    if (is_any && kept == 0) {
        feature_skip(feature->extensions[0]);
    }
    for (; is_any && kept < MAX_NEEDS; kept++) {
        narrow.extensions[kept] = NULL;
        narrow.structs[kept].stype = 0;
    }
    return narrow;
}

static void open_device(struct feature_device *device, const struct feature *whole)
{
    const struct feature narrow = narrow_feature(device, whole);
    const struct feature *feature = &narrow;
    const char *extensions[MAX_NEEDS + 1];
    uint32_t count = 0;
    for (; count < MAX_NEEDS && feature->extensions[count]; count++) {
        extensions[count] = feature->extensions[count];
        if (!device_has_extension(device->physical, extensions[count])) {
            feature_skip(extensions[count]);
        }
    }
    VkPhysicalDeviceVulkan13Features core = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .pipelineCreationCacheControl = VK_TRUE,
        .synchronization2 = VK_TRUE,
        .dynamicRendering = VK_TRUE,
        .maintenance4 = VK_TRUE,
    };
    VkPhysicalDeviceBufferDeviceAddressFeatures address = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
        .pNext = &core,
        .bufferDeviceAddress = VK_TRUE,
    };
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
        .pNext = &address,
        .pipelineExecutableInfo = VK_TRUE,
    };
    device->statistics &= device_has_extension(
        device->physical, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    if (device->statistics) {
        extensions[count++] = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
    }
    static struct feature_request requests[MAX_NEEDS];
    void *next = device->statistics ? (void *)&executables : &address;
    request_structs(device->physical, feature->structs, requests, next);
    for (int i = 0; i < MAX_NEEDS && feature->structs[i].stype; i++) {
        next = &requests[i];
    }
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = next,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = count,
                                     .ppEnabledExtensionNames = extensions};
    feature_must(vkCreateDevice(device->physical, &info, NULL, &device->device), "vkCreateDevice");
}

static void create_layouts(struct feature_device *device)
{
    const VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                         .magFilter = VK_FILTER_LINEAR,
                                         .maxLod = 16};
    feature_must(vkCreateSampler(device->device, &sampler, NULL, &device->sampler), "sampler");
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_ALL, NULL},
        {1, VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT, 1, VK_SHADER_STAGE_FRAGMENT_BIT, NULL},
        {2, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_FRAGMENT_BIT,
         &device->sampler},
        {3, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1, VK_SHADER_STAGE_ALL, NULL},
    };
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = COUNT_OF(bindings),
        .pBindings = bindings};
    feature_must(vkCreateDescriptorSetLayout(device->device, &set, NULL, &device->set_layout),
                 "set layout");
    const VkPipelineLayoutCreateInfo layout = {.sType =
                                                   VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = 1,
                                               .pSetLayouts = &device->set_layout};
    feature_must(vkCreatePipelineLayout(device->device, &layout, NULL, &device->layout), "layout");
}

enum { MAX_CACHE_SIZE = 1 << 24 };

static char cache_data[MAX_CACHE_SIZE];

static void load_cache(struct feature_device *device, const char *path)
{
    FILE *file = fopen(path, "rb");
    const VkPipelineCacheCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
        .initialDataSize = file ? fread(cache_data, 1, sizeof cache_data, file) : 0,
        .pInitialData = cache_data};
    if (file) {
        fclose(file);
    }
    feature_must(vkCreatePipelineCache(device->device, &info, NULL, &device->cache), "cache");
}

static void save_cache(const struct feature_device *device, const char *path)
{
    size_t size = sizeof cache_data;
    feature_must(vkGetPipelineCacheData(device->device, device->cache, &size, cache_data), "cache");
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(cache_data, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
    vkDestroyPipelineCache(device->device, device->cache, NULL);
}

void feature_device_open(struct feature_device *device, const struct feature *feature,
                         const struct feature_options *options)
{
    *device = (struct feature_device){
        .statistics = options->statistics,
        .outcome.seen = 0xcbf29ce484222325u,
    };
    open_instance(device, feature);
    open_device(device, feature);
    create_layouts(device);
    if (options->cache_path) {
        load_cache(device, options->cache_path);
    }
}

void feature_device_close(const struct feature_device *device,
                          const struct feature_options *options)
{
    if (options->cache_path) {
        save_cache(device, options->cache_path);
    }
    vkDestroyPipelineLayout(device->device, device->layout, NULL);
    vkDestroyDescriptorSetLayout(device->device, device->set_layout, NULL);
    vkDestroySampler(device->device, device->sampler, NULL);
    vkDestroyDevice(device->device, NULL);
    vkDestroyInstance(device->instance, NULL);
}

VkPipelineCreateFlags feature_flags(const struct feature_device *device)
{
    return device->statistics ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR : 0;
}

/* FNV-1a */
void outcome_see(struct outcome *outcome, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        outcome->seen = (outcome->seen ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    }
}

const void *feedback_chain(struct feedback *feedback, uint32_t stage_count, const void *next)
{
    *feedback = (struct feedback){
        .info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
                 .pNext = next,
                 .pPipelineCreationFeedback = &feedback->pipeline,
                 .pipelineStageCreationFeedbackCount = stage_count,
                 .pPipelineStageCreationFeedbacks = feedback->stages},
    };
    return &feedback->info;
}

void feedback_note(const struct feedback *feedback, struct outcome *outcome)
{
    const VkPipelineCreationFeedbackFlags flags = feedback->pipeline.flags;
    outcome->misses += (flags & VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT) &&
                       !(flags & VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT);
}

static void see_statistics(struct feature_device *device, VkPipeline pipeline, uint32_t index)
{
    VkPipelineExecutableStatisticKHR statistics[64] = {0};
    uint32_t count = COUNT_OF(statistics);
    for (uint32_t i = 0; i < count; i++) {
        statistics[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
    }
    const VkPipelineExecutableInfoKHR info = {.sType =
                                                  VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
                                              .pipeline = pipeline,
                                              .executableIndex = index};
    PFN_vkGetPipelineExecutableStatisticsKHR get =
        (PFN_vkGetPipelineExecutableStatisticsKHR)feature_command(
            device, "vkGetPipelineExecutableStatisticsKHR");
    if (get(device->device, &info, &count, statistics) < VK_SUCCESS) {
        count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        const bool is_word =
            statistics[i].format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR;
        outcome_see(&device->outcome, statistics[i].name, strlen(statistics[i].name));
        outcome_see(&device->outcome, &statistics[i].value, is_word ? 4 : 8);
    }
}

void outcome_note(struct feature_device *device, VkResult result, VkPipeline pipeline)
{
    struct outcome *outcome = &device->outcome;
    outcome->calls++;
    outcome->compile_required += result == VK_PIPELINE_COMPILE_REQUIRED;
    outcome->failures += result < VK_SUCCESS;
    if (!pipeline || !device->statistics) {
        return;
    }
    VkPipelineExecutablePropertiesKHR executables[16] = {0};
    uint32_t count = COUNT_OF(executables);
    for (uint32_t i = 0; i < count; i++) {
        executables[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR;
    }
    const VkPipelineInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR,
                                    .pipeline = pipeline};
    PFN_vkGetPipelineExecutablePropertiesKHR get =
        (PFN_vkGetPipelineExecutablePropertiesKHR)feature_command(
            device, "vkGetPipelineExecutablePropertiesKHR");
    if (get(device->device, &info, &count, executables) < VK_SUCCESS) {
        count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        outcome_see(outcome, &executables[i].stages, sizeof executables[i].stages);
        outcome_see(outcome, executables[i].name, strlen(executables[i].name));
        outcome_see(outcome, &executables[i].subgroupSize, sizeof executables[i].subgroupSize);
        see_statistics(device, pipeline, i);
    }
}
