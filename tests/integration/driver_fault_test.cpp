// SPDX-License-Identifier: Apache-2.0
// Drivers that do not do what they should: the program sees what it would have seen without us.
#include "harness.hpp"
#include "program.hpp"

namespace {

class DriverFaultTest : public LayerTest {
  protected:
    static void program()
    {
        Program().create_compute(0, 4);
    }
};

// A program each of whose creations may fail; it then destroys what it has.
void tolerant_program()
{
    VkInstance instance = VK_NULL_HANDLE;
    if (try_instance(VK_API_VERSION_1_3, &instance) != VK_SUCCESS) {
        return;
    }
    VkDevice device = VK_NULL_HANDLE;
    if (try_device(instance, {}, &device) == VK_SUCCESS) {
        VkPipelineCacheCreateInfo cache_info = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
        VkPipelineLayoutCreateInfo layout_info = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
        const std::vector<uint32_t> code = shader_code(Kind::compute, 1);
        VkShaderModuleCreateInfo module_info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        module_info.codeSize = code.size() * sizeof code[0];
        module_info.pCode = code.data();
        VkPipelineCache cache = VK_NULL_HANDLE;
        VkPipelineLayout layout = VK_NULL_HANDLE;
        VkShaderModule shader = VK_NULL_HANDLE;
        vkCreatePipelineCache(device, &cache_info, nullptr, &cache);
        if (vkCreatePipelineLayout(device, &layout_info, nullptr, &layout) == VK_SUCCESS &&
            vkCreateShaderModule(device, &module_info, nullptr, &shader) == VK_SUCCESS) {
            VkComputePipelineCreateInfo info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
            info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
            info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
            info.stage.module = shader;
            info.stage.pName = "main";
            info.layout = layout;
            for (VkPipelineCache named : {VkPipelineCache(VK_NULL_HANDLE), cache}) {
                VkPipeline pipeline = VK_NULL_HANDLE;
                const VkResult result =
                    vkCreateComputePipelines(device, named, 1, &info, nullptr, &pipeline);
                EXPECT_EQ(result == VK_SUCCESS, pipeline != VK_NULL_HANDLE);
                vkDestroyPipeline(device, pipeline, nullptr);
            }
        }
        size_t size = 0;
        if (cache != VK_NULL_HANDLE) {
            EXPECT_EQ(vkGetPipelineCacheData(device, cache, &size, nullptr), VK_SUCCESS);
        }
        vkDestroyShaderModule(device, shader, nullptr);
        vkDestroyPipelineLayout(device, layout, nullptr);
        vkDestroyPipelineCache(device, cache, nullptr);
        vkDestroyDevice(device, nullptr);
    }
    vkDestroyInstance(instance, nullptr);
}

struct Fault {
    const char *name;
    std::map<std::string, std::string> environment;
    size_t hits;       // of the second start
    const char *state; // of the second start
};

void PrintTo(const Fault &fault, std::ostream *stream)
{
    *stream << fault.name;
}

const Fault faults[] = {
    {"data_incomplete_for_ever", {{"WPTEST_ICD_DATA", "incomplete"}}, 0, nullptr},
    {"data_growing", {{"WPTEST_ICD_DATA", "growing"}}, 4, "loaded"},
    {"data_growing_fast",
     {{"WPTEST_ICD_DATA", "growing"}, {"WPTEST_ICD_RECORD_BYTES", "100000"}},
     4,
     "loaded"},
    {"data_is_a_header", {{"WPTEST_ICD_DATA", "header"}}, 0, "ineffective"},
    {"data_is_a_header_and_no_entries", {{"WPTEST_ICD_DATA", "counted"}}, 0, "ineffective"},
    {"data_is_nothing", {{"WPTEST_ICD_DATA", "zero"}}, 0, "ineffective"},
    {"data_is_too_short", {{"WPTEST_ICD_DATA", "short"}}, 0, "ineffective"},
    {"data_of_another_device", {{"WPTEST_ICD_DATA", "foreign"}}, 0, nullptr},
    {"size_not_updated", {{"WPTEST_ICD_DATA", "stale_size"}}, 4, "loaded"},
    {"size_too_large_at_first", {{"WPTEST_ICD_DATA", "overreport"}}, 4, "loaded"},
    {"data_cannot_be_had", {{"WPTEST_ICD_FAIL", "vkGetPipelineCacheData:*=-1"}}, 0, nullptr},
    {"caches_cannot_be_created", {{"WPTEST_ICD_FAIL", "vkCreatePipelineCache:*=-1"}}, 0, nullptr},
    {"data_is_refused", {{"WPTEST_ICD_CACHE_CREATE", "fail_data"}}, 0, "rejected"},
};

class EachFault : public DriverFaultTest, public ::testing::WithParamInterface<Fault> {};

TEST_P(EachFault, LeavesTheProgramUnharmed)
{
    environment.insert(GetParam().environment.begin(), GetParam().environment.end());
    const Outcome first = run(program);
    EXPECT_LE(first.log().size(), 1u) << first.errors;
    const Outcome second = run(program);
    EXPECT_LE(second.log().size(), 1u) << second.errors;
    EXPECT_EQ(second.hits(), GetParam().hits);
    if (GetParam().state != nullptr) {
        EXPECT_EQ(second.stats_of()["cache"]["state"], GetParam().state);
    }
}

INSTANTIATE_TEST_SUITE_P(Of, EachFault, ::testing::ValuesIn(faults),
                         [](const auto &fault) { return std::string(fault.param.name); });

// ANV of Mesa 22.3 counts no entries in its data, and so finds none in it. Only what compiles more
// than any start before is written.
TEST_F(DriverFaultTest, DataOfWhichTheDriverTakesNothingIsNotWrittenAnew)
{
    environment["WPTEST_ICD_CACHE_CREATE"] = "ignore_data";
    const auto state_of = [&](unsigned pipelines) {
        return run([=] { Program().create_compute(0, pipelines); }).stats_of()["cache"]["state"];
    };
    EXPECT_EQ(state_of(4), "cold");
    const std::vector<uint8_t> written = read_bytes(cache_file());
    EXPECT_EQ(state_of(4), "ineffective");
    EXPECT_EQ(state_of(3), "ineffective");
    EXPECT_EQ(read_bytes(cache_file()), written);
    EXPECT_EQ(state_of(6), "loaded");
    EXPECT_GT(read_bytes(cache_file()).size(), written.size());
}

// A file that is there outlives a driver that fails for a while.
TEST_F(DriverFaultTest, GoodFilesOutliveFailures)
{
    run(program);
    const std::vector<uint8_t> before = read_bytes(cache_file());
    for (const Fault &fault : faults) {
        if (std::string(fault.name).find("cannot") == std::string::npos) {
            continue;
        }
        environment.insert(fault.environment.begin(), fault.environment.end());
        run([] { Program().create_compute(0, 6); });
        for (const auto &[name, value] : fault.environment) {
            environment.erase(name);
        }
        EXPECT_EQ(read_bytes(cache_file()), before) << fault.name;
    }
    EXPECT_EQ(run(program).hits(), 4u);
}

// Whichever creation it is that runs out of memory, the program gets its own failures only, and
// ends.
TEST_F(DriverFaultTest, OutOfMemoryAtTheNthCreation)
{
    for (const char *mode : {"harvest", "serve"}) {
        environment["WARMPIPE_APP_CACHE"] = mode;
        for (unsigned nth = 1; nth <= 16; ++nth) {
            environment["WPTEST_ICD_OOM"] = std::to_string(nth);
            run(tolerant_program, {Layer::any, true, 0});
        }
    }
}

TEST_F(DriverFaultTest, FailedMergesLoseNoFile)
{
    environment["WARMPIPE_APP_CACHE"] = "harvest";
    run(program);
    environment["WPTEST_ICD_FAIL"] = "vkMergePipelineCaches:*=-2";
    const Outcome outcome = run([] {
        Program program;
        VkPipelineCache cache = program.create_cache();
        program.create_compute(4, 8, cache);
        program.create_compute(0, 4);
        program.destroy_cache(cache);
    });
    EXPECT_LE(outcome.log().size(), 1u);
    environment.erase("WPTEST_ICD_FAIL");
    EXPECT_EQ(run(program).hits(), 4u);
}

// Memory that ran out in the one call that loads, for the driver or on the device, is no reason to
// lose what others share: the save takes it up, when the driver may have what it needs again.
TEST_F(DriverFaultTest, AFailedLoadLosesNoFile)
{
    for (const char *result : {"-1", "-2"}) {
        run(program);
        environment["WPTEST_ICD_FAIL"] = std::string("vkCreatePipelineCache:1=") + result;
        const Outcome outcome = run([] { Program().create_compute(4, 6); });
        environment.erase("WPTEST_ICD_FAIL");
        EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "driver_refused");
        EXPECT_LE(outcome.log().size(), 1u) << outcome.errors;
        EXPECT_EQ(run([] { Program().create_compute(0, 6); }).hits(), 6u) << result;
        remove_caches();
    }
}

// One that the driver does not take at the save either would stay for ever, and each start leave a
// part beside it.
TEST_F(DriverFaultTest, AFileThatIsRefusedTwiceIsReplaced)
{
    run(program);
    environment["WPTEST_ICD_FAIL"] = "vkCreatePipelineCache:1=-1,vkCreatePipelineCache:3=-1";
    run([] { Program().create_compute(4, 6); });
    environment.erase("WPTEST_ICD_FAIL");
    EXPECT_EQ(run([] { Program().create_compute(0, 6); }).hits(), 2u);
}

// Nor is memory that ran out in a merge: what is new waits beside the file.
TEST_F(DriverFaultTest, AFailedLoadOfWhatIsMergedLosesNoFile)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000"; // nothing is saved before the devices end
    environment["WPTEST_ICD_FAIL"] = "vkCreatePipelineCache:3=-1";
    const Outcome outcome = run([&] {
        Program saves_last; // with the second cache, has found no file
        saves_last.create_compute(4, 6);
        unsetenv("WPTEST_ICD_FAIL");
        Program().create_compute(0, 4);
    });
    environment.erase("WPTEST_ICD_FAIL");
    size_t parts = 0;
    for (const auto &entry : std::filesystem::directory_iterator(cache_file().parent_path())) {
        parts += entry.path().extension() == ".part";
    }
    EXPECT_EQ(parts, 1u) << outcome.errors;
    EXPECT_EQ(run(program).hits(), 4u);
    run([] { Program().create_compute(6, 7); });
    EXPECT_EQ(run([] { Program().create_compute(0, 7); }).hits(), 7u);
}

} // namespace
