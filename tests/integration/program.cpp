// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <algorithm>

const char *kind_name(Kind kind)
{
    switch (kind) {
    case Kind::compute:
        return "compute";
    case Kind::graphics:
        return "graphics";
    case Kind::ray_tracing_khr:
        return "ray_tracing_khr";
    default:
        return "ray_tracing_nv";
    }
}

void PrintTo(Kind kind, std::ostream *stream)
{
    *stream << kind_name(kind);
}

static VkInstance create_instance(const ProgramOptions &options)
{
    VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
    application.pApplicationName = options.application_name;
    application.pEngineName = options.engine_name;
    application.apiVersion = options.api;
    VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    info.pNext = options.instance_next;
    info.pApplicationInfo = &application;
    std::vector<const char *> extensions = options.instance_extensions;
    if (options.messenger) {
        extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    }
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    VkInstance instance = VK_NULL_HANDLE;
    EXPECT_EQ(vkCreateInstance(&info, nullptr, &instance), VK_SUCCESS);
    return instance;
}

// The loader sorts devices as it likes; the test driver numbers them by deviceID.
static std::vector<VkPhysicalDevice> sorted_devices(VkInstance instance)
{
    uint32_t count = 0;
    vkEnumeratePhysicalDevices(instance, &count, nullptr);
    std::vector<VkPhysicalDevice> devices(count);
    vkEnumeratePhysicalDevices(instance, &count, devices.data());
    auto id = [](VkPhysicalDevice device) {
        VkPhysicalDeviceProperties properties;
        vkGetPhysicalDeviceProperties(device, &properties);
        return properties.deviceID;
    };
    std::sort(devices.begin(), devices.end(),
              [&](VkPhysicalDevice a, VkPhysicalDevice b) { return id(a) < id(b); });
    return devices;
}

static std::vector<const char *> wanted_extensions(VkPhysicalDevice physical,
                                                   const ProgramOptions &options)
{
    std::vector<const char *> wanted = options.device_extensions;
    uint32_t count = 0;
    vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> offered(count);
    vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, offered.data());
    for (const char *name :
         {VK_KHR_RAY_TRACING_PIPELINE_EXTENSION_NAME,
          VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME,
          VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME, VK_NV_RAY_TRACING_EXTENSION_NAME}) {
        const bool found = std::any_of(offered.begin(), offered.end(), [&](const auto &extension) {
            return std::string(name) == extension.extensionName;
        });
        if (found && options.api >= VK_API_VERSION_1_2) {
            wanted.push_back(name);
        }
    }
    return wanted;
}

static VkDevice create_device(VkPhysicalDevice physical, const std::vector<VkPhysicalDevice> &group,
                              const ProgramOptions &options)
{
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkPhysicalDeviceDynamicRenderingFeatures rendering = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DYNAMIC_RENDERING_FEATURES};
    rendering.dynamicRendering = VK_TRUE;
    rendering.pNext = const_cast<void *>(options.features);
    VkDeviceGroupDeviceCreateInfo members = {VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO};
    members.physicalDeviceCount = static_cast<uint32_t>(group.size());
    members.pPhysicalDevices = group.data();
    members.pNext = &rendering;
    const std::vector<const char *> extensions = wanted_extensions(physical, options);
    VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    info.pNext = options.group                       ? static_cast<void *>(&members)
                 : options.api >= VK_API_VERSION_1_3 ? static_cast<void *>(&rendering)
                                                     : const_cast<void *>(options.features);
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    VkDevice device = VK_NULL_HANDLE;
    EXPECT_EQ(vkCreateDevice(physical, &info, options.allocator, &device), VK_SUCCESS);
    return device;
}

VkResult try_instance(uint32_t api, VkInstance *instance)
{
    VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
    application.apiVersion = api;
    VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    info.pApplicationInfo = api ? &application : nullptr;
    return vkCreateInstance(&info, nullptr, instance);
}

VkResult try_device(VkInstance instance, const std::vector<const char *> &extensions,
                    VkDevice *device)
{
    uint32_t count = 1;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    vkEnumeratePhysicalDevices(instance, &count, &physical);
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    return vkCreateDevice(physical, &info, nullptr, device);
}

ProgramOptions with_messenger()
{
    ProgramOptions options;
    options.messenger = true;
    return options;
}

ProgramOptions without_messenger()
{
    ProgramOptions options;
    options.instance_extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    return options;
}

VkDebugUtilsMessengerEXT create_messenger(VkInstance instance)
{
    VkDebugUtilsMessengerCreateInfoEXT info = {
        VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
    info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT;
    info.pfnUserCallback =
        [](VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
           const VkDebugUtilsMessengerCallbackDataEXT *, void *) -> VkBool32 { return VK_FALSE; };
    const auto create = instance_command<PFN_vkCreateDebugUtilsMessengerEXT>(
        instance, "vkCreateDebugUtilsMessengerEXT");
    VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
    EXPECT_EQ(create(instance, &info, nullptr, &messenger), VK_SUCCESS);
    return messenger;
}

Program::Program(const ProgramOptions &options)
    : borrows_instance_(options.instance != VK_NULL_HANDLE), allocator_(options.allocator)
{
    instance = borrows_instance_ ? options.instance : create_instance(options);
    messenger_ = options.messenger ? create_messenger(instance) : VK_NULL_HANDLE;
    const std::vector<VkPhysicalDevice> devices = sorted_devices(instance);
    physical = devices.at(options.device);
    device = create_device(physical, devices, options);
    VkPipelineLayoutCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    EXPECT_EQ(vkCreatePipelineLayout(device, &info, nullptr, &layout), VK_SUCCESS);
}

void Program::destroy_device()
{
    for (VkPipeline pipeline : pipelines_) {
        vkDestroyPipeline(device, pipeline, nullptr);
    }
    for (VkShaderModule shader : modules_) {
        vkDestroyShaderModule(device, shader, nullptr);
    }
    pipelines_.clear();
    modules_.clear();
    vkDestroyPipelineLayout(device, layout, nullptr);
    vkDestroyDevice(device, allocator_);
    device = VK_NULL_HANDLE;
}

Program::~Program()
{
    if (device != VK_NULL_HANDLE) {
        destroy_device();
    }
    if (messenger_ != VK_NULL_HANDLE) {
        instance_command<PFN_vkDestroyDebugUtilsMessengerEXT>(
            instance, "vkDestroyDebugUtilsMessengerEXT")(instance, messenger_, nullptr);
    }
    if (!borrows_instance_) {
        vkDestroyInstance(instance, nullptr);
    }
}

VkShaderModule Program::module(Kind kind, unsigned number)
{
    const std::vector<uint32_t> code = shader_code(kind, number);
    VkShaderModuleCreateInfo info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    info.codeSize = code.size() * sizeof code[0];
    info.pCode = code.data();
    VkShaderModule shader = VK_NULL_HANDLE;
    EXPECT_EQ(vkCreateShaderModule(device, &info, nullptr, &shader), VK_SUCCESS);
    modules_.push_back(shader);
    return shader;
}

VkPipeline Program::create(Kind kind, unsigned number, VkPipelineCache cache)
{
    Batch batch(*this, kind, {number});
    EXPECT_EQ(batch.create(cache), VK_SUCCESS);
    return batch.pipelines[0];
}

void Program::create_compute(unsigned first, unsigned end, VkPipelineCache cache)
{
    for (unsigned number = first; number < end; ++number) {
        create(Kind::compute, number, cache);
    }
}

VkPipelineCache Program::create_cache(const std::vector<uint8_t> &data,
                                      VkPipelineCacheCreateFlags flags)
{
    VkPipelineCacheCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    info.flags = flags;
    info.initialDataSize = data.size();
    info.pInitialData = data.data();
    VkPipelineCache cache = VK_NULL_HANDLE;
    EXPECT_EQ(vkCreatePipelineCache(device, &info, nullptr, &cache), VK_SUCCESS);
    return cache;
}

std::vector<uint8_t> Program::cache_data(VkPipelineCache cache)
{
    size_t size = 0;
    EXPECT_EQ(vkGetPipelineCacheData(device, cache, &size, nullptr), VK_SUCCESS);
    std::vector<uint8_t> data(size);
    EXPECT_EQ(vkGetPipelineCacheData(device, cache, &size, data.data()), VK_SUCCESS);
    EXPECT_EQ(size, data.size()) << "the data call sees another size than the size query";
    data.resize(size);
    return data;
}

void Program::destroy_cache(VkPipelineCache cache)
{
    vkDestroyPipelineCache(device, cache, nullptr);
}
