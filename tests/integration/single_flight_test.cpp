// Threads that ask for the same pipeline at once: it is compiled once, and nobody waits who must
// not.
#include "harness.hpp"
#include "test_icd.h"
#include "things.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>

namespace {

// Something that a compile waits for. Should it never come, the test fails and goes on.
class Signal {
  public:
    void raise()
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        raised_ = true;
        changed_.notify_all();
    }
    void wait()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(20), [&] { return raised_; }));
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool raised_ = false;
};

// What the driver does in the middle of a compile.
class DuringCompile {
  public:
    explicit DuringCompile(std::function<void(int nth)> action) : action_(std::move(action))
    {
        test_icd_on_compile(
            [](void *user) {
                auto *self = static_cast<DuringCompile *>(user);
                self->action_(++self->count_);
            },
            this);
    }
    ~DuringCompile()
    {
        test_icd_on_compile(nullptr, nullptr);
    }
    int count() const
    {
        return count_;
    }

  private:
    std::function<void(int nth)> action_;
    std::atomic<int> count_{0};
};

class SingleFlightTest : public LayerTest {};

TEST_F(SingleFlightTest, ThreadsThatAskForOneCompileItOnce)
{
    constexpr unsigned thread_count = 8;
    environment["WPTEST_ICD_COMPILE_US"] = "20000";
    const Outcome outcome = run([&] {
        Program program;
        std::vector<std::unique_ptr<Batch>> batches;
        for (unsigned i = 0; i < thread_count; ++i) {
            batches.push_back(
                std::make_unique<Batch>(program, Kind::compute, std::vector<unsigned>{1, 2 + i}));
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
        std::set<VkPipeline> shared, own;
        for (const auto &batch : batches) {
            shared.insert(batch->pipelines[0]);
            own.insert(batch->pipelines[1]);
        }
        EXPECT_EQ(shared.size(), 1u);
        EXPECT_EQ(own.size(), thread_count);
        EXPECT_EQ(compile.count(), 1 + static_cast<int>(thread_count));
    });
    EXPECT_EQ(outcome.pipelines().size(), 1 + thread_count);
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
    EXPECT_EQ(outcome.calls("vkCreateShaderModule"), 4u);
    EXPECT_EQ(outcome.calls("vkDestroyShaderModule"), 4u);
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
