// SPDX-License-Identifier: Apache-2.0
// What holds of an engine's operations whatever the engine: bounds of a listing, and of time.
#include <cerrno>
#include <csignal>
#include <functional>
#include <string>
#include <utility>

#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

extern "C" {
#include "common/base/clock.h"
#include "tools/remote/engines/engine.h"
}

#include "scratch.h"

namespace {

thread_local int lock_error = 0; // of this thread's next lock; 0: none

} // namespace

int flock(int fd, int operation) noexcept
{
    if (const int error = std::exchange(lock_error, 0)) {
        errno = error;
        return -1;
    }
    return static_cast<int>(syscall(SYS_flock, fd, operation));
}

namespace {

// An engine whose listing is the test's.
struct Fake : engine {
    using Listing = std::function<enum status(engine_visit *visit, void *user)>;

    engine_operations all = {};
    Listing listing;

    explicit Fake(Listing text) : engine(), listing(std::move(text))
    {
        all.list = [](engine *self, const char *, engine_visit *visit, void *user) {
            return static_cast<Fake *>(self)->listing(visit, user);
        };
        operations = &all;
    }

    enum status list(size_t most)
    {
        auto visit = [](const char *, void *user) { return ++*static_cast<size_t *>(user) > 0; };
        return engine_list(this, "v1/head/", most, visit, &visited);
    }

    size_t visited = 0;
};

TEST(Engine, AListingEndsAfterSoManyPaths)
{
    Fake fake([](engine_visit *visit, void *user) {
        while (visit("v1/head/demo/recipes", user)) {
        }
        return STATUS_ok;
    });
    EXPECT_EQ(fake.list(1000), STATUS_remote_bad_answer);
    EXPECT_EQ(fake.visited, 1000u);
}

// Paths of elsewhere are not the caller's, but no reason to go on for ever.
TEST(Engine, AListingEndsAfterSoManyBytes)
{
    Fake fake(nullptr);
    uint64_t pages = 0;
    fake.traffic.received = uint64_t(1) << 40; // what came before is another matter
    fake.listing = [&](engine_visit *visit, void *user) {
        do {
            fake.traffic.received += 1 << 20;
            pages++;
        } while (visit("v1/obj/x", user));
        return STATUS_ok;
    };
    EXPECT_EQ(fake.list(SIZE_MAX), STATUS_remote_bad_answer);
    EXPECT_EQ(pages, (ENGINE_LIST_BYTES >> 20) + 1);
    EXPECT_EQ(fake.visited, 0u);
}

TEST(Engine, AListingHasATimeOfItsOwn)
{
    unsigned left = 0;
    Fake fake(nullptr);
    fake.listing = [&](engine_visit *, void *) {
        left = engine_time_left(&fake, UINT32_MAX);
        return STATUS_ok;
    };
    EXPECT_EQ(fake.list(1), STATUS_ok);
    EXPECT_LE(left, unsigned(ENGINE_LIST_MS));
    EXPECT_GT(left, unsigned(ENGINE_LIST_MS) / 2);
    EXPECT_EQ(engine_time_left(&fake, UINT32_MAX), UINT32_MAX) << "it holds for the listing alone";

    // A shorter one stays.
    const uint64_t deadline_ns = clock_now_ns() + 1000 * CLOCK_MS;
    fake.deadline_ns = deadline_ns;
    EXPECT_EQ(fake.list(1), STATUS_ok);
    EXPECT_LE(left, 1000u);
    EXPECT_EQ(fake.deadline_ns, deadline_ns);
}

// Until something answers there is less time, if that was set.
TEST(Engine, AnAnswerGivesMoreTime)
{
    Fake fake(nullptr);
    EXPECT_EQ(engine_time_left(&fake, UINT32_MAX), UINT32_MAX);
    fake.silent_ms = 1000;
    EXPECT_EQ(fake.silent_ns, 0u) << "it begins with the first question";
    const uint64_t before_ns = clock_now_ns();
    EXPECT_LE(engine_time_left(&fake, UINT32_MAX), 1000u);
    EXPECT_GE(fake.silent_ns, before_ns + 1000 * CLOCK_MS);
    fake.silent_ns = before_ns;
    EXPECT_EQ(engine_time_left(&fake, UINT32_MAX), 0u);
    fake.traffic.answers = 1;
    EXPECT_EQ(engine_time_left(&fake, UINT32_MAX), UINT32_MAX);
}

// A folder answers at once, whatever it says: what comes later has all the time there is.
TEST(Engine, AFolderIsNotSilent)
{
    struct url url = {};
    snprintf(url.path, sizeof url.path, "/tmp/warmpipe-no-such-folder");
    engine *file = engine_file_open(&url);
    struct engine_value value = {};
    file->silent_ms = 1000;
    file->silent_ns = clock_now_ns();
    EXPECT_EQ(file->operations->get(file, "v1/head/demo/recipes", 1, &value), STATUS_no_file);
    EXPECT_EQ(engine_time_left(file, UINT32_MAX), UINT32_MAX);
    file->operations->close(file);
}

// On SMB flock(2) says of a lock that another machine holds: EACCES.
TEST(Engine, AFolderOnSmbIsWaitedForWhileAnotherChangesAHead)
{
    const Scratch scratch;
    struct url url = {};
    snprintf(url.path, sizeof url.path, "%s", scratch.path("remote").c_str());
    engine *file = engine_file_open(&url);
    for (const int error : {EWOULDBLOCK, EACCES}) {
        const std::string path = "v1/head/demo/" + std::to_string(error);
        lock_error = error;
        EXPECT_EQ(file->operations->swap(file, path.c_str(), nullptr, "head", 4), STATUS_ok);
    }
    lock_error = ENOLCK;
    EXPECT_EQ(file->operations->swap(file, "v1/head/demo/c", nullptr, "head", 4),
              STATUS_remote_no_conditions);
    file->operations->close(file);
}

// A signal that is blocked, and comes, leaves a few seconds; the deadline stays if it is sooner.
TEST(Engine, ASignalLeavesAFewSeconds)
{
    sigset_t stops;
    sigset_t before;
    sigemptyset(&stops);
    sigaddset(&stops, SIGUSR1);
    sigprocmask(SIG_BLOCK, &stops, &before);
    Fake fake(nullptr);
    fake.stops = &stops;
    EXPECT_EQ(engine_time_left(&fake, UINT32_MAX), UINT32_MAX);
    raise(SIGUSR1);
    EXPECT_LE(engine_time_left(&fake, UINT32_MAX), unsigned(ENGINE_STOP_MS));
    const timespec none = {};
    EXPECT_EQ(sigtimedwait(&stops, nullptr, &none), SIGUSR1);
    EXPECT_LE(engine_time_left(&fake, UINT32_MAX), unsigned(ENGINE_STOP_MS)) << "it has come";
    fake.deadline_ns = clock_now_ns();
    EXPECT_EQ(engine_time_left(&fake, UINT32_MAX), 0u);
    sigprocmask(SIG_SETMASK, &before, nullptr);
}

} // namespace
