// SPDX-License-Identifier: Apache-2.0
// Compiling ahead: what ends it, what it gives way to, and what a crash of it costs.
#include <atomic>
#include <csignal>
#include <filesystem>
#include <unistd.h>

#include "prewarm.hpp"
#include "slow_disk.hpp"

namespace {

uint64_t properties_asked()
{
    return test_icd_calls("vkGetPhysicalDeviceProperties") +
           test_icd_calls("vkGetPhysicalDeviceProperties2");
}

TEST_F(PrewarmTest, EndsWhereTheDriverCouldCallTheProgram)
{
    ProgramOptions options;
    options.instance_extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    const std::string log = (folder() / "log").string();
    environment["WARMPIPE_LOG"] = "info:" + log;
    const Outcome outcome = run([&] {
        use_one_core();
        static std::atomic<bool> messenger_comes{false};
        test_icd_on_compile(
            [](void *) {
                while (!messenger_comes) {
                    usleep(100);
                }
            },
            nullptr);
        Program program(options);
        wait_until([] { return asked() >= 1; });
        messenger_comes = true; // it waits for the compile that is under way
        const VkDebugUtilsMessengerEXT messenger = create_messenger(program.instance);
        const auto asked_before = asked();
        wait_until([&] { return read_text(log).find("prewarmed ") != std::string::npos; });
        EXPECT_EQ(asked(), asked_before);
        instance_command<PFN_vkDestroyDebugUtilsMessengerEXT>(
            program.instance, "vkDestroyDebugUtilsMessengerEXT")(program.instance, messenger,
                                                                 nullptr);
    });
    EXPECT_GE(prewarmed(outcome), 1);
}

// A disk that does not answer keeps no device.
TEST_F(PrewarmTest, ADiskThatHangsIsNotWaitedForForEver)
{
    run([] {
        leak_from_here_on(); // what the thread may come back to
        disk_hangs("openat", ".wprecipes");
        delete new Program;
        EXPECT_EQ(asked(), 0u);
    });
}

// The worker finds that the file is of no use, and asks the disk for recipes. When that answers,
// the device and its instance are gone.
TEST_F(PrewarmTest, AsksNothingOfAnInstanceThatIsGone)
{
    const std::string log = folder() / "log";
    environment["WARMPIPE_PREWARM"] = "off";
    run([] { Program().create_compute(0, 5); });
    environment.erase("WARMPIPE_PREWARM");
    for (const std::filesystem::path &path : cache_files()) {
        write_bytes(path, std::vector<uint8_t>(8 << 20, 'x')); // so large that the worker loads it
    }
    environment["WARMPIPE_LOG"] = "info:" + log;
    const auto program = [&] {
        leak_from_here_on();
        disk_hangs("faccessat", "/recipes");
        auto *owner = new Program;
        wait_until(disk_has_hung);
        delete owner;
        const uint64_t before = properties_asked();
        disk_answers();
        wait_until([&] { return read_text(log).find("bad_magic") != std::string::npos; });
        EXPECT_EQ(properties_asked(), before);
    };
    run(program, {Layer::any, true, 0});
}

// A cache that holds nothing is noticed with the first pipeline.
TEST_F(PrewarmTest, EndsWhereTheDriversCacheHoldsNothing)
{
    environment["WARMPIPE_PREWARM"] = "off";
    run([] { Program().create_compute(0, 12); });
    environment.erase("WARMPIPE_PREWARM");
    environment["WPTEST_ICD_DRIVER_VERSION"] = "4712";
    environment["WPTEST_ICD_DATA"] = "header";
    environment["WARMPIPE_LOG"] = "info:" + (folder() / "log").string();
    const Outcome outcome = run([&] {
        use_one_core();
        Program program;
        wait_until(
            [&] { return read_text(folder() / "log").find("prewarmed ") != std::string::npos; });
    });
    EXPECT_EQ(prewarmed(outcome), 8)
        << "of a few it is not known whether any is of the kind that is kept";
}

TEST_F(PrewarmTest, WhatCrashesIsNeverReplayedAgain)
{
    const Outcome crashed = run(
        [] {
            use_one_core();
            program_thread = std::this_thread::get_id();
            test_icd_on_compile(
                [](void *) {
                    if (is_ahead()) {
                        raise(SIGKILL);
                    }
                },
                nullptr);
            Program program;
            pause();
        },
        {Layer::any, true, -SIGKILL});
    EXPECT_TRUE(crashed.pipelines().empty());
    const Outcome outcome = slow_start(4);
    EXPECT_EQ(prewarmed(outcome), 4);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["driver_misses"], 1);
}

// The device goes while the first is compiled ahead: it waits for that one, and for no other.
class ShortProgramTest : public PrewarmTest {
  protected:
    Outcome end_early()
    {
        return run([] {
            use_one_core();
            static std::atomic<bool> begun{false};
            static std::atomic<bool> destroying{false};
            Program *owner = nullptr;
            test_icd_on_compile(
                [](void *) {
                    begun = true;
                    while (!destroying) {
                        usleep(100);
                    }
                    usleep(10000); // vkDestroyDevice is on its way, or waits already
                },
                nullptr);
            owner = new Program;
            wait_until([] { return begun.load(); });
            destroying = true;
            delete owner;
        });
    }
};

TEST_F(ShortProgramTest, EndsPrewarm)
{
    EXPECT_EQ(prewarmed(end_early()), 1);
}

TEST_F(ShortProgramTest, LeavesTheRestToTheNextStart)
{
    end_early();
    EXPECT_EQ(cache_files().size(), 2u); // one of the driver before
    const Outcome outcome = slow_start(5);
    EXPECT_EQ(prewarmed(outcome), 4);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["driver_misses"], 0);
    expect_nothing_begun();
}

// The same where the program itself has asked for something new meanwhile, which is recorded, and
// the folder is looked after.
TEST_F(PrewarmTest, LeavesTheRestToTheNextStartThoughTheFolderIsLookedAfter)
{
    const std::filesystem::path stamp = cache_root() / (".limits." + std::to_string(getuid()));
    std::filesystem::remove(stamp);
    run([&] {
        use_one_core();
        program_thread = std::this_thread::get_id();
        static std::atomic<bool> destroying{false};
        test_icd_on_compile(
            [](void *) {
                while (is_ahead() && !destroying) {
                    usleep(100);
                }
                usleep(10000);
            },
            nullptr);
        auto *owner = new Program;
        owner->create_compute(10, 11);
        wait_until([&] { return std::filesystem::exists(stamp) && file_size(stamp) > 0; });
        destroying = true;
        delete owner;
    });
    const Outcome outcome = slow_start(4);
    EXPECT_GE(prewarmed(outcome), 4);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["driver_misses"], 0);
}

// No recipe is taken for one that has crashed because the process came to its end.
TEST_F(PrewarmTest, EndsWithTheProcess)
{
    environment["WPTEST_ICD_COMPILE_US"] = "2000";
    for (int i = 0; i < 5; ++i) {
        const Outcome outcome = run([] {
            leak_from_here_on();
            new Program;
            wait_until([] { return asked() >= 1; });
            std::exit(0);
        });
        EXPECT_EQ(outcome.stats_of()["event"], "exit");
        remove_caches();
    }
    slow_start(5);
    for (const auto &file : std::filesystem::recursive_directory_iterator(cache_root())) {
        EXPECT_NE(file.path().extension(), ".crashed");
    }
}

// Nor for ever where nobody could say so: the program asks for it, and lives.
class DeadlyPrewarmTest : public PrewarmTest {
  protected:
    std::string log = (folder() / "log").string();

    // Two starts end while something is compiled ahead; then there is none.
    void SetUp() override
    {
        PrewarmTest::SetUp();
        for (int i = 0; i < 2; ++i) {
            run(
                [] {
                    use_one_core();
                    program_thread = std::this_thread::get_id();
                    test_icd_on_compile(
                        [](void *) {
                            if (is_ahead()) {
                                _exit(0);
                            }
                        },
                        nullptr);
                    Program program;
                    pause();
                },
                {Layer::any, true, 0});
        }
        environment["WARMPIPE_LOG"] = "info:" + log;
    }

    void create(Program &program)
    {
        wait_until([&] { return read_text(log).find("prewarm_died") != std::string::npos; });
        program.create_compute(0, 5);
    }
};

TEST_F(DeadlyPrewarmTest, WhatTheProgramLivesWithIsForgotten)
{
    run([&] {
        Program program;
        create(program);
    });
    environment.erase("WARMPIPE_LOG");
    remove_caches();
    EXPECT_EQ(prewarmed(slow_start(5)), 5);
}

TEST_F(DeadlyPrewarmTest, TheDiskThatIsToBeToldKeepsNoDevice)
{
    run([&] {
        leak_from_here_on(); // what the worker may come back to
        auto *program = new Program;
        create(*program);
        disk_hangs("openat", ".crashed");
        delete program;
        EXPECT_TRUE(disk_has_hung());
    });
}

// The blob has stood its trial when a pipeline was created with it, by whom ever.
TEST_F(PrewarmTest, ACrashOfALaterRecipeIsNotTheBlobs)
{
    environment["WARMPIPE_PREWARM"] = "off";
    run([] { Program().create_compute(0, 1); });
    environment["WARMPIPE_PREWARM"] = "on";
    run(
        [] {
            use_one_core();
            test_icd_on_compile(
                [](void *) {
                    if (asked() >= 3) {
                        raise(SIGKILL);
                    }
                },
                nullptr);
            Program program;
            pause();
        },
        {Layer::any, true, -SIGKILL});
    environment["WARMPIPE_PREWARM"] = "off";
    const Outcome outcome = run([] { Program().create_compute(0, 1); });
    EXPECT_EQ(outcome.stats_of()["cache"]["state"], "loaded");
}

TEST_F(PrewarmTest, AForkedChildMayEndAsItLikes)
{
    environment["WPTEST_ICD_COMPILE_US"] = "2000";
    run([] {
        leak_from_here_on(); // the child has not the threads that hold what it inherits
        Program program;
        wait_until([] { return asked() >= 1; });
        fork_and_exit();
        wait_until([] { return asked() >= 5; });
    });
}

// How often threads of the layer have waited for something.
uint64_t waits_of_ours()
{
    uint64_t waits = 0;
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
        const std::string status = read_text(task.path() / "status");
        const std::string heading = "\nvoluntary_ctxt_switches:";
        const size_t found = status.find(heading);
        if (status.rfind("Name:\twarmpipe", 0) == 0 && found != std::string::npos) {
            waits += std::stoull(status.substr(found + heading.size()));
        }
    }
    return waits;
}

// The worker may not load, and the program asks for nothing: perhaps it never will.
TEST_F(PrewarmTest, HardlyLooksForACacheThatNobodyLoads)
{
    const std::string log = (folder() / "log").string();
    environment["WARMPIPE_LOG"] = "debug:" + log;
    run([&] {
        std::unique_ptr<Program> program;
        std::thread([&] {
            const sched_param none = {};
            EXPECT_EQ(sched_setscheduler(0, SCHED_IDLE, &none), 0); // so is the worker
            program = std::make_unique<Program>();
        }).join();
        wait_until([&] { return read_text(log).find("not loaded ahead") != std::string::npos; });
        const uint64_t before = waits_of_ours();
        sleep(1);
        EXPECT_LT(waits_of_ours() - before, 100u);
    });
}

// While the program compiles, nothing is begun; afterwards it goes on.
TEST_F(PrewarmTest, GivesWayToTheProgram)
{
    run([] {
        use_one_core();
        program_thread = std::this_thread::get_id();
        static std::atomic<int> ahead{0};
        static std::atomic<bool> program_has_begun{false};
        static std::atomic<bool> first_has_ended{false};
        static std::atomic<bool> program_compiles{false};
        static std::atomic<int> begun_meanwhile{0};
        test_icd_on_compile(
            [](void *) {
                if (is_ahead()) {
                    // The first ends when the program is at it; none may begin then.
                    if (ahead++ == 0) {
                        while (!program_has_begun) {
                            usleep(100);
                        }
                        first_has_ended = true;
                    } else if (program_compiles) {
                        ++begun_meanwhile;
                    }
                    return;
                }
                program_compiles = true;
                program_has_begun = true;
                wait_until([] { return first_has_ended.load(); });
                usleep(50000); // for what must not begin
                program_compiles = false;
            },
            nullptr);
        Program program;
        wait_until([] { return ahead.load() == 1; });
        program.create_compute(100, 101);
        wait_until([] { return ahead.load() == 5; });
        EXPECT_EQ(begun_meanwhile.load(), 0);
    });
}

} // namespace
