// SPDX-License-Identifier: Apache-2.0
// Who asks for a command, how, and whether its extension is enabled. Loaders fill their tables by
// vkGetInstanceProcAddr, so that a program may be given a command that was never enabled.
#include "harness.hpp"
#include "paths.h"
#include "program.hpp"
#include "sandbox.hpp"

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <vulkan/vk_layer.h>

namespace {

// Every command that the layer intercepts.
const char *const intercepted[] = {
    "vkGetInstanceProcAddr",
    "vkCreateInstance",
    "vkCreateDevice",
    "vkDestroyInstance",
    "vkGetDeviceProcAddr",
    "vkDestroyDevice",
    "vkCreateDebugUtilsMessengerEXT",
    "vkCreateDebugReportCallbackEXT",
    "vkCreatePipelineCache",
    "vkDestroyPipelineCache",
    "vkGetPipelineCacheData",
    "vkMergePipelineCaches",
    "vkCreateComputePipelines",
    "vkCreateGraphicsPipelines",
    "vkCreateRayTracingPipelinesKHR",
    "vkCreateRayTracingPipelinesNV",
    "vkDeferredOperationJoinKHR",
    "vkDestroyPipeline",
    "vkCreateShaderModule",
    "vkDestroyShaderModule",
    "vkCreateDescriptorSetLayout",
    "vkDestroyDescriptorSetLayout",
    "vkCreatePipelineLayout",
    "vkDestroyPipelineLayout",
    "vkCreateDescriptorUpdateTemplate",
    "vkCreateDescriptorUpdateTemplateKHR",
    "vkDestroyDescriptorUpdateTemplate",
    "vkDestroyDescriptorUpdateTemplateKHR",
    "vkCreateSampler",
    "vkDestroySampler",
    "vkCreateSamplerYcbcrConversion",
    "vkCreateSamplerYcbcrConversionKHR",
    "vkDestroySamplerYcbcrConversion",
    "vkDestroySamplerYcbcrConversionKHR",
    "vkCreateRenderPass",
    "vkCreateRenderPass2",
    "vkCreateRenderPass2KHR",
    "vkDestroyRenderPass",
    "vkSetDebugUtilsObjectNameEXT",
    "vkSetDebugUtilsObjectTagEXT",
    "vkDebugMarkerSetObjectNameEXT",
    "vkDebugMarkerSetObjectTagEXT",
};

// What brings those that are not part of Vulkan 1.0.
const std::vector<const char *> instance_extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                                                       VK_EXT_DEBUG_REPORT_EXTENSION_NAME};
const std::vector<const char *> device_extensions = {
    VK_EXT_DEBUG_MARKER_EXTENSION_NAME, VK_KHR_DESCRIPTOR_UPDATE_TEMPLATE_EXTENSION_NAME,
    VK_KHR_SAMPLER_YCBCR_CONVERSION_EXTENSION_NAME, VK_KHR_CREATE_RENDERPASS_2_EXTENSION_NAME};

enum class Extensions { on, off };

void PrintTo(Extensions extensions, std::ostream *stream)
{
    *stream << (extensions == Extensions::on ? "on" : "off");
}

// A device of Vulkan 1.3 with all of them, or of Vulkan 1.0 with none.
class Enabled {
  public:
    explicit Enabled(Extensions extensions)
    {
        ProgramOptions options;
        options.api = extensions == Extensions::on ? VK_API_VERSION_1_3 : VK_API_VERSION_1_0;
        if (extensions == Extensions::on) {
            options.instance_extensions = instance_extensions;
            options.device_extensions = device_extensions;
        }
        program = std::make_unique<Program>(options);
    }

    std::unique_ptr<Program> program;
};

// The two ways to ask.
struct Ways {
    PFN_vkGetInstanceProcAddr instance;
    PFN_vkGetDeviceProcAddr device;
};

// As a layer directly above asks.
Ways ways_of_the_layer(VkInstance instance)
{
    void *library = dlopen(WARMPIPE_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    EXPECT_NE(library, nullptr) << "the loader has not loaded it";
    const auto negotiate = reinterpret_cast<PFN_vkNegotiateLoaderLayerInterfaceVersion>(
        dlsym(library, "vkNegotiateLoaderLayerInterfaceVersion"));
    VkNegotiateLayerInterface negotiation = {};
    negotiation.sType = LAYER_NEGOTIATE_INTERFACE_STRUCT;
    negotiation.loaderLayerInterfaceVersion = 2;
    EXPECT_EQ(negotiate(&negotiation), VK_SUCCESS);
    EXPECT_NE(negotiation.pfnGetInstanceProcAddr(instance, "vkCreateComputePipelines"), nullptr);
    return {negotiation.pfnGetInstanceProcAddr, negotiation.pfnGetDeviceProcAddr};
}

// Calls a command that a device may lack; those that return nothing return 1 here.
class Caller {
  public:
    explicit Caller(const Program &program) : program_(program)
    {
        VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                                                VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
        VkDescriptorSetLayoutCreateInfo info = {
            VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
        info.bindingCount = 1;
        info.pBindings = &binding;
        EXPECT_EQ(vkCreateDescriptorSetLayout(program_.device, &info, nullptr, &layout_),
                  VK_SUCCESS);
    }
    ~Caller()
    {
        vkDestroyDescriptorSetLayout(program_.device, layout_, nullptr);
    }
    Caller(const Caller &) = delete;
    Caller &operator=(const Caller &) = delete;

    struct Row {
        const char *name;
        int (Caller::*call)(PFN_vkVoidFunction command, const Ways &ways);
    };
    static const Row rows[];

  private:
    // What stands at the other end of a creation.
    template <typename Command> Command destroyer(const Ways &ways, const char *name) const
    {
        return reinterpret_cast<Command>(ways.instance(program_.instance, name));
    }

    int update_template(PFN_vkVoidFunction command, const Ways &ways)
    {
        VkDescriptorUpdateTemplateEntry entry = {0, 0, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 0, 0};
        VkDescriptorUpdateTemplateCreateInfo info = {
            VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO};
        info.descriptorUpdateEntryCount = 1;
        info.pDescriptorUpdateEntries = &entry;
        info.descriptorSetLayout = layout_;
        VkDescriptorUpdateTemplate made = VK_NULL_HANDLE;
        const auto create = reinterpret_cast<PFN_vkCreateDescriptorUpdateTemplate>(command);
        const VkResult result = create(program_.device, &info, nullptr, &made);
        if (result == VK_SUCCESS) {
            destroyer<PFN_vkDestroyDescriptorUpdateTemplate>(
                ways, "vkDestroyDescriptorUpdateTemplateKHR")(program_.device, made, nullptr);
        }
        return result;
    }

    int destroy_update_template(PFN_vkVoidFunction command, const Ways &)
    {
        reinterpret_cast<PFN_vkDestroyDescriptorUpdateTemplate>(command)(program_.device,
                                                                         VK_NULL_HANDLE, nullptr);
        return 1;
    }

    int conversion(PFN_vkVoidFunction command, const Ways &ways)
    {
        VkSamplerYcbcrConversionCreateInfo info = {
            VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_CREATE_INFO};
        info.format = VK_FORMAT_G8_B8_R8_3PLANE_420_UNORM;
        VkSamplerYcbcrConversion made = VK_NULL_HANDLE;
        const auto create = reinterpret_cast<PFN_vkCreateSamplerYcbcrConversion>(command);
        const VkResult result = create(program_.device, &info, nullptr, &made);
        if (result == VK_SUCCESS) {
            destroyer<PFN_vkDestroySamplerYcbcrConversion>(
                ways, "vkDestroySamplerYcbcrConversionKHR")(program_.device, made, nullptr);
        }
        return result;
    }

    int destroy_conversion(PFN_vkVoidFunction command, const Ways &)
    {
        reinterpret_cast<PFN_vkDestroySamplerYcbcrConversion>(command)(program_.device,
                                                                       VK_NULL_HANDLE, nullptr);
        return 1;
    }

    int render_pass(PFN_vkVoidFunction command, const Ways &)
    {
        VkSubpassDescription2 subpass = {VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_2};
        VkRenderPassCreateInfo2 info = {VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2};
        info.subpassCount = 1;
        info.pSubpasses = &subpass;
        VkRenderPass made = VK_NULL_HANDLE;
        const auto create = reinterpret_cast<PFN_vkCreateRenderPass2>(command);
        const VkResult result = create(program_.device, &info, nullptr, &made);
        vkDestroyRenderPass(program_.device, made, nullptr);
        return result;
    }

    VkPipelineShaderStageCreateInfo raygen(VkShaderModule module) const
    {
        VkPipelineShaderStageCreateInfo stage = {
            VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
        stage.stage = VK_SHADER_STAGE_RAYGEN_BIT_KHR;
        stage.module = module;
        stage.pName = "main";
        return stage;
    }

    int ray_tracing_khr(PFN_vkVoidFunction command, const Ways &)
    {
        Program &program = const_cast<Program &>(program_);
        const auto stage = raygen(program.module(Kind::ray_tracing_khr, 1));
        VkRayTracingShaderGroupCreateInfoKHR group = {
            VK_STRUCTURE_TYPE_RAY_TRACING_SHADER_GROUP_CREATE_INFO_KHR};
        group.closestHitShader = VK_SHADER_UNUSED_KHR;
        group.anyHitShader = VK_SHADER_UNUSED_KHR;
        group.intersectionShader = VK_SHADER_UNUSED_KHR;
        VkRayTracingPipelineCreateInfoKHR info = {
            VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR};
        info.stageCount = 1;
        info.pStages = &stage;
        info.groupCount = 1;
        info.pGroups = &group;
        info.maxPipelineRayRecursionDepth = 1;
        info.layout = program_.layout;
        VkPipeline made = VK_NULL_HANDLE;
        const auto create = reinterpret_cast<PFN_vkCreateRayTracingPipelinesKHR>(command);
        const VkResult result =
            create(program_.device, VK_NULL_HANDLE, VK_NULL_HANDLE, 1, &info, nullptr, &made);
        program.keep(made);
        return result;
    }

    int ray_tracing_nv(PFN_vkVoidFunction command, const Ways &)
    {
        Program &program = const_cast<Program &>(program_);
        const auto stage = raygen(program.module(Kind::ray_tracing_nv, 1));
        VkRayTracingShaderGroupCreateInfoNV group = {
            VK_STRUCTURE_TYPE_RAY_TRACING_SHADER_GROUP_CREATE_INFO_NV};
        group.closestHitShader = VK_SHADER_UNUSED_NV;
        group.anyHitShader = VK_SHADER_UNUSED_NV;
        group.intersectionShader = VK_SHADER_UNUSED_NV;
        VkRayTracingPipelineCreateInfoNV info = {
            VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_NV};
        info.stageCount = 1;
        info.pStages = &stage;
        info.groupCount = 1;
        info.pGroups = &group;
        info.maxRecursionDepth = 1;
        info.layout = program_.layout;
        VkPipeline made = VK_NULL_HANDLE;
        const auto create = reinterpret_cast<PFN_vkCreateRayTracingPipelinesNV>(command);
        const VkResult result = create(program_.device, VK_NULL_HANDLE, 1, &info, nullptr, &made);
        program.keep(made);
        return result;
    }

    template <typename Command, typename Info> int name(PFN_vkVoidFunction command, Info &info)
    {
        return reinterpret_cast<Command>(command)(program_.device, &info);
    }

    int join(PFN_vkVoidFunction command, const Ways &ways)
    {
        const auto create = reinterpret_cast<PFN_vkCreateDeferredOperationKHR>(
            vkGetDeviceProcAddr(program_.device, "vkCreateDeferredOperationKHR"));
        VkDeferredOperationKHR operation = VK_NULL_HANDLE;
        if (create == nullptr || create(program_.device, nullptr, &operation) != VK_SUCCESS) {
            return reinterpret_cast<PFN_vkDeferredOperationJoinKHR>(command)(program_.device,
                                                                             VK_NULL_HANDLE);
        }
        const VkResult result =
            reinterpret_cast<PFN_vkDeferredOperationJoinKHR>(command)(program_.device, operation);
        destroyer<PFN_vkDestroyDeferredOperationKHR>(ways, "vkDestroyDeferredOperationKHR")(
            program_.device, operation, nullptr);
        return result;
    }

    int utils_name(PFN_vkVoidFunction command, const Ways &)
    {
        VkDebugUtilsObjectNameInfoEXT info = {VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT};
        info.objectType = VK_OBJECT_TYPE_PIPELINE_LAYOUT;
        info.objectHandle = reinterpret_cast<uint64_t>(program_.layout);
        info.pObjectName = "layout";
        return name<PFN_vkSetDebugUtilsObjectNameEXT>(command, info);
    }

    int utils_tag(PFN_vkVoidFunction command, const Ways &)
    {
        VkDebugUtilsObjectTagInfoEXT info = {VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_TAG_INFO_EXT};
        info.objectType = VK_OBJECT_TYPE_PIPELINE_LAYOUT;
        info.objectHandle = reinterpret_cast<uint64_t>(program_.layout);
        info.tagSize = 1;
        info.pTag = "t";
        return name<PFN_vkSetDebugUtilsObjectTagEXT>(command, info);
    }

    int marker_name(PFN_vkVoidFunction command, const Ways &)
    {
        VkDebugMarkerObjectNameInfoEXT info = {VK_STRUCTURE_TYPE_DEBUG_MARKER_OBJECT_NAME_INFO_EXT};
        info.objectType = VK_DEBUG_REPORT_OBJECT_TYPE_PIPELINE_LAYOUT_EXT;
        info.object = reinterpret_cast<uint64_t>(program_.layout);
        info.pObjectName = "layout";
        return name<PFN_vkDebugMarkerSetObjectNameEXT>(command, info);
    }

    int marker_tag(PFN_vkVoidFunction command, const Ways &)
    {
        VkDebugMarkerObjectTagInfoEXT info = {VK_STRUCTURE_TYPE_DEBUG_MARKER_OBJECT_TAG_INFO_EXT};
        info.objectType = VK_DEBUG_REPORT_OBJECT_TYPE_PIPELINE_LAYOUT_EXT;
        info.object = reinterpret_cast<uint64_t>(program_.layout);
        info.tagSize = 1;
        info.pTag = "t";
        return name<PFN_vkDebugMarkerSetObjectTagEXT>(command, info);
    }

    const Program &program_;
    VkDescriptorSetLayout layout_ = VK_NULL_HANDLE;
};

const Caller::Row Caller::rows[] = {
    {"vkCreateDescriptorUpdateTemplate", &Caller::update_template},
    {"vkCreateDescriptorUpdateTemplateKHR", &Caller::update_template},
    {"vkDestroyDescriptorUpdateTemplate", &Caller::destroy_update_template},
    {"vkDestroyDescriptorUpdateTemplateKHR", &Caller::destroy_update_template},
    {"vkCreateSamplerYcbcrConversion", &Caller::conversion},
    {"vkCreateSamplerYcbcrConversionKHR", &Caller::conversion},
    {"vkDestroySamplerYcbcrConversion", &Caller::destroy_conversion},
    {"vkDestroySamplerYcbcrConversionKHR", &Caller::destroy_conversion},
    {"vkCreateRenderPass2", &Caller::render_pass},
    {"vkCreateRenderPass2KHR", &Caller::render_pass},
    {"vkCreateRayTracingPipelinesKHR", &Caller::ray_tracing_khr},
    {"vkCreateRayTracingPipelinesNV", &Caller::ray_tracing_nv},
    {"vkDeferredOperationJoinKHR", &Caller::join},
    {"vkSetDebugUtilsObjectNameEXT", &Caller::utils_name},
    {"vkSetDebugUtilsObjectTagEXT", &Caller::utils_tag},
    {"vkDebugMarkerSetObjectNameEXT", &Caller::marker_name},
    {"vkDebugMarkerSetObjectTagEXT", &Caller::marker_tag},
};

class EachExtensions : public LayerTest, public ::testing::WithParamInterface<Extensions> {
  protected:
    EachExtensions()
    {
        if (GetParam() == Extensions::off) {
            environment["WPTEST_ICD_API"] = "1.0";
        }
    }
};

INSTANTIATE_TEST_SUITE_P(Of, EachExtensions, ::testing::Values(Extensions::on, Extensions::off),
                         ::testing::PrintToStringParamName());

TEST_P(EachExtensions, GivesAProgramTheCommandsThatItGetsWithoutTheLayer)
{
    const auto tell = [extensions = GetParam()] {
        Enabled enabled(extensions);
        enabled.program->create_compute(0, 1);
        for (const char *name : intercepted) {
            std::printf("%s %d %d\n", name,
                        vkGetInstanceProcAddr(enabled.program->instance, name) != nullptr,
                        vkGetDeviceProcAddr(enabled.program->device, name) != nullptr);
        }
    };
    const Outcome with = run(tell);
    environment["WARMPIPE_DISABLE"] = "1";
    const Outcome without = run(tell, {Layer::absent});
    EXPECT_EQ(with.output, without.output);
}

// libplacebo and mpv call what vkGetDeviceProcAddr gives them, enabled or not.
TEST_P(EachExtensions, CallsOfWhatTheDeviceGivesComeBack)
{
    run([extensions = GetParam()] {
        Enabled enabled(extensions);
        const Program &program = *enabled.program;
        enabled.program->create_compute(0, 1);
        Caller caller(program);
        const Ways ways = {vkGetInstanceProcAddr, vkGetDeviceProcAddr};
        for (const Caller::Row &row : Caller::rows) {
            const PFN_vkVoidFunction command = vkGetDeviceProcAddr(program.device, row.name);
            EXPECT_TRUE(command != nullptr || extensions == Extensions::off) << row.name;
            if (command != nullptr) {
                EXPECT_GE((caller.*row.call)(command, ways), VK_SUCCESS) << row.name;
            }
        }
    });
}

// The instance does not know which device it is asked for.
TEST_P(EachExtensions, CallsOfWhatTheInstanceGivesALayerAboveComeBack)
{
    run([extensions = GetParam()] {
        Enabled enabled(extensions);
        const Program &program = *enabled.program;
        enabled.program->create_compute(0, 1);
        Caller caller(program);
        const Ways ways = ways_of_the_layer(program.instance);
        size_t given = 0;
        for (const Caller::Row &row : Caller::rows) {
            const PFN_vkVoidFunction of_device = ways.device(program.device, row.name);
            const PFN_vkVoidFunction of_instance = ways.instance(program.instance, row.name);
            EXPECT_EQ(of_device != nullptr, extensions == Extensions::on) << row.name;
            EXPECT_TRUE(of_instance != nullptr || of_device == nullptr) << row.name;
            for (const PFN_vkVoidFunction command : {of_device, of_instance}) {
                if (command != nullptr) {
                    ++given;
                    const int result = (caller.*row.call)(command, ways);
                    EXPECT_TRUE(result >= VK_SUCCESS || extensions == Extensions::off) << row.name;
                }
            }
        }
        EXPECT_GT(given, 0u);
    });
}

// The second device finds a sandbox closed, and is passed through: its commands are not ours, but
// those of the instance are.
using CommandsTest = LayerTest;

TEST_F(CommandsTest, CallsForADeviceThatIsPassedThroughComeBack)
{
    run(
        [] {
            leak_from_here_on(); // what goes while a sandbox is closed is not freed
            Program program;
            program.create_compute(0, 1);
            close_sandbox({{}, SECCOMP_RET_KILL_PROCESS});
            Program second;
            const Ways ways = ways_of_the_layer(second.instance);
            const auto command = [&](const char *name) {
                EXPECT_NE(ways.instance(second.instance, name), ways.device(second.device, name))
                    << name;
                return ways.instance(second.instance, name);
            };
#define OF_INSTANCE(name) reinterpret_cast<PFN_##name>(command(#name))
            VkPipelineLayoutCreateInfo layout_info = {
                VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
            VkPipelineLayout layout = VK_NULL_HANDLE;
            EXPECT_EQ(
                OF_INSTANCE(vkCreatePipelineLayout)(second.device, &layout_info, nullptr, &layout),
                VK_SUCCESS);
            VkPipelineCacheCreateInfo cache_info = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
            VkPipelineCache caches[2] = {};
            for (VkPipelineCache &cache : caches) {
                EXPECT_EQ(
                    OF_INSTANCE(vkCreatePipelineCache)(second.device, &cache_info, nullptr, &cache),
                    VK_SUCCESS);
            }
            EXPECT_EQ(OF_INSTANCE(vkMergePipelineCaches)(second.device, caches[0], 1, &caches[1]),
                      VK_SUCCESS);
            size_t size = 0;
            EXPECT_EQ(OF_INSTANCE(vkGetPipelineCacheData)(second.device, caches[0], &size, nullptr),
                      VK_SUCCESS);
            for (VkPipelineCache cache : caches) {
                OF_INSTANCE(vkDestroyPipelineCache)(second.device, cache, nullptr);
            }
            OF_INSTANCE(vkDestroyPipelineLayout)(second.device, layout, nullptr);
            OF_INSTANCE(vkDestroyPipeline)(second.device, VK_NULL_HANDLE, nullptr);
            EXPECT_EQ(OF_INSTANCE(vkCreateComputePipelines)(second.device, VK_NULL_HANDLE, 0,
                                                            nullptr, nullptr, nullptr),
                      VK_SUCCESS);
#undef OF_INSTANCE
        },
        {Layer::any});
}

// Messengers and report callbacks.
TEST_P(EachExtensions, MessengersComeBack)
{
    run([extensions = GetParam()] {
        Enabled enabled(extensions);
        const Program &program = *enabled.program;
        enabled.program->create_compute(0, 1);
        const Ways ways = ways_of_the_layer(program.instance);
        VkDebugUtilsMessengerCreateInfoEXT messenger_info = {
            VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
        messenger_info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
        messenger_info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT;
        messenger_info.pfnUserCallback = [](VkDebugUtilsMessageSeverityFlagBitsEXT,
                                            VkDebugUtilsMessageTypeFlagsEXT,
                                            const VkDebugUtilsMessengerCallbackDataEXT *,
                                            void *) -> VkBool32 { return VK_FALSE; };
        VkDebugReportCallbackCreateInfoEXT report_info = {
            VK_STRUCTURE_TYPE_DEBUG_REPORT_CALLBACK_CREATE_INFO_EXT};
        report_info.flags = VK_DEBUG_REPORT_ERROR_BIT_EXT;
        report_info.pfnCallback = [](VkDebugReportFlagsEXT, VkDebugReportObjectTypeEXT, uint64_t,
                                     size_t, int32_t, const char *, const char *,
                                     void *) -> VkBool32 { return VK_FALSE; };
        if (auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
                ways.instance(program.instance, "vkCreateDebugUtilsMessengerEXT"))) {
            VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
            if (create(program.instance, &messenger_info, nullptr, &messenger) == VK_SUCCESS) {
                reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
                    ways.instance(program.instance, "vkDestroyDebugUtilsMessengerEXT"))(
                    program.instance, messenger, nullptr);
            }
        }
        if (auto create = reinterpret_cast<PFN_vkCreateDebugReportCallbackEXT>(
                ways.instance(program.instance, "vkCreateDebugReportCallbackEXT"))) {
            VkDebugReportCallbackEXT callback = VK_NULL_HANDLE;
            if (create(program.instance, &report_info, nullptr, &callback) == VK_SUCCESS) {
                reinterpret_cast<PFN_vkDestroyDebugReportCallbackEXT>(
                    ways.instance(program.instance, "vkDestroyDebugReportCallbackEXT"))(
                    program.instance, callback, nullptr);
            }
        }
    });
}

} // namespace
