// SPDX-License-Identifier: Apache-2.0
// Devices: several at once, groups, and what a change of driver does.
#include "harness.hpp"
#include "program.hpp"

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <unistd.h>

namespace {

class DeviceTest : public LayerTest {};

// A process whose main thread has ended goes on until its last thread has: ours must not be that
// one. Nor may a process with two threads shut itself into a namespace of users.
TEST_F(DeviceTest, ThreadsOfOursEndWithTheLastOne)
{
    const auto threads = [] {
        const std::filesystem::directory_iterator tasks("/proc/self/task");
        return std::distance(begin(tasks), end(tasks));
    };
#ifdef WARMPIPE_SANITIZED
    const bool are_all_known = false; // a sanitizer begins threads of its own beside the first one
#else
    const bool are_all_known = true;
#endif
    const auto use_devices = [&](unsigned pipelines, bool has_cache) {
        unsetenv("WARMPIPE_STATS"); // a line of statistics would be written at the end
        const auto before = threads();
        for (unsigned i = 0; i < 3; ++i) {
            Program program;
            const VkPipelineCache cache = has_cache ? program.create_cache() : VK_NULL_HANDLE;
            program.create_compute(i, i + pipelines, cache);
            EXPECT_TRUE(threads() > before || pipelines == 0);
            if (has_cache) {
                EXPECT_FALSE(program.cache_data(cache).empty());
                program.destroy_cache(cache);
            }
        }
        for (int i = 0; are_all_known && i < 20000 && threads() > before && pipelines > 0; ++i) {
            usleep(1000);
        }
        EXPECT_TRUE(threads() == before || !are_all_known);
    };
    run([&] { use_devices(0, false); }, {Layer::any});
    run([&] { use_devices(1, false); }, {Layer::any});
    run([&] { use_devices(1, true); }, {Layer::any}); // what it does with its caches is learnt
}

TEST_F(DeviceTest, TwoSideBySideKeepTheirOwn)
{
    environment["WPTEST_ICD_DEVICES"] = "2";
    const auto program = [] {
        ProgramOptions options;
        Program first(options);
        options.device = 1;
        Program second(options);
        first.create_compute(0, 3);
        second.create_compute(0, 5);
    };
    run(program);
    EXPECT_EQ(cache_files().size(), 2u);
    const Outcome warm = run(program);
    EXPECT_EQ(warm.hits(), 8u);
    EXPECT_EQ(warm.stats_of(0)["pipelines"]["driver_hits"], 3);
    EXPECT_EQ(warm.stats_of(1)["pipelines"]["driver_hits"], 5);
    EXPECT_NE(warm.stats_of(0)["identity"], warm.stats_of(1)["identity"]);
}

TEST_F(DeviceTest, TwoOfOneKindUniteTheirs)
{
    const auto program = [](unsigned first, unsigned second) {
        Program one, other;
        one.create_compute(0, first);
        other.create_compute(100, 100 + second);
    };
    run([&] { program(3, 5); });
    EXPECT_EQ(cache_files().size(), 1u);
    EXPECT_EQ(run([&] { program(3, 5); }).hits(), 8u);
}

TEST_F(DeviceTest, GroupsAreLeftAlone)
{
    environment["WPTEST_ICD_DEVICES"] = "2";
    environment["WPTEST_ICD_GROUP"] = "1";
    const Outcome outcome = run([] {
        ProgramOptions options;
        options.group = true;
        Program(options).create_compute(0, 3);
    });
    EXPECT_EQ(outcome.stats_of()["cache"]["state"], "off");
    EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "device_group");
    EXPECT_EQ(outcome.calls("vkCreatePipelineCache"), 0u);
    EXPECT_TRUE(cache_files().empty());
}

// Below us it shows a driver that is another one in each start: "rdoc" and the time.
TEST_F(DeviceTest, WhatRenderDocShowsIsNotKept)
{
    environment["WPTEST_ICD_UUID"] = "72646f63323631313239313035343137";
    const Outcome outcome = run([] { Program().create_compute(0, 3); });
    EXPECT_EQ(outcome.stats_of()["cache"]["state"], "denied");
    EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "capture_tool");
    EXPECT_GT(outcome.calls("vkCreatePipelineCache"), 0u);
    EXPECT_FALSE(std::filesystem::exists(cache_root()));
}

TEST_F(DeviceTest, GroupsOfOneAreDevices)
{
    environment["WPTEST_ICD_GROUP"] = "1";
    const auto program = [] {
        ProgramOptions options;
        options.group = true;
        Program(options).create_compute(0, 3);
    };
    run(program);
    EXPECT_EQ(run(program).hits(), 3u);
}

struct Change {
    const char *variable;
    const char *value;
};

void PrintTo(const Change &change, std::ostream *stream)
{
    *stream << change.variable << '=' << change.value;
}

class IdentityTest : public LayerTest, public ::testing::WithParamInterface<Change> {};

// Nothing of one driver's reaches another: the test driver would notice the header.
TEST_P(IdentityTest, AnotherDriverStartsColdInAFileOfItsOwn)
{
    const auto program = [] {
        ProgramOptions options;
        options.api = VK_API_VERSION_1_2;
        Program(options).create_compute(0, 3);
    };
    run(program);
    const std::filesystem::path first = cache_file();
    const std::vector<uint8_t> before = read_bytes(first);
    environment[GetParam().variable] = GetParam().value;
    const Outcome changed = run(program);
    EXPECT_EQ(changed.hits(), 0u);
    EXPECT_EQ(changed.stats_of()["cache"]["state"], "cold");
    EXPECT_EQ(changed.stats_of()["cache"]["reason"], "no_file");
    EXPECT_EQ(changed.log(), std::vector<std::string>());
    EXPECT_EQ(cache_files().size(), 2u);
    EXPECT_EQ(read_bytes(first), before);
    EXPECT_EQ(run(program).hits(), 3u);
    environment.erase(GetParam().variable);
    EXPECT_EQ(run(program).hits(), 3u) << "going back finds the old file";
}

INSTANTIATE_TEST_SUITE_P(
    Each, IdentityTest,
    ::testing::Values(Change{"WPTEST_ICD_VENDOR_ID", "0x10005"},
                      Change{"WPTEST_ICD_DEVICE_ID", "0x1234"},
                      Change{"WPTEST_ICD_DRIVER_VERSION", "2"}, Change{"WPTEST_ICD_DRIVER_ID", "3"},
                      Change{"WPTEST_ICD_API", "1.2"},
                      Change{"WPTEST_ICD_UUID", "000102030405060708090a0b0c0d0e0f"},
                      Change{"WPTEST_ICD_DEVICE_NAME", "another device"},
                      Change{"WPTEST_ICD_DRIVER_NAME", "another driver"},
                      Change{"WPTEST_ICD_DRIVER_INFO", "2"},
                      Change{"WPTEST_ICD_CONFORMANCE", "1.3.1.1"}),
    [](const auto &change) { return std::string(change.param.variable + 11); });

} // namespace
