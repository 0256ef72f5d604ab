// SPDX-License-Identifier: Apache-2.0
// Programs whose saves in the background are waited for.
#ifndef WARMPIPE_TESTS_BACKGROUND_HPP
#define WARMPIPE_TESTS_BACKGROUND_HPP

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

#include "harness.hpp"
#include "program.hpp"

class BackgroundTest : public LayerTest {
  protected:
    void SetUp() override
    {
        environment["WARMPIPE_APP"] = "program";
        environment["WARMPIPE_LOG"] = "debug:" + log_path();
    }

    // What the layer did beside the program, and when, is not seen otherwise.
    void TearDown() override
    {
        if (HasFailure()) {
            std::cerr << read_text(log_path());
        }
    }

    std::string log_path() const
    {
        return (folder() / "log").string();
    }

    // Waits, ten seconds at most, until something has come true.
    template <typename Condition> static void wait_until(const Condition &condition)
    {
        for (int i = 0; i < 10000 && !condition(); ++i) {
            usleep(1000);
        }
        EXPECT_TRUE(condition());
    }

    void wait_for_log(const std::string &text) const
    {
        wait_until([&] { return read_text(log_path()).find(text) != std::string::npos; });
    }

    // All in one call, so that no snapshot holds a part of them.
    static void create_at_once(Program &owner, unsigned first, unsigned end)
    {
        std::vector<unsigned> numbers;
        for (unsigned number = first; number < end; ++number) {
            numbers.push_back(number);
        }
        Batch batch(owner, Kind::compute, numbers);
        EXPECT_EQ(batch.create(), VK_SUCCESS);
    }

    // Until so many saves of this process are on disk and told.
    static void wait_for_flushes(unsigned count)
    {
        const std::string mine = "\"event\":\"flush\",\"pid\":" + std::to_string(getpid());
        const char *stats = std::getenv("WARMPIPE_STATS");
        wait_until([&] { // until the whole line is there: who is killed before leaves a part of it
            const std::string text = read_text(stats);
            size_t at = 0;
            for (unsigned i = 0; i < count && at != std::string::npos; ++i) {
                at = text.find(mine, at);
                at = at == std::string::npos ? at : text.find('\n', at);
            }
            return at != std::string::npos;
        });
    }
    static void wait_for_flush()
    {
        wait_for_flushes(1);
    }

    // What a run finds that asks for these pipelines now.
    size_t hits(unsigned first, unsigned end)
    {
        return run([&] {
                   Program owner;
                   owner.create_compute(first, end);
               })
            .hits();
    }

    size_t count_files(const std::string &extension) const
    {
        size_t count = 0;
        for (const auto &entry : std::filesystem::directory_iterator(cache_root() / "program")) {
            count += entry.path().extension() == extension;
        }
        return count;
    }
};

#endif
