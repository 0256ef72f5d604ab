// SPDX-License-Identifier: Apache-2.0
// A small Vulkan program, written in the test that needs it. Everything goes through the loader.
#ifndef WARMPIPE_TESTS_PROGRAM_HPP
#define WARMPIPE_TESTS_PROGRAM_HPP

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <vulkan/vulkan.h>

enum class Kind { compute, graphics, ray_tracing_khr, ray_tracing_nv };
constexpr Kind all_kinds[] = {Kind::compute, Kind::graphics, Kind::ray_tracing_khr,
                              Kind::ray_tracing_nv};
const char *kind_name(Kind kind);
void PrintTo(Kind kind, std::ostream *stream);

// A valid shader for the kind; another number gives other code.
std::vector<uint32_t> shader_code(Kind kind, unsigned number);

struct ProgramOptions {
    uint32_t api = VK_API_VERSION_1_3;
    unsigned device = 0;    // which of the test driver's
    bool group = false;     // one VkDevice of a device group
    bool messenger = false; // one that says nothing, from before the device to its end
    std::vector<const char *> instance_extensions;
    std::vector<const char *> device_extensions; // besides what the kinds need
    const void *features = nullptr;              // pNext of VkDeviceCreateInfo
    const void *instance_next = nullptr;         // pNext of VkInstanceCreateInfo
    const char *application_name = nullptr;
    const char *engine_name = nullptr;
    const VkAllocationCallbacks *allocator = nullptr; // of the device; it outlives it
    VkInstance instance = VK_NULL_HANDLE;             // another program's, which outlives this one
};

// Set-up that may fail, one call each: api 0 is a program without VkApplicationInfo; a device is
// made of the first physical one, with one queue, and nothing enabled but these extensions.
VkResult try_instance(uint32_t api, VkInstance *instance);
VkResult try_device(VkInstance instance, const std::vector<const char *> &extensions,
                    VkDevice *device);

template <typename Command> Command instance_command(VkInstance instance, const char *name)
{
    auto function = reinterpret_cast<Command>(vkGetInstanceProcAddr(instance, name));
    EXPECT_NE(function, nullptr) << name;
    return function;
}

// A messenger of VK_EXT_debug_utils that says nothing.
VkDebugUtilsMessengerEXT create_messenger(VkInstance instance);

// A program whose driver may call it back from the beginning: the worker loads nothing ahead.
ProgramOptions with_messenger();

// One that makes its messenger later.
ProgramOptions without_messenger();

class Program {
  public:
    explicit Program(const ProgramOptions &options = {});
    ~Program();
    Program(const Program &) = delete;
    Program &operator=(const Program &) = delete;

    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;

    // A command as a program gets it.
    template <typename Command> Command command(const char *name) const
    {
        auto function = reinterpret_cast<Command>(vkGetDeviceProcAddr(device, name));
        EXPECT_NE(function, nullptr) << name;
        return function;
    }

    // Lives as long as the program.
    VkShaderModule module(Kind kind, unsigned number);

    // One pipeline of its own; it lives as long as the program.
    VkPipeline create(Kind kind, unsigned number, VkPipelineCache cache = VK_NULL_HANDLE);
    // Compute pipelines of these numbers, first included, end not.
    void create_compute(unsigned first, unsigned end, VkPipelineCache cache = VK_NULL_HANDLE);

    VkPipelineCache create_cache(const std::vector<uint8_t> &data = {},
                                 VkPipelineCacheCreateFlags flags = 0);
    std::vector<uint8_t> cache_data(VkPipelineCache cache);
    void destroy_cache(VkPipelineCache cache);

    // Ends the device, with all that was made on it; the destructor does what is left.
    void destroy_device();

    void keep(VkPipeline pipeline)
    {
        pipelines_.push_back(pipeline);
    }

  private:
    bool borrows_instance_;
    VkDebugUtilsMessengerEXT messenger_;
    const VkAllocationCallbacks *allocator_;
    std::vector<VkShaderModule> modules_;
    std::vector<VkPipeline> pipelines_;
};

// The create-infos of one call of vkCreate*Pipelines, and their changeable parts.
class Batch {
  public:
    Batch(Program &program, Kind kind, const std::vector<unsigned> &numbers);
    ~Batch();
    Batch(const Batch &) = delete;
    Batch &operator=(const Batch &) = delete;

    // Puts a struct in front of an element's pNext chain. It must outlive the batch.
    void chain(size_t element, void *structure);
    void set_flags(size_t element, VkPipelineCreateFlags flags);
    void set_layout(size_t element, VkPipelineLayout layout);
    // Its only stage.
    VkPipelineShaderStageCreateInfo &stage(size_t element);
    // Of ray tracing, instead of its only one; they must outlive the batch.
    void set_stages(size_t element, const std::vector<VkPipelineShaderStageCreateInfo> &stages);
    // The attachments of all graphics pipelines, whose rasterization is discarded.
    VkPipelineRenderingCreateInfo &rendering();
    // The shader group that all elements have, of VK_KHR_ray_tracing_pipeline.
    VkRayTracingShaderGroupCreateInfoKHR &group();
    void set_base(size_t element, VkPipeline handle, int32_t index);

    VkResult create(VkPipelineCache cache = VK_NULL_HANDLE,
                    const VkAllocationCallbacks *allocator = nullptr,
                    VkDeferredOperationKHR deferred = VK_NULL_HANDLE);

    std::vector<VkPipeline> pipelines; // the program keeps what is in here
  private:
    struct Infos;
    Program &program_;
    Kind kind_;
    std::unique_ptr<Infos> infos_;
};

// VkPipelineCreationFeedbackCreateInfo with room, poisoned so that what is not written shows.
struct Feedback {
    explicit Feedback(uint32_t stages = 1);
    VkPipelineCreationFeedback whole;
    std::vector<VkPipelineCreationFeedback> stages;
    VkPipelineCreationFeedbackCreateInfo info;
    bool hit() const
    {
        return (whole.flags & VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT) !=
               0;
    }
    bool stage_hit() const;
};

// Newer than the headers of some distributions (Vulkan 1.4, VK_KHR_pipeline_binary).
struct PipelineCreateFlags2 {
    explicit PipelineCreateFlags2(uint64_t value) : flags(value)
    {
    }
    VkStructureType sType = static_cast<VkStructureType>(1000470005);
    const void *pNext = nullptr;
    uint64_t flags;
};
struct PipelineBinaryInfo {
    VkStructureType sType = static_cast<VkStructureType>(1000483002);
    const void *pNext = nullptr;
    uint32_t binaryCount = 1;
    const uint64_t *pPipelineBinaries = &binary;
    uint64_t binary = 1;
};

// A deferred operation.
struct Deferred {
    explicit Deferred(Program &program);
    ~Deferred();
    VkResult join();
    Program &program;
    VkDeferredOperationKHR operation = VK_NULL_HANDLE;
};

#endif
