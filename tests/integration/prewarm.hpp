// SPDX-License-Identifier: Apache-2.0
// Programs whose recipes are compiled ahead, after a driver update.
#ifndef WARMPIPE_TESTS_PREWARM_HPP
#define WARMPIPE_TESTS_PREWARM_HPP

#include <csignal>
#include <sched.h>
#include <string_view>
#include <thread>

#include "recipes.hpp"
#include "test_icd.h"
#include "things.hpp"

inline std::thread::id program_thread;

// How the driver sees the threads that compile.
inline bool is_ahead()
{
    return std::this_thread::get_id() != program_thread;
}

// One thread compiles ahead where there are two cores or one.
inline void use_one_core()
{
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    int first = 0;
    while (!CPU_ISSET(first, &set)) {
        ++first;
    }
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    EXPECT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

inline uint64_t asked()
{
    return test_icd_calls("vkCreateComputePipelines");
}

class PrewarmTest : public RecipesTest {
  protected:
    // A run that leaves recipes of five pipelines, and then a driver update.
    void SetUp() override
    {
        RecipesTest::SetUp();
        run([] { Program().create_compute(0, 5); });
        update_driver();
        environment.erase("WARMPIPE_PREWARM");
    }

    static json prewarmed(const Outcome &outcome)
    {
        return outcome.stats_of()["pipelines"]["prewarmed"];
    }

    // A program that needs some time before its first pipeline: all that is compiled ahead is.
    Outcome slow_start(size_t ahead, const ProgramOptions &options = {})
    {
        const std::string log = folder() / "slow-start";
        std::filesystem::remove(log);
        const auto before = environment;
        environment["WARMPIPE_LOG"] = "info:" + log;
        const Outcome outcome = run([&] {
            Program program(options);
            wait_until([&] { return read_text(log).find("prewarmed ") != std::string::npos; });
            EXPECT_GE(asked(), ahead);
            program.create_compute(0, 5);
        });
        environment = before;
        return outcome;
    }

    // A program that dies at once in a call for what the blob holds. A death in a compile would not
    // count if a busy machine made that long.
    void die_of_the_blob()
    {
        run(
            [] {
                test_icd_on_call(
                    [](const char *command, void *) {
                        if (std::string_view(command) == "vkCreateComputePipelines") {
                            raise(SIGKILL);
                        }
                    },
                    nullptr);
                Program().create_compute(0, 1);
            },
            {Layer::any, true, -SIGKILL});
    }

    // A program that finds nothing done, because nobody has begun.
    void expect_nothing_begun(const ProgramOptions &options = {})
    {
        environment["WARMPIPE_LOG"] = "info";
        const Outcome outcome = run([&] { Program(options).create_compute(0, 5); });
        EXPECT_EQ(outcome.errors.find("prewarm"), std::string::npos) << outcome.errors;
        EXPECT_EQ(outcome.pipelines().size(), 5u);
        EXPECT_EQ(prewarmed(outcome), 0);
    }

    void expect_nothing_begun_with_allocator()
    {
        environment["WARMPIPE_LOG"] = "info";
        const Outcome outcome = run([&] {
            CountingAllocator allocator;
            ProgramOptions options;
            options.allocator = allocator.get();
            Program(options).create_compute(0, 5);
        });
        EXPECT_EQ(outcome.errors.find("prewarm"), std::string::npos) << outcome.errors;
        EXPECT_EQ(prewarmed(outcome), 0);
    }

    // None of the recipes is for this device.
    void expect_nothing_fits(const ProgramOptions &options = {})
    {
        const std::string log = (folder() / "log").string();
        environment["WARMPIPE_LOG"] = "info:" + log;
        const Outcome outcome = run([&] {
            Program program(options);
            wait_until(
                [&] { return read_text(log).find("prewarmed 0 of 0") != std::string::npos; });
        });
        EXPECT_EQ(outcome.pipelines().size(), 0u);
        environment.erase("WARMPIPE_LOG");
    }
};

#endif
