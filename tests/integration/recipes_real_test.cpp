// SPDX-License-Identifier: Apache-2.0
// Recipes with a driver that really compiles: what was recorded is, for RADV, the same pipeline.
#include "real_drivers.hpp"

namespace {

class RealRecipesTest : public RealDriversTest {
  protected:
    void expect_found(const std::vector<std::string> &options)
    {
        client(options);
        const json pipelines = client(after_prewarm(options)).pipelines();
        EXPECT_GE(pipelines["prewarmed"], 1);
        EXPECT_GE(pipelines["driver_hits"], pipelines["prewarmed"]) << pipelines;
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
