// SPDX-License-Identifier: Apache-2.0
// The validation layer, below ours, sees everything that we send down: it must have nothing to say.
#include "layer_order.hpp"
#include "paths.h"
#include "real_drivers.hpp"

namespace {

class ValidationTest : public RealDriversTest {
  protected:
    void SetUp() override
    {
        use_radv();
        environment["VK_INSTANCE_LAYERS"] = "VK_LAYER_KHRONOS_validation";
        configure("");
    }

    void configure(const std::string &more)
    {
        const std::string settings = "khronos_validation.report_flags = error,warn,perf\n" + more;
        const std::filesystem::path path = folder() / "vk_layer_settings.txt";
        write_bytes(path, {settings.begin(), settings.end()});
        environment["VK_LAYER_SETTINGS_PATH"] = path;
    }

    void expect_silence(const std::vector<std::string> &options)
    {
        const Outcome outcome = client(options).outcome;
        const std::string said = outcome.output + outcome.errors; // Mesa has its own say there
        EXPECT_EQ(said.find("Validation"), std::string::npos) << said;
        EXPECT_EQ(outcome.log(), std::vector<std::string>{});
    }
};

// Without this, silence would prove nothing.
TEST_F(ValidationTest, IsAtWork)
{
    EXPECT_EQ(layer_order(execute(ask_for_layers())),
              (std::vector<std::string>{"VK_LAYER_WARMPIPE_pipeline_cache",
                                        "VK_LAYER_KHRONOS_validation"}));
    configure("khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT\n");
    const Outcome outcome = execute({PIPELINES_CLIENT, "--compute", "2", "--graphics", "2"});
    EXPECT_NE(outcome.output.find("Validation"), std::string::npos) << outcome.output;
}

TEST_F(ValidationTest, InjectedColdAndWarm)
{
    for (int start = 0; start < 2; start++) {
        expect_silence({"--threads", "16"});
        expect_silence({"--batch", "4", "--feedback", "--repeat", "2", "--render-pass"});
    }
    expect_silence({"--api", "1.0"});
    expect_silence({"--api", "1.1", "--feedback-extension"});
}

TEST_F(ValidationTest, HarvestedAndServed)
{
    for (const char *mode : {"harvest", "serve", "ignore"}) {
        environment["WARMPIPE_APP_CACHE"] = mode;
        for (const char *cache : {"many=5", "readback", "merge=3"}) {
            expect_silence({"--threads", "8", "--cache", cache, "--allocator", "--feedback"});
        }
        expect_silence({"--cache", "file=" + (folder() / "own.bin").string()});
    }
}

TEST_F(ValidationTest, RayTracing)
{
    use_radv_raytracing();
    for (int start = 0; start < 2; start++) {
        expect_silence({"--raytracing", "4", "--compute", "4", "--graphics", "4"});
    }
}

TEST_F(ValidationTest, TwoDevicesThatExecute)
{
    use_lavapipe();
    for (int start = 0; start < 2; start++) {
        expect_silence({"--device", "0,0", "--verify", "--heavy", "0", "--cache", "many=2"});
    }
}

// Row 68 of docs/CORRECTNESS.md: libraries name formats that are ignored, recipes hold none of
// them, and this layer reads as many as are counted. It has its say on the client's libraries
// themselves.
TEST_F(ValidationTest, CompiledAheadFromRecipes)
{
    environment["RADV_PERFTEST"] = "gpl"; // Mesa 22 offers libraries on request
    const std::vector<std::string> command = {PIPELINES_CLIENT, "--compute", "4",
                                              "--graphics",     "10",        "--libraries"};
    execute(command);
    EXPECT_GE(execute(after_prewarm(command)).stats_of()["pipelines"]["prewarmed"], 1);
}

// Of a program of Vulkan 1.0 with VK_KHR_get_physical_device_properties2 as well.
TEST_F(ValidationTest, CompiledAheadForAnOldProgram)
{
    const std::vector<std::string> command = {PIPELINES_CLIENT, "--api", "1.0", "--properties2"};
    execute(command);
    const Outcome outcome = execute(after_prewarm(command));
    EXPECT_GE(outcome.stats_of()["pipelines"]["prewarmed"], 1);
    const std::string said = outcome.output + outcome.errors;
    EXPECT_EQ(said.find("Validation"), std::string::npos) << said;
}

// Its instances have what a program's of that version can have.
TEST_F(ValidationTest, ReplayedByWarm)
{
    for (const char *version : {"1.0", "1.1", "1.3"}) {
        client({"--api", version});
        client({"--api", version, "--properties2"});
        remove_caches();
        const Outcome told = execute({WARMPIPE_TOOL, "warm"}, {Layer::absent});
        const std::string said = told.output + told.errors;
        EXPECT_NE(said.find("warmed"), std::string::npos) << said;
        EXPECT_EQ(said.find("Validation"), std::string::npos) << said;
    }
}

TEST_F(ValidationTest, LeavingWithoutDestroying)
{
    for (int start = 0; start < 2; start++) {
        expect_silence({"--end", "return"});
    }
}

} // namespace
