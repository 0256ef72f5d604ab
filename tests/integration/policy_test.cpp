// SPDX-License-Identifier: Apache-2.0
// The user's policy file through the layer: what the driver then gets.
#include "harness.hpp"
#include "program.hpp"

namespace {

class PolicyTest : public LayerTest {
  protected:
    // A program that compiles one pipeline.
    Outcome start()
    {
        return run([] { Program().create_compute(0, 1, VK_NULL_HANDLE); });
    }
};

TEST_F(PolicyTest, TheFileForbids)
{
    set_policy("[keep-nothing]\npersist = no\n");
    Outcome result = start();
    EXPECT_EQ(result.stats_of()["cache"]["state"], "denied");
    EXPECT_EQ(result.stats_of()["pipelines"]["injected"], 1);
    EXPECT_TRUE(cache_files().empty());
    EXPECT_TRUE(result.log().empty());

    set_policy("[give-nothing]\ninject = no\n");
    result = start();
    EXPECT_EQ(result.stats_of()["cache"]["state"], "off");
    EXPECT_EQ(result.stats_of()["cache"]["reason"], "policy");
    EXPECT_EQ(result.stats_of()["pipelines"]["injected"], 0);
    EXPECT_EQ(result.calls("vkCreatePipelineCache"), 0u);

    set_policy("[somebody-else]\nvendor = 1\ninject = no\n");
    EXPECT_EQ(start().stats_of()["cache"]["state"], "cold");
}

TEST_F(PolicyTest, TheFileAllowsWhatTheTableForbids)
{
    environment["WPTEST_ICD_VENDOR_ID"] = "0x1010";
    environment["WPTEST_ICD_DRIVER_ID"] = "7";
    environment["WPTEST_ICD_DEVICE_NAME"] = "PowerVR D-Series DXT-48-1536 MC1";
    EXPECT_EQ(start().stats_of()["cache"]["state"], "denied");
    set_policy("[ours-works]\ndevice-name = *DXT-48*\npersist = yes\n");
    start();
    EXPECT_EQ(start().stats_of()["cache"]["state"], "loaded");
}

TEST_F(PolicyTest, ABadFileIsOneLineAndTheProgramRuns)
{
    environment["WPTEST_ICD_DEVICES"] = "2";
    set_policy("[mine]\ninject = no\n\nnonsense\n");
    const Outcome result = run([] {
        Program().create_compute(0, 1, VK_NULL_HANDLE);
        Program().create_compute(0, 1, VK_NULL_HANDLE);
    });
    const std::vector<std::string> log = result.log();
    ASSERT_EQ(log.size(), 1u);
    EXPECT_NE(log[0].find("policy', line 4: "), std::string::npos) << log[0];
    EXPECT_NE(log[0].find("(bad_policy_file)"), std::string::npos) << log[0];
    EXPECT_EQ(result.stats_of(0)["pipelines"]["injected"], 1);
    EXPECT_EQ(result.stats_of(1)["pipelines"]["injected"], 1);
}

} // namespace
