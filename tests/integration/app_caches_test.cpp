// SPDX-License-Identifier: Apache-2.0
// A program's own caches on a real driver: whatever the layer does with them, the program has at
// least what it had without.
#include "own_caches.hpp"
#include "real_drivers.hpp"

#include <chrono>
#include <fstream>
#include <malloc.h>
#include <sstream>

namespace {

// Of this process, in KiB: resident now (VmRSS), or at most so far (VmHWM).
size_t memory_kib(const std::string &name)
{
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind(name, 0) == 0) {
            return std::stoul(line.substr(name.size() + 1));
        }
    }
    return 0;
}

// Resident, less what was freed.
size_t kept_kib()
{
    malloc_trim(0);
    return memory_kib("VmRSS");
}

// The data of newer Mesa's caches vary by some bytes with the order in which shaders come into
// them.
double no_less_than(const json &bytes)
{
    return 0.999 * bytes.get<double>();
}

class AppCachesTest : public RealDriversTest {
  protected:
    void SetUp() override
    {
        use_radv();
    }

    std::string own_file() const
    {
        return folder() / "own.bin";
    }

    // How many of 30 pipelines a program finds in the file it has saved, without the layer.
    int hits_in_own_file()
    {
        return plain_client({"--feedback", "--cache", "file=" + own_file()}).said["feedback_hits"];
    }
};

TEST_F(AppCachesTest, OneThatIsLoadedAndSavedKeepsWorking)
{
    for (const char *mode : {"auto", "harvest", "serve", "ignore"}) {
        environment["WARMPIPE_APP_CACHE"] = mode;
        std::filesystem::remove(own_file());
        client({"--cache", "file=" + own_file()});
        EXPECT_EQ(hits_in_own_file(), 30) << mode;
        const ClientRun again = client({"--feedback", "--cache", "file=" + own_file()});
        EXPECT_EQ(again.said["feedback_hits"], 30) << mode;
    }
}

// Warm through the layer, the program reads back a cache that it made empty.
TEST_F(AppCachesTest, OneThatIsReadBackHoldsItsPipelines)
{
    const json plain = plain_client({"--cache", "readback"}).said;
    for (const char *mode : {"harvest", "serve"}) {
        environment["WARMPIPE_APP_CACHE"] = mode;
        client();
        const ClientRun run = client({"--cache", "readback=" + own_file()});
        EXPECT_GE(run.said["app_cache_bytes"], no_less_than(plain["app_cache_bytes"])) << mode;
        EXPECT_EQ(hits_in_own_file(), 30) << mode;
    }
}

TEST_F(AppCachesTest, SizeIdiomSeesOneSizeWhileOthersCreate)
{
    environment["WARMPIPE_APP_CACHE"] = "serve";
    for (const char *seed : {"0", "1"}) {
        const ClientRun run = client({"--cache", "readback=" + own_file(), "--threads", "8",
                                      "--compute", "100", "--seed", seed});
        EXPECT_EQ(run.said["readbacks_resized"], 0);
        EXPECT_EQ(run.outcome.stats_of()["app_caches"]["read_back"], 1);
    }
}

TEST_F(AppCachesTest, OnesThatAreMergedHoldTheirPipelines)
{
    const json plain = plain_client({"--cache", "merge=4"}).said;
    for (const char *mode : {"harvest", "serve"}) {
        environment["WARMPIPE_APP_CACHE"] = mode;
        for (int run = 0; run < 2; run++) {
            EXPECT_GE(client({"--cache", "merge=4"}).said["app_cache_bytes"],
                      no_less_than(plain["app_cache_bytes"]))
                << mode;
        }
    }
}

TEST_F(AppCachesTest, HarvestedThenServed)
{
    environment["WARMPIPE_APP_CACHE"] = "harvest";
    const ClientRun harvested = client({"--cache", "many=10"});
    EXPECT_EQ(harvested.outcome.stats_of()["app_caches"]["created"], 10);
    EXPECT_EQ(harvested.outcome.stats_of()["app_caches"]["harvested"], 10);
    EXPECT_EQ(harvested.pipelines()["injected"], 0);

    environment["WARMPIPE_APP_CACHE"] = "serve";
    const ClientRun served = client({"--cache", "many=10", "--feedback"});
    expect_warm(served, 30);
    EXPECT_EQ(served.outcome.stats_of()["app_caches"]["served"], 10);
    // What its own, empty caches cannot have held is not named a hit.
    EXPECT_EQ(served.said["feedback_hits"], 0);
}

// Dawn, libplacebo and mpv on a real compiler: each cache is read back, none is ever loaded.
TEST_F(AppCachesTest, OnesThatAreReadBackAndNeverLoadedAreWarm)
{
    preload_here();
    for (const auto &[caches, each] : {std::pair{20u, 3u}, {10u, 2u}, {2u, 15u}}) {
        environment["WARMPIPE_APP"] = "reader" + std::to_string(caches);
        for (int start = 0; start < 3; ++start) {
            const Outcome outcome = run([caches = caches, each = each] {
                Program program;
                use_caches(program, caches, each, caches);
            });
            const json pipelines = outcome.stats_of()["pipelines"];
            EXPECT_EQ(pipelines["driver_hits"], start == 0 ? 0 : caches * each);
            EXPECT_EQ(outcome.stats_of()["cache"]["saved_bytes"] == 0, start > 0);
        }
    }
}

// What a program has grown by that creates eight thousand pipelines, each in a cache of its own.
struct Growth {
    size_t kept_kib, peak_kib;
};

class ThousandsOfCachesTest : public AppCachesTest, public ::testing::WithParamInterface<bool> {
  protected:
    // Waits until it keeps no more than `allowed_kib`: a save may be under way.
    Growth growth(const char *mode, size_t allowed_kib, size_t *ret_saved)
    {
        const bool destroys = GetParam();
        environment["WARMPIPE_APP"] = environment["WARMPIPE_APP_CACHE"] = mode;
        const Outcome outcome = run([&] {
            Program program;
            std::vector<VkPipelineCache> caches;
            size_t before = 0;
            for (unsigned i = 0; i < 8200; ++i) {
                if (i == 200) {
                    before = kept_kib();
                    std::ofstream("/proc/self/clear_refs") << 5; // VmHWM begins anew
                }
                caches.push_back(program.create_cache());
                create(program, i, caches.back());
                if (destroys) {
                    program.destroy_cache(caches.back());
                    caches.pop_back();
                }
            }
            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(300);
            size_t kept = kept_kib() - before;
            while (kept > allowed_kib && std::chrono::steady_clock::now() < end) {
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                kept = kept_kib() - before;
            }
            for (VkPipelineCache cache : caches) {
                program.destroy_cache(cache);
            }
            program.destroy_device();
            std::cout << kept << " " << memory_kib("VmHWM") - before;
        });
        *ret_saved = outcome.stats_of()["cache"]["saved_bytes"];
        Growth growth = {};
        std::istringstream(outcome.output) >> growth.kept_kib >> growth.peak_kib;
        return growth;
    }

  private:
    // A pipeline with a module of its own, of which the program keeps neither.
    static void create(Program &program, unsigned number, VkPipelineCache cache)
    {
        const std::vector<uint32_t> code = shader_code(Kind::compute, number);
        VkShaderModuleCreateInfo info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        info.codeSize = code.size() * sizeof code[0];
        info.pCode = code.data();
        Batch batch(program, Kind::compute, {0});
        vkCreateShaderModule(program.device, &info, nullptr, &batch.stage(0).module);
        EXPECT_EQ(batch.create(cache), VK_SUCCESS);
        vkDestroyShaderModule(program.device, batch.stage(0).module, nullptr);
        vkDestroyPipeline(program.device, batch.pipelines[0], nullptr);
        batch.pipelines.clear();
    }
};

// What is saved is not kept, and a save holds it but a few times.
TEST_P(ThousandsOfCachesTest, LeaveAFirstRunSmall)
{
#ifdef WARMPIPE_SANITIZED
    GTEST_SKIP() << "a sanitizer keeps what was freed";
#endif
    preload_here();
    size_t saved = 0;
    const Growth without = growth("ignore", SIZE_MAX, &saved);
    EXPECT_EQ(saved, 0u);
    const size_t allowed = without.kept_kib + 4096;
    const Growth with = growth("auto", allowed, &saved);
    EXPECT_GT(saved, 0u);
    EXPECT_LE(with.kept_kib, allowed);
    EXPECT_LE(with.peak_kib, without.peak_kib + 8192 + 4 * saved / 1024);
    RecordProperty("kept_kib", static_cast<int>(with.kept_kib - without.kept_kib));
    RecordProperty("peak_kib", static_cast<int>(with.peak_kib - without.peak_kib));
    RecordProperty("saved_kib", static_cast<int>(saved / 1024));
}

INSTANTIATE_TEST_SUITE_P(Of, ThousandsOfCachesTest, ::testing::Bool(), [](const auto &param) {
    return param.param ? "ThatAreDestroyed" : "ThatLive";
});

TEST_F(AppCachesTest, IgnoredOnesArePassedOn)
{
    environment["WARMPIPE_APP_CACHE"] = "ignore";
    const ClientRun run = client({"--cache", "many=10"});
    EXPECT_EQ(run.pipelines()["injected"], 0);
    EXPECT_EQ(run.pipelines()["passed"], 30);
    EXPECT_TRUE(cache_files().empty());
}

} // namespace
