// SPDX-License-Identifier: Apache-2.0
// The layer as a link of the chain: what it leaves alone, and what it is as a library.
#include "harness.hpp"
#include "layer_order.hpp"
#include "paths.h"
#include "program.hpp"
#include "test_icd.h"

#include <fstream>

namespace fs = std::filesystem;

namespace {

class ChainTest : public LayerTest {
  protected:
    std::string tool(const std::vector<std::string> &command)
    {
        return execute(command, {Layer::any, true, 0}).output;
    }

    // A manifest of another name, for a library, in a folder of its own.
    void add_manifest(const std::string &layer, const fs::path &library,
                      const std::string &kind = "implicit")
    {
        const fs::path data = folder() / layer / "vulkan" / (kind + "_layer.d");
        fs::create_directories(data);
        const json manifest = {{"file_format_version", "1.2.0"},
                               {"layer",
                                {{"name", layer},
                                 {"type", "GLOBAL"},
                                 {"library_path", library},
                                 {"api_version", "1.3.239"},
                                 {"implementation_version", "1"},
                                 {"description", "the same again"},
                                 {"disable_environment", {{"NO_" + layer, "1"}}}}}};
        std::ofstream(data / "layer.json") << manifest;
        std::string &path = environment["XDG_DATA_DIRS"];
        path = (path.empty() ? "/usr/share" : path) + ":" + (folder() / layer).string();
    }
};

TEST_F(ChainTest, LeavesOtherCommandsToTheDriver)
{
    run([] {
        Program program;
        for (const char *name :
             {"vkCmdDispatch", "vkCmdDraw", "vkCmdBindPipeline", "vkCmdPushConstants",
              "vkCmdBindDescriptorSets", "vkCmdPipelineBarrier", "vkQueueSubmit", "vkQueueSubmit2",
              "vkQueueWaitIdle", "vkAllocateMemory", "vkFreeMemory", "vkMapMemory",
              "vkCreateBuffer", "vkAllocateDescriptorSets", "vkUpdateDescriptorSets",
              "vkUpdateDescriptorSetWithTemplate", "vkBeginCommandBuffer", "vkWaitForFences"}) {
            EXPECT_EQ(vkGetDeviceProcAddr(program.device, name), test_icd_command(name)) << name;
        }
        EXPECT_NE(vkGetDeviceProcAddr(program.device, "vkCreateComputePipelines"),
                  test_icd_command("vkCreateComputePipelines"))
            << "the comparison would hold without the layer, too";
    });
}

TEST_F(ChainTest, GivesNoCommandThatTheDriverLacks)
{
    environment["WPTEST_ICD_WITHOUT"] =
        "vkMergePipelineCaches,vkCreateRayTracingPipelinesNV,VK_KHR_ray_tracing_pipeline";
    run([] {
        Program program;
        for (const char *name : {"vkMergePipelineCaches", "vkCreateRayTracingPipelinesNV",
                                 "vkCreateRayTracingPipelinesKHR", "vkNoSuchCommand"}) {
            EXPECT_EQ(vkGetDeviceProcAddr(program.device, name), nullptr) << name;
        }
        program.create_compute(0, 2);
    });
}

TEST_F(ChainTest, GivesInstancesTheSameCommands)
{
    run([] {
        Program program;
        program.create_compute(0, 2);
        auto create = reinterpret_cast<PFN_vkCreateComputePipelines>(
            vkGetInstanceProcAddr(program.instance, "vkCreateComputePipelines"));
        ASSERT_NE(create, nullptr);
        VkComputePipelineCreateInfo info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
        info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        info.stage.module = program.module(Kind::compute, 1);
        info.stage.pName = "main";
        info.layout = program.layout;
        VkPipeline pipeline = VK_NULL_HANDLE;
        EXPECT_EQ(create(program.device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline), VK_SUCCESS);
        program.keep(pipeline);
    });
}

TEST_F(ChainTest, WorksOnceUnderTwoNames)
{
    add_manifest("VK_LAYER_TEST_again", WARMPIPE_LIBRARY);
    for (size_t hits : {0u, 4u}) {
        const Outcome outcome = run([] { Program().create_compute(0, 4); });
        EXPECT_EQ(outcome.stats.size(), 1u);
        EXPECT_EQ(outcome.calls("vkCreatePipelineCache"), 1u);
        EXPECT_EQ(outcome.hits(), hits);
    }
}

TEST_F(ChainTest, WorksOnceAsTwoLibraries)
{
    const fs::path copy = folder() / "libcopy.so";
    fs::copy_file(WARMPIPE_LIBRARY, copy);
    add_manifest("VK_LAYER_TEST_copy", copy);
    for (size_t hits : {0u, 4u}) {
        const Outcome outcome = run([] { Program().create_compute(0, 4); });
        EXPECT_EQ(outcome.stats.size(), 1u);
        EXPECT_EQ(outcome.calls("vkCreatePipelineCache"), 1u);
        EXPECT_EQ(outcome.hits(), hits);
    }
}

// The two ask each other through the one between them, also when nothing is being created.
TEST_F(ChainTest, WorksOnceAroundAnotherLayer)
{
    if (!fs::exists(VALIDATION_MANIFEST)) {
        GTEST_SKIP() << "no validation layer";
    }
    add_manifest("VK_LAYER_TEST_again", WARMPIPE_LIBRARY, "explicit");
    environment.erase("WARMPIPE_ENABLE");
    environment["VK_INSTANCE_LAYERS"] =
        "VK_LAYER_WARMPIPE_pipeline_cache:VK_LAYER_KHRONOS_validation:VK_LAYER_TEST_again";
    EXPECT_EQ(layer_order(execute(ask_for_layers())),
              (std::vector<std::string>{"VK_LAYER_WARMPIPE_pipeline_cache",
                                        "VK_LAYER_KHRONOS_validation", "VK_LAYER_TEST_again"}));
    for (size_t hits : {0u, 4u}) {
        const Outcome outcome = run([] {
            Program program;
            program.create_compute(0, 4);
            EXPECT_EQ(vkGetInstanceProcAddr(program.instance, "vkNoSuchCommand"), nullptr);
            EXPECT_EQ(vkGetDeviceProcAddr(program.device, "vkNoSuchCommand"), nullptr);
        });
        EXPECT_EQ(outcome.stats.size(), 1u);
        EXPECT_EQ(outcome.hits(), hits);
    }
}

// The loader must have taken it, or the two tests above show nothing. (It reads VK_LOADER_DEBUG
// when it is loaded, so in a process of its own.)
TEST_F(ChainTest, LoaderTakesTheSecondManifest)
{
    add_manifest("VK_LAYER_TEST_again", WARMPIPE_LIBRARY);
    const std::vector<std::string> layers = layer_order(execute(ask_for_layers()));
    EXPECT_EQ(std::count(layers.begin(), layers.end(), "VK_LAYER_TEST_again"), 1);
    EXPECT_EQ(std::count(layers.begin(), layers.end(), "VK_LAYER_WARMPIPE_pipeline_cache"), 1);
}

TEST_F(ChainTest, SurvivesManyInstances)
{
    const Outcome outcome = run([] {
        for (unsigned i = 0; i < 50; ++i) {
            Program().create_compute(0, 2);
        }
    });
    // On a busy machine some have told of a save before.
    EXPECT_EQ(std::count_if(outcome.stats.begin(), outcome.stats.end(),
                            [](const json &line) { return line["event"] == "destroy"; }),
              50);
    EXPECT_EQ(outcome.hits(), 98u) << "the second device reads what the first has saved";
}

TEST_F(ChainTest, FailedCreationsPassThrough)
{
    environment["WPTEST_ICD_FAIL"] = "vkCreateInstance:1=-1,vkCreateDevice:1=-4";
    run([] {
        VkInstance instance = VK_NULL_HANDLE;
        EXPECT_EQ(try_instance(0, &instance), VK_ERROR_OUT_OF_HOST_MEMORY);
        EXPECT_EQ(try_instance(0, &instance), VK_SUCCESS);
        VkDevice device = VK_NULL_HANDLE;
        EXPECT_EQ(try_device(instance, {}, &device), VK_ERROR_DEVICE_LOST);
        EXPECT_EQ(try_device(instance, {}, &device), VK_SUCCESS);
        vkDestroyDevice(device, nullptr);
        vkDestroyInstance(instance, nullptr);
    });
}

TEST_F(ChainTest, NullHandlesAreNoOps)
{
    run([] {
        vkDestroyDevice(VK_NULL_HANDLE, nullptr);
        vkDestroyInstance(VK_NULL_HANDLE, nullptr);
        Program program;
        vkDestroyPipelineCache(program.device, VK_NULL_HANDLE, nullptr);
        vkDestroyPipeline(program.device, VK_NULL_HANDLE, nullptr);
    });
}

TEST_F(ChainTest, ExportsWhatTheLoaderNeeds)
{
    const std::string symbols =
        tool({"nm", "--dynamic", "--defined-only", "--format=posix", WARMPIPE_LIBRARY});
    std::istringstream stream(symbols);
    for (std::string symbol, rest; stream >> symbol && std::getline(stream, rest);) {
        EXPECT_EQ(symbol, "vkNegotiateLoaderLayerInterfaceVersion");
    }
    EXPECT_NE(symbols.find("vkNegotiateLoaderLayerInterfaceVersion"), std::string::npos);
}

TEST_F(ChainTest, LinksTheCLibraryAloneAndStays)
{
    const std::string dynamic = tool({"readelf", "--dynamic", "--wide", WARMPIPE_LIBRARY});
    EXPECT_NE(dynamic.find("NODELETE"), std::string::npos) << dynamic;
#ifndef WARMPIPE_SANITIZED
    std::istringstream stream(dynamic);
    for (std::string line; std::getline(stream, line);) {
        if (line.find("(NEEDED)") != std::string::npos) {
            const bool part_of_libc = line.find("[libc.so.6]") != std::string::npos ||
                                      line.find("[ld-linux") != std::string::npos;
            EXPECT_TRUE(part_of_libc) << line;
        }
    }
#endif
}

} // namespace
