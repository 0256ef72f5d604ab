// SPDX-License-Identifier: Apache-2.0
// Pipelines as DXVK 3 creates them where there are descriptor heaps: the client of
// tests/clients/heaps on a driver that really compiles.
#include "paths.h"
#include "real_drivers.hpp"

namespace {

class HeapsTest : public RealDriversTest {
  protected:
    void SetUp() override
    {
        use_radv("navi21");
        if (IsSkipped()) {
            return;
        }
        const std::string enabled = environment["WARMPIPE_ENABLE"];
        environment.erase("WARMPIPE_ENABLE");
        const Outcome plain = execute({HEAPS_CLIENT, "1"}, {Layer::absent, true, 0});
        environment["WARMPIPE_ENABLE"] = enabled;
        const std::string mark = "skipped: ";
        if (plain.output.find(mark) == 0) {
            GTEST_SKIP() << plain.output.substr(mark.size());
        }
    }
};

TEST_F(HeapsTest, AreGivenTheCacheAndFoundAgain)
{
    const json cold = execute({HEAPS_CLIENT, "6"}).stats_of()["pipelines"];
    EXPECT_EQ(cold["injected"], cold["requested"]);
    EXPECT_EQ(cold["passed"], 0);
    EXPECT_GT(cold["driver_misses"], 20);
    const Outcome warm = execute({HEAPS_CLIENT, "6"});
    EXPECT_NE(warm.output.find("compile required 0"), std::string::npos) << warm.output;
    EXPECT_EQ(warm.stats_of()["pipelines"]["driver_misses"], 0);
}

} // namespace
