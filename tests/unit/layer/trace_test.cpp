// SPDX-License-Identifier: Apache-2.0
// What waits in memory, and comes to the file when it can.
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "child.h"
#include "scratch.h"

extern "C" {
#include "layer/trace/trace.h"
#include "layer/worker/own_wait.h"
}

static bool can_start_threads = true;

// In place of the library's: the linker wraps it.
extern "C" bool __wrap_own_thread_start(void *(*function)(void *argument), void *argument, size_t)
{
    if (can_start_threads) {
        std::thread([=] {
            const unsigned place = own_wait_enter();
            function(argument);
            own_wait_leave(place);
        }).detach();
    }
    return can_start_threads;
}

namespace {

class TraceTest : public ::testing::Test {
  protected:
    struct trace *make() const
    {
        return trace_new(path.c_str(), "app", 0, &identity);
    }

    static void put(struct trace *trace, unsigned count)
    {
        struct trace_event event = {};
        event.kind = TRACE_OBJECT;
        event.name = "module";
        for (unsigned i = 0; i < count; ++i) {
            trace_put(trace, &event);
        }
    }

    static void finish(struct trace *trace)
    {
        EXPECT_TRUE(trace_finish(trace));
        trace_delete(trace);
    }

    // How often this process has the file open.
    size_t count_users() const
    {
        size_t users = 0;
        for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code ignored;
            users += std::filesystem::read_symlink(entry.path(), ignored) == path;
        }
        return users;
    }

    // Spans, and what the file says that is missing.
    size_t written = 0;
    size_t dropped = 0;
    size_t devices = 0;
    void read()
    {
        written = dropped = devices = 0;
        const std::string text = scratch.read("trace.json");
        const std::string events = "\"args\":{\"events\":";
        for (size_t at = 0; (at = text.find("{\"ph\":", at)) != std::string::npos; ++at) {
            const std::string line = text.substr(at, text.find('\n', at) - at);
            written += line.find("\"ph\":\"X\"") != std::string::npos;
            devices += line.find("\"name\":\"device\"") != std::string::npos;
            const size_t number = line.find(events);
            if (number != std::string::npos) {
                dropped += std::stoul(line.substr(number + events.size()));
            }
        }
    }

    Scratch scratch;
    const std::string path = scratch.path("trace.json");
    const struct driver_identity identity = {};
};

TEST_F(TraceTest, EventsOfManyThreadsAreAllThere)
{
    struct trace *trace = make();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] { put(trace, 500); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    finish(trace);
    read();
    EXPECT_EQ(written, 2000u);
    EXPECT_EQ(dropped, 0u);
    EXPECT_EQ(devices, 0u) << "no pipeline was created";
}

TEST_F(TraceTest, NothingHappenedNothingIsWritten)
{
    finish(make());
    EXPECT_NE(access(path.c_str(), F_OK), 0);
}

// Nobody waits for the end: the worker writes meanwhile.
TEST_F(TraceTest, EventsAreWrittenWhileTheProgramRuns)
{
    struct trace *trace = make();
    put(trace, 1);
    while (scratch.read("trace.json").find("\n]\n") == std::string::npos) {
        usleep(1000);
    }
    read();
    EXPECT_EQ(written, 1u);
    put(trace, 1);
    finish(trace);
    read();
    EXPECT_EQ(written, 2u);
}

// More comes than memory is spent on, and nobody to write it meanwhile.
TEST_F(TraceTest, WhatIsLostIsCounted)
{
    const unsigned count = 40000;
    run_in_child([&] {
        can_start_threads = false;
        struct trace *trace = make();
        put(trace, count);
        finish(trace);
    });
    read();
    EXPECT_EQ(written + dropped, count);
    EXPECT_GT(written, 1000u);
    EXPECT_GT(dropped, 0u);
}

// Another holds the file until the worker has given up a batch.
TEST_F(TraceTest, ALostBatchDoesNotTakeTheDeviceWithIt)
{
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    struct trace *trace = make();
    struct trace_event event = {};
    event.kind = TRACE_PIPELINE;
    event.name = "compute";
    event.start_ns = event.end_ns = 1;
    size_t count = 0;
    bool tries = false;
    for (bool gave_up = false; !gave_up; usleep(1000)) {
        trace_put(trace, &event);
        ++count;
        const bool tried = tries;
        tries = count_users() == 2;
        gave_up = tried && !tries;
    }
    ASSERT_EQ(flock(fd, LOCK_UN), 0);
    close(fd);
    finish(trace);
    read();
    EXPECT_EQ(written + dropped, count);
    EXPECT_GT(dropped, 0u);
    EXPECT_EQ(devices, 1u);
}

TEST_F(TraceTest, WhatCannotBeWrittenIsToldOnce)
{
    const ChildResult result = run_in_child([&] {
        const std::string nowhere = scratch.path("missing/trace.json");
        for (int i = 0; i < 3; ++i) {
            struct trace *trace = trace_new(nowhere.c_str(), "app", 0, &identity);
            put(trace, 10);
            finish(trace);
        }
    });
    ASSERT_EQ(result.lines().size(), 1u) << result.standard_error;
    EXPECT_NE(result.lines()[0].find("cannot write a trace to"), std::string::npos);
    EXPECT_NE(result.lines()[0].find("(no_file)"), std::string::npos);
}

} // namespace
