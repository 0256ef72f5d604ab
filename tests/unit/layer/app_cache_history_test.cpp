// SPDX-License-Identifier: Apache-2.0
// When what a program's own caches have shown is written.
#include <gtest/gtest.h>
#include <unistd.h>

#include "child.h"
#include "scratch.h"

extern "C" {
#include "common/base/clock.h"
#include "layer/app_caches/app_cache_history.h"
}

namespace {

class AppCacheHistory : public testing::Test {
  protected:
    // A process of its own: the worker, which writes, lives as long as the process.
    template <typename Body> void run(Body body)
    {
        const ChildResult result = run_in_child([&] {
            config.root = root.data();
            history = app_cache_history_of(&config, program.c_str());
            body();
        });
        EXPECT_EQ(result.status, 0) << result.standard_error;
    }

    std::string written() const
    {
        return scratch.read("root/" + program + "/program.json");
    }

    // Within so long from now, unless the worker is at it already.
    void expect_written_within(uint64_t ns, const std::string &text)
    {
        const uint64_t due = app_cache_history_write_due(history);
        if (due == UINT64_MAX) {
            for (int i = 0; i < 10000 && written().find(text) == std::string::npos; ++i) {
                usleep(1000);
            }
            EXPECT_NE(written().find(text), std::string::npos);
        } else {
            EXPECT_LE(due, clock_now_ns() + ns);
        }
    }

    Scratch scratch;
    std::string root = scratch.path("root");
    std::string program = "program";
    struct config config = {};
    app_cache_history *history = nullptr;
};

// It may be killed within the next 50 ms, in each of its starts.
TEST_F(AppCacheHistory, ThatAProgramMakesACacheIsWrittenSoon)
{
    run([&] {
        app_cache_history_made(history);
        expect_written_within(10 * CLOCK_MS, "not_read");
    });
}

// That it was written leaves the readings their own time.
TEST_F(AppCacheHistory, WhatItReadsBackThenIsNotPutOffForThat)
{
    run([&] {
        app_cache_history_made(history);
        app_cache_history_write(history);
        EXPECT_NE(written().find("not_read"), std::string::npos);
        EXPECT_EQ(app_cache_history_write_due(history), UINT64_MAX);
        app_cache_history_read(history);
        expect_written_within(100 * CLOCK_MS, "read_back");
        app_cache_history_write(history);
        app_cache_history_answered(history, digest{1, 2}, false);
        expect_written_within(CLOCK_S, "answers");
    });
}

// What it has read back by then is written, and leaves later answers their time. On a busy machine
// the worker may have written before that: then with another program.
TEST_F(AppCacheHistory, NorIsWhatFollowsOnReadingsOfItsFirstMoments)
{
    run([&] {
        for (uint64_t due = 0; app_cache_history_write_due(history) != due;) {
            program += "_";
            history = app_cache_history_of(&config, program.c_str());
            app_cache_history_made(history);
            due = app_cache_history_write_due(history);
            app_cache_history_read(history);
        }
        app_cache_history_write(history);
        EXPECT_NE(written().find("read_back"), std::string::npos);
        app_cache_history_answered(history, digest{1, 2}, false);
        expect_written_within(100 * CLOCK_MS, "answers");
    });
}

} // namespace
