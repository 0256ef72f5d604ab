// The validation layer, below ours, sees everything that we send down: it must have nothing to say.
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
    use_drivers({"lvp"});
    environment.erase("RADV_FORCE_FAMILY");
    for (int start = 0; start < 2; start++) {
        expect_silence({"--device", "0,0", "--verify", "--heavy", "0", "--cache", "many=2"});
    }
}

TEST_F(ValidationTest, LeavingWithoutDestroying)
{
    for (int start = 0; start < 2; start++) {
        expect_silence({"--end", "return"});
    }
}

} // namespace
