// SPDX-License-Identifier: Apache-2.0
// Programs that others wrote, unmodified: they do the same with the layer as without.
#include "paths.h"
#include "real_drivers.hpp"

#include <cstdlib>
#include <unistd.h>

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

    // Chromium's sandbox is a program with rights, or a namespace of the user's own.
    bool sandbox_offered()
    {
        const std::string as_nobody =
            geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
        return std::filesystem::exists("/usr/lib/chromium/chrome-sandbox") ||
               std::system((as_nobody + "unshare --user true 2>/dev/null").c_str()) == 0;
    }

    // A program that crashes by itself says "ends with 139".
    Outcome execute_plain(const std::vector<std::string> &command)
    {
        environment.erase("WARMPIPE_ENABLE");
        std::vector<std::string> shell = {"sh", "-c", "\"$@\" || echo \"ends with $?\"", "sh"};
        shell.insert(shell.end(), command.begin(), command.end());
        const Outcome outcome = execute(shell, {Layer::absent, true, 0});
        environment["WARMPIPE_ENABLE"] = "1";
        return outcome;
    }
};

TEST_F(RealProgramsTest, FfmpegFiltersGiveTheSameFrames)
{
    if (!installed("ffmpeg")) {
        GTEST_SKIP() << "no ffmpeg";
    }
    // Not avgblur_vulkan: on a busy machine its frames differ from run to run by themselves; nor
    // chromaber_vulkan, which crashes by itself in ffmpeg 9.0; nor scale_vulkan, which
    // fails in 6.1 and is not in 8.1. ffmpeg 7.1 dies on Debian 13's lavapipe in one run of
    // a hundred, without the layer as well, with one frame too.
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
        "testsrc=s=64x48:d=0.2:r=5",
        "-vf",
        "format=yuv420p,hwupload,transpose_vulkan,gblur_vulkan,hflip_vulkan,"
        "flip_vulkan,hwdownload,format=yuv420p",
        "-f",
        "framemd5",
        "-"};
    const Outcome plain = execute_plain(command);
    if (plain.output.find("ends with 139") != std::string::npos) {
        GTEST_SKIP() << "ffmpeg crashes without the layer: " << plain.errors;
    }
    EXPECT_NE(plain.output.find("0,          0,"), std::string::npos) << plain.output;
    for (int start = 0; start < 2; start++) {
        const Outcome with_layer = execute(command);
        EXPECT_EQ(with_layer.output, plain.output);
        EXPECT_EQ(with_layer.errors, plain.errors);
        const json stats = with_layer.stats_of();
        const json pipelines = stats["pipelines"];
        EXPECT_EQ(pipelines["injected"], pipelines["requested"]);
        // Of today's ffmpeg a filter has shader objects where the driver has those.
        const bool has_shader_objects = stats["modules"]["requested"] == 0;
        EXPECT_GE(has_shader_objects ? stats["set_layouts"]["requested"] : pipelines["requested"],
                  4); // a filter has one or two, by ffmpeg's version
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

// Its GPU process is shut into a sandbox when it has its device: what it may no longer do there,
// the layer does without.
TEST_F(RealProgramsTest, ChromiumDrawsFromItsSandbox)
{
    if (!installed("chromium")) {
        GTEST_SKIP() << "no chromium";
    }
    if (!become_unprivileged()) {
        GTEST_SKIP()
            << "chromium is not tried as root, and the build tree is not open to other users";
    }
    if (!sandbox_offered()) {
        GTEST_SKIP() << "neither chromium-sandbox nor namespaces of users' own";
    }
    const std::filesystem::path page = folder() / "page.html";
    const std::string html = R"(<canvas id=c></canvas><script>
const gl = c.getContext('webgl'), program = gl.createProgram();
for (const [type, code] of [
       [gl.VERTEX_SHADER, 'attribute vec4 a; void main() { gl_Position = a; }'],
       [gl.FRAGMENT_SHADER, 'void main() { gl_FragColor = vec4(0, 1, 0, 1); }']]) {
  const shader = gl.createShader(type);
  gl.shaderSource(shader, code);
  gl.compileShader(shader);
  gl.attachShader(program, shader);
}
gl.linkProgram(program);
gl.useProgram(program);
gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 3, -1, -1, 3]), gl.STATIC_DRAW);
gl.enableVertexAttribArray(0);
gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
gl.drawArrays(gl.TRIANGLES, 0, 3);
const pixel = new Uint8Array(4);
gl.readPixels(5, 5, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
document.title = 'pixel ' + pixel.join(' ');
</script>)";
    write_bytes(page, {html.begin(), html.end()});
    std::filesystem::permissions(page, std::filesystem::perms::others_read,
                                 std::filesystem::perm_options::add);
    const std::string log = (folder() / "log").string();
    environment["WARMPIPE_LOG"] = "info:" + log;
    const Outcome outcome =
        execute({"timeout", "120", "chromium", "--headless", "--use-angle=vulkan",
                 "--enable-features=Vulkan", "--ignore-gpu-blocklist", "--disable-quic",
                 "--no-first-run", "--disable-background-networking", "--disable-component-update",
                 "--disable-sync", "--user-data-dir=" + (folder() / "profile").string(),
                 "--dump-dom", "file://" + page.string()},
                {Layer::any, true, 0});
    EXPECT_NE(outcome.output.find("<title>pixel 0 255 0 255</title>"), std::string::npos)
        << outcome.output << outcome.errors;
    EXPECT_NE(read_text(log).find("device 0, llvmpipe"), std::string::npos)
        << "the layer was in the GPU process";
}

// A program whose answers to "what time is it?" lie years apart.
TEST_F(RealProgramsTest, TheTimeOfDayMayJump)
{
    environment["LD_PRELOAD"] = CLOCK_JUMPS;
    use_radv();
    for (const char *end : {"destroy", "return", "destroy"}) {
        const ClientRun cold = client({"--end", end, "--seed", end[0] == 'd' ? "1" : "2"});
        EXPECT_EQ(cold.outcome.log().size(), 0u) << cold.outcome.errors;
    }
    const ClientRun warm = client({"--seed", "1"});
    EXPECT_EQ(warm.outcome.stats_of()["pipelines"]["driver_misses"], 0);
    EXPECT_EQ(warm.outcome.stats_of()["cache"]["state"], "loaded");
}

} // namespace
