// SPDX-License-Identifier: Apache-2.0
// Memory that the layer asks for and does not get: the program loses warmth, never a call.
#include "harness.hpp"
#include "test_icd.h"
#include "things.hpp"

#include <csignal>
#include <dlfcn.h>
#include <fstream>
#include <malloc.h>
#include <unistd.h>

#ifndef WARMPIPE_SANITIZED // sanitizers have an allocator of their own

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
}

namespace {

thread_local unsigned seen_here; // of this thread

// Which of the layer's allocations fail, counted from 1.
struct Failing {
    std::atomic<bool> armed{false};
    std::atomic<unsigned> seen{0};
    unsigned nth = 0;
    bool ever_after = false;

    bool now(const void *caller)
    {
        Dl_info info;
        if (!armed || dladdr(caller, &info) == 0 ||
            std::string_view(info.dli_fname).find("libVkLayer_warmpipe") == std::string::npos) {
            return false;
        }
        const unsigned count = ++seen;
        ++seen_here;
        return count == nth || (ever_after && count > nth);
    }
} failing;

} // namespace

extern "C" {

#define INTERPOSE __attribute__((visibility("default"), noinline))

INTERPOSE void *malloc(size_t size)
{
    return failing.now(__builtin_return_address(0)) ? nullptr : __libc_malloc(size);
}

INTERPOSE void *calloc(size_t count, size_t size)
{
    return failing.now(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, size);
}

INTERPOSE void *realloc(void *old, size_t size)
{
    return failing.now(__builtin_return_address(0)) ? nullptr : __libc_realloc(old, size);
}

INTERPOSE void *aligned_alloc(size_t alignment, size_t size)
{
    return failing.now(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
}
}

namespace {

class AllocationTest : public LayerTest, public ::testing::WithParamInterface<bool> {
  protected:
    // Runs a program again and again, each time with the next of the layer's allocations failing
    // (and all that follow it, if the parameter says so), until there is no such. The program arms
    // `failing`.
    void run_with_each_failing(const std::function<void()> &program)
    {
        unsigned nth = 0, seen = 0;
        do {
            ++nth;
            const Outcome outcome = run(
                [&] {
                    failing.nth = nth;
                    failing.ever_after = GetParam();
                    program();
                    failing.armed = false;
                    std::printf("%u\n", failing.seen.load());
                },
                {Layer::any, true, 0});
            ASSERT_FALSE(HasFailure()) << "allocation " << nth;
            seen = static_cast<unsigned>(std::stoul(outcome.output));
            EXPECT_EQ(outcome.events("leaked").size(), 0u) << "allocation " << nth;
        } while (seen >= nth);
        EXPECT_GT(nth, 5u) << "the layer was not in the chain";
    }
};

// A handler that ends the process may have interrupted malloc, and whoever asks it for memory then
// waits for ever. What the worker has read is written all the same.
TEST_F(LayerTest, AnEndFromAHandlerOfASignalAllocatesNothing)
{
    environment["WARMPIPE_POLICY"] = folder() / "policy"; // reads the driver at ordinary ends
    std::ofstream(folder() / "policy") << "[test]\nsnapshot-at-exit = yes\n";
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000";
    for (const unsigned reads : {1u, 0u}) { // the second time there is no thread of ours
        run(
            [&] {
                std::at_quick_exit([] { _exit(seen_here > 0 ? 3 : 0); }); // behind those of ours
                (new Program)->create_compute(0, 5);
                for (int i = 0; i < 20000 && test_icd_calls("vkGetPipelineCacheData") < reads;
                     ++i) {
                    usleep(1000);
                }
                std::signal(SIGUSR1, [](int) {
                    failing.armed = true;
                    std::quick_exit(0);
                });
                raise(SIGUSR1);
            },
            {Layer::any, true, 0});
        EXPECT_EQ(cache_files().size(), 1u);
    }
}

INSTANTIATE_TEST_SUITE_P(Of, AllocationTest, ::testing::Bool(), [](const auto &ever_after) {
    return ever_after.param ? "one_and_all_after_it" : "one";
});

// The only results that a lack of our memory may have.
bool is_success_or_lack(VkResult result)
{
    EXPECT_TRUE(result == VK_SUCCESS || result == VK_ERROR_OUT_OF_HOST_MEMORY) << result;
    return result == VK_SUCCESS;
}

TEST_P(AllocationTest, InstancesAndDevicesAreThereOrNot)
{
    run_with_each_failing([] {
        failing.armed = true;
        VkInstance instance = VK_NULL_HANDLE;
        if (!is_success_or_lack(try_instance(0, &instance))) {
            return;
        }
        VkDevice device = VK_NULL_HANDLE;
        if (is_success_or_lack(try_device(instance, {}, &device))) {
            VkPipelineLayoutCreateInfo layout_info = {
                VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
            VkPipelineLayout layout = VK_NULL_HANDLE;
            EXPECT_EQ(vkCreatePipelineLayout(device, &layout_info, nullptr, &layout), VK_SUCCESS);
            vkDestroyPipelineLayout(device, layout, nullptr);
            vkDestroyDevice(device, nullptr);
        }
        vkDestroyInstance(instance, nullptr);
    });
}

void create_and_destroy_everything(Program &program)
{
    Things things(program);
    std::vector<std::pair<Thing, uint64_t>> made;
    for (Thing thing : all_things) {
        for (unsigned number : {1u, 1u, 2u}) {
            made.emplace_back(thing, things.create(thing, number));
            EXPECT_EQ(things.result, VK_SUCCESS);
            EXPECT_NE(made.back().second, 0u);
        }
    }
    Batch batch(program, Kind::graphics, {1, 2, 1, 3, 4, 5});
    Feedback feedback;
    batch.chain(0, &feedback.info);
    EXPECT_EQ(batch.create(), VK_SUCCESS);
    for (VkPipeline pipeline : batch.pipelines) {
        EXPECT_NE(pipeline, VK_NULL_HANDLE);
    }
    VkPipelineCache cache = program.create_cache();
    program.create_compute(0, 3, cache);
    program.cache_data(cache);
    program.destroy_cache(cache);
    for (const auto &[thing, handle] : made) {
        things.destroy(thing, handle);
    }
}

TEST_P(AllocationTest, EverythingElseIsAsItWasCold)
{
    run_with_each_failing([] {
        Program program;
        failing.armed = true;
        create_and_destroy_everything(program);
        program.destroy_device();
    });
}

TEST_P(AllocationTest, EverythingElseIsAsItWasWarm)
{
    environment["WARMPIPE_APP_CACHE"] = "serve";
    run([] {
        Program program;
        create_and_destroy_everything(program);
    });
    environment["WARMPIPE_READONLY"] = "1"; // each run finds the same
    run_with_each_failing([] {
        Program program;
        failing.armed = true;
        create_and_destroy_everything(program);
        program.destroy_device();
    });
}

} // namespace

#endif
