#include "driver/environment.h"

#include <stdlib.h>
#include <string.h>

#include "driver/environment_features.h"
#include "driver/environment_private.h"

/* What is sent to vkCreateDevice, and what it leads to; the feature structs follow. */
struct device_request {
    VkDeviceCreateInfo info;
    VkDeviceQueueCreateInfo queue;
    float priority;
    VkPhysicalDeviceFeatures core;
};

/* All that the device offers; NULL: memory is out, or it fails. */
static VkExtensionProperties *list_extensions(const struct environment_commands *commands,
                                              VkPhysicalDevice device, uint32_t *ret_count)
{
    VkExtensionProperties *list = NULL;
    VkResult result = VK_INCOMPLETE;
    while (result == VK_INCOMPLETE) {
        free(list);
        list = NULL;
        if (commands->enumerate_extensions(device, NULL, ret_count, NULL) != VK_SUCCESS) {
            return NULL;
        }
        list = calloc(*ret_count + 1u, sizeof(*list));
        if (!list) {
            return NULL;
        }
        result = commands->enumerate_extensions(device, NULL, ret_count, list);
    }
    if (result != VK_SUCCESS) {
        free(list);
        return NULL;
    }
    return list;
}

static bool has_extension(const VkExtensionProperties *list, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strncmp(list[i].extensionName, name, VK_MAX_EXTENSION_NAME_SIZE) == 0) {
            return true;
        }
    }
    return false;
}

/* NULL: all are there. */
static const char *missing_extension(const struct environment *environment,
                                     const struct environment_commands *commands,
                                     VkPhysicalDevice device)
{
    uint32_t count = 0;
    VkExtensionProperties *list = list_extensions(commands, device, &count);
    const char *missing = list ? NULL : "the list of extensions";
    for (uint32_t i = 0; !missing && i < environment->extension_count; i++) {
        if (!has_extension(list, count, environment->extensions[i])) {
            missing = environment->extensions[i];
        }
    }
    free(list);
    return missing;
}

static const char *missing_feature(const struct environment *environment,
                                   const struct environment_commands *commands,
                                   VkPhysicalDevice device)
{
    const char *unknown = environment_features_unknown(environment);
    if (unknown) {
        return unknown;
    }
    size_t size = environment_features_size(environment);
    VkPhysicalDeviceFeatures2 features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
    };
    if (size > 0 && !commands->get_features2) {
        return "vkGetPhysicalDeviceFeatures2";
    }
    void *memory = malloc(size + 1);
    if (!memory) {
        return "memory";
    }
    features.pNext = environment_features_chain(environment, memory, false);
    if (commands->get_features2) {
        commands->get_features2(device, &features);
    } else {
        commands->get_features(device, &features.features);
    }
    const char *missing =
        environment_features_missing(environment, features.pNext, &features.features);
    free(memory);
    return missing;
}

bool environment_is_offered(const struct environment *environment,
                            const struct environment_commands *commands, VkPhysicalDevice device,
                            const char **ret_missing)
{
    VkPhysicalDeviceProperties properties;
    commands->get_properties(device, &properties);
    const char *missing = NULL;
    if (environment_version(properties.apiVersion) < environment->device.api_version) {
        missing = "the Vulkan version";
    }
    if (!missing) {
        missing = missing_extension(environment, commands, device);
    }
    if (!missing) {
        missing = missing_feature(environment, commands, device);
    }
    if (missing) {
        *ret_missing = missing;
    }
    return !missing;
}

VkDeviceCreateInfo *environment_create_info(const struct environment *environment)
{
    if (environment_features_unknown(environment)) {
        return NULL;
    }
    size_t head = (sizeof(struct device_request) + sizeof(void *) - 1) / sizeof(void *);
    head *= sizeof(void *);
    struct device_request *request = calloc(1, head + environment_features_size(environment));
    if (!request) {
        return NULL;
    }
    request->priority = 1.0f;
    request->queue = (VkDeviceQueueCreateInfo){
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueCount = 1,
        .pQueuePriorities = &request->priority,
    };
    environment_features_core(environment, &request->core);
    request->info = (VkDeviceCreateInfo){
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = environment_features_chain(environment, (uint8_t *)request + head, true),
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &request->queue,
        .enabledExtensionCount = environment->extension_count,
        .ppEnabledExtensionNames = environment->extensions,
        .pEnabledFeatures = &request->core,
    };
    return &request->info;
}
