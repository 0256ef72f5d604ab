// SPDX-License-Identifier: Apache-2.0
// What is recorded of a program: all of it, once, whatever the program does with its objects.
#include <unistd.h>

#include "../clients/descriptor_heap.h"
#include "recipes.hpp"
#include "slow_disk.hpp"
#include "things.hpp"

namespace {

TEST_F(RecipesTest, EveryKindIsRecordedAndReplayedAsItWas)
{
    const Outcome first = run([] {
        Program program;
        for (Kind kind : all_kinds) {
            program.create(kind, 0);
            program.create(kind, 1);
        }
    });
    const Recipes found = recipes();
    EXPECT_EQ(found.uses.size(), 8u);
    EXPECT_TRUE(found.whole());
    for (const Recipes::Use &use : found.uses) {
        EXPECT_EQ(use.days, 1u);
        EXPECT_EQ(use.last_day, static_cast<uint32_t>(time(nullptr) / 86400));
        EXPECT_EQ(use.environment, found.uses[0].environment);
    }
    const Outcome second = replay(8);
    EXPECT_EQ(second.stats_of()["pipelines"]["prewarmed"], 8);
    EXPECT_EQ(contents(second), contents(first));
}

TEST_F(RecipesTest, TheCompileTimeIsTheDriversOwn)
{
    environment["WPTEST_ICD_COMPILE_US"] = "3000";
    run(creates_five);
    for (const Recipes::Use &use : recipes().uses) {
        EXPECT_GE(use.compile_us, 3000u);
    }
    environment["WPTEST_ICD_NO_FEEDBACK"] = "1";
    environment["WARMPIPE_APP"] = "other";
    run(creates_five);
    std::filesystem::rename(cache_root() / "other" / "recipes", folder() / "recipes");
    std::filesystem::remove_all(cache_root() / "program");
    std::filesystem::rename(cache_root() / "other", cache_root() / "program");
    std::filesystem::rename(folder() / "recipes", cache_root() / "program" / "recipes");
    ASSERT_EQ(recipes().uses.size(), 5u);
    for (const Recipes::Use &use : recipes().uses) {
        EXPECT_GE(use.compile_us, 3000u) << "measured";
    }
}

TEST_F(RecipesTest, ASecondRunAddsNothing)
{
    run(creates_five);
    const auto before = segments();
    EXPECT_EQ(before.size(), 1u);
    run(creates_five);
    EXPECT_EQ(segments(), before);
}

// zink leaves the formats of depth and stencil uninitialized in libraries that do not use them.
TEST_F(RecipesTest, FormatsThatALibraryDoesNotUseMakeNoOtherPipeline)
{
    const auto creates_libraries = [](int garbage) {
        ProgramOptions options;
        options.device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                                     VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME};
        Program program(options);
        VkGraphicsPipelineLibraryCreateInfoEXT part = {
            VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT};
        part.flags = VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
        VkPipeline library = VK_NULL_HANDLE;
        for (int i = 0; i < 2; ++i) {
            Batch batch(program, Kind::graphics, {1});
            part.pNext = nullptr;
            batch.chain(0, &part);
            batch.set_flags(0, VK_PIPELINE_CREATE_LIBRARY_BIT_KHR);
            batch.rendering().depthAttachmentFormat = static_cast<VkFormat>(garbage + i);
            batch.rendering().stencilAttachmentFormat = static_cast<VkFormat>(garbage - i);
            EXPECT_EQ(batch.create(), VK_SUCCESS);
            EXPECT_TRUE(i == 0 || batch.pipelines[0] == library);
            library = batch.pipelines[0];
        }
    };
    run([&] { creates_libraries(0x7f3d5500); });
    const auto before = segments();
    EXPECT_EQ(recipes().uses.size(), 1u);
    run([&] { creates_libraries(0x7e015500); });
    EXPECT_EQ(segments(), before);
}

TEST_F(RecipesTest, AUseOnALaterDayIsAnotherUse)
{
    run(creates_five);
    make_older();
    ASSERT_EQ(recipes().uses.size(), 5u);
    ASSERT_TRUE(recipes().whole());
    const uint32_t compile_us = recipes().uses[0].compile_us;
    run([] { Program().create_compute(0, 4); });
    std::multiset<uint32_t> days;
    for (const Recipes::Use &use : recipes().uses) {
        days.insert(use.days);
        EXPECT_EQ(use.last_day == static_cast<uint32_t>(time(nullptr) / 86400), use.days == 2);
    }
    EXPECT_EQ(days, (std::multiset<uint32_t>{1, 2, 2, 2, 2}));
    EXPECT_EQ(recipes().uses[0].compile_us, compile_us) << "a hit compiles nothing";
    EXPECT_EQ(recipes().modules, 5u);
    const auto before = segments();
    run([] { Program().create_compute(0, 4); });
    EXPECT_EQ(segments(), before) << "counted for today";
}

// As what is created at once is, but for the time that it took: nobody knows.
TEST_F(RecipesTest, WhatIsCreatedLaterIsRecordedWhenItIsBegun)
{
    auto create = [](bool later) {
        Program program;
        Deferred deferred(program);
        Batch batch(program, Kind::ray_tracing_khr, {0, 1});
        if (later) {
            EXPECT_EQ(batch.create(VK_NULL_HANDLE, nullptr, deferred.operation),
                      VK_OPERATION_DEFERRED_KHR);
            EXPECT_EQ(deferred.join(), VK_SUCCESS);
        } else {
            EXPECT_EQ(batch.create(), VK_SUCCESS);
        }
    };
    auto pipelines = [&] {
        std::set<std::string> found;
        for (const Recipes::Use &use : recipes().uses) {
            found.insert(use.pipeline);
        }
        return found;
    };
    run([&] { create(true); });
    EXPECT_TRUE(recipes().whole());
    EXPECT_EQ(recipes().uses.at(0).compile_us, 0u);
    const std::set<std::string> later = pipelines();
    EXPECT_EQ(later.size(), 2u);
    std::filesystem::remove_all(cache_root());
    run([&] { create(false); });
    EXPECT_EQ(pipelines(), later);
}

TEST_F(RecipesTest, ALaterRunAddsWhatIsNewAlone)
{
    run(creates_five);
    run([] { Program().create_compute(3, 8); });
    EXPECT_EQ(recipes().uses.size(), 8u);
    EXPECT_TRUE(recipes().whole());
    EXPECT_EQ(recipes().modules, 8u);
}

// A device with something else enabled is another environment, though the pipelines are the same.
TEST_F(RecipesTest, AnotherEnvironmentIsAnotherUse)
{
    run(creates_five);
    run([] {
        VkPhysicalDeviceScalarBlockLayoutFeatures features = {
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SCALAR_BLOCK_LAYOUT_FEATURES};
        features.scalarBlockLayout = VK_TRUE;
        ProgramOptions options;
        options.features = &features;
        Program(options).create_compute(0, 5);
    });
    const Recipes found = recipes();
    EXPECT_EQ(found.uses.size(), 10u);
    EXPECT_NE(found.uses.front().environment, found.uses.back().environment);
    EXPECT_EQ(found.modules, 5u) << "each once";
}

TEST_F(RecipesTest, AProgramThatIsKilledHasLostNothing)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000"; // blobs have their own time
    run(
        [&] {
            auto *owner = new Program;
            owner->create_compute(0, 5);
            wait_until([&] { return recipes().uses.size() == 5; });
            owner->create_compute(5, 10);
            wait_until([&] { return recipes().uses.size() == 10; });
            die();
        },
        {Layer::any, true, -SIGKILL});
    EXPECT_EQ(recipes().uses.size(), 10u);
    EXPECT_TRUE(recipes().whole());
}

TEST_F(RecipesTest, AProgramThatLeavesItsDeviceHasLostNothing)
{
    const Outcome outcome = run([] {
        leak_from_here_on();
        (new Program)->create_compute(0, 5);
    });
    EXPECT_EQ(outcome.stats_of()["event"], "exit");
    EXPECT_EQ(recipes().uses.size(), 5u);
    EXPECT_TRUE(recipes().whole());
}

TEST_F(RecipesTest, AForkedChildWritesNothing)
{
    run([&] {
        leak_from_here_on(); // a thread of ours may be allocating while it forks
        Program owner;
        owner.create_compute(0, 5);
        fork_and_exit();
    });
    EXPECT_EQ(segments().size(), 1u);
    EXPECT_TRUE(recipes().whole());
}

// So is the cache.
TEST_F(RecipesTest, AreKeptWhereLocksAreForbidden)
{
    run([] {
        locks_are_forbidden();
        creates_five();
    });
    EXPECT_EQ(recipes().uses.size(), 5u);
    EXPECT_TRUE(recipes().whole());
    const Outcome next = run([] {
        locks_are_forbidden();
        creates_five();
    });
    EXPECT_EQ(next.hits(), 5u);
    EXPECT_EQ(next.log().size(), 0u) << next.errors;
}

// Set layouts and samplers are gone before the pipeline is created that rests on them; the module
// right after it.
TEST_F(RecipesTest, WhatIsDestroyedEarlyIsRecorded)
{
    const Outcome first = run([] {
        Program program;
        const VkDevice device = program.device;
        VkSamplerCreateInfo sampler_info = {VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
        VkSampler sampler = VK_NULL_HANDLE;
        vkCreateSampler(device, &sampler_info, nullptr, &sampler);
        VkDescriptorSetLayoutBinding binding = {};
        binding.descriptorType = VK_DESCRIPTOR_TYPE_SAMPLER;
        binding.descriptorCount = 1;
        binding.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
        binding.pImmutableSamplers = &sampler;
        VkDescriptorSetLayoutCreateInfo set_info = {
            VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
        set_info.bindingCount = 1;
        set_info.pBindings = &binding;
        VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
        vkCreateDescriptorSetLayout(device, &set_info, nullptr, &set_layout);
        VkPipelineLayoutCreateInfo layout_info = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
        layout_info.setLayoutCount = 1;
        layout_info.pSetLayouts = &set_layout;
        VkPipelineLayout layout = VK_NULL_HANDLE;
        vkCreatePipelineLayout(device, &layout_info, nullptr, &layout);
        vkDestroyDescriptorSetLayout(device, set_layout, nullptr);
        {
            Batch batch(program, Kind::compute, {0});
            batch.set_layout(0, layout);
            EXPECT_EQ(batch.create(), VK_SUCCESS);
        }
        vkDestroyPipelineLayout(device, layout, nullptr);
        vkDestroySampler(device, sampler, nullptr);
    });
    EXPECT_EQ(recipes().uses.size(), 1u);
    EXPECT_TRUE(recipes().whole());
    EXPECT_EQ(contents(replay(1)), contents(first));
}

TEST_F(RecipesTest, InlineCodeIsRecordedAsAModule)
{
    ProgramOptions options;
    options.device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                                 VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME};
    const Outcome first = run([&] {
        Program program(options);
        const std::vector<uint32_t> code = shader_code(Kind::compute, 7);
        VkShaderModuleCreateInfo module = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        module.codeSize = code.size() * sizeof code[0];
        module.pCode = code.data();
        Batch batch(program, Kind::compute, {0});
        batch.stage(0).module = VK_NULL_HANDLE;
        batch.stage(0).pNext = &module;
        EXPECT_EQ(batch.create(), VK_SUCCESS);
    });
    EXPECT_EQ(recipes().uses.size(), 1u);
    EXPECT_EQ(recipes().modules, 1u);
    EXPECT_TRUE(recipes().whole());
    EXPECT_EQ(replay(1, options).stats_of()["pipelines"]["prewarmed"], 1);
}

TEST_F(RecipesTest, LibrariesAreRecordedWithWhatIsMadeOfThem)
{
    ProgramOptions options;
    options.device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME};
    const Outcome first = run([&] {
        Program program(options);
        Batch library(program, Kind::ray_tracing_khr, {0});
        library.set_flags(0, VK_PIPELINE_CREATE_LIBRARY_BIT_KHR);
        EXPECT_EQ(library.create(), VK_SUCCESS);
    });
    EXPECT_EQ(recipes().uses.size(), 1u);
    EXPECT_TRUE(recipes().whole());
    EXPECT_EQ(contents(replay(1, options)), contents(first));
}

// VK_EXT_descriptor_heap: mappings behind the stage, an embedded sampler, no layout.
TEST_F(RecipesTest, PipelinesOfDescriptorHeapsAreSharedAndRecorded)
{
    const auto program = [] {
        Program owner;
        VkSamplerCreateInfo sampler = {VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
        heap_mapping mapping = {static_cast<VkStructureType>(HEAP_STYPE_MAPPING)};
        mapping.binding_count = 1;
        mapping.resource_mask = HEAP_RESOURCE_ALL;
        mapping.source = HEAP_SOURCE_CONSTANT_OFFSET;
        mapping.data.constant_offset.embedded_sampler = &sampler;
        heap_mapping_info mappings = {static_cast<VkStructureType>(HEAP_STYPE_MAPPING_INFO),
                                      nullptr, 1, &mapping};
        const std::pair<unsigned, float> kinds[] = {{1, 1.0f}, {1, 2.0f}, {2, 1.0f}, {1, 1.0f}};
        for (const auto &[number, lod] : kinds) {
            PipelineCreateFlags2 flags(HEAP_PIPELINE_DESCRIPTOR_HEAP);
            sampler.maxLod = lod;
            Batch batch(owner, Kind::compute, {number});
            batch.set_layout(0, VK_NULL_HANDLE);
            batch.chain(0, &flags);
            batch.stage(0).pNext = &mappings;
            EXPECT_EQ(batch.create(), VK_SUCCESS);
        }
    };
    const Outcome outcome = run(program);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["injected"], 3);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["deduplicated"], 1);
    EXPECT_EQ(recipes().uses.size(), 3u);
    EXPECT_TRUE(recipes().whole());
    replay(2); // the driver sees no samplers, so it has compiled no more
}

TEST_F(RecipesTest, WhatFailsIsNotRecorded)
{
    environment["WPTEST_ICD_FAIL_ELEMENT"] = "1=-2";
    run([] {
        Program program;
        Batch batch(program, Kind::compute, {0, 1, 2});
        EXPECT_NE(batch.create(), VK_SUCCESS);
    });
    EXPECT_EQ(recipes().uses.size(), 2u);
}

// No bytes of a create-info that is not understood could make it again; its neighbour is recorded.
TEST_F(RecipesTest, WhatHoldsAnUnknownStructIsNotRecorded)
{
    run([] {
        Program program;
        VkBaseOutStructure unknown = {static_cast<VkStructureType>(1999999001), nullptr};
        Batch batch(program, Kind::compute, {0, 1});
        batch.chain(1, &unknown);
        EXPECT_EQ(batch.create(), VK_SUCCESS);
    });
    EXPECT_EQ(recipes().uses.size(), 1u);
    EXPECT_TRUE(recipes().whole());
}

TEST_F(RecipesTest, ModulesThatNoPipelineUsesAreNotRecorded)
{
    run([] {
        Program program;
        program.module(Kind::compute, 1);
        program.create(Kind::compute, 2);
    });
    EXPECT_EQ(recipes().modules, 1u);
}

TEST_F(RecipesTest, ReadOnlyRecordsNothing)
{
    environment["WARMPIPE_READONLY"] = "1";
    run(creates_five);
    EXPECT_TRUE(segments().empty());
}

TEST_F(RecipesTest, WithinTheLimitOfTheFolder)
{
    environment["WARMPIPE_MAX_SIZE"] = "4K";
    environment["WARMPIPE_LOG"] = "warn";
    const Outcome outcome = run([&] {
        Program program;
        for (unsigned number = 0; number < 60; number += 10) {
            program.create_compute(number, number + 10);
            usleep(0);
        }
    });
    EXPECT_TRUE(recipes().whole());
    for (const auto &[name, size] : segments()) {
        EXPECT_LE(size, 4096u) << name;
    }
    EXPECT_LE(outcome.log().size(), 2u) << outcome.errors;
}

TEST_F(RecipesTest, ManyShortRunsLeaveFewSegments)
{
    for (unsigned start = 0; start < 12; ++start) {
        run([start] { Program().create_compute(start, start + 1); });
    }
    EXPECT_EQ(segments().size(), 1u);
    EXPECT_EQ(recipes().uses.size(), 12u);
    EXPECT_TRUE(recipes().whole());
}

TEST_F(RecipesTest, ManySegmentsBecomeFew)
{
    const std::filesystem::path folder = cache_root() / "program" / "recipes";
    for (unsigned start = 0; start < 7; ++start) {
        run([start] { Program().create_compute(start, start + 1); });
        // Out of the way for the next run, which would go on with it or make one of all.
        ASSERT_EQ(segments().size(), 1u);
        std::filesystem::rename(folder / segments().begin()->first,
                                cache_root() / std::to_string(start));
    }
    for (unsigned start = 0; start < 7; ++start) {
        const std::string name = "000000000000000" + std::to_string(start) + ".wprecipes";
        std::filesystem::rename(cache_root() / std::to_string(start), folder / name);
    }
    ASSERT_EQ(segments().size(), 7u);
    run([&] {
        Program program;
        program.create_compute(7, 8);
        wait_until([&] { return segments().size() <= 2; });
    });
    EXPECT_EQ(recipes().uses.size(), 8u);
    EXPECT_TRUE(recipes().whole());
}

TEST_F(RecipesTest, ManyThreadsRecordEachOnce)
{
    run([] {
        Program program;
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < 8; ++i) {
            threads.emplace_back([&] {
                for (unsigned number = 0; number < 20; ++number) {
                    VkPipelineShaderStageCreateInfo stage = {
                        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
                    const std::vector<uint32_t> code = shader_code(Kind::compute, number);
                    VkShaderModuleCreateInfo module = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
                    module.codeSize = code.size() * sizeof code[0];
                    module.pCode = code.data();
                    vkCreateShaderModule(program.device, &module, nullptr, &stage.module);
                    stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
                    stage.pName = "main";
                    VkComputePipelineCreateInfo info = {
                        VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
                    info.stage = stage;
                    info.layout = program.layout;
                    VkPipeline pipeline = VK_NULL_HANDLE;
                    EXPECT_EQ(vkCreateComputePipelines(program.device, VK_NULL_HANDLE, 1, &info,
                                                       nullptr, &pipeline),
                              VK_SUCCESS);
                    vkDestroyPipeline(program.device, pipeline, nullptr);
                    vkDestroyShaderModule(program.device, stage.module, nullptr);
                }
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
    });
    const Recipes found = recipes();
    EXPECT_EQ(found.uses.size(), 20u);
    EXPECT_EQ(found.modules, 20u);
    EXPECT_TRUE(found.whole());
}

} // namespace
