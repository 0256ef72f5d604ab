// SPDX-License-Identifier: Apache-2.0
// The test driver itself, without the layer: that it works, and that it notices what it must.
#include "harness.hpp"
#include "program.hpp"
#include "test_icd.h"
#include "things.hpp"

namespace {

class DriverTest : public LayerTest {
  protected:
    DriverTest()
    {
        environment.erase("WARMPIPE_ENABLE");
    }

    Outcome run_clean(const std::function<void()> &program)
    {
        return run(program, {Layer::absent, true, 0});
    }

    // The violations of a program that does wrong.
    std::vector<std::string> wrong(const std::function<void()> &program)
    {
        return run(program, {Layer::absent, false, 0}).violations();
    }
};

using Ids = std::vector<std::string>;

TEST_F(DriverTest, CacheFindsWhatWasCompiledIntoIt)
{
    for (Kind kind : all_kinds) {
        const Outcome result = run_clean([&] {
            Program program;
            VkPipelineCache cache = program.create_cache();
            program.create(kind, 1, cache);
            program.create(kind, 2, cache);
            VkPipelineCache second = program.create_cache(program.cache_data(cache));
            program.create(kind, 1, second);
            program.create(kind, 3, second);
            program.destroy_cache(cache);
            program.destroy_cache(second);
        });
        std::vector<bool> hits;
        for (const json &pipeline : result.pipelines()) {
            hits.push_back(pipeline["hit"]);
        }
        EXPECT_EQ(hits, (std::vector<bool>{false, false, true, false})) << kind_name(kind);
    }
}

TEST_F(DriverTest, MergeUnites)
{
    const Outcome result = run_clean([] {
        Program program;
        VkPipelineCache one = program.create_cache(), two = program.create_cache();
        program.create_compute(0, 3, one);
        program.create_compute(3, 6, two);
        VkPipelineCache both = program.create_cache();
        const VkPipelineCache sources[] = {one, two};
        EXPECT_EQ(vkMergePipelineCaches(program.device, both, 2, sources), VK_SUCCESS);
        program.create_compute(0, 6, both);
        for (VkPipelineCache cache : {one, two, both}) {
            program.destroy_cache(cache);
        }
    });
    EXPECT_EQ(result.hits(), 6u);
}

TEST_F(DriverTest, TellsFeedback)
{
    run_clean([] {
        Program program;
        VkPipelineCache cache = program.create_cache();
        for (bool hit : {false, true}) {
            Feedback feedback;
            Batch batch(program, Kind::compute, {1});
            batch.chain(0, &feedback.info);
            EXPECT_EQ(batch.create(cache), VK_SUCCESS);
            EXPECT_EQ(feedback.hit(), hit);
            EXPECT_EQ(feedback.stage_hit(), hit);
        }
        program.destroy_cache(cache);
    });
}

TEST_F(DriverTest, TruncatedDataIsValid)
{
    run_clean([] {
        Program program;
        VkPipelineCache cache = program.create_cache();
        program.create_compute(0, 10, cache);
        std::vector<uint8_t> data(32 + 16 + 3 * 64 + 8 + 63);
        size_t size = data.size();
        EXPECT_EQ(vkGetPipelineCacheData(program.device, cache, &size, data.data()), VK_INCOMPLETE);
        data.resize(size);
        program.destroy_cache(cache);
        VkPipelineCache part = program.create_cache(data);
        EXPECT_EQ(program.cache_data(part).size(), size);
        program.destroy_cache(part);
    });
}

TEST_F(DriverTest, BatchEndsAsTheSpecificationSays)
{
    environment["WPTEST_ICD_FAIL_ELEMENT"] = "1=-1";
    run_clean([] {
        Program program;
        for (bool early : {false, true}) {
            Batch batch(program, Kind::compute, {1, 2, 3});
            for (size_t i = 0; early && i < 3; ++i) {
                batch.set_flags(i, VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT);
            }
            EXPECT_EQ(batch.create(), VK_ERROR_OUT_OF_HOST_MEMORY);
            EXPECT_NE(batch.pipelines[0], VK_NULL_HANDLE);
            EXPECT_EQ(batch.pipelines[1], VK_NULL_HANDLE);
            EXPECT_EQ(batch.pipelines[2] == VK_NULL_HANDLE, early);
        }
    });
}

TEST_F(DriverTest, NoticesDamagedData)
{
    const Ids ids = wrong([] {
        Program program;
        VkPipelineCache cache = program.create_cache();
        program.create_compute(0, 2, cache);
        const std::vector<uint8_t> data = program.cache_data(cache);
        program.destroy_cache(cache);
        for (size_t i = 0; i < data.size(); ++i) {
            std::vector<uint8_t> damaged = data;
            damaged[i] ^= 1;
            program.destroy_cache(program.create_cache(damaged));
        }
        program.destroy_cache(program.create_cache({data.begin(), data.end() - 1}));
        std::vector<uint8_t> longer = data;
        longer.push_back(0);
        program.destroy_cache(program.create_cache(longer));
        EXPECT_EQ(test_icd_violations(), data.size() + 2);
    });
    EXPECT_GT(ids.size(), 100u);
    for (const std::string &id : ids) {
        EXPECT_EQ(id, "unverified_data");
    }
}

TEST_F(DriverTest, NoticesDeadHandles)
{
    EXPECT_EQ(wrong([] {
                  Program program;
                  VkPipelineCache cache = program.create_cache();
                  program.destroy_cache(cache);
                  program.create(Kind::compute, 1, cache);
                  VkPipelineLayout layout = program.layout;
                  vkDestroyPipelineLayout(program.device, layout, nullptr);
                  program.layout = VK_NULL_HANDLE;
                  vkDestroyPipelineLayout(program.device, layout, nullptr);
              }),
              (Ids{"dead_handle", "dead_handle"}));
}

TEST_F(DriverTest, NoticesAnotherDevicesHandles)
{
    environment["WPTEST_ICD_DEVICES"] = "2";
    EXPECT_EQ(wrong([] {
                  Program first;
                  ProgramOptions options;
                  options.device = 1;
                  Program second(options);
                  VkPipelineCache cache = second.create_cache();
                  first.create(Kind::compute, 1, cache);
                  second.destroy_cache(cache);
              }),
              Ids{"foreign_device"});
}

TEST_F(DriverTest, NoticesCachesThatAreNotDestroyed)
{
    EXPECT_EQ(wrong([] {
                  Program program;
                  program.create_cache();
              }),
              Ids{"live_cache"});
}

TEST_F(DriverTest, NoticesAnotherAllocator)
{
    EXPECT_EQ(wrong([] {
                  Program program;
                  const CountingAllocator allocator;
                  Batch batch(program, Kind::compute, {1});
                  EXPECT_EQ(batch.create(VK_NULL_HANDLE, allocator.get()), VK_SUCCESS);
              }),
              Ids{"allocator_mismatch"});
}

// A deferred creation uses its cache until it is joined.
TEST_F(DriverTest, NoticesAMergeIntoAUsedCache)
{
    EXPECT_EQ(wrong([] {
                  Program program;
                  VkPipelineCache cache = program.create_cache();
                  VkPipelineCache source = program.create_cache();
                  Deferred deferred(program);
                  Batch batch(program, Kind::ray_tracing_khr, {1});
                  batch.create(cache, nullptr, deferred.operation);
                  EXPECT_EQ(vkMergePipelineCaches(program.device, source, 1, &cache), VK_SUCCESS);
                  EXPECT_EQ(test_icd_violations(), 0u) << "a source need not be alone";
                  EXPECT_EQ(vkMergePipelineCaches(program.device, cache, 1, &source), VK_SUCCESS);
                  EXPECT_EQ(deferred.join(), VK_SUCCESS);
                  program.destroy_cache(cache);
                  program.destroy_cache(source);
              }),
              Ids{"merge_into_used_cache"});
}

TEST_F(DriverTest, NoticesConcurrentUseOfAnExternallySynchronizedCache)
{
    EXPECT_EQ(wrong([] {
                  Program program;
                  VkPipelineCache cache = program.create_cache(
                      {}, VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT);
                  program.create(Kind::compute, 1, cache);
                  Deferred deferred(program);
                  Batch batch(program, Kind::ray_tracing_khr, {1});
                  batch.create(cache, nullptr, deferred.operation);
                  program.cache_data(cache);
                  EXPECT_EQ(deferred.join(), VK_SUCCESS);
                  program.destroy_cache(cache);
              }),
              (Ids{"external_cache_concurrent", "external_cache_concurrent"}));
}

TEST_F(DriverTest, NoticesTheDestructionOfAUsedCache)
{
    EXPECT_EQ(wrong([] {
                  Program program;
                  VkPipelineCache cache = program.create_cache();
                  Deferred deferred(program);
                  Batch batch(program, Kind::ray_tracing_khr, {1});
                  batch.create(cache, nullptr, deferred.operation);
                  program.destroy_cache(cache);
                  EXPECT_EQ(deferred.join(), VK_SUCCESS);
              }),
              Ids{"destroyed_in_use"});
}

TEST_F(DriverTest, NoticesACacheBesidePipelineBinaries)
{
    EXPECT_EQ(wrong([] {
                  Program program;
                  VkPipelineCache cache = program.create_cache();
                  PipelineBinaryInfo binaries;
                  PipelineCreateFlags2 capture(0x80000000u);
                  Batch batch(program, Kind::compute, {1, 2});
                  batch.chain(0, &binaries);
                  batch.chain(1, &capture);
                  EXPECT_EQ(batch.create(cache), VK_SUCCESS);
                  program.destroy_cache(cache);
              }),
              (Ids{"cache_with_binaries", "cache_with_capture"}));
}

TEST_F(DriverTest, DefersUntilJoined)
{
    run_clean([] {
        Program program;
        Deferred deferred(program);
        Batch batch(program, Kind::ray_tracing_khr, {1});
        EXPECT_EQ(batch.create(VK_NULL_HANDLE, nullptr, deferred.operation),
                  VK_OPERATION_DEFERRED_KHR);
        EXPECT_EQ(test_icd_calls("vkDeferredOperationJoinKHR"), 0u);
        EXPECT_EQ(batch.pipelines[0], VK_NULL_HANDLE);
        EXPECT_EQ(deferred.join(), VK_SUCCESS);
        EXPECT_NE(batch.pipelines[0], VK_NULL_HANDLE);
    });
}

TEST_F(DriverTest, RecyclesHandles)
{
    environment["WPTEST_ICD_RECYCLE"] = "1";
    run_clean([] {
        Program program;
        VkPipelineCache first = program.create_cache();
        program.destroy_cache(first);
        VkPipelineCache second = program.create_cache();
        EXPECT_EQ(first, second);
        program.destroy_cache(second);
    });
}

TEST_F(DriverTest, GivesEqualHandles)
{
    environment["WPTEST_ICD_EQUAL_HANDLES"] = "1";
    run_clean([] {
        Program program;
        EXPECT_EQ(program.module(Kind::compute, 1), program.module(Kind::compute, 1));
        EXPECT_NE(program.module(Kind::compute, 1), program.module(Kind::compute, 2));
        EXPECT_EQ(program.create(Kind::compute, 1), program.create(Kind::compute, 1));
    });
}

TEST_F(DriverTest, FailsAsTold)
{
    environment["WPTEST_ICD_FAIL"] = "vkCreateShaderModule:2=-2,vkCreatePipelineCache:*=-1";
    environment["WPTEST_ICD_RESULT"] = "vkCreateComputePipelines=1000268003";
    run_clean([] {
        Program program;
        const std::vector<uint32_t> code = shader_code(Kind::compute, 1);
        VkShaderModuleCreateInfo info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        info.codeSize = code.size() * 4;
        info.pCode = code.data();
        for (VkResult result : {VK_SUCCESS, VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_SUCCESS}) {
            VkShaderModule shader = VK_NULL_HANDLE;
            EXPECT_EQ(vkCreateShaderModule(program.device, &info, nullptr, &shader), result);
            vkDestroyShaderModule(program.device, shader, nullptr);
        }
        Batch batch(program, Kind::compute, {1});
        EXPECT_EQ(batch.create(), VK_OPERATION_NOT_DEFERRED_KHR);
        EXPECT_NE(batch.pipelines[0], VK_NULL_HANDLE);
        VkPipelineCacheCreateInfo empty = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
        VkPipelineCache cache = VK_NULL_HANDLE;
        EXPECT_EQ(vkCreatePipelineCache(program.device, &empty, nullptr, &cache),
                  VK_ERROR_OUT_OF_HOST_MEMORY);
    });
}

TEST_F(DriverTest, IsWhatTheEnvironmentSays)
{
    environment["WPTEST_ICD_API"] = "1.1";
    environment["WPTEST_ICD_VENDOR_ID"] = "0x5143";
    environment["WPTEST_ICD_UUID"] = "000102030405060708090a0b0c0d0e0f";
    environment["WPTEST_ICD_DEVICE_NAME"] = "a device";
    run_clean([] {
        ProgramOptions options;
        options.api = VK_API_VERSION_1_1;
        Program program(options);
        VkPhysicalDeviceProperties properties;
        vkGetPhysicalDeviceProperties(program.physical, &properties);
        EXPECT_EQ(VK_API_VERSION_MINOR(properties.apiVersion), 1u);
        EXPECT_EQ(properties.vendorID, 0x5143u);
        EXPECT_STREQ(properties.deviceName, "a device");
        EXPECT_EQ(properties.pipelineCacheUUID[15], 15u);
        EXPECT_EQ(vkGetDeviceProcAddr(program.device, "vkCreateRenderPass2"), nullptr);
    });
}

} // namespace
