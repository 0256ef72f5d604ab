// SPDX-License-Identifier: Apache-2.0
// Crash pages: what the next process reads of a thread that was inside a call.
#include <atomic>
#include <cstring>
#include <future>
#include <memory>
#include <thread>

#include <sys/file.h>
#include <sys/wait.h>

#include "child.h"
#include "disk_fixture.h"
#include "holder.h"
#include "scratch.h"

extern "C" {
#include "common/blobs/crash_page.h"
#include "common/files/names.h"
}

namespace {

constexpr uint64_t key = 0x1111111111111111;
constexpr uint64_t other_key = 0x2222222222222222;

class CrashPage : public testing::Test {
  protected:
    ~CrashPage() override
    {
        crash_page_remove_elsewhere(number);
    }

    // Of the page, which is not in the guard's file where the disk of the tests cannot hold one.
    std::string path() const
    {
        char hex[UNIQUE_HEX_SIZE];
        unique_format(number, hex);
        const std::string elsewhere = std::string("/dev/shm/warmpipe-") + hex;
        return std::filesystem::exists(elsewhere) ? elsewhere : scratch.path("page");
    }

    std::string content_of_page() const
    {
        std::ifstream file(path(), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    // A guard over a file of its own; never closed unless the test does.
    crash_guard *open_guard(const crash_keys &known = {}) const
    {
        const int fd =
            open(scratch.path("page").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        auto *guard = new crash_guard();
        crash_page_remove_elsewhere(number); // of an earlier guard, which has its memory
        struct bytes record = {};
        EXPECT_TRUE(crash_guard_open(guard, fd, number, &record, &known));
        return guard;
    }

    static void call(crash_guard *guard, uint64_t of = key)
    {
        const crash_call call = crash_guard_raise(guard, of, CRASH_INSIDE);
        crash_guard_lower(guard, &call);
    }

    crash_finding find() const
    {
        const std::string content = content_of_page();
        EXPECT_EQ(content.size(), sizeof(crash_page));
        crash_finding finding = {};
        if (content.size() == sizeof(crash_page)) {
            crash_page_read(content.data(), &finding);
        }
        return finding;
    }

    std::vector<uint64_t> keys() const
    {
        const crash_finding finding = find();
        return {finding.keys.keys, finding.keys.keys + finding.keys.count};
    }

    using Keys = std::vector<uint64_t>;
    Scratch scratch;
    const uint64_t number = unique_draw();
};

TEST_F(CrashPage, TellsOfADeathInsideACall)
{
    Holder([&] { crash_guard_raise(open_guard(), key, CRASH_INSIDE); }).end();
    EXPECT_TRUE(find().died);
    EXPECT_TRUE(find().stored);
    EXPECT_FALSE(find().returned);
    EXPECT_EQ(keys(), Keys{key});
}

TEST_F(CrashPage, TellsOfNoneOutside)
{
    Holder([&] { call(open_guard()); }).end();
    EXPECT_FALSE(find().died);
    EXPECT_TRUE(find().returned);
    EXPECT_TRUE(keys().empty());
}

TEST_F(CrashPage, TellsOfNoneWhereThereIsNoPage)
{
    crash_guard guard = {};
    call(&guard);
    crash_guard_end(&guard);
    crash_guard_close(&guard);
}

TEST_F(CrashPage, TellsWhetherThePipelineIsKnown)
{
    Holder([&] { crash_guard_raise(open_guard(), key, CRASH_INSIDE_OTHER); }).end();
    EXPECT_TRUE(find().died);
    EXPECT_FALSE(find().stored);
}

TEST_F(CrashPage, AnOuterCallIsWhereItWasWhenAnInnerOneHasReturned)
{
    Holder([&] {
        crash_guard *guard = open_guard();
        crash_guard_raise(guard, key, CRASH_INSIDE);
        call(guard, other_key);
    }).end();
    EXPECT_EQ(keys(), Keys{key});
}

TEST_F(CrashPage, EachThreadHasASlotAndGivesItBack)
{
    Holder([&] {
        crash_guard *guard = open_guard();
        for (int i = 0; i < 3 * CRASH_SLOTS; i++) {
            std::thread([&] { call(guard); }).join();
        }
        std::promise<void> entered;
        std::thread([&] {
            crash_guard_raise(guard, key, CRASH_INSIDE);
            entered.set_value();
            pause();
        }).detach();
        entered.get_future().wait();
        crash_guard_raise(guard, other_key, CRASH_INSIDE);
    }).end();
    EXPECT_EQ(keys().size(), 2u);
}

// By pthread_exit in a callback or a handler: Wine ends threads so. In whatever page it was inside.
TEST_F(CrashPage, AThreadThatEndsInsideACallIsOutside)
{
    Holder([&] {
        crash_guard *guard = open_guard();
        std::thread([&] { crash_guard_raise(guard, key, CRASH_INSIDE); }).join();
        std::thread([&] { call(guard, other_key); }).join(); // in the same slot
    }).end();
    EXPECT_FALSE(find().died);
    EXPECT_TRUE(find().returned);
}

TEST_F(CrashPage, FurtherThreadsThanSlotsAreNotGuarded)
{
    run_in_child([&] {
        crash_guard *guard = open_guard();
        std::promise<void> end;
        std::shared_future<void> ended(end.get_future());
        std::vector<std::thread> threads;
        std::atomic<unsigned> inside{0}, tried{0};
        for (int i = 0; i < CRASH_SLOTS + 2; i++) {
            threads.emplace_back([&] {
                const crash_call call = crash_guard_raise(guard, key, CRASH_INSIDE);
                inside += call.slot ? 1 : 0;
                ++tried;
                ended.wait();
                crash_guard_lower(guard, &call);
            });
        }
        while (tried < CRASH_SLOTS + 2) {
            std::this_thread::yield();
        }
        end.set_value();
        for (std::thread &thread : threads) {
            thread.join();
        }
        EXPECT_EQ(inside, static_cast<unsigned>(CRASH_SLOTS));
    });
    EXPECT_FALSE(find().died);
}

// By the watcher's clock.
TEST_F(CrashPage, ADeathInALongCallIsOneOfItsOwnKind)
{
    Holder([&] {
        crash_guard *guard = open_guard();
        crash_watch watch = {};
        EXPECT_FALSE(crash_guard_watch(guard, &watch, 1));
        crash_guard_raise(guard, key, CRASH_INSIDE);
        EXPECT_TRUE(crash_guard_watch(guard, &watch, CLOCK_S));
        EXPECT_TRUE(crash_guard_watch(guard, &watch, CLOCK_S + CRASH_LONG_NS - 1));
        EXPECT_FALSE(find().is_long) << "not yet";
        EXPECT_TRUE(crash_guard_watch(guard, &watch, CLOCK_S + CRASH_LONG_NS));
    }).end();
    EXPECT_TRUE(find().died);
    EXPECT_TRUE(find().is_long);
    EXPECT_TRUE(find().stored);
    EXPECT_EQ(keys(), Keys{key});
}

TEST_F(CrashPage, ADeathBesideALongCallIsAShortOne)
{
    Holder([&] {
        crash_guard *guard = open_guard();
        crash_watch watch = {};
        std::promise<void> entered;
        std::thread([&] {
            crash_guard_raise(guard, key, CRASH_INSIDE);
            entered.set_value();
            pause();
        }).detach();
        entered.get_future().wait();
        crash_guard_watch(guard, &watch, CLOCK_S);
        crash_guard_watch(guard, &watch, 2 * CLOCK_S);
        crash_guard_raise(guard, other_key, CRASH_INSIDE_OTHER);
    }).end();
    EXPECT_TRUE(find().died);
    EXPECT_FALSE(find().is_long);
    EXPECT_EQ(keys(), Keys{other_key});
}

TEST_F(CrashPage, ADeathInALongCompileIsNotOfWhatIsStored)
{
    Holder([&] {
        crash_guard *guard = open_guard();
        crash_watch watch = {};
        crash_guard_raise(guard, key, CRASH_INSIDE_OTHER);
        crash_guard_watch(guard, &watch, CLOCK_S);
        crash_guard_watch(guard, &watch, 2 * CLOCK_S);
    }).end();
    EXPECT_TRUE(find().died);
    EXPECT_TRUE(find().is_long);
    EXPECT_FALSE(find().stored);
}

TEST_F(CrashPage, AnotherCallAfterALongOneIsShort)
{
    Holder([&] {
        crash_guard *guard = open_guard();
        crash_watch watch = {};
        const crash_call call = crash_guard_raise(guard, key, CRASH_INSIDE);
        crash_guard_watch(guard, &watch, CLOCK_S);
        crash_guard_watch(guard, &watch, 2 * CLOCK_S);
        crash_guard_lower(guard, &call);
        EXPECT_FALSE(crash_guard_watch(guard, &watch, 3 * CLOCK_S)) << "nothing is used";
        crash_guard_raise(guard, key, CRASH_INSIDE);
        EXPECT_TRUE(crash_guard_watch(guard, &watch, 4 * CLOCK_S));
    }).end();
    EXPECT_TRUE(find().died);
}

TEST_F(CrashPage, AnEndIsNoDeath)
{
    // One that has begun to end, with a thread inside.
    Holder([&] {
        crash_guard *guard = open_guard();
        std::promise<void> entered;
        std::thread([&] {
            crash_guard_raise(guard, key, CRASH_INSIDE);
            entered.set_value();
            pause();
        }).detach();
        entered.get_future().wait();
        crash_guard_end_all();
    }).end();
    EXPECT_FALSE(find().died);
}

// A program's handler of SIGSEGV may call exit().
TEST_F(CrashPage, AnEndInsideACallIsADeath)
{
    Holder([&] {
        crash_guard_raise(open_guard(), key, CRASH_INSIDE);
        crash_guard_end_all();
    }).end();
    EXPECT_TRUE(find().died);
}

TEST_F(CrashPage, ARecordOfAnotherBootIsNoDeath)
{
    Holder([&] { crash_guard_raise(open_guard(), key, CRASH_INSIDE); }).end();
    ASSERT_TRUE(find().died);
    std::string content = content_of_page();
    content[offsetof(crash_page, boot)] ^= 1;
    write_file(path(), content);
    EXPECT_FALSE(find().died);
    EXPECT_EQ(keys(), Keys{key}) << "but where it was is still known";
}

// A forked child writes nothing into its parent's page, and holds no lock of its.
TEST_F(CrashPage, AForkedChildHasNone)
{
    run_in_child([&] {
        crash_guard *guard = open_guard();
        ASSERT_EQ(flock(guard->file.fd, LOCK_EX | LOCK_NB), 0);
        const crash_call call = crash_guard_raise(guard, key, CRASH_INSIDE);
        Holder child([&] {
            crash_guard_lower(guard, &call);
            crash_guard_raise(guard, other_key, CRASH_INSIDE);
        });
        EXPECT_EQ(keys(), Keys{key});
        crash_guard_lower(guard, &call);
        EXPECT_FALSE(find().died);
        crash_guard_close(guard);
        const int fd = open(scratch.path("page").c_str(), O_RDWR);
        EXPECT_EQ(flock(fd, LOCK_EX | LOCK_NB), 0) << "the child holds the lock";
    });
}

TEST_F(CrashPage, ADeathIsDisprovedWhenAllItWasInHasReturned)
{
    const crash_keys known = {2, {key, other_key}};
    Holder([&] {
        crash_guard *guard = open_guard(known);
        call(guard, key);
        EXPECT_FALSE(crash_guard_has_passed(guard));
        EXPECT_FALSE(find().passed);
        call(guard, 3 * key);
        call(guard, other_key);
        EXPECT_TRUE(crash_guard_has_passed(guard));
    }).end();
    EXPECT_TRUE(find().passed);
}

TEST_F(CrashPage, TellsOfAProcessThatWentWithoutTheBlobAndWasEnded)
{
    const auto go_without = [&](uint64_t known) {
        crash_guard *guard = open_guard({1, {known}});
        crash_guard_go_without(guard);
        return guard;
    };
    Holder([&] { call(go_without(key), other_key); }).end();
    EXPECT_TRUE(find().killed);
    EXPECT_FALSE(find().passed);
    Holder([&] { crash_guard_end(go_without(key)); }).end();
    EXPECT_FALSE(find().killed);
    Holder([&] {
        crash_guard *guard = go_without(key);
        call(guard, key);
        EXPECT_FALSE(crash_guard_has_passed(guard)) << "that disproves nothing";
    }).end();
    EXPECT_TRUE(find().killed);
    EXPECT_TRUE(find().passed);
    Holder([&] { call(go_without(CRASH_KEY_LOAD), key); }).end();
    EXPECT_TRUE(find().passed) << "it has nothing to load";
    Holder([&] { open_guard(); }).end();
    EXPECT_FALSE(find().killed) << "it went with the blob";
}

// Stores of other threads may come late, and exit() looks at all pages.
TEST_F(CrashPage, MemoryOfAPageStaysWhenThatIsClosed)
{
    run_in_child([&] {
        crash_guard *guard = open_guard();
        crash_page *page = guard->page;
        const crash_call late = crash_guard_raise(guard, key, CRASH_INSIDE);
        crash_guard_close(guard);
        crash_guard_lower(guard, &late);
        page->ended = 1;
        EXPECT_EQ(find().keys.count, 1u) << "the file is as it was";
        delete guard;
        guard = open_guard();
        EXPECT_EQ(guard->page, page) << "and is used again";
        EXPECT_EQ(page->ended, 0u);
        crash_guard_close(guard);
        delete guard;
    });
}

TEST_F(CrashPage, AnEndWhilePagesAreClosedTouchesNothingThatIsGone)
{
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "it takes the change of a mapping for a write into the memory";
#endif
    run_in_child([&] {
        std::atomic<bool> done{false};
        std::thread ending([&] {
            while (!done) {
                crash_guard_end_all();
            }
        });
        for (int i = 0; i < 5000; i++) {
            crash_guard *guard = open_guard();
            crash_guard_close(guard);
            delete guard;
        }
        done = true;
        ending.join();
    });
}

TEST_F(CrashPage, IsAFileOfAFixedLayout)
{
    static_assert(sizeof(crash_page) == 2176, "as in docs/FORMAT.md");
    Holder([&] { crash_guard_raise(open_guard(), key, CRASH_INSIDE_OTHER); }).end();
    const std::string content = content_of_page();
    uint64_t first_key = 0;
    uint32_t first_state = 0;
    std::memcpy(&first_key, &content[128], sizeof first_key);
    std::memcpy(&first_state, &content[136], sizeof first_state);
    EXPECT_EQ(first_key, key);
    EXPECT_EQ(first_state, 2u);
}

} // namespace
