// SPDX-License-Identifier: Apache-2.0
// Recipes with a driver that really compiles: what was recorded is, for RADV, the same pipeline.
#include "real_drivers.hpp"

namespace {

class RealRecipesTest : public RealDriversTest {
  protected:
    // After a driver update the program has half a second: what was compiled by then it finds.
    void expect_found(std::vector<std::string> options)
    {
        client(options);
        for (const std::filesystem::path &file : cache_files()) {
            std::filesystem::remove(file);
        }
        environment.erase("WARMPIPE_PREWARM");
        options.insert(options.end(), {"--delay-ms", "500"});
        const json pipelines = client(options).pipelines();
        EXPECT_GE(pipelines["prewarmed"], 1);
        // One may have been compiled by both at once.
        EXPECT_GE(pipelines["driver_hits"].get<int>(), pipelines["prewarmed"].get<int>() - 1)
            << pipelines;
    }
};

TEST_F(RealRecipesTest, ComputeAndGraphics)
{
    use_radv();
    expect_found({});
}

TEST_F(RealRecipesTest, RenderPasses)
{
    use_radv();
    expect_found({"--compute", "0", "--graphics", "20", "--render-pass"});
}

TEST_F(RealRecipesTest, RayTracing)
{
    use_radv_raytracing();
    expect_found({"--compute", "0", "--graphics", "0", "--raytracing", "4"});
}

} // namespace
