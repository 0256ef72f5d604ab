// SPDX-License-Identifier: Apache-2.0
// The main job on real drivers: cold, then warm, in two processes.
#include "paths.h"
#include "real_drivers.hpp"

namespace {

class RadvTest : public RealDriversTest {
  protected:
    void SetUp() override
    {
        use_radv();
    }
};

TEST_F(RadvTest, ColdThenWarmInTwoProcesses)
{
    const ClientRun cold = client();
    EXPECT_EQ(cold.cache()["state"], "cold");
    EXPECT_EQ(cold.cache()["reason"], "no_file");
    EXPECT_EQ(cold.pipelines()["injected"], 30);
    EXPECT_EQ(cold.pipelines()["driver_misses"], 30);
    EXPECT_EQ(cold.pipelines()["driver_hits"], 0);
    const std::vector<uint8_t> saved = read_bytes(cache_file());

    const ClientRun warm = client();
    expect_warm(warm, 30);
    EXPECT_EQ(warm.pipelines()["injected"], 30);
    EXPECT_EQ(warm.cache()["loaded_bytes"], cold.cache()["saved_bytes"]);
    EXPECT_EQ(read_bytes(cache_file()), saved);
}

// Replayers create the pipelines of other programs; what they find in a cache is their own affair.
TEST_F(RadvTest, ReplayersAreLeftAlone)
{
    const auto replayer = folder() / "fossilize-replay";
    std::filesystem::copy_file(PIPELINES_CLIENT, replayer);
    environment["WARMPIPE_LOG"] = "info";
    const Outcome passed =
        execute({replayer, "--compute", "2", "--graphics", "0"}, {Layer::absent});
    ASSERT_EQ(passed.log().size(), 1u) << "not in the chain";
    EXPECT_NE(passed.log()[0].find("(replayer)"), std::string::npos) << passed.log()[0];
    EXPECT_FALSE(std::filesystem::exists(cache_root()));
    execute({PIPELINES_CLIENT, "--compute", "2", "--graphics", "0"});
    EXPECT_TRUE(std::filesystem::exists(cache_root()));
}

TEST_F(RadvTest, OtherPipelinesJoinThoseInTheFile)
{
    client();
    const ClientRun other = client({"--seed", "1"});
    EXPECT_EQ(other.cache()["state"], "loaded");
    EXPECT_EQ(other.pipelines()["driver_misses"], 30);
    EXPECT_GT(other.cache()["saved_bytes"], other.cache()["loaded_bytes"]);
    expect_warm(client(), 30);
    expect_warm(client({"--seed", "1"}), 30);
}

TEST_F(RadvTest, AnotherFamilyHasAFileOfItsOwn)
{
    client();
    use_radv("navi21");
    const ClientRun other = client();
    EXPECT_EQ(other.cache()["state"], "cold");
    EXPECT_EQ(other.cache()["reason"], "no_file");
    EXPECT_EQ(cache_files().size(), 2u);
    expect_warm(client(), 30);
    use_radv();
    expect_warm(client(), 30);
}

// A command-line tool that ends right after its last compile, as ggml's do.
TEST_F(RadvTest, WhoReturnsRightAfterTheLastCompileKeepsAll)
{
    const std::vector<std::string> arguments = {"--compute", "32",    "--graphics",
                                                "0",         "--end", "return"};
    client(arguments);
    const ClientRun second = client(arguments);
    EXPECT_EQ(second.pipelines()["driver_hits"], 32);
    EXPECT_EQ(second.cache()["saved_bytes"], 0);
}

// Entries in another order, links without feedback, and bytes that mean nothing: all of it at once.
TEST_F(RadvTest, WarmStartsWithPipelineLibrariesWriteNothing)
{
    environment["RADV_PERFTEST"] = "gpl"; // below Mesa 23.1 it is not offered otherwise
    const std::vector<std::string> arguments = {"--compute", "5", "--graphics", "10",
                                                "--libraries"};
    if (client(arguments).cache()["state"] == "ineffective") {
        GTEST_SKIP() << "with libraries this RADV keeps nothing in its caches (Mesa 22.3)";
    }
    for (int start = 0; start < 3; ++start) {
        const std::vector<uint8_t> before = read_bytes(cache_file());
        EXPECT_EQ(client(arguments).cache()["saved_bytes"], 0);
        EXPECT_EQ(read_bytes(cache_file()), before);
    }
}

TEST_F(RadvTest, RayTracing)
{
    use_radv_raytracing();
    const std::vector<std::string> options = {"--compute",    "0", "--graphics", "0",
                                              "--raytracing", "6"};
    const ClientRun cold = client(options);
    EXPECT_EQ(cold.pipelines()["injected"], 6);
    EXPECT_EQ(cold.pipelines()["driver_misses"], 6);
    expect_warm(client(options), 6);
}

TEST_F(RadvTest, SixteenThreads)
{
    const ClientRun cold = client({"--threads", "16", "--compute", "100"});
    EXPECT_EQ(cold.pipelines()["driver_misses"], 110);
    expect_warm(client({"--threads", "16", "--compute", "100"}), 110);
}

TEST_F(RadvTest, BatchesOfPipelines)
{
    const ClientRun cold = client({"--batch", "8"});
    EXPECT_EQ(cold.pipelines()["injected"], 30);
    expect_warm(client({"--batch", "8"}), 30);
}

TEST_F(RadvTest, RenderPassesAndOldVersions)
{
    client({"--render-pass"});
    expect_warm(client({"--render-pass"}), 30);
    for (const char *version : {"1.0", "1.1", "1.2"}) {
        const ClientRun old = client({"--api", version});
        EXPECT_EQ(old.pipelines()["injected"], 30) << version;
        // Below 1.3 the driver's feedback is unknown.
        EXPECT_EQ(old.pipelines()["driver_hits"], 0) << version;
        EXPECT_EQ(old.pipelines()["driver_misses"], 0) << version;
    }
    expect_warm(client({"--api", "1.1", "--render-pass", "--feedback-extension"}), 30);
}

// A program that passed no cache cannot have hit one, whatever we gave the driver.
TEST_F(RadvTest, FeedbackKeepsTheLayerOut)
{
    client();
    for (const char *how : {"--feedback", "--feedback-extension"}) {
        const ClientRun warm = client({how});
        expect_warm(warm, 30);
        EXPECT_EQ(warm.said["feedback_valid"], 30);
        EXPECT_EQ(warm.said["feedback_hits"], 0);
        EXPECT_EQ(warm.said["feedback_stage_hits"], 0);
        EXPECT_EQ(warm.said["feedback_untouched"], plain_client({how}).said["feedback_untouched"]);
    }
}

TEST_F(RadvTest, AllocatorsBalance)
{
    for (const char *mode : {"harvest", "serve"}) {
        environment["WARMPIPE_APP_CACHE"] = mode;
        for (const char *cache : {"none", "many=4", "readback"}) {
            const ClientRun run =
                client({"--allocator", "--cache", cache, "--seed", "2", "--idle-thread"});
            EXPECT_GT(run.said["allocations"], 0) << mode << cache;
            EXPECT_EQ(run.said["allocations"], run.said["frees"]) << mode << cache;
            EXPECT_EQ(run.said["foreign_allocator_calls"], 0) << mode << cache;
        }
    }
}

TEST_F(RealDriversTest, TwoDevicesSideBySide)
{
    use_devices("radv-navi10 lavapipe");
    client({"--two-devices"});
    const ClientRun warm = client({"--two-devices"});
    unsigned found = 0;
    for (unsigned device : {0u, 1u}) {
        const json stats = warm.outcome.stats_of(device);
        EXPECT_EQ(stats["pipelines"]["requested"], 30);
        if (stats["driver"] == "radv") {
            expect_warm(warm, 30, device);
            found++;
        } else if (stats["driver"] == "llvmpipe") {
            EXPECT_EQ(stats["cache"]["state"], "ineffective");
            found++;
        }
    }
    EXPECT_EQ(found, 2u);
    cache_file();
}

TEST_F(RealDriversTest, LavapipeKeepsNothing)
{
    use_lavapipe();
    for (int start = 0; start < 2; start++) {
        const ClientRun run = client({"--compute", "4"});
        EXPECT_EQ(run.cache()["state"], "ineffective");
        EXPECT_EQ(run.cache()["saved_bytes"], 0);
        EXPECT_TRUE(cache_files().empty());
    }
}

TEST_F(RealDriversTest, LavapipeComputesTheSame)
{
    use_lavapipe();
    const std::vector<std::string> options = {"--verify", "--compute", "15",      "--heavy", "0",
                                              "--repeat", "2",         "--cache", "many=4"};
    const json plain = plain_client(options).said;
    EXPECT_GT(plain["dispatched"], 0);
    EXPECT_EQ(client(options).said["digest"], plain["digest"]);
    environment["WARMPIPE_APP_CACHE"] = "serve";
    EXPECT_EQ(client(options).said["digest"], plain["digest"]);
}

} // namespace
