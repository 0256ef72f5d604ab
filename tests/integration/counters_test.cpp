// SPDX-License-Identifier: Apache-2.0
// What program.json counts, through the layer: each start adds its own, however it ends.
#include <fstream>

#include <nlohmann/json.hpp>

#include "harness.hpp"
#include "program.hpp"

namespace {

using nlohmann::json;

class CountersTest : public LayerTest {
  protected:
    json counters() const
    {
        std::ifstream file(cache_root() / "test/program.json");
        return file ? json::parse(file) : json();
    }
};

TEST_F(CountersTest, EachStartAddsItsOwn)
{
    run([] { Program().create_compute(0, 4); });
    json first = counters();
    EXPECT_EQ(first["starts"], 1);
    EXPECT_EQ(first["requests"], 4);
    EXPECT_EQ(first["driver_misses"], 4);
    EXPECT_GT(first["create_ns"], 0);
    EXPECT_GT(first["since"], 1700000000);
    const Outcome warm = run([] {
        Program program;
        program.create_compute(0, 4);
        program.create_compute(0, 2);
    });
    EXPECT_EQ(warm.stats_of()["pipelines"]["deduplicated"], 2);
    json second = counters();
    EXPECT_EQ(second["starts"], 2);
    EXPECT_EQ(second["requests"], 10);
    EXPECT_EQ(second["driver_misses"], 4);
    EXPECT_EQ(second["driver_hits"], 4);
    EXPECT_EQ(second["shared"], 2);
    EXPECT_EQ(second["since"], first["since"]);
    EXPECT_EQ(second["compile_ns"], first["compile_ns"]);
}

TEST_F(CountersTest, AProcessThatEndsWithoutDestroyingItsDeviceIsCountedToo)
{
    run([] { Program().create_compute(0, 4); });
    run([] {
        leak_from_here_on();
        auto *leaked = new Program;
        leaked->create_compute(0, 4);
        std::exit(HasFailure());
    });
    EXPECT_EQ(counters()["starts"], 2);
    EXPECT_EQ(counters()["driver_hits"], 4);
}

TEST_F(CountersTest, AReadOnlyCacheIsNotCounted)
{
    run([] { Program().create_compute(0, 4); });
    json before = counters();
    environment["WARMPIPE_READONLY"] = "1";
    run([] { Program().create_compute(0, 4); });
    EXPECT_EQ(counters(), before);
}

TEST_F(CountersTest, AProgramWithoutPipelinesLeavesNothing)
{
    run([] { Program(); });
    EXPECT_FALSE(std::filesystem::exists(cache_root() / "test"));
}

} // namespace
