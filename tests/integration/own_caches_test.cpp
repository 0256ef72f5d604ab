// The program's own pipeline caches: passed on, harvested, served, read back.
#include "harness.hpp"
#include "program.hpp"

#include <mutex>
#include <numeric>
#include <set>
#include <thread>

namespace {

class OwnCachesTest : public LayerTest {
  protected:
    void mode(const char *value)
    {
        environment["WARMPIPE_APP_CACHE"] = value;
    }

    // What cache data holds, of compute pipelines of these numbers: asked of the driver alone.
    size_t holds(const std::vector<uint8_t> &data, unsigned first, unsigned end)
    {
        const std::map<std::string, std::string> with_layer = environment;
        environment.erase("WARMPIPE_ENABLE");
        const Outcome outcome = run(
            [&] {
                Program program;
                VkPipelineCache cache = program.create_cache(data);
                program.create_compute(first, end, cache);
                program.destroy_cache(cache);
            },
            {Layer::absent, true, 0});
        environment = with_layer;
        return outcome.hits();
    }

    // How many of these a run of a program without caches finds warm.
    size_t warm(unsigned first, unsigned end)
    {
        return run([&] { Program().create_compute(first, end); }).hits();
    }

    std::filesystem::path file(const char *name) const
    {
        return folder() / name;
    }
};

class EachMode : public OwnCachesTest, public ::testing::WithParamInterface<const char *> {
  protected:
    void SetUp() override
    {
        mode(GetParam());
    }
};

INSTANTIATE_TEST_SUITE_P(Of, EachMode, ::testing::Values("auto", "serve", "harvest", "ignore"),
                         [](const auto &mode) { return std::string(mode.param); });

TEST_P(EachMode, OneWithInitialDataIsLeftAlone)
{
    run([] { Program().create_compute(50, 60); }); // something warm that could get in
    const auto program = [&](const char *from, const char *to) {
        return [=] {
            Program owner;
            VkPipelineCache cache = owner.create_cache(read_bytes(file(from)));
            owner.create_compute(0, 5, cache);
            write_bytes(file(to), owner.cache_data(cache));
            owner.destroy_cache(cache);
        };
    };
    environment.erase("WARMPIPE_ENABLE");
    run(program("none", "initial"), {Layer::absent, true, 0});
    run(program("initial", "without"), {Layer::absent, true, 0});
    environment["WARMPIPE_ENABLE"] = "1";

    const Outcome outcome = run(program("initial", "with"));
    EXPECT_EQ(read_bytes(file("with")), read_bytes(file("without")));
    const json created = outcome.events("vkCreatePipelineCache").at(0);
    EXPECT_EQ(created["initial_size"], read_bytes(file("initial")).size());
    for (const json &pipeline : outcome.pipelines()) {
        EXPECT_EQ(pipeline["cache"], created["handle"]);
    }
}

// The program keeps what it had without us: what it saves holds all that it made.
TEST_P(EachMode, SavesAndLoadsItsOwnFile)
{
    const auto program = [&] {
        Program owner;
        VkPipelineCache cache = owner.create_cache(read_bytes(file("own")));
        owner.create_compute(0, 20, cache);
        write_bytes(file("own"), owner.cache_data(cache));
        owner.destroy_cache(cache);
    };
    for (int start = 0; start < 3; ++start) {
        const Outcome outcome = run(program);
        EXPECT_EQ(holds(read_bytes(file("own")), 0, 20), 20u);
        EXPECT_EQ(outcome.hits(), start == 0 ? 0u : 20u);
    }
}

TEST_P(EachMode, MergesItsOwn)
{
    for (int start = 0; start < 2; ++start) {
        run([&] {
            Program program;
            std::vector<VkPipelineCache> caches;
            for (unsigned i = 0; i < 4; ++i) {
                caches.push_back(program.create_cache());
                program.create_compute(10 * i, 10 * i + 5, caches.back());
            }
            EXPECT_EQ(vkMergePipelineCaches(program.device, caches[0], 3, &caches[1]), VK_SUCCESS);
            program.create_compute(100, 105, caches[0]);
            write_bytes(file("merged"), program.cache_data(caches[0]));
            for (VkPipelineCache cache : caches) {
                program.destroy_cache(cache);
            }
        });
        const std::vector<uint8_t> merged = read_bytes(file("merged"));
        for (unsigned i = 0; i < 4; ++i) {
            EXPECT_EQ(holds(merged, 10 * i, 10 * i + 5), 5u) << i;
        }
        EXPECT_EQ(holds(merged, 100, 105), 5u);
    }
}

// Reads a cache of its own back while eight threads create; shared: with this very cache.
void read_back_while_others_create(const std::filesystem::path &file, bool shared)
{
    Program program;
    VkPipelineCache cache = program.create_cache();
    program.create_compute(0, 10, cache);
    std::vector<std::unique_ptr<Batch>> batches;
    std::vector<VkPipelineCache> others;
    for (unsigned i = 0; i < 8; ++i) {
        std::vector<unsigned> numbers(20);
        std::iota(numbers.begin(), numbers.end(), 100 + 20 * i);
        batches.push_back(std::make_unique<Batch>(program, Kind::compute, numbers));
        others.push_back(i % 2 == 0 ? VK_NULL_HANDLE : program.create_cache());
    }
    std::vector<std::thread> threads;
    for (size_t i = 0; i < batches.size(); ++i) {
        threads.emplace_back(
            [&, i] { EXPECT_EQ(batches[i]->create(shared ? cache : others[i]), VK_SUCCESS); });
    }
    for (int i = 0; i < (shared ? 1 : 10); ++i) {
        write_bytes(file, program.cache_data(cache)); // expects one size
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    program.destroy_cache(cache);
    for (VkPipelineCache other : others) {
        program.destroy_cache(other);
    }
}

// The two calls of the idiom see one size, whatever other threads do to other caches meanwhile.
TEST_P(EachMode, SizeIdiomSeesOneSizeWhileOthersCreate)
{
    environment["WPTEST_ICD_COMPILE_US"] = "200";
    run([&] { read_back_while_others_create(file("data"), false); });
    EXPECT_EQ(holds(read_bytes(file("data")), 0, 10), 10u);
}

// Of a served cache that holds even while they use this very one: they use the hot cache until the
// data call has returned.
TEST_F(OwnCachesTest, SizeIdiomSeesOneSizeOfAServedCacheInUse)
{
    mode("serve");
    environment["WPTEST_ICD_COMPILE_US"] = "200";
    run([&] { read_back_while_others_create(file("data"), true); });
    EXPECT_EQ(holds(read_bytes(file("data")), 0, 10), 10u);
}

// Chapter "Pipeline Cache": such a cache is the program's to guard. The driver notices if it has
// two users at once.
TEST_P(EachMode, ExternallySynchronizedOnesAreNeverTouchedBesideTheProgram)
{
    environment["WPTEST_ICD_COMPILE_US"] = "100";
    environment["WPTEST_ICD_DATA_US"] = "1000";
    for (int start = 0; start < 2; ++start) {
        run([&] {
            Program program;
            VkPipelineCache cache =
                program.create_cache({}, VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT);
            std::mutex guard;
            std::vector<std::unique_ptr<Batch>> batches;
            for (unsigned i = 0; i < 4; ++i) {
                batches.push_back(std::make_unique<Batch>(
                    program, Kind::compute, std::vector<unsigned>{4 * i, 4 * i + 1, 4 * i + 2}));
            }
            std::vector<std::thread> threads;
            for (const auto &batch : batches) {
                threads.emplace_back([&] {
                    const std::lock_guard<std::mutex> lock(guard);
                    EXPECT_EQ(batch->create(cache), VK_SUCCESS);
                    program.cache_data(cache);
                });
            }
            for (std::thread &thread : threads) {
                thread.join();
            }
            program.destroy_cache(cache);
        });
    }
}

TEST_P(EachMode, CachesMadeWithAnAllocatorAreDestroyedWithIt)
{
    run([] {
        Program program;
        int live = 0;
        VkAllocationCallbacks allocator = {};
        allocator.pUserData = &live;
        allocator.pfnAllocation = [](void *user, size_t size, size_t, VkSystemAllocationScope) {
            ++*static_cast<int *>(user);
            return std::malloc(size);
        };
        allocator.pfnReallocation = [](void *, void *old, size_t size, size_t,
                                       VkSystemAllocationScope) { return std::realloc(old, size); };
        allocator.pfnFree = [](void *user, void *memory) {
            --*static_cast<int *>(user);
            std::free(memory);
        };
        VkPipelineCacheCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
        VkPipelineCache cache = VK_NULL_HANDLE;
        EXPECT_EQ(vkCreatePipelineCache(program.device, &info, &allocator, &cache), VK_SUCCESS);
        program.create_compute(0, 3, cache);
        vkDestroyPipelineCache(program.device, cache, &allocator);
        EXPECT_EQ(live, 0) << "gone at once: the allocator may be, too";
    });
}

TEST_P(EachMode, FailedCreationsOfCachesAreTheDriversOwn)
{
    environment["WPTEST_ICD_FAIL"] = "vkCreatePipelineCache:1=-2";
    run([] {
        Program program;
        VkPipelineCacheCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
        VkPipelineCache cache = VK_NULL_HANDLE;
        EXPECT_EQ(vkCreatePipelineCache(program.device, &info, nullptr, &cache),
                  VK_ERROR_OUT_OF_DEVICE_MEMORY);
        cache = program.create_cache();
        program.create_compute(0, 3, cache);
        program.destroy_cache(cache);
    });
}

TEST_F(OwnCachesTest, HarvestedOnesArePassedOnUnseen)
{
    mode("harvest");
    run([] { Program().create_compute(50, 60); });
    const Outcome outcome = run([&] {
        Program program;
        VkPipelineCache cache = program.create_cache();
        program.create_compute(0, 5, cache);
        write_bytes(file("data"), program.cache_data(cache));
        program.destroy_cache(cache);
    });
    const std::vector<uint8_t> data = read_bytes(file("data"));
    EXPECT_EQ(holds(data, 0, 5), 5u);
    EXPECT_EQ(holds(data, 50, 60), 0u) << "it sees nothing of ours";
    for (const json &pipeline : outcome.pipelines()) {
        EXPECT_EQ(pipeline["cache"], outcome.events("vkCreatePipelineCache").at(0)["handle"]);
    }
    EXPECT_EQ(outcome.stats_of()["app_caches"]["harvested"], 1);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["passed"], 5);
    EXPECT_EQ(warm(0, 5), 5u);
    EXPECT_EQ(warm(50, 60), 10u);
}

TEST_F(OwnCachesTest, HarvestTakesTheLivingAndTheDestroyed)
{
    mode("harvest");
    const Outcome outcome = run(
        [] {
            Program program;
            for (unsigned i = 0; i < 70; ++i) {
                VkPipelineCache cache = program.create_cache();
                program.create_compute(2 * i, 2 * i + 2, cache);
                program.destroy_cache(cache);
            }
            program.create_compute(200, 203, program.create_cache()); // never destroyed
        },
        {Layer::works, false, 0});
    EXPECT_EQ(outcome.violations(), std::vector<std::string>{"live_cache"})
        << "the program's leak, and no other";
    EXPECT_EQ(warm(0, 140), 140u);
    EXPECT_EQ(warm(200, 203), 3u);
}

TEST_F(OwnCachesTest, IgnoredOnesAreIgnored)
{
    mode("ignore");
    run([] {
        Program program;
        VkPipelineCache cache = program.create_cache();
        program.create_compute(0, 5, cache);
        program.destroy_cache(cache);
    });
    EXPECT_TRUE(cache_files().empty());
}

TEST_F(OwnCachesTest, ServedOnesCostWhatOneDoes)
{
    mode("serve");
    environment["WARMPIPE_DEDUP"] = "none";
    const auto program = [] {
        Program owner;
        std::vector<VkPipelineCache> caches;
        for (unsigned i = 0; i < 30; ++i) {
            caches.push_back(owner.create_cache());
            owner.create_compute(i, i + 2, caches.back());
        }
        for (VkPipelineCache cache : caches) {
            owner.destroy_cache(cache);
        }
    };
    run(program);
    const Outcome outcome = run(program);
    EXPECT_EQ(outcome.hits(), 60u);
    std::set<std::string> used;
    for (const json &pipeline : outcome.pipelines()) {
        used.insert(pipeline["cache"]);
    }
    EXPECT_EQ(used.size(), 1u);
    EXPECT_EQ(outcome.stats_of()["app_caches"]["created"], 30);
    EXPECT_EQ(outcome.stats_of()["app_caches"]["served"], 30);
    EXPECT_EQ(outcome.stats_of()["app_caches"]["read_back"], 0);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["injected"], 60);
    EXPECT_EQ(outcome.calls("vkMergePipelineCaches"), 0u);
}

// Feedback speaks of the cache that the program named: an empty one has seen nothing yet.
TEST_F(OwnCachesTest, ServedOnesTellNoHitThatIsNotTheirs)
{
    mode("serve");
    const auto program = [] {
        Program owner;
        VkPipelineCache cache = owner.create_cache();
        Feedback feedback;
        Batch batch(owner, Kind::compute, {1});
        batch.chain(0, &feedback.info);
        EXPECT_EQ(batch.create(cache), VK_SUCCESS);
        EXPECT_FALSE(feedback.hit());
        EXPECT_FALSE(feedback.stage_hit());
        owner.destroy_cache(cache);
    };
    run(program);
    EXPECT_EQ(run(program).hits(), 1u);
}

TEST_F(OwnCachesTest, ServedOnesAreFilledWhenReadBack)
{
    mode("serve");
    environment["WARMPIPE_LOG"] = "info";
    run([] { Program().create_compute(0, 10); });
    const Outcome outcome = run([&] {
        Program program;
        VkPipelineCache cache = program.create_cache();
        program.create_compute(0, 10, cache);
        program.create_compute(20, 30, cache);
        write_bytes(file("first"), program.cache_data(cache));
        // From here on it is the program's own again, and so are the next ones.
        program.create_compute(40, 45, cache);
        write_bytes(file("second"), program.cache_data(cache));
        VkPipelineCache next = program.create_cache();
        program.create_compute(60, 62, next);
        program.destroy_cache(cache);
        program.destroy_cache(next);
    });
    EXPECT_EQ(holds(read_bytes(file("first")), 0, 10), 10u);
    EXPECT_EQ(holds(read_bytes(file("first")), 20, 30), 10u);
    EXPECT_EQ(holds(read_bytes(file("second")), 0, 10), 10u);
    EXPECT_EQ(holds(read_bytes(file("second")), 40, 45), 5u);
    EXPECT_EQ(outcome.stats_of()["app_caches"]["read_back"], 1);
    EXPECT_EQ(outcome.pipelines().at(20)["cache"],
              outcome.events("vkCreatePipelineCache").at(0)["handle"]);
    size_t lines = 0;
    for (const std::string &line : outcome.log()) {
        lines += line.find("reads its pipeline cache back") != std::string::npos;
    }
    EXPECT_EQ(lines, 1u);
    EXPECT_EQ(warm(0, 62), 27u) << "and all of it is kept";
}

TEST_F(OwnCachesTest, ServedOnesThatAreNeverUsedReadBackEmpty)
{
    mode("serve");
    run(
        [&] {
            Program program;
            VkPipelineCache cache = program.create_cache();
            program.create_cache(program.cache_data(cache));
            write_bytes(file("data"), program.cache_data(cache));
            program.destroy_cache(cache);
            size_t size = 1;
            std::vector<uint8_t> data(1);
            cache = program.create_cache();
            EXPECT_EQ(vkGetPipelineCacheData(program.device, cache, &size, data.data()),
                      VK_INCOMPLETE);
            EXPECT_EQ(size, 0u);
            program.destroy_cache(cache);
        },
        {Layer::works, false, 0});
    EXPECT_EQ(holds(read_bytes(file("data")), 0, 1), 0u);
}

// A structure that forbids a cache for the whole call makes the named cache the program's again.
TEST_F(OwnCachesTest, ServedOnesAreFilledBeforeAnUntouchedCreation)
{
    mode("serve");
    run([&] {
        Program program;
        VkPipelineCache cache = program.create_cache();
        program.create_compute(0, 5, cache);
        VkBaseOutStructure unknown = {static_cast<VkStructureType>(1999999001), nullptr};
        Batch batch(program, Kind::compute, {9});
        batch.chain(0, &unknown);
        EXPECT_EQ(batch.create(cache), VK_SUCCESS);
        write_bytes(file("data"), program.cache_data(cache));
        program.destroy_cache(cache);
    });
    EXPECT_EQ(holds(read_bytes(file("data")), 0, 5), 5u);
    EXPECT_EQ(holds(read_bytes(file("data")), 9, 10), 1u);
}

TEST_F(OwnCachesTest, ServedOnesKeepWhatADeferredOperationMakes)
{
    mode("serve");
    run([&] {
        Program program;
        VkPipelineCache cache = program.create_cache();
        Deferred deferred(program);
        Batch batch(program, Kind::ray_tracing_khr, {1});
        EXPECT_EQ(batch.create(cache, nullptr, deferred.operation), VK_OPERATION_DEFERRED_KHR);
        program.cache_data(cache);
        EXPECT_EQ(deferred.join(), VK_SUCCESS);
        write_bytes(file("data"), program.cache_data(cache));
        program.destroy_cache(cache);
    });
    environment.erase("WARMPIPE_ENABLE");
    const Outcome outcome = run(
        [&] {
            Program program;
            VkPipelineCache cache = program.create_cache(read_bytes(file("data")));
            program.create(Kind::ray_tracing_khr, 1, cache);
            program.destroy_cache(cache);
        },
        {Layer::absent, true, 0});
    EXPECT_EQ(outcome.hits(), 1u);
}

// A driver may return one handle for two creations ("Object Model").
TEST_F(OwnCachesTest, StormOfServedCaches)
{
    mode("serve");
    const auto program = [] {
        Program owner;
        std::vector<std::unique_ptr<Batch>> batches;
        for (unsigned i = 0; i < 8; ++i) {
            batches.push_back(
                std::make_unique<Batch>(owner, Kind::compute, std::vector<unsigned>{i, i + 8}));
        }
        std::vector<std::thread> threads;
        for (size_t i = 0; i < batches.size(); ++i) {
            threads.emplace_back([&, i] {
                for (int round = 0; round < 10; ++round) {
                    VkPipelineCache cache = owner.create_cache();
                    EXPECT_EQ(batches[i]->create(cache), VK_SUCCESS);
                    for (VkPipeline &pipeline : batches[i]->pipelines) {
                        vkDestroyPipeline(owner.device, pipeline, nullptr);
                        pipeline = VK_NULL_HANDLE;
                    }
                    if (round == 5 && i == 0) {
                        owner.cache_data(cache);
                    }
                    owner.destroy_cache(cache);
                }
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
    };
    run(program);
    run(program);
}

} // namespace
