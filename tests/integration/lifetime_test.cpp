// Programs that end in an odd order, and others that create and destroy at once.
#include "harness.hpp"
#include "things.hpp"

#include <cstdlib>

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
