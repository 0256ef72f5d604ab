// SPDX-License-Identifier: Apache-2.0
// Handles are shared: what is asked for again while it lives is the same handle, and the driver is
// not asked.
#include "harness.hpp"
#include "paths.h"
#include "test_icd.h"
#include "things.hpp"

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>

#include <dlfcn.h>

namespace {

class SharingTest : public LayerTest {
  protected:
    // Nothing that the program gave back may still live in the driver.
    static void expect_none_left(const Outcome &outcome)
    {
        EXPECT_EQ(outcome.events("leaked").size(), 0u);
    }

    static uint64_t created(const Outcome &outcome, Thing thing)
    {
        return outcome.calls(facts_of(thing).create);
    }
};

class EachShared : public SharingTest, public ::testing::WithParamInterface<Thing> {
  protected:
    Thing thing() const
    {
        return GetParam();
    }
    const ThingFacts &facts() const
    {
        return facts_of(GetParam());
    }

    // A program whose three equal creations are three objects of the driver's.
    void expect_unshared(const ProgramOptions &options = {},
                         const std::function<void()> &before = nullptr)
    {
        const Outcome outcome = run([&] {
            if (before) {
                before();
            }
            Program program(options);
            Things things(program);
            const uint64_t start = test_icd_calls(facts().create);
            std::set<uint64_t> handles;
            for (int i = 0; i < 3; ++i) {
                handles.insert(things.create(thing(), 1));
            }
            EXPECT_EQ(handles.size(), 3u);
            EXPECT_EQ(test_icd_calls(facts().create), start + 3);
            for (uint64_t handle : handles) {
                things.destroy(thing(), handle);
            }
        });
        expect_none_left(outcome);
        EXPECT_EQ(outcome.stats_of()[facts().dedup]["deduplicated"], 0);
    }
};

INSTANTIATE_TEST_SUITE_P(Of, EachShared, ::testing::ValuesIn(shared_things),
                         [](const auto &thing) { return facts_of(thing.param).name; });

// Chapter "Object Model": a handle lives until it has been destroyed as often as it was created.
TEST_P(EachShared, EqualOnesAreOneObjectUntilTheLastIsDestroyed)
{
    const Outcome outcome = run([&] {
        Program program;
        Things things(program);
        const uint64_t creates = test_icd_calls(facts().create);
        const uint64_t destroys = test_icd_calls(facts().destroy);
        const uint64_t handle = things.create(thing(), 1);
        ASSERT_NE(handle, 0u);
        EXPECT_EQ(things.create(thing(), 1), handle);
        EXPECT_EQ(things.create(thing(), 1), handle);
        things.destroy(thing(), handle);
        things.destroy(thing(), handle);
        EXPECT_EQ(test_icd_calls(facts().destroy), destroys);
        EXPECT_EQ(things.create(thing(), 1), handle) << "it still lives";
        EXPECT_EQ(test_icd_calls(facts().create), creates + 1);
        things.destroy(thing(), handle);
        things.destroy(thing(), handle);
        EXPECT_EQ(test_icd_calls(facts().destroy), destroys + 1);
    });
    expect_none_left(outcome);
    EXPECT_EQ(outcome.stats_of()[facts().dedup]["deduplicated"], 3);
}

TEST_P(EachShared, OthersAreOthers)
{
    run([&] {
        Program program;
        Things things(program);
        const uint64_t one = things.create(thing(), 1);
        const uint64_t two = things.create(thing(), 2);
        EXPECT_NE(one, two);
        things.destroy(thing(), one);
        EXPECT_EQ(things.create(thing(), 2), two);
        for (int i = 0; i < 2; ++i) {
            things.destroy(thing(), two);
        }
    });
}

// What was destroyed is forgotten before the driver may give its handle out again.
TEST_P(EachShared, ADestroyedOneIsNeverServed)
{
    for (const char *recycle : {"0", "1"}) {
        environment["WPTEST_ICD_RECYCLE"] = recycle;
        const Outcome outcome = run([&] {
            Program program;
            Things things(program);
            const uint64_t creates = test_icd_calls(facts().create);
            for (unsigned i = 0; i < 12; ++i) {
                const uint64_t handle = things.create(thing(), i % 3);
                EXPECT_NE(handle, 0u);
                things.destroy(thing(), handle);
            }
            EXPECT_EQ(test_icd_calls(facts().create), creates + 12);
        });
        expect_none_left(outcome);
        EXPECT_EQ(outcome.stats_of()[facts().dedup]["deduplicated"], 0);
    }
}

// As the specification allows a driver to do. One creation is made unknown by its chain, so that it
// reaches the driver beside the shared ones.
TEST_P(EachShared, CountsHandlesThatTheDriverReturnsTwice)
{
    environment["WPTEST_ICD_EQUAL_HANDLES"] = "1";
    const Outcome outcome = run([&] {
        Program program;
        Things things(program);
        const VkBaseInStructure unknown = {static_cast<VkStructureType>(1999999001), nullptr};
        const uint64_t creates = test_icd_calls(facts().create);
        const uint64_t destroys = test_icd_calls(facts().destroy);
        const uint64_t handle = things.create(thing(), 1);
        for (int i = 0; i < 2; ++i) {
            EXPECT_EQ(things.create(thing(), 1), handle);
            EXPECT_EQ(things.create(thing(), 1, nullptr, &unknown), handle);
        }
        EXPECT_EQ(test_icd_calls(facts().create), creates + 3);
        for (int i = 0; i < 5; ++i) {
            things.destroy(thing(), handle);
        }
        EXPECT_EQ(test_icd_calls(facts().destroy), destroys + 3);
    });
    expect_none_left(outcome);
}

TEST_P(EachShared, DevicesShareNothingWithEachOther)
{
    run([&] {
        Program one, two;
        Things things_one(one), things_two(two);
        const uint64_t creates = test_icd_calls(facts().create);
        const uint64_t handle_one = things_one.create(thing(), 1);
        const uint64_t handle_two = things_two.create(thing(), 1);
        EXPECT_EQ(test_icd_calls(facts().create), creates + 2);
        things_one.destroy(thing(), handle_one);
        things_two.destroy(thing(), handle_two);
    });
}

// vkGetPrivateData gives 0 for what was never set: two equal objects must not be one.
TEST_P(EachShared, NotWherePrivateDataIsEnabled)
{
    VkPhysicalDevicePrivateDataFeatures own = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIVATE_DATA_FEATURES, nullptr, VK_TRUE};
    VkPhysicalDeviceVulkan13Features core = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    core.privateData = VK_TRUE;
    for (const void *features :
         {static_cast<const void *>(&own), static_cast<const void *>(&core)}) {
        const Outcome outcome = run([&] {
            ProgramOptions options;
            options.features = features;
            Program program(options);
            Things things(program);
            VkPrivateDataSlotCreateInfo info = {VK_STRUCTURE_TYPE_PRIVATE_DATA_SLOT_CREATE_INFO};
            VkPrivateDataSlot slot = VK_NULL_HANDLE;
            EXPECT_EQ(vkCreatePrivateDataSlot(program.device, &info, nullptr, &slot), VK_SUCCESS);
            const uint64_t one = things.create(thing(), 1);
            const uint64_t two = things.create(thing(), 1);
            EXPECT_NE(one, two);
            EXPECT_EQ(vkSetPrivateData(program.device, facts().type, one, slot, 7), VK_SUCCESS);
            uint64_t data = 1;
            vkGetPrivateData(program.device, facts().type, two, slot, &data);
            EXPECT_EQ(data, 0u);
            things.destroy(thing(), one);
            things.destroy(thing(), two);
            vkDestroyPrivateDataSlot(program.device, slot, nullptr);
        });
        expect_none_left(outcome);
        EXPECT_EQ(outcome.stats_of()[facts().dedup]["deduplicated"], 0);
        if (thing() == Thing::pipeline) {
            EXPECT_EQ(outcome.stats_of()["pipelines"]["injected"], 2) << "that much stays";
        }
    }
}

// The extension alone changes nothing.
TEST_P(EachShared, WherePrivateDataIsOnlyOffered)
{
    VkPhysicalDevicePrivateDataFeatures off = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIVATE_DATA_FEATURES, nullptr, VK_FALSE};
    run([&] {
        ProgramOptions options;
        options.features = &off;
        options.device_extensions = {VK_EXT_PRIVATE_DATA_EXTENSION_NAME};
        Program program(options);
        Things things(program);
        const uint64_t handle = things.create(thing(), 1);
        EXPECT_EQ(things.create(thing(), 1), handle);
        things.destroy(thing(), handle);
        things.destroy(thing(), handle);
    });
}

// RenderDoc and GFXReconstruct record handles one for one.
TEST_P(EachShared, NotBesideCaptureTools)
{
    for (const char *name : {"librenderdoc.so", "libVkLayer_gfxreconstruct.so"}) {
        const std::filesystem::path library = folder() / name;
        std::filesystem::copy_file(WARMPIPE_LIBRARY, library);
        expect_unshared({}, [&] { EXPECT_NE(dlopen(library.c_str(), RTLD_NOW), nullptr); });
    }
}

TEST_P(EachShared, AsTheSettingSays)
{
    environment["WARMPIPE_DEDUP"] = "none";
    expect_unshared();
    for (Thing other : shared_things) {
        if (other == thing()) {
            continue;
        }
        environment["WARMPIPE_DEDUP"] = facts_of(other).dedup;
        expect_unshared();
    }
    environment["WARMPIPE_DEDUP"] = facts().dedup;
    run([&] {
        Program program;
        Things things(program);
        const uint64_t handle = things.create(thing(), 1);
        EXPECT_EQ(things.create(thing(), 1), handle);
        things.destroy(thing(), handle);
        things.destroy(thing(), handle);
    });
}

// A pNext that nobody has reviewed is handed on, and what it hangs on is not shared.
TEST_P(EachShared, NotWithAnUnknownStruct)
{
    VkBaseInStructure unknown = {static_cast<VkStructureType>(1999999001), nullptr};
    const Outcome outcome = run([&] {
        Program program;
        Things things(program);
        const uint64_t one = things.create(thing(), 1, nullptr, &unknown);
        const uint64_t two = things.create(thing(), 1, nullptr, &unknown);
        EXPECT_NE(one, two);
        things.destroy(thing(), one);
        things.destroy(thing(), two);
    });
    expect_none_left(outcome);
    char address[32];
    std::snprintf(address, sizeof address, "%lx", reinterpret_cast<unsigned long>(&unknown));
    const std::vector<json> events =
        outcome.events(thing() == Thing::pipeline ? "pipeline" : facts().create);
    const auto handed_on = std::count_if(events.begin(), events.end(), [&](const json &event) {
        return !event["pnext"].empty() && event["pnext"][0] == 1999999001 &&
               event["pnext_at"][0] == address;
    });
    EXPECT_EQ(handed_on, 2);
}

TEST_P(EachShared, AFailureIsTheDriversOwnAndNotRemembered)
{
    // The second: the first ones are those that the program begins with.
    const unsigned nth = thing() == Thing::module            ? 5
                         : thing() == Thing::pipeline        ? 1
                         : thing() == Thing::update_template ? 1
                                                             : 2;
    environment["WPTEST_ICD_FAIL"] =
        std::string(facts().create) + ":" + std::to_string(nth) + "=-2";
    const Outcome outcome = run([&] {
        Program program;
        Things things(program);
        EXPECT_EQ(things.create(thing(), 1), 0u);
        EXPECT_EQ(things.result, VK_ERROR_OUT_OF_DEVICE_MEMORY);
        const uint64_t handle = things.create(thing(), 1);
        EXPECT_NE(handle, 0u);
        EXPECT_EQ(things.create(thing(), 1), handle);
        things.destroy(thing(), handle);
        things.destroy(thing(), handle);
    });
    EXPECT_EQ(created(outcome, thing()), nth + 1);
    expect_none_left(outcome);
}

TEST_P(EachShared, StormOfThreadsKeepsTheBooks)
{
    environment["WPTEST_ICD_RECYCLE"] = "1";
    const Outcome outcome = run([&] {
        Program program;
        Things things(program);
        std::vector<std::thread> threads;
        for (unsigned seed = 0; seed < 16; ++seed) {
            threads.emplace_back([&program, this, seed] {
                Things own(program);
                std::mt19937 random(seed);
                std::vector<uint64_t> handles;
                for (int i = 0; i < 300; ++i) {
                    if (handles.empty() || random() % 2 == 0) {
                        handles.push_back(own.create(thing(), random() % 4));
                        EXPECT_NE(handles.back(), 0u);
                    } else {
                        own.destroy(thing(), handles.back());
                        handles.pop_back();
                    }
                }
                for (uint64_t handle : handles) {
                    own.destroy(thing(), handle);
                }
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
    });
    expect_none_left(outcome);
    EXPECT_EQ(created(outcome, thing()), outcome.calls(facts().destroy));
    EXPECT_GT(outcome.stats_of()[facts().dedup]["deduplicated"], 0);
}

class EachThing : public SharingTest, public ::testing::WithParamInterface<Thing> {};

INSTANTIATE_TEST_SUITE_P(Of, EachThing, ::testing::ValuesIn(all_things),
                         [](const auto &thing) { return facts_of(thing.param).name; });

// VUID-vkDestroyShaderModule-shaderModule-01092 and the like: an object made with an allocator is
// destroyed with a compatible one, and with none if it was made with none.
TEST_P(EachThing, OnesMadeWithAnAllocatorAreNobodyElses)
{
    const Outcome outcome = run([&] {
        Program program;
        Things things(program);
        CountingAllocator one, two;
        const uint64_t plain = things.create(GetParam(), 1);
        const uint64_t first = things.create(GetParam(), 1, one.get());
        const uint64_t second = things.create(GetParam(), 1, two.get());
        EXPECT_EQ(one.live(), 1);
        EXPECT_EQ(two.live(), 1);
        EXPECT_EQ((std::set<uint64_t>{plain, first, second}.size()), 3u);
        things.destroy(GetParam(), first, one.get());
        EXPECT_EQ(one.live(), 0);
        EXPECT_EQ(two.live(), 1);
        things.destroy(GetParam(), plain);
        things.destroy(GetParam(), second, two.get());
        EXPECT_EQ(two.live(), 0);
    });
    expect_none_left(outcome);
}

TEST_P(EachThing, NullHandlesAreNoOps)
{
    run([&] {
        Program program;
        Things things(program);
        things.destroy(GetParam(), 0);
    });
}

// The chapter on samplers names them among the objects whose handles may be equal; they,
// conversions and render passes are few and cheap, and reach the driver each time.
TEST_P(EachThing, EveryCreationHasItsDestruction)
{
    const Outcome outcome = run([&] {
        Program program;
        Things things(program);
        std::vector<uint64_t> handles;
        for (unsigned i = 0; i < 9; ++i) {
            handles.push_back(things.create(GetParam(), i % 3));
        }
        for (uint64_t handle : handles) {
            things.destroy(GetParam(), handle);
        }
    });
    expect_none_left(outcome);
    EXPECT_EQ(created(outcome, GetParam()), outcome.calls(facts_of(GetParam()).destroy));
}

} // namespace
