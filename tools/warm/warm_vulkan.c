// SPDX-License-Identifier: Apache-2.0
#include "tools/warm/warm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Device extensions that programs enable depend on these. */
static const struct vulkan_instance_extension {
    const char *name;
    bool is_of_1_1;     /* depends on Vulkan 1.1, or on what lets programs ask for properties2 */
    const char *needer; /* enabled for this device extension alone; NULL: wherever it is offered */
} vulkan_instance_extensions[] = {
    {"VK_KHR_surface", false, NULL},
    {"VK_KHR_get_surface_capabilities2", false, NULL},
    {"VK_EXT_surface_maintenance1", false, NULL},
    {"VK_KHR_surface_maintenance1", false, NULL},
    {"VK_KHR_display", false, NULL},
    {"VK_KHR_device_group_creation", false, NULL},
    {"VK_KHR_external_memory_capabilities", true, NULL},
    {"VK_KHR_external_semaphore_capabilities", true, NULL},
    {"VK_KHR_external_fence_capabilities", true, NULL},
    {"VK_EXT_display_surface_counter", false, "VK_EXT_display_control"},
    {"VK_EXT_debug_report", false, "VK_EXT_debug_marker"},
    {"VK_EXT_debug_utils", false, "VK_EXT_device_address_binding_report"},
};

#define VULKAN_INSTANCE_EXTENSION_COUNT                                                            \
    (sizeof vulkan_instance_extensions / sizeof vulkan_instance_extensions[0])

struct vulkan_offered {
    VkExtensionProperties *list;
    uint32_t count;
};

static struct vulkan_offered warm_vulkan_list_extensions(const struct vulkan_loader *loader)
{
    PFN_vkEnumerateInstanceExtensionProperties list =
        VULKAN_GET(loader, vkEnumerateInstanceExtensionProperties);
    struct vulkan_offered offered = {0};
    if (list(NULL, &offered.count, NULL) != VK_SUCCESS) {
        offered.count = 0;
    }
    offered.list = calloc(offered.count + 1u, sizeof *offered.list);
    if (!offered.list || list(NULL, &offered.count, offered.list) < 0) {
        offered.count = 0;
    }
    return offered;
}

static bool warm_vulkan_wants(const struct vulkan_instance_extension *extension,
                              const struct environment *environment,
                              const struct environment_device *told)
{
    return (told->has_properties2 || !extension->is_of_1_1) &&
           (!extension->needer || environment_has_extension(environment, extension->needer));
}

static VkResult warm_vulkan_create_instance(struct vulkan_loader *loader,
                                            const struct environment *environment,
                                            const struct environment_device *told)
{
    static const char properties2[] = "VK_KHR_get_physical_device_properties2";
    const char *enabled[VULKAN_INSTANCE_EXTENSION_COUNT + 1];
    uint32_t count = 0;
    struct vulkan_offered offered = warm_vulkan_list_extensions(loader);
    for (size_t i = 0; i < VULKAN_INSTANCE_EXTENSION_COUNT; i++) {
        const struct vulkan_instance_extension *extension = &vulkan_instance_extensions[i];
        if (warm_vulkan_wants(extension, environment, told) &&
            extensions_have(offered.list, offered.count, extension->name)) {
            enabled[count++] = extension->name;
        }
    }
    if (told->has_properties2 && extensions_have(offered.list, offered.count, properties2)) {
        enabled[count++] = properties2;
    }
    free(offered.list);
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = *told->application_name ? told->application_name : NULL,
        .applicationVersion = told->application_version,
        .pEngineName = *told->engine_name ? told->engine_name : NULL,
        .engineVersion = told->engine_version,
        .apiVersion = told->api_version,
    };
    const VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &application,
        .enabledExtensionCount = count,
        .ppEnabledExtensionNames = enabled,
    };
    PFN_vkCreateInstance create = VULKAN_GET(loader, vkCreateInstance);
    return create(&info, NULL, &loader->instance);
}

/* A command of Vulkan 1.1, by the name under which the program's instance has it; NULL: it has it
 * not at all. */
#define VULKAN_GET_2(vulkan, told, name)                                                           \
    ((PFN_##name)vulkan_command_2(vulkan, told, #name, #name "KHR"))

static PFN_vkVoidFunction vulkan_command_2(const struct warm_vulkan *vulkan,
                                           const struct environment_device *told, const char *name,
                                           const char *extension_name)
{
    const char *known = told->api_version >= VK_API_VERSION_1_1 ? name : extension_name;
    return told->has_properties2 ? vulkan_loader_get(&vulkan->loader, known) : NULL;
}

static bool warm_vulkan_find_device(struct warm_vulkan *vulkan, uint32_t index,
                                    struct digest identity, const struct environment_device *told)
{
    AUTO_FREE VkPhysicalDevice *devices = NULL;
    uint32_t count = 0;
    bool found = false;
    if (vulkan_loader_devices(&vulkan->loader, &devices, &count) == VK_SUCCESS && index < count) {
        const struct identity_commands commands = {
            .get_properties = VULKAN_GET(&vulkan->loader, vkGetPhysicalDeviceProperties),
            .get_properties2 = VULKAN_GET_2(vulkan, told, vkGetPhysicalDeviceProperties2),
            .enumerate_extensions =
                VULKAN_GET(&vulkan->loader, vkEnumerateDeviceExtensionProperties),
        };
        struct driver_identity asked;
        identity_query(&commands, devices[index], &asked);
        found = digest_equal(identity_digest(&asked), identity);
        vulkan->physical = devices[index];
    }
    return found;
}

static bool warm_vulkan_is_offered(struct warm_vulkan *vulkan,
                                   const struct environment *environment,
                                   const struct environment_device *told, environment_tell *tell,
                                   void *user)
{
    const struct environment_commands commands = {
        .get_properties = VULKAN_GET(&vulkan->loader, vkGetPhysicalDeviceProperties),
        .enumerate_extensions = VULKAN_GET(&vulkan->loader, vkEnumerateDeviceExtensionProperties),
        .get_features = VULKAN_GET(&vulkan->loader, vkGetPhysicalDeviceFeatures),
        .get_features2 = VULKAN_GET_2(vulkan, told, vkGetPhysicalDeviceFeatures2),
    };
    return environment_is_offered(environment, &commands, vulkan->physical, tell, user);
}

static bool warm_vulkan_create_device(struct warm_vulkan *vulkan,
                                      const struct environment *environment, char *text,
                                      size_t size)
{
    AUTO_FREE VkDeviceCreateInfo *info = environment_create_info(environment);
    VkResult result = info ? VULKAN_GET(&vulkan->loader, vkCreateDevice)(vulkan->physical, info,
                                                                         NULL, &vulkan->device)
                           : VK_ERROR_OUT_OF_HOST_MEMORY;
    if (result != VK_SUCCESS) {
        vulkan->device = VK_NULL_HANDLE;
        snprintf(text, size, "the driver refuses the device (VkResult %d)", result);
        return false;
    }
    vulkan->get = VULKAN_GET(&vulkan->loader, vkGetDeviceProcAddr);
    return true;
}

PFN_vkVoidFunction warm_vulkan_command(const struct warm_vulkan *vulkan, const char *name)
{
    return vulkan->get(vulkan->device, name);
}

/* Each command, or the one of the extension that it came from. */
static void warm_vulkan_load_commands(struct warm_vulkan *v)
{
#define LOAD(member, name)                                                                         \
    v->commands.member = (PFN_vk##name)warm_vulkan_command(v, "vk" #name);                         \
    if (!v->commands.member) {                                                                     \
        v->commands.member = (PFN_vk##name)warm_vulkan_command(v, "vk" #name "KHR");               \
    }
    REPLAY_COMMANDS(LOAD)
#undef LOAD
}

enum warm_made warm_vulkan_open(const struct environment *environment, uint32_t index,
                                struct digest identity, bool offer_only,
                                struct warm_vulkan *ret_vulkan, char *text, size_t size,
                                environment_tell *tell, void *user)
{
    const struct environment_device told = environment_device_of(environment);
    struct warm_vulkan *vulkan = ret_vulkan;
    *vulkan = (struct warm_vulkan){0};
    const char *problem = vulkan_loader_open(&vulkan->loader);
    if (problem) {
        snprintf(text, size, "%s", problem);
        return WARM_NO_DEVICE;
    }
    VkResult result = warm_vulkan_create_instance(&vulkan->loader, environment, &told);
    if (result != VK_SUCCESS) {
        vulkan->loader.instance = NULL;
        snprintf(text, size, "no instance can be made (VkResult %d)", result);
        return WARM_NO_DEVICE;
    }
    if (!warm_vulkan_find_device(vulkan, index, identity, &told)) {
        snprintf(text, size, "the device is not there any more");
        return WARM_OTHER_DEVICE;
    }
    if (!warm_vulkan_is_offered(vulkan, environment, &told, tell, user)) {
        return WARM_NOT_MADE;
    }
    if (offer_only) {
        return WARM_MADE;
    }
    if (!warm_vulkan_create_device(vulkan, environment, text, size)) {
        tell(user, text);
        return WARM_NOT_MADE;
    }
    warm_vulkan_load_commands(vulkan);
    replay_limits_query(VULKAN_GET(&vulkan->loader, vkGetPhysicalDeviceProperties),
                        VULKAN_GET_2(vulkan, &told, vkGetPhysicalDeviceProperties2),
                        told.api_version, vulkan->physical, &vulkan->limits);
    vulkan->feedback =
        told.api_version >= VK_API_VERSION_1_3 ||
        environment_has_extension(environment, VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME);
    return WARM_MADE;
}

void warm_vulkan_close(struct warm_vulkan *vulkan)
{
    if (vulkan->device) {
        ((PFN_vkDestroyDevice)warm_vulkan_command(vulkan, "vkDestroyDevice"))(vulkan->device, NULL);
    }
    vulkan_loader_destroy_instance(&vulkan->loader);
    *vulkan = (struct warm_vulkan){0};
}
