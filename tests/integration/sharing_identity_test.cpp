// SPDX-License-Identifier: Apache-2.0
// What makes two objects one: content where the specification forbids the driver to touch an input
// after the call, the very object where it may.
#include "harness.hpp"
#include "test_icd.h"
#include "things.hpp"

#include <set>

namespace {

class SharingIdentityTest : public LayerTest {
  protected:
    // A destroyed handle is what the next creation returns: the hardest case.
    SharingIdentityTest()
    {
        environment["WPTEST_ICD_RECYCLE"] = "1";
    }
};

VkShaderModule create_module(const Program &program, unsigned number, const void *chain = nullptr)
{
    const std::vector<uint32_t> code = shader_code(Kind::compute, number);
    VkShaderModuleCreateInfo info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, chain};
    info.codeSize = code.size() * sizeof code[0];
    info.pCode = code.data();
    VkShaderModule module = VK_NULL_HANDLE;
    EXPECT_EQ(vkCreateShaderModule(program.device, &info, nullptr, &module), VK_SUCCESS);
    return module;
}

VkPipeline create_compute(Program &program, VkShaderModule module, VkPipelineLayout layout)
{
    VkComputePipelineCreateInfo info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.layout = layout;
    VkPipeline pipeline = VK_NULL_HANDLE;
    EXPECT_EQ(
        vkCreateComputePipelines(program.device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
        VK_SUCCESS);
    program.keep(pipeline);
    return pipeline;
}

VkDescriptorSetLayout create_set_layout(const Program &program, uint32_t count,
                                        const VkSampler *samplers = nullptr)
{
    VkDescriptorSetLayoutBinding binding = {};
    binding.descriptorType =
        samplers ? VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    binding.descriptorCount = count;
    binding.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    binding.pImmutableSamplers = samplers;
    VkDescriptorSetLayoutCreateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    info.bindingCount = 1;
    info.pBindings = &binding;
    VkDescriptorSetLayout layout = VK_NULL_HANDLE;
    EXPECT_EQ(vkCreateDescriptorSetLayout(program.device, &info, nullptr, &layout), VK_SUCCESS);
    return layout;
}

VkPipelineLayout create_layout(const Program &program, VkDescriptorSetLayout set)
{
    VkPipelineLayoutCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    info.setLayoutCount = 1;
    info.pSetLayouts = &set;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    EXPECT_EQ(vkCreatePipelineLayout(program.device, &info, nullptr, &layout), VK_SUCCESS);
    return layout;
}

VkSampler create_sampler(const Program &program)
{
    VkSamplerCreateInfo info = {VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    VkSampler sampler = VK_NULL_HANDLE;
    EXPECT_EQ(vkCreateSampler(program.device, &info, nullptr, &sampler), VK_SUCCESS);
    return sampler;
}

TEST_F(SharingIdentityTest, AModuleIsItsCodeEvenAfterItsDestruction)
{
    run([] {
        Program program;
        VkShaderModule module = create_module(program, 1);
        const VkPipeline first = create_compute(program, module, program.layout);
        const VkShaderModule old = module;
        vkDestroyShaderModule(program.device, module, nullptr);
        module = create_module(program, 2);
        ASSERT_EQ(module, old) << "the case is not tested";
        EXPECT_NE(create_compute(program, module, program.layout), first);
        vkDestroyShaderModule(program.device, module, nullptr);
        module = create_module(program, 1);
        EXPECT_EQ(create_compute(program, module, program.layout), first);
        vkDestroyShaderModule(program.device, module, nullptr);
    });
}

TEST_F(SharingIdentityTest, ASetLayoutIsItsContentEvenAfterItsDestruction)
{
    run([] {
        Program program;
        VkDescriptorSetLayout set = create_set_layout(program, 1);
        const VkPipelineLayout first = create_layout(program, set);
        const VkDescriptorSetLayout old = set;
        vkDestroyDescriptorSetLayout(program.device, set, nullptr);
        set = create_set_layout(program, 2);
        ASSERT_EQ(set, old) << "the case is not tested";
        const VkPipelineLayout other = create_layout(program, set);
        EXPECT_NE(other, first);
        vkDestroyDescriptorSetLayout(program.device, set, nullptr);
        set = create_set_layout(program, 1);
        EXPECT_EQ(create_layout(program, set), first);
        vkDestroyDescriptorSetLayout(program.device, set, nullptr);
        for (VkPipelineLayout layout : {first, first, other}) {
            vkDestroyPipelineLayout(program.device, layout, nullptr);
        }
    });
}

// wgpu asserts that no two set layouts are one handle.
TEST_F(SharingIdentityTest, OnlySetLayoutsAreWgpusOwn)
{
    run([] {
        for (const char *engine : {"wgpu-hal", "wgpu"}) {
            ProgramOptions options;
            options.engine_name = engine;
            Program program(options);
            const bool is_wgpu = engine == std::string("wgpu-hal");
            const VkDescriptorSetLayout sets[] = {create_set_layout(program, 1),
                                                  create_set_layout(program, 1)};
            EXPECT_EQ(sets[0] != sets[1], is_wgpu);
            const VkPipelineLayout layouts[] = {create_layout(program, sets[0]),
                                                create_layout(program, sets[1])};
            EXPECT_EQ(layouts[0], layouts[1]);
            const VkShaderModule module = create_module(program, 1);
            EXPECT_EQ(create_compute(program, module, layouts[0]),
                      create_compute(program, module, layouts[1]));
            vkDestroyShaderModule(program.device, module, nullptr);
            for (unsigned i : {0u, 1u}) {
                vkDestroyPipelineLayout(program.device, layouts[i], nullptr);
                vkDestroyDescriptorSetLayout(program.device, sets[i], nullptr);
            }
        }
    });
}

// An immutable sampler must outlive the layout's use: an equal one is another one.
TEST_F(SharingIdentityTest, AnImmutableSamplerIsTheVerySampler)
{
    run([] {
        Program program;
        const VkShaderModule module = create_module(program, 1);
        struct Stack {
            VkDescriptorSetLayout set;
            VkPipelineLayout layout;
            VkPipeline pipeline;
        };
        std::vector<Stack> stacks;
        const auto build = [&](VkSampler sampler) {
            Stack stack = {};
            stack.set = create_set_layout(program, 1, &sampler);
            stack.layout = create_layout(program, stack.set);
            stack.pipeline = create_compute(program, module, stack.layout);
            stacks.push_back(stack);
        };
        VkSampler sampler = create_sampler(program);
        build(sampler);
        build(sampler);
        const VkSampler old = sampler;
        vkDestroySampler(program.device, sampler, nullptr);
        sampler = create_sampler(program);
        ASSERT_EQ(sampler, old) << "the case is not tested";
        build(sampler);

        EXPECT_EQ(stacks[0].set, stacks[1].set);
        EXPECT_EQ(stacks[0].layout, stacks[1].layout);
        EXPECT_EQ(stacks[0].pipeline, stacks[1].pipeline);
        EXPECT_NE(stacks[0].set, stacks[2].set);
        EXPECT_NE(stacks[0].layout, stacks[2].layout);
        EXPECT_NE(stacks[0].pipeline, stacks[2].pipeline);
        for (const Stack &stack : stacks) {
            vkDestroyPipelineLayout(program.device, stack.layout, nullptr);
            vkDestroyDescriptorSetLayout(program.device, stack.set, nullptr);
        }
        vkDestroySampler(program.device, sampler, nullptr);
        vkDestroyShaderModule(program.device, module, nullptr);
    });
}

struct Device {
    const char *title;
    const char *version; // of the driver
    uint32_t api;        // of the program
    bool maintenance4;
    bool by_content;
};

void PrintTo(const Device &device, std::ostream *stream)
{
    *stream << device.title;
}

class EachDevice : public SharingIdentityTest, public ::testing::WithParamInterface<Device> {};

INSTANTIATE_TEST_SUITE_P(
    Of, EachDevice,
    ::testing::Values(Device{"vulkan_1_3", "1.3", VK_API_VERSION_1_3, false, true},
                      Device{"vulkan_1_2", "1.2", VK_API_VERSION_1_2, false, false},
                      Device{"vulkan_1_2_maintenance4", "1.2", VK_API_VERSION_1_2, true, true}),
    [](const auto &device) { return device.param.title; });

// `layout` of the create-infos: that a destroyed layout may be left behind is guaranteed from
// Vulkan 1.3 of the physical device on, and by VK_KHR_maintenance4.
TEST_P(EachDevice, DecidesWhatAPipelineLayoutIs)
{
    environment["WPTEST_ICD_API"] = GetParam().version;
    run([&] {
        ProgramOptions options;
        options.api = GetParam().api;
        if (GetParam().maintenance4) {
            options.device_extensions = {VK_KHR_MAINTENANCE_4_EXTENSION_NAME};
        }
        Program program(options);
        const VkShaderModule module = create_module(program, 1);
        const VkDescriptorSetLayout set = create_set_layout(program, 1);
        VkPipelineLayout layout = create_layout(program, set);
        const VkPipeline first = create_compute(program, module, layout);
        EXPECT_EQ(create_compute(program, module, layout), first);
        vkDestroyPipelineLayout(program.device, layout, nullptr);
        layout = create_layout(program, set);
        EXPECT_EQ(create_compute(program, module, layout) == first, GetParam().by_content);
        vkDestroyPipelineLayout(program.device, layout, nullptr);
        vkDestroyDescriptorSetLayout(program.device, set, nullptr);
        vkDestroyShaderModule(program.device, module, nullptr);
    });
}

// "The application must maintain the lifetime of a pipeline library": a pipeline made of one is not
// one made of its equal.
TEST_F(SharingIdentityTest, ALibraryIsTheVeryLibrary)
{
    run([] {
        ProgramOptions options;
        options.device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                                     VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME};
        Program program(options);
        CountingAllocator allocator; // keeps the second library from being the first
        VkPipeline libraries[2] = {};
        for (int i = 0; i < 2; ++i) {
            VkGraphicsPipelineLibraryCreateInfoEXT part = {
                VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT};
            part.flags = VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
            Batch batch(program, Kind::graphics, {1});
            batch.chain(0, &part);
            batch.set_flags(0, VK_PIPELINE_CREATE_LIBRARY_BIT_KHR);
            EXPECT_EQ(batch.create(VK_NULL_HANDLE, i == 0 ? nullptr : allocator.get()), VK_SUCCESS);
            libraries[i] = batch.pipelines[0];
            batch.pipelines.clear();
        }
        EXPECT_NE(libraries[0], libraries[1]);
        VkPipeline linked[3] = {};
        for (int i = 0; i < 3; ++i) {
            VkPipelineLibraryCreateInfoKHR info = {
                VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR};
            info.libraryCount = 1;
            info.pLibraries = &libraries[i / 2];
            Batch batch(program, Kind::graphics, {2});
            batch.chain(0, &info);
            EXPECT_EQ(batch.create(), VK_SUCCESS);
            linked[i] = batch.pipelines[0];
        }
        EXPECT_EQ(linked[0], linked[1]);
        EXPECT_NE(linked[0], linked[2]);
        vkDestroyPipeline(program.device, libraries[0], nullptr);
        vkDestroyPipeline(program.device, libraries[1], allocator.get());
    });
}

// A program may link into the very place where it has its library, also as the last of several, of
// which the first is there already.
TEST_F(SharingIdentityTest, ALibraryIsReadBeforeItsPlaceIsWritten)
{
    std::set<std::string> contents;
    for (const auto &[in_place, uses] :
         {std::pair<bool, std::vector<unsigned>>{false, {2}}, {true, {2}}, {true, {1, 3, 2}}}) {
        const Outcome outcome = run([&in_place = in_place, &uses = uses] {
            ProgramOptions options;
            options.device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                                         VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME};
            Program program(options);
            VkGraphicsPipelineLibraryCreateInfoEXT part = {
                VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT};
            part.flags = VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
            Batch first(program, Kind::graphics, {1});
            EXPECT_EQ(first.create(), VK_SUCCESS);
            Batch library(program, Kind::graphics, {1}), linked(program, Kind::graphics, uses);
            const size_t last = uses.size() - 1;
            library.chain(0, &part);
            library.set_flags(0, VK_PIPELINE_CREATE_LIBRARY_BIT_KHR);
            EXPECT_EQ(library.create(), VK_SUCCESS);
            linked.pipelines[last] = library.pipelines[0];
            VkPipelineLibraryCreateInfoKHR info = {
                VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR};
            info.libraryCount = 1;
            info.pLibraries = in_place ? &linked.pipelines[last] : library.pipelines.data();
            linked.chain(last, &info);
            EXPECT_EQ(linked.create(), VK_SUCCESS);
        });
        contents.insert(outcome.pipelines().back()["content"].dump());
    }
    EXPECT_EQ(contents.size(), 1U);
}

// Each of these must reach the driver every time.
class EveryTime : public SharingIdentityTest {
  protected:
    // Two equal creations give two objects.
    void expect_two(Kind kind, const std::function<void(Batch &batch)> &change,
                    const ProgramOptions &options = {})
    {
        run([&] {
            Program program(options);
            Batch one(program, kind, {1}), two(program, kind, {1});
            for (Batch *batch : {&one, &two}) {
                change(*batch);
                EXPECT_EQ(batch->create(), VK_SUCCESS);
            }
            EXPECT_NE(one.pipelines[0], two.pipelines[0]);
        });
    }
};

TEST_F(EveryTime, APipelineThatIsCapturedForReplay)
{
    const uint8_t handle[32] = {};
    expect_two(Kind::ray_tracing_khr,
               [&](Batch &batch) { batch.group().pShaderGroupCaptureReplayHandle = handle; });
}

TEST_F(EveryTime, APipelineWithADeviceAddress)
{
    struct { // VkComputePipelineIndirectBufferInfoNV, newer than the headers of some distributions
        VkStructureType sType = static_cast<VkStructureType>(1000428001);
        const void *pNext = nullptr;
        VkDeviceAddress deviceAddress = 0;
        VkDeviceSize size = 0;
        VkDeviceAddress pipelineDeviceAddressCaptureReplay = 0;
    } address;
    expect_two(Kind::compute, [&](Batch &batch) {
        address.pNext = nullptr;
        batch.chain(0, &address);
    });
}

TEST_F(EveryTime, APipelineOfShaderGroups)
{
    VkGraphicsPipelineShaderGroupsCreateInfoNV groups = {
        VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_SHADER_GROUPS_CREATE_INFO_NV};
    expect_two(Kind::graphics, [&](Batch &batch) {
        groups.pNext = nullptr;
        batch.chain(0, &groups);
    });
}

// vkCompileDeferredNV: once for each shader of a pipeline.
TEST_F(EveryTime, APipelineThatIsCompiledInParts)
{
    expect_two(Kind::ray_tracing_nv,
               [](Batch &batch) { batch.set_flags(0, VK_PIPELINE_CREATE_DEFER_COMPILE_BIT_NV); });
}

TEST_F(EveryTime, ADerivative)
{
    run([] {
        Program program;
        Batch parent(program, Kind::compute, {1});
        parent.set_flags(0, VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT);
        EXPECT_EQ(parent.create(), VK_SUCCESS);
        Batch one(program, Kind::compute, {2}), two(program, Kind::compute, {2});
        for (Batch *batch : {&one, &two}) {
            batch->set_flags(0, VK_PIPELINE_CREATE_DERIVATIVE_BIT);
            batch->set_base(0, parent.pipelines[0], -1);
            EXPECT_EQ(batch->create(), VK_SUCCESS);
        }
        EXPECT_NE(one.pipelines[0], two.pipelines[0]);
        Batch plain(program, Kind::compute, {2});
        EXPECT_EQ(plain.create(), VK_SUCCESS);
        EXPECT_NE(plain.pipelines[0], one.pipelines[0]);
        Batch parent_without(program, Kind::compute, {1});
        EXPECT_EQ(parent_without.create(), VK_SUCCESS);
        EXPECT_NE(parent_without.pipelines[0], parent.pipelines[0])
            << "ALLOW_DERIVATIVES is part of it";
    });
}

TEST_F(EveryTime, ADeferredOperation)
{
    run([] {
        Program program;
        Deferred first(program), second(program);
        Batch one(program, Kind::ray_tracing_khr, {1}), two(program, Kind::ray_tracing_khr, {1});
        EXPECT_EQ(one.create(VK_NULL_HANDLE, nullptr, first.operation), VK_OPERATION_DEFERRED_KHR);
        EXPECT_EQ(two.create(VK_NULL_HANDLE, nullptr, second.operation), VK_OPERATION_DEFERRED_KHR);
        EXPECT_EQ(first.join(), VK_SUCCESS);
        EXPECT_EQ(second.join(), VK_SUCCESS);
        EXPECT_NE(one.pipelines[0], two.pipelines[0]);
    });
}

// It writes into the validation cache that it names.
TEST_F(EveryTime, AModuleWithAValidationCache)
{
    VkShaderModuleValidationCacheCreateInfoEXT validation = {
        VK_STRUCTURE_TYPE_SHADER_MODULE_VALIDATION_CACHE_CREATE_INFO_EXT};
    run([&] {
        Program program;
        const VkShaderModule one = create_module(program, 1, &validation);
        const VkShaderModule two = create_module(program, 1, &validation);
        EXPECT_NE(one, two);
        const VkPipeline first = create_compute(program, one, program.layout);
        EXPECT_EQ(create_compute(program, two, program.layout), first) << "the code is the same";
        vkDestroyShaderModule(program.device, one, nullptr);
        vkDestroyShaderModule(program.device, two, nullptr);
    });
}

} // namespace
