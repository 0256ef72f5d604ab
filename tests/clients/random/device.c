// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "random.h"

#define FEATURES(name) VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##name
#define STRUCT(extension, stype, member)                                                           \
    extension, (VkStructureType)(stype), offsetof(struct features, member),                        \
        sizeof(((struct features *)0)->member)

static const struct {
    const char *extension; /* NULL: of Vulkan 1.3 */
    VkStructureType stype;
    size_t offset, size;
} structs[] = {
    {STRUCT(NULL, FEATURES(VULKAN_1_1_FEATURES), v11)},
    {STRUCT(NULL, FEATURES(VULKAN_1_2_FEATURES), v12)},
    {STRUCT("VK_EXT_extended_dynamic_state2", FEATURES(EXTENDED_DYNAMIC_STATE_2_FEATURES_EXT),
            dynamic2)},
    {STRUCT("VK_EXT_extended_dynamic_state3", FEATURES(EXTENDED_DYNAMIC_STATE_3_FEATURES_EXT),
            dynamic3)},
    {STRUCT("VK_EXT_vertex_input_dynamic_state", FEATURES(VERTEX_INPUT_DYNAMIC_STATE_FEATURES_EXT),
            dynamic_input)},
    {STRUCT("VK_EXT_graphics_pipeline_library", FEATURES(GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT),
            libraries)},
    {STRUCT("VK_EXT_pipeline_robustness", FEATURES(PIPELINE_ROBUSTNESS_FEATURES_EXT), robustness)},
    {STRUCT("VK_EXT_mutable_descriptor_type", FEATURES(MUTABLE_DESCRIPTOR_TYPE_FEATURES_EXT),
            mutable_types)},
    {STRUCT("VK_EXT_vertex_attribute_divisor", FEATURES(VERTEX_ATTRIBUTE_DIVISOR_FEATURES_EXT),
            divisor)},
    {STRUCT("VK_EXT_depth_clip_enable", FEATURES(DEPTH_CLIP_ENABLE_FEATURES_EXT), depth_clip)},
    {STRUCT("VK_EXT_depth_clip_control", FEATURES(DEPTH_CLIP_CONTROL_FEATURES_EXT), clip_control)},
    {STRUCT("VK_EXT_line_rasterization", FEATURES(LINE_RASTERIZATION_FEATURES_EXT), lines)},
    {STRUCT("VK_EXT_provoking_vertex", FEATURES(PROVOKING_VERTEX_FEATURES_EXT), provoking)},
    {STRUCT("VK_EXT_color_write_enable", FEATURES(COLOR_WRITE_ENABLE_FEATURES_EXT), color_write)},
    {STRUCT("VK_KHR_pipeline_executable_properties",
            FEATURES(PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR), executables)},
    /* These need Vulkan 1.3, or more extensions. */
    {STRUCT(NULL, FEATURES(VULKAN_1_3_FEATURES), v13)},
    {STRUCT("VK_EXT_shader_module_identifier", FEATURES(SHADER_MODULE_IDENTIFIER_FEATURES_EXT),
            identifiers)},
    {STRUCT("VK_KHR_maintenance5", STYPE_MAINTENANCE_5_FEATURES, maintenance5)},
    {STRUCT("VK_KHR_dynamic_rendering_local_read", STYPE_LOCAL_READ_FEATURES, local_read)},
};

enum { OF_VULKAN_1_2 = COUNT_OF(structs) - 4 };

static uint32_t message_count;
static char message_about[200];

static VkBool32 VKAPI_PTR note_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                       VkDebugUtilsMessageTypeFlagsEXT type,
                                       const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    (void)severity;
    (void)type;
    (void)user;
    message_count++;
    snprintf(message_about, sizeof message_about, "%s",
             data->pMessageIdName ? data->pMessageIdName : "a message");
    if (getenv("RANDOM_VERBOSE")) {
        fprintf(stderr, "%s\n", data->pMessage);
    }
    return VK_FALSE;
}

uint32_t device_messages(const char **ret_about)
{
    *ret_about = message_about;
    return message_count;
}

static void open_instance(struct device *device, bool messages, uint32_t version)
{
    const char *extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    const VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = note_message};
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .pApplicationName = "random",
                                           .apiVersion = version};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application,
                                       .enabledExtensionCount = messages ? 1 : 0,
                                       .ppEnabledExtensionNames = extensions};
    must(vkCreateInstance(&info, NULL, &device->instance), "vkCreateInstance");
    if (messages) {
        static VkDebugUtilsMessengerEXT handle;
        const PFN_vkCreateDebugUtilsMessengerEXT create =
            (PFN_vkCreateDebugUtilsMessengerEXT)vkGetInstanceProcAddr(
                device->instance, "vkCreateDebugUtilsMessengerEXT");
        must(create(device->instance, &messenger, NULL, &handle), "messenger");
    }
    uint32_t count = 1;
    must(vkEnumeratePhysicalDevices(device->instance, &count, &device->physical), "devices");
    must(count ? VK_SUCCESS : VK_ERROR_INITIALIZATION_FAILED, "no device");
}

static bool has_extension(VkPhysicalDevice physical, const char *name)
{
    static VkExtensionProperties all[1024];
    static uint32_t count;
    if (count == 0) {
        count = COUNT_OF(all);
        must(vkEnumerateDeviceExtensionProperties(physical, NULL, &count, all), "extensions");
    }
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(all[i].extensionName, name) == 0) {
            return true;
        }
    }
    return false;
}

void device_open(struct device *device, const struct device_options *options)
{
    static struct item draw; /* which extensions this seed has */
    /* Every fourth program is an older one. */
    const bool is_older = options->seed % 4 == 3;
    open_instance(device, options->messages, is_older ? VK_API_VERSION_1_2 : VK_API_VERSION_1_3);
    item_begin(&draw, UINT32_MAX, options->seed);
    const char *extensions[COUNT_OF(structs) + 4];
    uint32_t count = 0;
    struct features *features = &device->features;
    *features = (struct features){.core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    for (size_t i = 0; i < COUNT_OF(structs); i++) {
        const char *extension = structs[i].extension;
        const bool drawn = item_chance(&draw, 85);
        const bool is_statistics =
            extension && strcmp(extension, "VK_KHR_pipeline_executable_properties") == 0;
        const bool wanted = is_statistics ? options->statistics : drawn;
        if ((extension && (!wanted || !has_extension(device->physical, extension))) ||
            (is_older && i >= OF_VULKAN_1_2)) {
            continue;
        }
        VkBaseOutStructure *one = (VkBaseOutStructure *)((char *)features + structs[i].offset);
        one->sType = structs[i].stype;
        one->pNext = features->core.pNext;
        features->core.pNext = one;
        if (extension) {
            extensions[count++] = extension;
        }
    }
    vkGetPhysicalDeviceFeatures2(device->physical, &features->core);
    features->core.features.robustBufferAccess &= item_chance(&draw, 50);
    features->v13.privateData = VK_FALSE;
    static const char conservative[] = VK_EXT_CONSERVATIVE_RASTERIZATION_EXTENSION_NAME;
    static const char library[] = VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME;
    device->conservative = has_extension(device->physical, conservative);
    if (device->conservative) {
        extensions[count++] = conservative;
    }
    if (features->libraries.graphicsPipelineLibrary) {
        extensions[count++] = library;
    }
    if (is_older) {
        extensions[count++] = VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME;
    }
    /* By an identifier alone nothing is compiled: the call has to be allowed to fail. */
    device->identifies =
        features->identifiers.shaderModuleIdentifier && features->v13.pipelineCreationCacheControl;
    device->statistics = features->executables.pipelineExecutableInfo;
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features->core,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = count,
                                     .ppEnabledExtensionNames = extensions};
    must(vkCreateDevice(device->physical, &info, NULL, &device->device), "vkCreateDevice");
}

void device_close(struct device *device)
{
    vkDestroyDevice(device->device, NULL);
    vkDestroyInstance(device->instance, NULL); /* with its messenger, on purpose */
}
