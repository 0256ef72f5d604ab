#include "warm_vulkan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What device extensions that programs enable depend on. */
static const char *const instance_extensions[] = {
    "VK_KHR_surface",
    "VK_KHR_get_surface_capabilities2",
    "VK_EXT_surface_maintenance1",
    "VK_KHR_display",
    "VK_KHR_device_group_creation",
    "VK_KHR_external_memory_capabilities",
    "VK_KHR_external_semaphore_capabilities",
    "VK_KHR_external_fence_capabilities",
};

#define INSTANCE_EXTENSION_COUNT (sizeof instance_extensions / sizeof instance_extensions[0])

struct offered {
    VkExtensionProperties *list;
    uint32_t count;
};

static bool offers(const struct offered *offered, const char *name)
{
    for (uint32_t i = 0; i < offered->count; i++) {
        if (strcmp(offered->list[i].extensionName, name) == 0) {
            return true;
        }
    }
    return false;
}

static struct offered list_instance_extensions(const struct vulkan_loader *loader)
{
    PFN_vkEnumerateInstanceExtensionProperties list =
        (PFN_vkEnumerateInstanceExtensionProperties)vulkan_loader_get(
            loader, "vkEnumerateInstanceExtensionProperties");
    struct offered offered = {0};
    if (list(NULL, &offered.count, NULL) != VK_SUCCESS) {
        offered.count = 0;
    }
    offered.list = calloc(offered.count + 1u, sizeof *offered.list);
    if (!offered.list || list(NULL, &offered.count, offered.list) < 0) {
        offered.count = 0;
    }
    return offered;
}

static VkResult create_instance(struct vulkan_loader *loader, const struct environment_device *told)
{
    static const char properties2[] = "VK_KHR_get_physical_device_properties2";
    const char *enabled[INSTANCE_EXTENSION_COUNT + 1];
    uint32_t count = 0;
    struct offered offered = list_instance_extensions(loader);
    for (size_t i = 0; i < INSTANCE_EXTENSION_COUNT; i++) {
        if (offers(&offered, instance_extensions[i])) {
            enabled[count++] = instance_extensions[i];
        }
    }
    if (told->has_properties2 && offers(&offered, properties2)) {
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
    PFN_vkCreateInstance create =
        (PFN_vkCreateInstance)vulkan_loader_get(loader, "vkCreateInstance");
    return create(&info, NULL, &loader->instance);
}

/* A command of Vulkan 1.1 under the name that the program's instance has it by; NULL if by none. */
static PFN_vkVoidFunction command_2(const struct warm_vulkan *vulkan,
                                    const struct environment_device *told, const char *name,
                                    const char *extension_name)
{
    if (!told->has_properties2) {
        return NULL;
    }
    return vulkan_loader_get(&vulkan->loader,
                             told->api_version >= VK_API_VERSION_1_1 ? name : extension_name);
}

static bool find_device(struct warm_vulkan *vulkan, uint32_t index, struct digest identity,
                        const struct environment_device *told)
{
    VkPhysicalDevice *devices = NULL;
    uint32_t count = 0;
    bool found = false;
    if (vulkan_loader_devices(&vulkan->loader, &devices, &count) == VK_SUCCESS && index < count) {
        const struct identity_commands commands = {
            .get_properties = (PFN_vkGetPhysicalDeviceProperties)vulkan_loader_get(
                &vulkan->loader, "vkGetPhysicalDeviceProperties"),
            .get_properties2 = (PFN_vkGetPhysicalDeviceProperties2)command_2(
                vulkan, told, "vkGetPhysicalDeviceProperties2",
                "vkGetPhysicalDeviceProperties2KHR"),
            .enumerate_extensions = (PFN_vkEnumerateDeviceExtensionProperties)vulkan_loader_get(
                &vulkan->loader, "vkEnumerateDeviceExtensionProperties"),
        };
        struct driver_identity asked;
        identity_query(&commands, devices[index], &asked);
        found = digest_equal(identity_digest(&asked), identity);
        vulkan->physical = devices[index];
    }
    free(devices);
    return found;
}

static bool is_offered(struct warm_vulkan *vulkan, const struct environment *environment,
                       const struct environment_device *told, const char **ret_missing)
{
    struct vulkan_loader *loader = &vulkan->loader;
    const struct environment_commands commands = {
        .get_properties = (PFN_vkGetPhysicalDeviceProperties)vulkan_loader_get(
            loader, "vkGetPhysicalDeviceProperties"),
        .enumerate_extensions = (PFN_vkEnumerateDeviceExtensionProperties)vulkan_loader_get(
            loader, "vkEnumerateDeviceExtensionProperties"),
        .get_features = (PFN_vkGetPhysicalDeviceFeatures)vulkan_loader_get(
            loader, "vkGetPhysicalDeviceFeatures"),
        .get_features2 = (PFN_vkGetPhysicalDeviceFeatures2)command_2(
            vulkan, told, "vkGetPhysicalDeviceFeatures2", "vkGetPhysicalDeviceFeatures2KHR"),
    };
    return environment_is_offered(environment, &commands, vulkan->physical, ret_missing);
}

static bool create_device(struct warm_vulkan *vulkan, const struct environment *environment,
                          char *text, size_t size)
{
    PFN_vkCreateDevice create =
        (PFN_vkCreateDevice)vulkan_loader_get(&vulkan->loader, "vkCreateDevice");
    VkDeviceCreateInfo *info = environment_create_info(environment);
    VkResult result =
        info ? create(vulkan->physical, info, NULL, &vulkan->device) : VK_ERROR_OUT_OF_HOST_MEMORY;
    free(info);
    if (result != VK_SUCCESS) {
        vulkan->device = VK_NULL_HANDLE;
        snprintf(text, size, "the driver refuses the device (VkResult %d)", result);
        return false;
    }
    vulkan->get =
        (PFN_vkGetDeviceProcAddr)vulkan_loader_get(&vulkan->loader, "vkGetDeviceProcAddr");
    return true;
}

PFN_vkVoidFunction warm_vulkan_command(const struct warm_vulkan *vulkan, const char *name)
{
    return vulkan->get(vulkan->device, name);
}

/* A command under the name that it had as an extension, where it has no other yet. */
static PFN_vkVoidFunction either(const struct warm_vulkan *vulkan, const char *name,
                                 const char *extension_name)
{
    PFN_vkVoidFunction command = warm_vulkan_command(vulkan, name);
    return command ? command : warm_vulkan_command(vulkan, extension_name);
}

static void load_commands(struct warm_vulkan *v)
{
#define GET(name)        (PFN_##name) warm_vulkan_command(v, #name)
#define GET_EITHER(name) (PFN_##name) either(v, #name, #name "KHR")
    v->commands = (struct replay_commands){
        .create_shader_module = GET(vkCreateShaderModule),
        .destroy_shader_module = GET(vkDestroyShaderModule),
        .create_descriptor_set_layout = GET(vkCreateDescriptorSetLayout),
        .destroy_descriptor_set_layout = GET(vkDestroyDescriptorSetLayout),
        .create_pipeline_layout = GET(vkCreatePipelineLayout),
        .destroy_pipeline_layout = GET(vkDestroyPipelineLayout),
        .create_sampler = GET(vkCreateSampler),
        .destroy_sampler = GET(vkDestroySampler),
        .create_sampler_ycbcr_conversion = GET_EITHER(vkCreateSamplerYcbcrConversion),
        .destroy_sampler_ycbcr_conversion = GET_EITHER(vkDestroySamplerYcbcrConversion),
        .create_render_pass = GET(vkCreateRenderPass),
        .create_render_pass_2 = GET_EITHER(vkCreateRenderPass2),
        .destroy_render_pass = GET(vkDestroyRenderPass),
        .create_compute_pipelines = GET(vkCreateComputePipelines),
        .create_graphics_pipelines = GET(vkCreateGraphicsPipelines),
        .create_ray_tracing_pipelines_khr = GET(vkCreateRayTracingPipelinesKHR),
        .create_ray_tracing_pipelines_nv = GET(vkCreateRayTracingPipelinesNV),
        .destroy_pipeline = GET(vkDestroyPipeline),
    };
#undef GET
#undef GET_EITHER
}

static void load_limits(struct warm_vulkan *vulkan, const struct environment_device *told)
{
    replay_limits_query(
        (PFN_vkGetPhysicalDeviceProperties)vulkan_loader_get(&vulkan->loader,
                                                             "vkGetPhysicalDeviceProperties"),
        (PFN_vkGetPhysicalDeviceProperties2)command_2(
            vulkan, told, "vkGetPhysicalDeviceProperties2", "vkGetPhysicalDeviceProperties2KHR"),
        vulkan->physical, &vulkan->limits);
}

enum warm_made warm_vulkan_open(const struct environment *environment, uint32_t index,
                                struct digest identity, bool offer_only,
                                struct warm_vulkan *ret_vulkan, char *text, size_t size)
{
    const struct environment_device told = environment_device_of(environment);
    struct warm_vulkan *vulkan = ret_vulkan;
    const char *missing = NULL;
    *vulkan = (struct warm_vulkan){0};
    const char *problem = vulkan_loader_open(&vulkan->loader);
    if (problem) {
        snprintf(text, size, "%s", problem);
        return WARM_NO_DEVICE;
    }
    VkResult result = create_instance(&vulkan->loader, &told);
    if (result != VK_SUCCESS) {
        vulkan->loader.instance = NULL;
        snprintf(text, size, "no instance can be made (VkResult %d)", result);
        return WARM_NO_DEVICE;
    }
    if (!find_device(vulkan, index, identity, &told)) {
        snprintf(text, size, "the device is not there any more");
        return WARM_NO_DEVICE;
    }
    if (!is_offered(vulkan, environment, &told, &missing)) {
        snprintf(text, size, "%s", missing);
        return WARM_NOT_MADE;
    }
    if (offer_only) {
        return WARM_MADE;
    }
    if (!create_device(vulkan, environment, text, size)) {
        return WARM_NOT_MADE;
    }
    load_commands(vulkan);
    load_limits(vulkan, &told);
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
    if (vulkan->loader.instance) {
        vulkan_loader_destroy_instance(&vulkan->loader);
    }
    *vulkan = (struct warm_vulkan){0};
}
