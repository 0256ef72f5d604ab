// SPDX-License-Identifier: Apache-2.0
// The recorder, as the end of a process or a device meets it.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <future>
#include <thread>

#include "faults.h"
#include "scratch.h"

extern "C" {
#include "common/base/clock.h"
#include "common/recipes/recipes.h"
#include "layer/recipes/recorder.h"
}

namespace {

class RecorderTest : public testing::Test {
  protected:
    RecorderTest()
    {
        const recorder_setup setup = {root_.c_str(), "app",   UINT64_MAX,
                                      &environment_, nullptr, nullptr};
        recorder_ = recorder_new(&setup);
    }
    ~RecorderTest() override
    {
        EXPECT_TRUE(recorder_finish(recorder_));
        recorder_delete(recorder_);
    }

    // A thread of the program reads the recipes, and the disk does not answer meanwhile.
    void while_a_thread_is_at_the_disk(const std::function<void()> &act)
    {
        std::promise<void> reading;
        std::promise<void> answer;
        faults = {};
        faults.before_open = [&] {
            reading.set_value();
            answer.get_future().wait();
        };
        std::thread program([&] {
            uint8_t bytes[] = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, 0, 0, 0};
            canonical form = {};
            form.key.data = bytes;
            form.size = sizeof bytes;
            recorder_keep(recorder_, &form);
        });
        reading.get_future().wait();
        act();
        answer.set_value();
        program.join();
    }

    Scratch scratch_;
    std::string root_ = scratch_.path("root");
    const bytes environment_ = {};
    recorder *recorder_ = nullptr;
};

TEST_F(RecorderTest, AnEndDoesNotWaitForAThreadThatIsAtTheDisk)
{
    const recipe_use use = {};
    while_a_thread_is_at_the_disk([&] {
        const uint64_t before_ns = patience_set(CLOCK_MS);
        recorder_saved(recorder_);
        EXPECT_FALSE(recorder_took_long(recorder_, &use, 1));
        patience_set(before_ns);
    });
    EXPECT_TRUE(recorder_took_long(recorder_, &use, 1));
}

// It is told from within the driver, where vkDestroyDevice waits for it however long.
TEST_F(RecorderTest, ALookWaitsForNoLock)
{
    while_a_thread_is_at_the_disk([&] {
        const uint64_t before_ns = patience_set(CLOCK_MS);
        recorder_looking(recorder_);
        EXPECT_EQ(patience_set(before_ns), CLOCK_MS) << "nothing of it was spent";
    });
}

// Where there is something it is the worker that writes, and the end waits for that.
TEST_F(RecorderTest, AnEndWithNothingToWriteStartsNoThread)
{
    const auto threads = [] {
        const std::filesystem::directory_iterator tasks("/proc/self/task");
        return std::distance(begin(tasks), end(tasks));
    };
    const auto before = threads();
    EXPECT_TRUE(recorder_finish(recorder_));
    EXPECT_EQ(threads(), before);
    const recipe_use use = {};
    EXPECT_TRUE(recorder_took_long(recorder_, &use, 1));
    EXPECT_TRUE(recorder_finish(recorder_));
    EXPECT_TRUE(std::filesystem::exists(root_ + "/app/recipes"));
}

TEST_F(RecorderTest, WhereNothingIsRecordedNoLongCompileIs)
{
    const recipe_use use = {};
    EXPECT_FALSE(recorder_took_long(nullptr, &use, 1));
}

} // namespace
