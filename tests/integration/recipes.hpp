// SPDX-License-Identifier: Apache-2.0
// Recipes as a test looks at them: what a program's runs have left on disk.
#ifndef WARMPIPE_TESTS_RECIPES_HPP
#define WARMPIPE_TESTS_RECIPES_HPP

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"
#include "program.hpp"

// All recipes of a program, copied out of its segments.
struct Recipes {
    struct Use {
        std::string pipeline;
        std::string environment;
        uint32_t last_day;
        uint32_t days;
        uint32_t compile_us;
        bool saved;
    };
    std::vector<Use> uses;
    std::set<std::string> missing; // digests that something refers to and nobody has
    size_t modules = 0;            // SPIR-V, each once
    uint64_t damaged = 0;

    // Every pipeline can be made again, and nothing on disk is damaged.
    bool whole() const
    {
        return missing.empty() && damaged == 0;
    }
};

inline void creates_five()
{
    Program().create_compute(0, 5);
}

class RecipesTest : public LayerTest {
  protected:
    void SetUp() override
    {
        environment["WARMPIPE_APP"] = "program";
    }

    Recipes recipes(const std::string &app = "program") const;

    // Names and sizes of the segments.
    std::map<std::string, uintmax_t> segments() const;

    // As if the recipes had been used the day before. Compaction must have left one segment.
    void make_older();

    // Waits, a minute at most, until something has come true: background threads are slow on a busy
    // machine.
    template <typename Condition> static void wait_until(const Condition &condition)
    {
        for (int i = 0; i < 60000 && !condition(); ++i) {
            usleep(1000);
        }
        EXPECT_TRUE(condition());
    }

    // Whether something that has taken the driver long is.
    bool is_remembered() const
    {
        return read_text(cache_root() / "program" / "program.json").find("slow_calls") !=
               std::string::npos;
    }

    // Has a program whose pipelines all are hits recorded anew, without times. On a busy machine a
    // hit takes as long as a compile, and is taken for one: tries until none does.
    void record_hits(const std::function<void()> &program);

    // From now on the driver is a newer one: no blob fits it.
    void update_driver()
    {
        environment["WPTEST_ICD_DRIVER_VERSION"] = "4711";
    }

    // The program runs with what it asked for before compiled ahead, after a driver update; ends
    // when the driver has seen `count` pipelines.
    Outcome replay(size_t count, const ProgramOptions &options = {});

    // What the driver knows its pipelines by.
    static std::multiset<std::string> contents(const Outcome &outcome);
};

#endif
