// SPDX-License-Identifier: Apache-2.0
// The trace of runs on a driver that really compiles.
#include <algorithm>

#include "real_drivers.hpp"
#include "trace.hpp"

namespace {

class RealTraceTest : public RealDriversTest {
  protected:
    void SetUp() override
    {
        use_radv();
        environment["WARMPIPE_TRACE"] = trace_path().string();
    }

    std::filesystem::path trace_path() const
    {
        return folder() / "trace.json";
    }

    // That of one run, with a file of its own.
    Trace trace(const std::vector<std::string> &options = {})
    {
        std::filesystem::remove(trace_path());
        client(options);
        return Trace(trace_path());
    }

    static std::vector<std::string> digests(const Trace &trace)
    {
        std::vector<std::string> digests;
        for (const json &span : trace.of("pipeline")) {
            digests.push_back(span["args"]["digest"]);
        }
        std::sort(digests.begin(), digests.end());
        return digests;
    }
};

TEST_F(RealTraceTest, ColdIsMissedWarmIsHit)
{
    const Trace cold = trace();
    EXPECT_EQ(cold.of("pipeline", "compute").size(), 20u);
    EXPECT_EQ(cold.of("pipeline", "graphics").size(), 10u);
    EXPECT_EQ(cold.count("pipeline", "miss"), 30u);
    ASSERT_EQ(cold.of("device").size(), 1u);
    EXPECT_EQ(cold.of("device")[0]["args"]["cache"], "cold");
    EXPECT_GE(cold.of("cache", "save").size(), 1u);
    EXPECT_EQ(cold.names("process_name"), std::vector<std::string>{"pipelines"});

    const Trace warm = trace();
    EXPECT_EQ(warm.count("pipeline", "hit"), 30u);
    EXPECT_EQ(warm.of("pipeline").size(), 30u);
    ASSERT_EQ(warm.of("device").size(), 1u);
    EXPECT_EQ(warm.of("device")[0]["args"]["cache"], "loaded");
    EXPECT_TRUE(warm.of("cache", "save").empty());
    EXPECT_EQ(digests(cold), digests(warm));
}

TEST_F(RealTraceTest, OfManyThreadsEachHasItsOwn)
{
    const Trace trace = this->trace({"--threads", "4", "--batch", "3", "--repeat", "2"});
    const std::vector<json> spans = trace.of("pipeline");
    ASSERT_EQ(spans.size(), 60u);
    EXPECT_EQ(trace.count("pipeline", "shared"), 30u);
    std::vector<int> threads;
    for (const json &span : spans) {
        threads.push_back(span["tid"]);
    }
    std::sort(threads.begin(), threads.end());
    EXPECT_GE(std::unique(threads.begin(), threads.end()) - threads.begin(), 4);
}

TEST_F(RealTraceTest, HoweverTheProgramEnds)
{
    for (const char *end : {"destroy", "return"}) {
        EXPECT_EQ(trace({"--end", end}).of("pipeline").size(), 30u) << end;
    }
}

TEST_F(RealTraceTest, RunsStandBehindEachOther)
{
    client();
    client();
    const Trace both(trace_path());
    EXPECT_EQ(both.count("pipeline", "miss"), 30u);
    EXPECT_EQ(both.count("pipeline", "hit"), 30u);
    EXPECT_EQ(both.of("device").size(), 2u);
}

} // namespace
