// Programs that others wrote, unmodified: they do the same with the layer as without.
#include "real_drivers.hpp"

#include <cstdlib>

namespace {

class RealProgramsTest : public RealDriversTest {
  protected:
    void SetUp() override
    {
#ifdef WARMPIPE_SANITIZED
        GTEST_SKIP() << "a program without sanitizers cannot load a layer with them";
#endif
        use_lavapipe();
    }

    bool installed(const std::string &program)
    {
        return std::system(("command -v " + program + " >/dev/null").c_str()) == 0;
    }

    Outcome execute_plain(const std::vector<std::string> &command)
    {
        environment.erase("WARMPIPE_ENABLE");
        const Outcome outcome = execute(command, {Layer::absent, true, 0});
        environment["WARMPIPE_ENABLE"] = "1";
        return outcome;
    }
};

TEST_F(RealProgramsTest, FfmpegFiltersGiveTheSameFrames)
{
    if (!installed("ffmpeg")) {
        GTEST_SKIP() << "no ffmpeg";
    }
    // Not avgblur_vulkan: on a busy machine its frames differ from run to run by themselves.
    const std::vector<std::string> command = {
        "ffmpeg",
        "-v",
        "error",
        "-init_hw_device",
        "vulkan=vk:0",
        "-filter_hw_device",
        "vk",
        "-f",
        "lavfi",
        "-i",
        "testsrc=s=64x48:d=1:r=5",
        "-vf",
        "format=yuv420p,hwupload,transpose_vulkan,gblur_vulkan,chromaber_vulkan=dist_x=3,"
        "flip_vulkan,hwdownload,format=yuv420p",
        "-f",
        "framemd5",
        "-"};
    const Outcome plain = execute_plain(command);
    EXPECT_NE(plain.output.find("0,          4,"), std::string::npos) << plain.output;
    for (int start = 0; start < 2; start++) {
        const Outcome with_layer = execute(command);
        EXPECT_EQ(with_layer.output, plain.output);
        EXPECT_EQ(with_layer.errors, plain.errors);
        const json pipelines = with_layer.stats_of()["pipelines"];
        EXPECT_GE(pipelines["requested"], 4); // a filter has one or two, by ffmpeg's version
        EXPECT_EQ(pipelines["injected"], pipelines["requested"]);
    }
}

TEST_F(RealProgramsTest, VkcubeDraws)
{
    if (!installed("vkcube") || !installed("xvfb-run")) {
        GTEST_SKIP() << "no vkcube, or no Xvfb";
    }
    for (int start = 0; start < 2; start++) {
        const Outcome cube =
            execute({"xvfb-run", "-a", "vkcube", "--c", "30", "--present_mode", "0"});
        EXPECT_EQ(cube.stats_of()["pipelines"]["requested"], 1);
        EXPECT_EQ(cube.stats_of()["app_caches"]["created"], 1);
    }
}

TEST_F(RealProgramsTest, VulkaninfoLeavesNothingBehind)
{
    if (!installed("vulkaninfo")) {
        GTEST_SKIP() << "no vulkaninfo";
    }
    environment.erase("WARMPIPE_DIR");
    const Outcome info = execute({"vulkaninfo"});
    EXPECT_NE(info.output.find("llvmpipe"), std::string::npos);
    EXPECT_EQ(info.output.find("warmpipe_pipeline_cache: error"), std::string::npos);
    for (const auto &entry : std::filesystem::recursive_directory_iterator(folder() / "home")) {
        EXPECT_EQ(entry.path().string().find("warmpipe", folder().string().size()),
                  std::string::npos)
            << entry.path();
    }
}

} // namespace
