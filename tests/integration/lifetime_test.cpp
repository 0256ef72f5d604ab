// SPDX-License-Identifier: Apache-2.0
// Programs that end in an odd order, and others that create and destroy at once.
#include "during.hpp"
#include "harness.hpp"
#include "things.hpp"

#include <cstdlib>
#include <unistd.h>

namespace {

class LifetimeTest : public LayerTest {};

std::unique_ptr<Program> kept;

// As a program does that destroys its instance from a handler of atexit: it may be registered
// before or after any of ours.
TEST_F(LifetimeTest, DevicesDestroyedFromAtexitAreSaved)
{
    for (bool before : {true, false}) {
        environment["WARMPIPE_APP"] = before ? "before" : "after";
        const auto program = [before] {
            if (before) {
                std::atexit([] { kept.reset(); });
            }
            kept = std::make_unique<Program>();
            kept->create_compute(0, 4);
            if (!before) {
                std::atexit([] { kept.reset(); });
            }
        };
        run(program);
        EXPECT_EQ(run(program).hits(), 4u) << before;
    }
}

// Behind all handlers of ours, and nobody destroys the instance: the process waits for the count.
TEST_F(LifetimeTest, ADeviceDestroyedFromALateHandlerIsCounted)
{
    environment["WARMPIPE_APP"] = "late";
    run([] { Program().create_compute(0, 2); });
    constexpr int times = 10;
    for (int i = 0; i < times; ++i) {
        run(
            [] {
                std::atexit([] {
                    kept->destroy_device();
                    leak_from_here_on();
                    static_cast<void>(kept.release());
                });
                kept = std::make_unique<Program>();
                kept->create_compute(0, 2);
            },
            {Layer::any});
    }
    EXPECT_EQ(json::parse(read_text(cache_root() / "late/program.json"))["starts"], 1 + times);
}

// Drivers register handlers of their own when they first compile, and must not be called behind
// those: that ends the process with 3.
std::atomic<bool> is_behind_handlers{false};
std::atomic<int> called_behind{0};
std::thread::id main_thread;

void watch_for_calls_behind_handlers()
{
    main_thread = std::this_thread::get_id();
    test_icd_on_call(
        [](const char *, void *) {
            called_behind += is_behind_handlers && std::this_thread::get_id() != main_thread;
        },
        nullptr);
}

void register_handler_at_next_compile()
{
    test_icd_on_compile(
        [](void *) {
            test_icd_on_compile(nullptr, nullptr);
            std::atexit([] {
                is_behind_handlers = true;
                usleep(300000); // the worker looks within 50 ms
                if (called_behind > 0) {
                    _exit(3);
                }
            });
        },
        nullptr);
}

TEST_F(LifetimeTest, TheSecondDriverIsNotCalledBehindItsHandlerEither)
{
    environment["WPTEST_ICD_DEVICES"] = "2";
    run([] {
        leak_from_here_on();
        watch_for_calls_behind_handlers();
        for (unsigned device = 0; device < 2; ++device) {
            ProgramOptions options;
            options.device = device;
            register_handler_at_next_compile();
            (new Program(options))->create_compute(0, 1);
        }
    });
}

// A driver goes with the last instance, and its handlers with it: the one that is loaded next,
// which may be the same, registers them anew.
TEST_F(LifetimeTest, ADriverThatIsLoadedAgainIsNotCalledBehindItsHandlerEither)
{
    run([] {
        leak_from_here_on();
        Program().create_compute(0, 1);
        watch_for_calls_behind_handlers();
        register_handler_at_next_compile();
        (new Program)->create_compute(1, 2);
    });
}

// Leaked objects and a device that nobody destroys are the program's affair.
TEST_F(LifetimeTest, LeakedObjectsAreNotDestroyedForIt)
{
    const Outcome outcome = run([] {
        Program program;
        Things things(program);
        for (Thing thing : all_things) {
            things.create(thing, 1);
            things.create(thing, 1);
        }
    });
    // Shared ones once, samplers, conversions and the two kinds of render passes twice.
    EXPECT_EQ(outcome.events("leaked").size(), 5u + 2u * 4u);
}

// Invalid, and common: nobody destroys the device. The driver may be unloaded with its instance.
TEST_F(LifetimeTest, ADeviceMayOutliveItsInstance)
{
    constexpr unsigned times = 20;
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "600000"; // no line before that of its end
    for (const char *read_only : {"0", "1"}) {
        environment["WARMPIPE_READONLY"] = read_only;
        const Outcome outcome = run([] {
            leak_from_here_on();
            for (unsigned i = 0; i < times; ++i) {
                auto *program = new Program; // its device is leaked
                program->create_compute(0, 4);
                vkDestroyInstance(program->instance, nullptr);
            }
        });
        EXPECT_EQ(outcome.stats.size(), times);
        EXPECT_EQ(outcome.hits(), *read_only == '1' ? 4 * times : 4 * (times - 1));
    }
}

// The worker asks the driver for the cache's data while the program destroys the instance.
TEST_F(LifetimeTest, NobodyCallsADeviceWhoseInstanceHasGone)
{
    environment["WPTEST_ICD_DATA_US"] = "100000";
    run([] {
        auto *program = new Program;
        static Signal asked;
        static const std::thread::id main = std::this_thread::get_id();
        const DuringCalls calls([](const char *command) {
            if (std::string(command) == "vkGetPipelineCacheData" &&
                std::this_thread::get_id() != main) {
                asked.raise();
            }
        });
        program->create_compute(0, 4);
        asked.wait();
        vkDestroyInstance(program->instance, nullptr);
        leak_from_here_on();
    });
    EXPECT_EQ(run([] { Program().create_compute(0, 4); }).hits(), 4u);
}

// The loader holds its lock while instances and devices are created and destroyed: what we do there
// must not wait for anybody who needs it.
TEST_F(LifetimeTest, InstancesComeAndGoBesideDevices)
{
    const Outcome outcome = run([] {
        std::atomic<bool> done{false};
        std::thread other([&] {
            while (!done) {
                VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
                VkInstance instance = VK_NULL_HANDLE;
                EXPECT_EQ(vkCreateInstance(&info, nullptr, &instance), VK_SUCCESS);
                vkDestroyInstance(instance, nullptr);
            }
        });
        for (unsigned i = 0; i < 10; ++i) {
            Program().create_compute(0, i + 1);
        }
        done = true;
        other.join();
    });
    EXPECT_EQ(outcome.stats.back()["event"], "destroy");
}

} // namespace
