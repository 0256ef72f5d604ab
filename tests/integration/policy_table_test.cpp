// SPDX-License-Identifier: Apache-2.0
// Drivers of the policy table, played by the test driver: each gets what the table says and no
// more.
#include "harness.hpp"
#include "program.hpp"

#include <thread>

namespace {

class PolicyTableTest : public LayerTest {
  protected:
    PolicyTableTest()
    {
        environment["WARMPIPE_LOG"] = "info";
    }

    void pretend(const char *vendor, const char *driver_id, const char *driver_version)
    {
        environment["WPTEST_ICD_VENDOR_ID"] = vendor;
        environment["WPTEST_ICD_DRIVER_ID"] = driver_id;
        environment["WPTEST_ICD_DRIVER_VERSION"] = driver_version;
    }

    // VK_DRIVER_ID_NVIDIA_PROPRIETARY and its encoding of versions.
    void pretend_nvidia(unsigned major, unsigned minor, unsigned patch)
    {
        pretend("0x10de", "4", std::to_string(major << 22 | minor << 14 | patch << 6).c_str());
    }

    static void program()
    {
        Program().create_compute(0, 4);
    }

    static std::string policy_line(const Outcome &outcome)
    {
        std::string found;
        for (const std::string &line : outcome.log()) {
            if (line.find("policy rule") != std::string::npos) {
                EXPECT_EQ(found, "") << "told once a device";
                found = line;
            }
        }
        return found;
    }
};

TEST_F(PolicyTableTest, SaysWhichRuleApplied)
{
    EXPECT_NE(policy_line(run(program)).find("default"), std::string::npos);
    pretend_nvidia(430, 0, 0);
    EXPECT_NE(policy_line(run(program)).find("nvidia-before-441"), std::string::npos);
}

TEST_F(PolicyTableTest, NoCacheAtAll)
{
    pretend("0x5143", "8", "1"); // VK_DRIVER_ID_QUALCOMM_PROPRIETARY
    const auto old_program = [] {
        ProgramOptions options;
        options.api = VK_API_VERSION_1_0;
        Program(options).create_compute(0, 4);
    };
    environment["WPTEST_ICD_API"] = "1.0.65";
    const Outcome outcome = run(old_program);
    EXPECT_EQ(outcome.stats_of()["cache"]["state"], "off") << policy_line(outcome);
    EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "policy");
    EXPECT_EQ(outcome.calls("vkCreatePipelineCache"), 0u);
    EXPECT_TRUE(cache_files().empty());

    environment["WPTEST_ICD_API"] = "1.0.66";
    run(old_program);
    EXPECT_EQ(run(old_program).hits(), 4u);
}

TEST_F(PolicyTableTest, NothingKept)
{
    pretend("0x1010", "7", "1"); // VK_DRIVER_ID_IMAGINATION_PROPRIETARY
    environment["WPTEST_ICD_DEVICE_NAME"] = "PowerVR DXT-48-1536";
    for (int start = 0; start < 2; ++start) {
        const Outcome outcome = run(program);
        EXPECT_EQ(outcome.stats_of()["cache"]["state"], "denied") << policy_line(outcome);
        EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "policy");
        EXPECT_EQ(outcome.hits(), 0u);
    }
    EXPECT_TRUE(cache_files().empty());

    environment["WARMPIPE_POLICY"] = "none";
    run(program);
    EXPECT_EQ(run(program).hits(), 4u);
}

// Two creations of a serialized driver at once would be a violation: see WPTEST_ICD_SERIALIZE.
TEST_F(PolicyTableTest, SerializedDriversSeeOneUserAtATime)
{
    environment["WPTEST_ICD_SERIALIZE"] = "1";
    environment["WPTEST_ICD_COMPILE_US"] = "200";
    pretend_nvidia(430, 0, 0);
    for (const char *mode : {"harvest", "serve"}) {
        environment["WARMPIPE_APP_CACHE"] = mode;
        for (int start = 0; start < 2; ++start) {
            run([] {
                Program program;
                VkPipelineCache cache = program.create_cache();
                std::vector<std::unique_ptr<Batch>> batches;
                for (unsigned i = 0; i < 6; ++i) {
                    batches.push_back(std::make_unique<Batch>(
                        program, Kind::compute, std::vector<unsigned>{2 * i, 2 * i + 1}));
                }
                std::vector<std::thread> threads;
                for (size_t i = 0; i < batches.size(); ++i) {
                    threads.emplace_back([&, i] {
                        EXPECT_EQ(batches[i]->create(i % 2 == 0 ? cache : VK_NULL_HANDLE),
                                  VK_SUCCESS);
                        size_t size = 0;
                        EXPECT_EQ(vkGetPipelineCacheData(program.device, cache, &size, nullptr),
                                  VK_SUCCESS);
                    });
                }
                for (std::thread &thread : threads) {
                    thread.join();
                }
                program.destroy_cache(cache);
            });
        }
    }
}

void create_during_a_deferred_operation(bool names_cache)
{
    Program program;
    VkPipelineCache cache = names_cache ? program.create_cache() : VK_NULL_HANDLE;
    Deferred deferred(program);
    Batch batch(program, Kind::ray_tracing_khr, {1});
    EXPECT_EQ(batch.create(cache, nullptr, deferred.operation), VK_OPERATION_DEFERRED_KHR);
    program.create_compute(0, 1);
    EXPECT_EQ(deferred.join(), VK_SUCCESS);
    if (names_cache) {
        program.destroy_cache(cache);
    }
}

// It uses its cache until it has ended, and no lock of ours can be held for as long.
TEST_F(PolicyTableTest, ADeferredOperationOfASerializedDriverIsNotGivenOurCache)
{
    environment["WPTEST_ICD_SERIALIZE"] = "1";
    pretend_nvidia(430, 0, 0);
    for (const char *mode : {"harvest", "serve"}) {
        environment["WARMPIPE_APP_CACHE"] = mode;
        for (const bool names_cache : {false, true}) {
            const Outcome outcome = run([=] { create_during_a_deferred_operation(names_cache); });
            EXPECT_EQ(outcome.stats_of()["pipelines"]["passed"], 1) << mode << names_cache;
            EXPECT_EQ(outcome.stats_of()["pipelines"]["injected"], 1) << mode << names_cache;
        }
    }
    environment.erase("WPTEST_ICD_SERIALIZE");
    EXPECT_EQ(run([] { Program().create(Kind::ray_tracing_khr, 1); }).hits(), 1u)
        << "what is compiled into the program's cache is saved";
}

// The same without the rule: shows that the driver would notice.
TEST_F(PolicyTableTest, OthersSeeSeveral)
{
    environment["WPTEST_ICD_SERIALIZE"] = "1";
    const Outcome outcome =
        run([] { create_during_a_deferred_operation(false); }, {Layer::works, false, 0});
    const auto violations = outcome.violations();
    EXPECT_GE(violations.size(), 1u);
    EXPECT_EQ(violations, std::vector<std::string>(violations.size(), "external_cache_concurrent"));
}

TEST_F(PolicyTableTest, SingleCacheMeansOneObject)
{
    pretend_nvidia(470, 57, 2);
    run(program);
    // Somebody else's save, which other drivers would merge with.
    const auto two_at_once = [] {
        Program first, second;
        first.create_compute(10, 12);
        second.create_compute(20, 22);
    };
    const Outcome outcome = run(two_at_once);
    EXPECT_EQ(outcome.calls("vkCreatePipelineCache"), 2u) << "one for each device";
    EXPECT_EQ(outcome.calls("vkMergePipelineCaches"), 0u);
    EXPECT_EQ(run(program).hits(), 4u);
}

TEST_F(PolicyTableTest, NvidiaBlobsAreBounded)
{
    pretend_nvidia(535, 0, 0);
    environment["WPTEST_ICD_RECORD_BYTES"] = "70000000";
    const Outcome outcome = run(program); // 280 MB
    EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "too_large");
    EXPECT_EQ(outcome.stats_of()["cache"]["saved_bytes"], 0);
    EXPECT_TRUE(cache_files().empty());
}

} // namespace
