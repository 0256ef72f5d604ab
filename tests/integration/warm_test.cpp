// SPDX-License-Identifier: Apache-2.0
// warmpipe warm on real drivers: recipes of one device become the cache of another.
#include "paths.h"
#include "real_drivers.hpp"

namespace {

class WarmTest : public RealDriversTest {
  protected:
    // What the tool says. The layer, enabled for all, is not in the tool.
    json told(const std::vector<std::string> &options = {})
    {
        std::vector<std::string> command = {WARMPIPE_TOOL, "warm", "--json"};
        command.insert(command.end(), options.begin(), options.end());
        return json::parse(execute(command, {Layer::absent}).output, nullptr, false);
    }

    // What it says of its one device.
    json warm(const std::vector<std::string> &options = {})
    {
        const json document = told(options);
        if (!document.is_object() || document["caches"].size() != 1) {
            ADD_FAILURE() << document;
            return json::object();
        }
        return document["caches"][0];
    }
};

// With one complete cache, whatever the number of threads.
TEST_F(WarmTest, TheFirstStartOnAnotherDeviceIsWarm)
{
    use_radv();
    client();
    use_radv("navi21");
    for (const char *jobs : {"1", "2", "3", "8"}) {
        SCOPED_TRACE(jobs);
        remove_caches();
        const json cache = warm({"--jobs", jobs});
        EXPECT_EQ(cache["state"], "warmed");
        EXPECT_EQ(cache["compiled"], 30);
        EXPECT_EQ(cache["skipped"], 0);
        EXPECT_EQ(cache_files().size(), 1u);
        expect_warm(client(), 30);
        EXPECT_EQ(warm()["state"], "ready");
    }
}

TEST_F(WarmTest, WithRenderPassesAndAnOlderVulkan)
{
    use_radv();
    const std::vector<std::string> older = {"--render-pass", "--api", "1.1"};
    client(older);
    use_radv("navi21");
    EXPECT_EQ(warm()["compiled"], 30);
    // Without creation feedback: what it would compile, it would save.
    const ClientRun there = client(older);
    EXPECT_EQ(there.cache()["state"], "loaded");
    EXPECT_EQ(there.cache()["saved_bytes"], 0);
}

TEST_F(WarmTest, WithRayTracing)
{
    use_radv_raytracing();
    const std::vector<std::string> rays = {"--compute",    "0", "--graphics", "0",
                                           "--raytracing", "6"};
    client(rays);
    std::filesystem::remove(cache_file());
    EXPECT_EQ(warm()["compiled"], 6);
    // Feedback of stages, if we asked for it, would crash about half of these.
    for (int start = 0; start < 6; start++) {
        expect_warm(client(rays), 6);
    }
}

TEST_F(WarmTest, ADeviceThatLacksRayTracingIsLeftAlone)
{
    use_radv_raytracing();
    client({"--compute", "0", "--graphics", "0", "--raytracing", "6"});
    environment.erase("RADV_PERFTEST");
    use_radv();
    const json all = told();
    EXPECT_EQ(all["caches"][0]["state"], "nothing") << all;
    EXPECT_EQ(all["caches"][0]["not_offered"], 6);
    EXPECT_EQ(all["coverage"][0]["covered"], 0);
    std::map<std::string, int> lacks;
    for (const json &row : all["lacks"]) {
        lacks[row["lacks"]] = row["pipelines"];
    }
    EXPECT_EQ(lacks["VK_KHR_ray_tracing_pipeline"], 6) << all;
}

TEST_F(WarmTest, ADriverThatKeepsNothing)
{
    use_lavapipe();
    client();
    EXPECT_EQ(warm()["state"], "ineffective");
}

} // namespace
