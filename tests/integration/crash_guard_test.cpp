// SPDX-License-Identifier: Apache-2.0
// Blobs that are whole and kill the driver, at once or late; and programs that are killed while
// they use a good one.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <linux/seccomp.h>
#include <unistd.h>

#include "damaged_blobs.hpp"
#include "program.hpp"
#include "sandbox.hpp"
#include "test_icd.h"

extern "C" {
#include "common/blobs/crash_page.h"
}

namespace {

// The page of the only process that lives; empty: there is none.
std::filesystem::path page_path(const std::filesystem::path &root)
{
    std::filesystem::path found;
    std::error_code gone; // a file that a save has just given its last name
    for (const auto &entry : std::filesystem::recursive_directory_iterator(root)) {
        const std::filesystem::path elsewhere =
            "/dev/shm/warmpipe-" + entry.path().filename().string();
        if (!entry.path().has_extension() && entry.is_regular_file(gone) &&
            entry.file_size(gone) == sizeof(crash_page)) {
            found = entry.path();
        } else if (std::filesystem::exists(elsewhere)) {
            found = elsewhere;
        }
    }
    return found;
}

// What it would say of its death.
crash_finding find_page(const std::filesystem::path &root)
{
    crash_finding finding = {};
    const std::filesystem::path path = page_path(root);
    if (!path.empty()) {
        crash_page_read(read_bytes(path).data(), &finding);
    }
    return finding;
}

// The same of a page that was opened, for a process that can open nothing any more.
crash_finding read_page(int file)
{
    std::vector<uint8_t> content(sizeof(crash_page));
    crash_finding finding = {};
    EXPECT_EQ(pread(file, content.data(), content.size(), 0), ssize_t(content.size()));
    crash_page_read(content.data(), &finding);
    return finding;
}

class CrashGuardTest : public LayerTest {
  protected:
    CrashGuardTest()
    {
        environment["WARMPIPE_APP"] = "program";
        environment["WPTEST_ICD_TRUST"] = "1";
        environment["WARMPIPE_PREWARM"] = "off";
    }

    static constexpr unsigned pipelines = 12;

    static void program()
    {
        Program owner;
        for (unsigned i = 0; i < pipelines; ++i) {
            owner.create(Kind::compute, i);
        }
    }

    void make_good_blob()
    {
        run(program);
        EXPECT_EQ(run(program).hits(), pipelines);
    }

    // The first bytes of a record are its pipeline's: with others there it is nobody's.
    static constexpr unsigned record_bytes = 64;
    static constexpr unsigned records_at = 48;

    void damage_record(unsigned record)
    {
        change_blob(cache_file(), [&](std::vector<uint8_t> &blob) {
            blob.at(records_at + record * record_bytes + 20) ^= 1;
        });
    }

    // Whoever is killed says nothing of what has failed: the next start does.
    template <typename Condition> static void wait_while(const Condition &condition)
    {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (condition() && std::chrono::steady_clock::now() < until) {
            usleep(1000);
        }
    }

    static void shut_in()
    {
        unsetenv("WPTEST_ICD_LOG"); // the test driver's own files are not what is tested
        close_sandbox_at_rest({calls_of_files_and_threads(), SECCOMP_RET_KILL_PROCESS});
    }

    // A save that has left the file alone.
    static bool has_part(const std::filesystem::path &folder)
    {
        const std::filesystem::directory_iterator entries(folder);
        return std::any_of(begin(entries), end(entries),
                           [](const auto &entry) { return entry.path().extension() == ".part"; });
    }

    std::string state_of_a_start()
    {
        return run(program).stats_of()["cache"]["state"];
    }

    bool is_put_away() const
    {
        return std::filesystem::exists(cache_root() / "program" / "quarantine");
    }
};

// Each record in turn: the first pipeline that the program asks for, the last, and all between.
TEST_F(CrashGuardTest, ABlobThatKillsLateIsPutAwayAfterTwoDeaths)
{
    make_good_blob();
    const auto file = cache_file();
    const std::vector<uint8_t> good = read_bytes(file);
    for (unsigned record = 0; record < pipelines; record += 5) {
        put_back(file, good);
        damage_record(record);
        EXPECT_EQ(count_lost([&] {
                      const Outcome outcome = run(program, {Layer::any, true, 0, true});
                      EXPECT_TRUE(outcome.status == 0 || outcome.status == -SIGABRT)
                          << outcome.errors;
                      return outcome.status == 0;
                  }),
                  2u)
            << "record " << record;
        EXPECT_TRUE(is_put_away()) << "record " << record;
        EXPECT_EQ(run(program).hits(), pipelines) << "warm again";
    }
}

// What the program makes first is new, is saved, and only then the blob kills.
TEST_F(CrashGuardTest, ABlobThatWasSavedAgainBeforeItKillsIsPutAwayAsWell)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    make_good_blob();
    damage_record(3);
    environment["WPTEST_ICD_RECORD_BYTES"] = "64";
    unsigned number = 1000;
    EXPECT_LE(count_lost([&] {
                  ++number;
                  const Outcome outcome = run(
                      [&] {
                          Program owner;
                          owner.create(Kind::compute, number);
                          for (unsigned i = 0; i < pipelines; ++i) {
                              owner.create(Kind::compute, i);
                          }
                      },
                      {Layer::any, true, 0, true});
                  return outcome.status == 0;
              }),
              2u);
}

// The start between goes without the blob on all of its devices, else it proves nothing.
TEST_F(CrashGuardTest, ASecondDeviceDoesNotLoadWhatTheFirstHasSkipped)
{
    make_good_blob();
    damage_record(5);
    EXPECT_EQ(count_lost([&] {
                  const Outcome outcome = run(
                      [] {
                          Program first;
                          first.create(Kind::compute, 100);
                          program();
                      },
                      {Layer::any, true, 0, true});
                  return outcome.status == 0;
              }),
              2u);
    EXPECT_TRUE(is_put_away());
}

// What the blob holds is in the file of another generation by then, which this device has not
// loaded.
TEST_F(CrashGuardTest, ABlobThatAnotherDeviceHasSavedAgainBeforeItKillsIsPutAwayAsWell)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    make_good_blob();
    damage_record(5);
    const auto file = cache_file();
    unsigned number = 1000;
    EXPECT_EQ(count_lost([&] {
                  ++number;
                  const Outcome outcome = run(
                      [&] {
                          Program first, second;
                          first.create(Kind::compute, 0);
                          second.create(Kind::compute, 0);
                          const std::vector<uint8_t> before = read_bytes(file);
                          first.create(Kind::compute, number);
                          wait_while([&] {
                              return read_bytes(file) == before && !has_part(file.parent_path());
                          });
                          second.create_compute(1, pipelines);
                      },
                      {Layer::any, true, 0, true});
                  return outcome.status == 0;
              }),
              2u);
    EXPECT_TRUE(is_put_away());
}

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
                        EXPECT_TRUE(find_page(root).died) << "if it died now";
                        while (find_page(root).died) {
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
                    while (find_page(root).died && std::chrono::steady_clock::now() < until) {
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

TEST_F(CrashGuardTest, ABlobThatKillsAsItIsLoadedIsPutAwayAfterTwoDeaths)
{
    make_good_blob();
    for (unsigned deaths = 0; deaths < 2; ++deaths) {
        environment["WPTEST_ICD_CACHE_CREATE"] = "abort_data";
        run(program, {Layer::any, true, -SIGABRT});
        environment.erase("WPTEST_ICD_CACHE_CREATE");
        EXPECT_EQ(state_of_a_start(), deaths == 0 ? "rejected" : "quarantined");
    }
    EXPECT_TRUE(is_put_away());
}

// The start between is ended by somebody as well, but not at once: the program lives without the
// blob.
TEST_F(CrashGuardTest, AStartWithoutTheBlobThatLivesForAWhileIsNotKilledAtItsStart)
{
    make_good_blob();
    for (unsigned deaths = 0; deaths < 2; ++deaths) {
        environment["WPTEST_ICD_CACHE_CREATE"] = "abort_data";
        run(program, {Layer::any, true, -SIGABRT});
        environment.erase("WPTEST_ICD_CACHE_CREATE");
        if (deaths == 0) {
            run(
                [&] {
                    leak_from_here_on();
                    (new Program)->create(Kind::compute, 0);
                    EXPECT_TRUE(find_page(cache_root()).killed) << "if it were now";
                    while (find_page(cache_root()).killed) {
                        usleep(1000);
                    }
                    raise(SIGKILL);
                },
                {Layer::any, true, -SIGKILL});
        }
    }
    EXPECT_EQ(state_of_a_start(), "quarantined");
}

// What it compiles is looked at as ever, and not only when it has lived for so long.
TEST_F(CrashGuardTest, AStartWithoutTheBlobIsSavedBeforeItHasLived)
{
    make_good_blob();
    environment["WPTEST_ICD_CACHE_CREATE"] = "abort_data";
    run(program, {Layer::any, true, -SIGABRT});
    environment.erase("WPTEST_ICD_CACHE_CREATE");
    run([&] {
        Program owner;
        owner.create(Kind::compute, 0);
        wait_while([] { return test_icd_calls("vkGetPipelineCacheData") == 0; });
        EXPECT_TRUE(find_page(cache_root()).killed) << "if it were now";
    });
}

// The same where the program has shut itself in: then no file can be touched to say so.
TEST_F(CrashGuardTest, AStartWithoutTheBlobLivesInASandboxAsWell)
{
    make_good_blob();
    for (unsigned deaths = 0; deaths < 2; ++deaths) {
        environment["WPTEST_ICD_CACHE_CREATE"] = "abort_data";
        run(program, {Layer::any, true, -SIGABRT});
        environment.erase("WPTEST_ICD_CACHE_CREATE");
        if (deaths == 0) {
            run(
                [&] {
                    leak_from_here_on();
                    (new Program)->create(Kind::compute, 0);
                    const int page = open(page_path(cache_root()).c_str(), O_RDONLY | O_CLOEXEC);
                    EXPECT_TRUE(read_page(page).killed) << "if it were now";
                    shut_in();
                    wait_while([page] { return read_page(page).killed; });
                    raise(SIGKILL);
                },
                {Layer::any, true, -SIGKILL});
        }
    }
    EXPECT_EQ(state_of_a_start(), "quarantined");
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
            EXPECT_FALSE(read_page(page).died);
            shut_in();
            test_icd_on_compile(
                [](void *) {
                    EXPECT_TRUE(read_page(page).died) << "if it died now";
                    wait_while([] { return read_page(page).died; });
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
