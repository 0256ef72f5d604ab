// SPDX-License-Identifier: Apache-2.0
// Threads that ask for the same pipeline at once: it is compiled once, and nobody waits who must
// not.
#include "during.hpp"
#include "harness.hpp"
#include "things.hpp"

#include <set>

#include <dlfcn.h>
#include <sched.h>

namespace {

std::atomic<bool> claims_stay_young{false};
std::atomic<unsigned> asked_for_age{0};

} // namespace

// Every wait for a claim is bounded by the claim's age, so that who waits though he must not is
// only late, which no test can tell from a busy machine. While `claims_stay_young`, the clock by
// which claims are dated is an hour ahead: such a wait outlasts the test. The layer finds this
// definition before libc's.
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                                    timespec *time) noexcept
{
    // That of libc: in a sandbox that kills, no system call is made for it.
    static const auto next =
        reinterpret_cast<int (*)(clockid_t, timespec *)>(dlsym(RTLD_NEXT, "clock_gettime"));
    const int result = next(clock, time);
    if (result == 0 && clock == CLOCK_MONOTONIC_COARSE && claims_stay_young) {
        time->tv_sec += 3600;
        ++asked_for_age;
    }
    return result;
}

namespace {

// In one process, for as long as it lives.
class YoungClaims {
  public:
    YoungClaims()
    {
        claims_stay_young = true;
    }
    YoungClaims(const YoungClaims &) = delete;
    YoungClaims &operator=(const YoungClaims &) = delete;
    ~YoungClaims()
    {
        claims_stay_young = false;
    }
};

class SingleFlightTest : public LayerTest {};

TEST_F(SingleFlightTest, ThreadsThatAskForOneCompileItOnce)
{
    constexpr unsigned thread_count = 8;
    const Outcome outcome = run([&] {
        Program program;
        std::vector<std::unique_ptr<Batch>> batches;
        for (unsigned i = 0; i < thread_count; ++i) {
            batches.push_back(
                std::make_unique<Batch>(program, Kind::compute, std::vector<unsigned>{1}));
        }
        std::atomic<unsigned> calling{0};
        Signal all_call;
        const DuringCompile compile([&](int) { all_call.wait(); });
        std::vector<std::thread> threads;
        for (const auto &batch : batches) {
            threads.emplace_back([&] {
                if (++calling == thread_count) {
                    all_call.raise();
                }
                EXPECT_EQ(batch->create(), VK_SUCCESS);
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
        std::set<VkPipeline> shared;
        for (const auto &batch : batches) {
            shared.insert(batch->pipelines[0]);
        }
        EXPECT_EQ(shared.size(), 1u);
        EXPECT_EQ(compile.count(), 1);
    });
    EXPECT_EQ(outcome.pipelines().size(), 1u);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["deduplicated"], thread_count - 1);
}

TEST_F(SingleFlightTest, ModulesToo)
{
    const Outcome outcome = run([] {
        Program program;
        std::vector<std::thread> threads;
        std::atomic<int> made{0};
        for (int i = 0; i < 8; ++i) {
            threads.emplace_back([&] {
                Things things(program); // four modules and a set layout, the same in all
                ++made;
                while (made < 8) {
                    std::this_thread::yield();
                }
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
    });
    EXPECT_GE(outcome.calls("vkCreateShaderModule"), 4u);
    EXPECT_LT(outcome.calls("vkCreateShaderModule"), 32u) << "who waits too long goes on alone";
    EXPECT_EQ(outcome.calls("vkDestroyShaderModule"), outcome.calls("vkCreateShaderModule"));
}

// Whoever waited for one that failed asks the driver itself.
TEST_F(SingleFlightTest, AFailureIsNobodyElses)
{
    environment["WPTEST_ICD_FAIL"] = "vkCreateComputePipelines:2=-2";
    run([] {
        Program program;
        std::vector<std::unique_ptr<Batch>> batches;
        for (int i = 0; i < 4; ++i) {
            batches.push_back(
                std::make_unique<Batch>(program, Kind::compute, std::vector<unsigned>{1}));
        }
        program.create(Kind::compute, 2);
        std::atomic<int> failed{0};
        std::vector<std::thread> threads;
        for (const auto &batch : batches) {
            threads.emplace_back([&] {
                const VkResult result = batch->create();
                failed += result == VK_ERROR_OUT_OF_DEVICE_MEMORY;
                EXPECT_EQ(result == VK_SUCCESS, batch->pipelines[0] != VK_NULL_HANDLE);
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
        EXPECT_EQ(failed, 1);
    });
}

// Two calls, each with a claim on what the other wants next: neither waits.
TEST_F(SingleFlightTest, CallsDoNotWaitForEachOtherInACircle)
{
    run([] {
        Program program;
        for (unsigned round = 0; round < 100; ++round) {
            const unsigned a = 2 * round, b = 2 * round + 1;
            Batch one(program, Kind::compute, {a, b}), two(program, Kind::compute, {b, a});
            std::atomic<int> ready{0};
            const auto create = [&](Batch &batch) {
                ++ready;
                while (ready < 2) {
                }
                EXPECT_EQ(batch.create(), VK_SUCCESS);
            };
            std::thread other([&] { create(two); });
            create(one);
            other.join();
        }
    });
}

// The call's point is not to be kept waiting for a compile.
TEST_F(SingleFlightTest, FailOnCompileRequiredDoesNotWait)
{
    run([] {
        Program program;
        Batch slow(program, Kind::compute, {1}), quick(program, Kind::compute, {1});
        quick.set_flags(0, VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT);
        const YoungClaims no_wait_ends;
        Signal compiling, answered;
        const DuringCompile compile([&](int) {
            compiling.raise();
            answered.wait();
        });
        std::thread other([&] { EXPECT_EQ(slow.create(), VK_SUCCESS); });
        compiling.wait();
        EXPECT_EQ(quick.create(), VK_PIPELINE_COMPILE_REQUIRED);
        EXPECT_EQ(quick.pipelines[0], VK_NULL_HANDLE);
        answered.raise();
        other.join();
    });
}

// In the middle of its only compile so far, a thread waits until another has created the same
// pipeline.
void expect_wait_ends(
    Batch &slow, VkPipelineCache slow_cache, Batch &quick, VkPipelineCache quick_cache,
    const std::function<void()> &in_compile = [] {})
{
    Signal compiling, answered;
    const DuringCompile compile([&](int nth) {
        if (nth == 1) {
            in_compile();
            compiling.raise();
            answered.wait();
        }
    });
    std::thread other([&] { EXPECT_EQ(slow.create(slow_cache), VK_SUCCESS); });
    compiling.wait();
    EXPECT_EQ(quick.create(quick_cache), VK_SUCCESS);
    answered.raise();
    other.join();
}

// Who had to wait for the first one would wait until the test gives up.
void expect_no_wait(
    Batch &slow, VkPipelineCache slow_cache, Batch &quick, VkPipelineCache quick_cache,
    const std::function<void()> &in_compile = [] {})
{
    const YoungClaims no_wait_ends;
    expect_wait_ends(slow, slow_cache, quick, quick_cache, in_compile);
}

// Without that the tests below would say nothing.
TEST_F(SingleFlightTest, ClaimsAreDatedByTheClockOfTheTest)
{
    run([] {
        Program program;
        Batch one(program, Kind::compute, {1}), two(program, Kind::compute, {2});
        expect_no_wait(one, VK_NULL_HANDLE, two, VK_NULL_HANDLE);
        EXPECT_GT(asked_for_age, 0u);
    });
}

// A batch ends with its last pipeline. Its first is asked for meanwhile (row 66).
TEST_F(SingleFlightTest, ACallOfManyIsNotWaitedFor)
{
    const Outcome outcome = run([] {
        Program program;
        Batch many(program, Kind::compute, {1, 2, 3, 4, 5, 6, 7, 8}),
            one(program, Kind::compute, {1});
        expect_no_wait(many, VK_NULL_HANDLE, one, VK_NULL_HANDLE);
        EXPECT_NE(many.pipelines[0], one.pipelines[0]);
    });
    EXPECT_EQ(outcome.pipelines().size(), 9u);
}

// Nor does it wait, which would keep all of it waiting.
TEST_F(SingleFlightTest, ACallOfManyDoesNotWait)
{
    const Outcome outcome = run([] {
        Program program;
        Batch one(program, Kind::compute, {1}), many(program, Kind::compute, {1, 2});
        expect_no_wait(one, VK_NULL_HANDLE, many, VK_NULL_HANDLE);
    });
    EXPECT_EQ(outcome.pipelines().size(), 3u);
}

// Each keeps what is compiled in a cache of its own: one's pipeline would leave the other's cache
// without it.
TEST_F(SingleFlightTest, WhoCouldNotShareDoesNotWait)
{
    environment["WARMPIPE_APP_CACHE"] = "harvest";
    const Outcome outcome = run([] {
        Program program;
        const VkPipelineCache mine = program.create_cache(), yours = program.create_cache();
        Batch one(program, Kind::compute, {1}), two(program, Kind::compute, {1});
        expect_no_wait(one, mine, two, yours);
        EXPECT_NE(one.pipelines[0], two.pipelines[0]);
        Batch unnamed(program, Kind::compute, {2}), named(program, Kind::compute, {2});
        expect_no_wait(unnamed, VK_NULL_HANDLE, named, mine);
        program.destroy_cache(mine);
        program.destroy_cache(yours);
    });
    EXPECT_EQ(outcome.pipelines().size(), 4u);
}

// What is compiled into a cache that the program has filled would be missing where it is served
// from.
TEST_F(SingleFlightTest, WhoIsServedDoesNotWaitForWhatGoesElsewhere)
{
    environment["WARMPIPE_APP_CACHE"] = "serve";
    environment["WARMPIPE_DISABLE"] = "1";
    run(
        [&] {
            Program program;
            const VkPipelineCache cache = program.create_cache();
            program.create_compute(5, 6, cache);
            write_bytes(folder() / "data", program.cache_data(cache));
            program.destroy_cache(cache);
        },
        {Layer::absent});
    environment.erase("WARMPIPE_DISABLE");
    const Outcome outcome = run([&] {
        Program program;
        const VkPipelineCache filled = program.create_cache(read_bytes(folder() / "data")),
                              served = program.create_cache();
        Batch one(program, Kind::compute, {1}), two(program, Kind::compute, {1});
        expect_no_wait(one, filled, two, served);
        EXPECT_NE(one.pipelines[0], two.pipelines[0]);
        program.destroy_cache(filled);
        program.destroy_cache(served);
    });
    EXPECT_EQ(outcome.stats_of()["app_caches"]["served"], 1);
    EXPECT_EQ(outcome.pipelines().size(), 2u);
}

// While others keep the machine busy, an idle thread may stand still with its claim.
TEST_F(SingleFlightTest, AnIdleThreadIsNotWaitedFor)
{
    const Outcome outcome = run([] {
        Program program;
        Batch idle(program, Kind::compute, {1}), normal(program, Kind::compute, {1});
        expect_no_wait(idle, VK_NULL_HANDLE, normal, VK_NULL_HANDLE, [] {
            const sched_param parameter = {};
            EXPECT_EQ(sched_setscheduler(0, SCHED_IDLE, &parameter), 0);
        });
    });
    EXPECT_EQ(outcome.pipelines().size(), 2u);
}

// The creations before have shown what is likely: who waits much longer goes on alone.
TEST_F(SingleFlightTest, AWaitIsBounded)
{
    const Outcome outcome = run([] {
        Program program;
        program.create_compute(2, 10);
        Batch endless(program, Kind::compute, {1}), other(program, Kind::compute, {1});
        expect_wait_ends(endless, VK_NULL_HANDLE, other, VK_NULL_HANDLE);
    });
    EXPECT_EQ(outcome.pipelines().size(), 10u);
}

struct Callback {
    const char *title;
    const char *extension;
    void (*create)(VkInstance instance);
};

void PrintTo(const Callback &callback, std::ostream *stream)
{
    *stream << callback.title;
}

// They live until the process ends.
const Callback callbacks[] = {
    {"messenger", VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
     [](VkInstance instance) { create_messenger(instance); }},
    {"report_callback", VK_EXT_DEBUG_REPORT_EXTENSION_NAME,
     [](VkInstance instance) {
         VkDebugReportCallbackCreateInfoEXT info = {
             VK_STRUCTURE_TYPE_DEBUG_REPORT_CALLBACK_CREATE_INFO_EXT};
         info.flags = VK_DEBUG_REPORT_ERROR_BIT_EXT;
         info.pfnCallback = [](VkDebugReportFlagsEXT, VkDebugReportObjectTypeEXT, uint64_t, size_t,
                               int32_t, const char *, const char *,
                               void *) -> VkBool32 { return VK_FALSE; };
         VkDebugReportCallbackEXT callback = VK_NULL_HANDLE;
         EXPECT_EQ(
             instance_command<PFN_vkCreateDebugReportCallbackEXT>(
                 instance, "vkCreateDebugReportCallbackEXT")(instance, &info, nullptr, &callback),
             VK_SUCCESS);
     }},
};

class EachCallback : public SingleFlightTest, public ::testing::WithParamInterface<Callback> {};

INSTANTIATE_TEST_SUITE_P(Of, EachCallback, ::testing::ValuesIn(callbacks),
                         [](const auto &callback) { return callback.param.title; });

// A callback may be called in the middle of a compile and take a lock of the program's. Who holds
// it and creates the same pipeline must not be kept waiting for that compile.
// One thread is in the middle of a compile and waits for what another does after it has created the
// same pipeline.
void expect_nobody_waits(const ProgramOptions &options,
                         const std::function<void(VkInstance)> &prepare)
{
    Program program(options);
    prepare(program.instance);
    Batch one(program, Kind::compute, {1}), two(program, Kind::compute, {1});
    const YoungClaims no_wait_ends;
    Signal compiling, created;
    const DuringCompile compile([&](int nth) {
        if (nth == 1) {
            compiling.raise();
            created.wait(); // the lock of the program's
        }
    });
    std::thread other([&] { EXPECT_EQ(one.create(), VK_SUCCESS); });
    compiling.wait();
    EXPECT_EQ(two.create(), VK_SUCCESS);
    created.raise();
    other.join();
    EXPECT_NE(one.pipelines[0], two.pipelines[0]);
}

TEST_P(EachCallback, KeepsNobodyWaiting)
{
    const Outcome outcome = run([] {
        leak_from_here_on(); // the callback is never destroyed
        ProgramOptions options;
        options.instance_extensions = {GetParam().extension};
        expect_nobody_waits(options, GetParam().create);
    });
    EXPECT_EQ(outcome.pipelines().size(), 2u);
}

// An allocator of the device serves what is created without one.
TEST_F(SingleFlightTest, TheDevicesAllocatorIsACallbackToo)
{
    VkAllocationCallbacks allocator = {};
    allocator.pfnAllocation = [](void *, size_t size, size_t, VkSystemAllocationScope) {
        return std::malloc(size);
    };
    allocator.pfnReallocation = [](void *, void *old, size_t size, size_t,
                                   VkSystemAllocationScope) { return std::realloc(old, size); };
    allocator.pfnFree = [](void *, void *memory) { std::free(memory); };
    ProgramOptions options;
    options.allocator = &allocator;
    const Outcome outcome = run([&] { expect_nobody_waits(options, [](VkInstance) {}); });
    EXPECT_EQ(outcome.pipelines().size(), 2u);
}

TEST_F(SingleFlightTest, AReportOfDeviceMemoryIsACallbackToo)
{
    VkDeviceDeviceMemoryReportCreateInfoEXT report = {
        VK_STRUCTURE_TYPE_DEVICE_DEVICE_MEMORY_REPORT_CREATE_INFO_EXT};
    report.pfnUserCallback = [](const VkDeviceMemoryReportCallbackDataEXT *, void *) {};
    ProgramOptions options;
    options.features = &report;
    const Outcome outcome = run([&] { expect_nobody_waits(options, [](VkInstance) {}); });
    EXPECT_EQ(outcome.pipelines().size(), 2u);
}

} // namespace
