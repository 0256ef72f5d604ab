// What waits in memory, and comes to the file when it can.
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include "child.h"
#include "scratch.h"

extern "C" {
#include "trace.h"
}

namespace {

using nlohmann::json;

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

    // Waits until the file is open so many times.
    void wait_for_users(unsigned count) const
    {
        for (unsigned users = count + 1; users != count; usleep(1000)) {
            users = 0;
            for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
                std::error_code ignored;
                users += std::filesystem::read_symlink(entry.path(), ignored) == path;
            }
        }
    }

    // Spans, and what the file says that is missing.
    size_t written = 0;
    size_t dropped = 0;
    size_t devices = 0;
    void read()
    {
        written = dropped = devices = 0;
        for (const json &event : json::parse(scratch.read("trace.json"))) {
            written += event["ph"] == "X";
            devices += event["name"] == "device";
            if (event["name"] == "dropped") {
                dropped += event["args"]["events"].get<size_t>();
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

// The file is held by another for as long as events come, more than memory is spent on.
TEST_F(TraceTest, WhatIsLostIsCounted)
{
    const size_t count = 30000;
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    struct trace *trace = make();
    put(trace, count);
    ASSERT_EQ(flock(fd, LOCK_UN), 0);
    close(fd);
    put(trace, 1); // what was lost is told with what comes next
    finish(trace);
    read();
    EXPECT_EQ(written + dropped, count + 1);
    EXPECT_GT(dropped, 0u);
}

// So is what there is nothing behind, and no batch takes the description of the device with it.
TEST_F(TraceTest, WhatIsLostAtLastIsCounted)
{
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    struct trace *trace = make();
    struct trace_event event = {};
    event.kind = TRACE_PIPELINE;
    event.name = "compute";
    event.start_ns = event.end_ns = 1;
    trace_put(trace, &event);
    wait_for_users(2);
    wait_for_users(1); // the worker has given up
    ASSERT_EQ(flock(fd, LOCK_UN), 0);
    close(fd);
    finish(trace);
    read();
    EXPECT_EQ(written, 0u);
    EXPECT_EQ(dropped, 1u);
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
