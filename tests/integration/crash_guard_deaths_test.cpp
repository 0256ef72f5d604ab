// SPDX-License-Identifier: Apache-2.0
// Deaths and ends of programs that use a good blob: none is held against it.
#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "crash_guard.hpp"

namespace {

TEST_F(CrashGuardTest, DeathsOutsideOfCallsAreNone)
{
    make_good_blob();
    for (unsigned i = 0; i < 4; ++i) {
        run(
            [] {
                leak_from_here_on();
                auto *owner = new Program;
                owner->create(Kind::compute, 0);
                raise(SIGKILL);
            },
            {Layer::any, true, -SIGKILL});
        EXPECT_EQ(state_of_a_start(), "loaded") << i;
    }
}

// Killed while the driver compiles what the blob does not hold: never the blob's fault.
TEST_F(CrashGuardTest, KillsWhileSomethingNewIsCompiledPutNothingAway)
{
    make_good_blob();
    for (unsigned i = 0; i < 8; ++i) {
        run(
            [i] {
                leak_from_here_on();
                auto *owner = new Program;
                owner->create(Kind::compute, 0);
                test_icd_on_compile([](void *) { raise(SIGKILL); }, nullptr);
                owner->create(Kind::compute, 100 + i);
            },
            {Layer::any, true, -SIGKILL});
        run(program); // without it, for one start
        EXPECT_EQ(state_of_a_start(), "loaded") << i;
        EXPECT_FALSE(is_put_away()) << i;
    }
}

// Somebody ends the program at every start, and always while it asks for what the blob holds. With
// the blob or without it: that tells it from a blob that kills.
TEST_F(CrashGuardTest, KillsAtEveryStartPutNothingAway)
{
    make_good_blob();
    for (unsigned i = 0; i < 8; ++i) {
        run(
            [] {
                leak_from_here_on();
                auto *owner = new Program;
                test_icd_on_call(
                    [](const char *command, void *) {
                        if (std::string(command) == "vkCreateComputePipelines") {
                            raise(SIGKILL);
                        }
                    },
                    nullptr);
                owner->create(Kind::compute, 0);
            },
            {Layer::any, true, -SIGKILL});
        EXPECT_FALSE(is_put_away()) << i;
    }
    EXPECT_EQ(state_of_a_start(), "loaded");
}

// Not even the next start goes without the blob.
TEST_F(CrashGuardTest, ADeathInALongCallIsNone)
{
    make_good_blob();
    for (unsigned i = 0; i < 2; ++i) {
        run(
            [&, i] {
                leak_from_here_on();
                static std::filesystem::path root;
                root = cache_root();
                auto *owner = new Program;
                test_icd_on_compile(
                    [](void *) {
                        EXPECT_TRUE(is_short_death(find_page(root))) << "if it died now";
                        while (is_short_death(find_page(root))) {
                            usleep(1000);
                        }
                        raise(SIGKILL);
                    },
                    nullptr);
                owner->create(Kind::compute, 100 + i);
            },
            {Layer::any, true, -SIGKILL});
        EXPECT_EQ(state_of_a_start(), "loaded") << i;
    }
}

// Recipes are wrong where a blob was lost and an older one took its place: what they say to be
// stored is compiled, and where that has taken long once, it is watched.
TEST_F(CrashGuardTest, ADeathInALongCallForWhatRecipesHoldStoredIsNone)
{
    run([] { Program().create(Kind::compute, 0); });
    const auto file = cache_file();
    const std::vector<uint8_t> older = read_bytes(file);
    make_good_blob();
    write_bytes(file, older);
    run(
        [&] {
            leak_from_here_on();
            static std::filesystem::path root;
            root = cache_root();
            auto *owner = new Program;
            owner->create(Kind::compute, 0);
            test_icd_on_compile([](void *) { usleep(20000); }, nullptr);
            owner->create(Kind::compute, 1);
            test_icd_on_compile(
                [](void *) {
                    EXPECT_TRUE(find_page(root).stored) << "by the recipes";
                    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
                    while (is_short_death(find_page(root)) &&
                           std::chrono::steady_clock::now() < until) {
                        usleep(1000);
                    }
                    raise(SIGKILL);
                },
                nullptr);
            owner->create(Kind::compute, 2);
        },
        {Layer::any, true, -SIGKILL});
    EXPECT_EQ(state_of_a_start(), "loaded");
}

// The same twice, by somebody who does not wait for so long a compile: a start that knows of the
// first death watches all calls, also those after a pause.
TEST_F(CrashGuardTest, TwoKillsInALongCallForWhatRecipesHoldStoredPutNothingAway)
{
    run([] { Program().create(Kind::compute, 0); });
    const auto file = cache_file();
    const std::vector<uint8_t> older = read_bytes(file);
    make_good_blob();
    write_bytes(file, older);
    for (unsigned i = 0; i < 2; ++i) {
        run(
            [&] {
                leak_from_here_on();
                static std::filesystem::path root;
                root = cache_root();
                auto *owner = new Program;
                owner->create(Kind::compute, 0);
                usleep(100000); // a watcher that sees no call for 5 ms is at rest
                test_icd_on_compile(
                    [](void *) {
                        const auto until =
                            std::chrono::steady_clock::now() + std::chrono::seconds(2);
                        while (is_short_death(find_page(root)) &&
                               std::chrono::steady_clock::now() < until) {
                            usleep(1000);
                        }
                        raise(SIGKILL);
                    },
                    nullptr);
                owner->create(Kind::compute, 2);
            },
            {Layer::any, true, -SIGKILL});
        run(program); // without the blob, for one start
        EXPECT_FALSE(is_put_away()) << i;
    }
}

// A program that calls exit() while another of its threads compiles.
TEST_F(CrashGuardTest, AnExitWithAThreadInsideIsNone)
{
    make_good_blob();
    run([] {
        leak_from_here_on();
        auto *owner = new Program;
        owner->create(Kind::compute, 0);
        static std::atomic<bool> inside{false};
        test_icd_on_compile(
            [](void *) {
                inside = true;
                pause();
            },
            nullptr);
        std::thread([owner] { owner->create(Kind::compute, 100); }).detach();
        while (!inside) {
            std::this_thread::yield();
        }
    });
    EXPECT_EQ(state_of_a_start(), "loaded");
}

// A thread that the program has ended in a callback of the driver's (Wine: by TerminateThread, and
// all threads at the end of the process) is in the driver no more when the process is killed.
TEST_F(CrashGuardTest, AKillAfterAThreadWasEndedInTheDriverIsNone)
{
    make_good_blob();
    for (unsigned i = 0; i < 2; ++i) {
        run(
            [] {
                leak_from_here_on();
                auto *owner = new Program;
                auto *batch = new Batch(*owner, Kind::compute, {1});
                test_icd_on_call(
                    [](const char *command, void *) {
                        if (std::string(command) == "vkCreateComputePipelines") {
                            pthread_exit(nullptr);
                        }
                    },
                    nullptr);
                std::thread([batch] { batch->create(); }).join();
                raise(SIGKILL);
            },
            {Layer::any, true, -SIGKILL});
        EXPECT_EQ(state_of_a_start(), "loaded") << i;
    }
}

// Nor is a call that takes long one that the blob could be blamed for.
TEST_F(CrashGuardTest, ADeathInALongCallInASandboxIsNone)
{
    make_good_blob();
    run(
        [&] {
            leak_from_here_on();
            static int page;
            auto *owner = new Program;
            owner->create(Kind::compute, 100); // from here on there is a worker
            page = open(page_path(cache_root()).c_str(), O_RDONLY | O_CLOEXEC);
            EXPECT_FALSE(is_short_death(read_page(page)));
            shut_in();
            test_icd_on_compile(
                [](void *) {
                    EXPECT_TRUE(is_short_death(read_page(page))) << "if it died now";
                    wait_while([] { return is_short_death(read_page(page)); });
                    raise(SIGKILL);
                },
                nullptr);
            owner->create(Kind::compute, 101);
        },
        {Layer::any, true, -SIGKILL});
    EXPECT_EQ(state_of_a_start(), "loaded");
}

// A page is gone with its device, and with its process.
TEST_F(CrashGuardTest, LeavesNothingBehind)
{
    make_good_blob();
    const auto count_pages = [&] {
        const auto entries = std::filesystem::recursive_directory_iterator(cache_root());
        return std::count_if(begin(entries), end(entries), [](const auto &entry) {
            return entry.path().parent_path().extension() == ".loading";
        });
    };
    EXPECT_EQ(count_pages(), 0);
    run([] {
        leak_from_here_on();
        (new Program)->create(Kind::compute, 0); // never destroyed
    });
    EXPECT_EQ(count_pages(), 0);
    run([&] {
        Program owner;
        owner.create(Kind::compute, 0);
        EXPECT_EQ(count_pages(), 1);
        std::ofstream(folder() / "page") << page_path(cache_root());
    });
    EXPECT_EQ(count_pages(), 0);
    std::filesystem::path page;
    std::ifstream(folder() / "page") >> page;
    EXPECT_FALSE(page.empty());
    EXPECT_FALSE(std::filesystem::exists(page));
}

} // namespace
