// SPDX-License-Identifier: Apache-2.0
// The file of a trace: whole after every append, and never one that is somebody else's.
#include <cstring>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "mounts.h"
#include "scratch.h"

extern "C" {
#include "layer/trace/trace.h"
}

namespace {

using nlohmann::json;

class TraceFile : public ::testing::Test {
  protected:
    // A batch of so many events, behind the one that names the process.
    enum status append(unsigned first, unsigned count)
    {
        struct bytes events = {};
        const struct trace_source source = {1, 0};
        trace_format_process(&source, "game", &events);
        for (unsigned i = 0; i < count; ++i) {
            struct trace_event event = {};
            event.kind = TRACE_PIPELINE;
            event.name = "compute";
            event.thread = first + i;
            trace_format_event(&source, &event, &events);
        }
        const enum status reason = trace_file_append(path().c_str(), &events);
        bytes_free(&events);
        return reason;
    }

    std::string path() const
    {
        return scratch.path("trace.json");
    }

    // The threads of its spans; a failure if it is not strict JSON.
    std::vector<unsigned> threads() const
    {
        std::vector<unsigned> found;
        const std::string text = scratch.read("trace.json");
        const json events = json::parse(text, nullptr, false);
        EXPECT_TRUE(events.is_array()) << text;
        EXPECT_EQ(text.substr(0, 2), "[\n");
        EXPECT_EQ(text.substr(text.size() - 3), "\n]\n");
        for (const json &event : events) {
            if (event["ph"] == "X") {
                found.push_back(event["tid"]);
            }
        }
        return found;
    }

    void expect_untouched(const std::string &content, enum status reason)
    {
        std::ofstream(path(), std::ios::binary) << content;
        EXPECT_EQ(append(1, 1), reason) << content;
        EXPECT_EQ(scratch.read("trace.json"), content);
    }

    Scratch scratch;
};

using Threads = std::vector<unsigned>;

TEST_F(TraceFile, IsBegunAndAppendedTo)
{
    EXPECT_EQ(append(1, 2), STATUS_ok);
    EXPECT_EQ(threads(), (Threads{1, 2}));
    struct stat status = {};
    ASSERT_EQ(stat(path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u, 0600u);
    EXPECT_EQ(append(3, 1), STATUS_ok);
    EXPECT_EQ(append(4, 2), STATUS_ok);
    EXPECT_EQ(threads(), (Threads{1, 2, 3, 4, 5}));
}

TEST_F(TraceFile, AnEmptyOneIsBegun)
{
    std::ofstream(path(), std::ios::binary).flush();
    EXPECT_EQ(append(1, 1), STATUS_ok);
    EXPECT_EQ(threads(), Threads{1});
}

// A process was killed while it wrote: at each place in the second event or behind it.
TEST_F(TraceFile, WhatWasCutShortIsWholeWithTheNext)
{
    ASSERT_EQ(append(1, 3), STATUS_ok);
    const std::string whole = scratch.read("trace.json");
    const size_t second_ends = whole.find('\n', whole.find("\"tid\":2")) + 1;
    for (size_t size = whole.find("\"tid\":2"); size < whole.size(); ++size) {
        std::ofstream(path(), std::ios::binary) << whole.substr(0, size);
        ASSERT_EQ(append(9, 1), STATUS_ok) << size;
        EXPECT_EQ(threads(), size < second_ends ? (Threads{1, 9}) : (Threads{1, 2, 9})) << size;
    }
}

TEST_F(TraceFile, OthersAreLeftAlone)
{
    expect_untouched("text\n", STATUS_not_a_trace);
    expect_untouched("[\n1,\n2\n]\n", STATUS_not_a_trace);
    expect_untouched("[\n]\n", STATUS_not_a_trace);
    expect_untouched("[\n{\"ph\":\"X\",\"name\":\"other\"}\n]\n", STATUS_not_a_trace);
    expect_untouched("\n]\n", STATUS_not_a_trace);
    expect_untouched(std::string(20000, ' ') + "\n]\n", STATUS_not_a_trace);
    // Begun as ours, and then no event that is whole.
    expect_untouched("[\n{\"ph\":\"M\",\"name\":\"process_name\",", STATUS_not_a_trace);
    expect_untouched("[\n{\"ph\":\"M\",\"name\":\"process_name\"," + std::string(20000, 'x'),
                     STATUS_not_a_trace);
}

TEST_F(TraceFile, LinksAndDirectoriesAndPipesAreLeftAlone)
{
    ASSERT_EQ(symlink(scratch.path("target").c_str(), path().c_str()), 0);
    EXPECT_EQ(append(1, 1), STATUS_symlink);
    EXPECT_NE(access(scratch.path("target").c_str(), F_OK), 0);
    ASSERT_EQ(unlink(path().c_str()), 0);
    ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
    EXPECT_EQ(append(1, 1), STATUS_not_a_file);
    ASSERT_EQ(unlink(path().c_str()), 0);
    ASSERT_EQ(mkdir(path().c_str(), 0700), 0);
    EXPECT_NE(append(1, 1), STATUS_ok);
}

TEST_F(TraceFile, WhoeverHoldsItIsNotWaitedForLong)
{
    ASSERT_EQ(append(1, 1), STATUS_ok);
    const int fd = open(path().c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(flock(fd, LOCK_SH), 0);
    EXPECT_EQ(append(2, 1), STATUS_locked);
    close(fd);
    EXPECT_EQ(append(3, 1), STATUS_ok);
    EXPECT_EQ(threads(), (Threads{1, 3}));
}

TEST_F(TraceFile, AFullDiskLeavesItWhole)
{
    const bool mounted = run_on_disk(scratch.path(""), "size=64k", [&] {
        enum status reason = STATUS_ok;
        unsigned next = 0;
        for (; reason == STATUS_ok && next < 100000; next += 10) {
            reason = append(next, 10);
        }
        EXPECT_EQ(reason, STATUS_disk_full);
        EXPECT_EQ(threads().size(), next - 10);
        EXPECT_EQ(append(next, 1000), STATUS_disk_full);
        EXPECT_EQ(threads().size(), next - 10);
    });
    if (!mounted) {
        GTEST_SKIP() << "may not mount here";
    }
}

TEST_F(TraceFile, DoesNotGrowForEver)
{
    ASSERT_EQ(append(1, 1), STATUS_ok);
    const off_t limit = off_t{256} << 20;
    const int fd = open(path().c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(ftruncate(fd, limit - 3), 0); // a hole, which nobody looks into
    ASSERT_EQ(pwrite(fd, "\n]\n", 3, limit - 3), 3);
    close(fd);
    EXPECT_EQ(append(2, 1), STATUS_too_large);
    EXPECT_EQ(std::filesystem::file_size(path()), static_cast<uintmax_t>(limit));
}

// A write beyond the limit would end the program with SIGXFSZ.
TEST_F(TraceFile, StaysBelowTheLimitOfFileSizes)
{
    ASSERT_EQ(append(1, 1), STATUS_ok);
    const std::string before = scratch.read("trace.json");
    run_in_child([&] {
        const struct rlimit limit = {before.size() + 10, before.size() + 10};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
        EXPECT_EQ(append(2, 1), STATUS_too_large);
    });
    EXPECT_EQ(scratch.read("trace.json"), before);
}

} // namespace
