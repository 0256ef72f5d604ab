// SPDX-License-Identifier: Apache-2.0
// What counts as a change of the driver's cache: what is compiled is saved, whatever the driver
// says of it, and a start that compiles nothing writes nothing.
#include "harness.hpp"
#include "program.hpp"
#include "test_icd.h"

#include <csignal>
#include <unistd.h>

namespace {

class ChangeTest : public LayerTest {
  protected:
    ChangeTest()
    {
        environment["WARMPIPE_PREWARM"] = "off";
    }

    static void program()
    {
        Program().create_compute(0, 5);
    }

    // A start that asks for what is in the file writes nothing.
    void expect_untouched(const std::function<void()> &changed = program)
    {
        const std::vector<uint8_t> before = read_bytes(cache_file());
        const Outcome outcome = run(changed);
        EXPECT_EQ(outcome.hits(), outcome.pipelines().size());
        EXPECT_EQ(outcome.stats_of()["cache"]["state"], "loaded");
        EXPECT_EQ(outcome.stats_of()["cache"]["saved_bytes"], 0);
        EXPECT_EQ(read_bytes(cache_file()), before) << "written anew";
    }
};

// Turnip says of each graphics pipeline that it compiles: a hit.
TEST_F(ChangeTest, ADriverThatLiesAboutHitsIsSavedAllTheSame)
{
    environment["WPTEST_ICD_FEEDBACK"] = "hit";
    run(program);
    expect_untouched();
    const Outcome more = run([] { Program().create_compute(0, 7); });
    EXPECT_GT(more.stats_of()["cache"]["saved_bytes"], 0);
    EXPECT_EQ(run([] { Program().create_compute(0, 7); }).hits(), 7u);
}

// The background finds out by the time that such hits take.
TEST_F(ChangeTest, ADriverThatLiesAboutHitsIsSavedInTheBackground)
{
    environment["WPTEST_ICD_FEEDBACK"] = "hit";
    environment["WPTEST_ICD_COMPILE_US"] = "5000";
    run(
        [&] {
            auto *program = new Program;
            program->create_compute(0, 5);
            const auto is_saved = [&] {
                const auto files = cache_files();
                return !files.empty() && std::filesystem::file_size(files[0]) >= 960 + 56 + 5 * 64;
            };
            for (int i = 0; i < 10000 && !is_saved(); ++i) {
                usleep(1000);
            }
            die();
        },
        {Layer::any, true, -SIGKILL});
    EXPECT_EQ(run(program).hits(), 5u);
}

TEST_F(ChangeTest, ADriverThatLiesAboutMissesIsNotWrittenAnew)
{
    environment["WPTEST_ICD_FEEDBACK"] = "miss";
    run(program);
    expect_untouched();
}

TEST_F(ChangeTest, WithoutFeedbackTheCacheIsAsked)
{
    environment["WPTEST_ICD_NO_FEEDBACK"] = "1";
    run(program);
    expect_untouched();
}

// Mesa's drivers write their entries in another order in each process, and pad between them.
TEST_F(ChangeTest, OrderAndPaddingAreNoChange)
{
    environment["WPTEST_ICD_FEEDBACK"] = "miss";
    run(program);
    for (const char *wander : {"1", "2", "3"}) {
        environment["WPTEST_ICD_WANDER"] = wander;
        expect_untouched();
    }
    const Outcome more = run([] { Program().create_compute(0, 6); });
    EXPECT_GT(more.stats_of()["cache"]["saved_bytes"], 0);
}

// Whether the driver takes its own data is asked only once it has compiled: here less padding is
// all. On a busy machine a hit takes as long as a compile.
TEST_F(ChangeTest, NoSecondCacheIsMadeWhereNothingIsCompiled)
{
    environment["WPTEST_ICD_WANDER"] = "3";
    run(program);
    environment["WPTEST_ICD_WANDER"] = "1";
    size_t caches = 0;
    for (int i = 0; i < 20 && caches != 1; ++i) {
        const Outcome outcome = run(program);
        EXPECT_EQ(outcome.hits(), 5u);
        caches = outcome.calls("vkCreatePipelineCache");
    }
    EXPECT_EQ(caches, 1u);
}

// RADV leaves some bytes of each entry as it found them on its stack.
TEST_F(ChangeTest, GarbageInEntriesIsNoChange)
{
    for (const char *garbage : {"1", "2", "3"}) {
        environment["WPTEST_ICD_GARBAGE"] = garbage;
        if (*garbage == '1') {
            run(program);
        } else {
            expect_untouched();
        }
    }
}

// So much of it, in many entries, that it could be a new one: but nothing was added.
TEST_F(ChangeTest, GarbageOfADriverWithoutFeedbackIsNoChange)
{
    environment["WPTEST_ICD_NO_FEEDBACK"] = "1";
    environment["WPTEST_ICD_RECORD_BYTES"] = "1024";
    const auto hundred = [] { Program().create_compute(0, 100); };
    environment["WPTEST_ICD_GARBAGE"] = "1";
    run(hundred);
    environment["WPTEST_ICD_GARBAGE"] = std::to_string(0x01010101);
    environment["WPTEST_ICD_WANDER"] = "1"; // else the size says it
    expect_untouched(hundred);
    const Outcome more = run([] { Program().create_compute(0, 101); });
    EXPECT_GT(more.stats_of()["cache"]["saved_bytes"], 0);
}

// The first pipelines may be of a kind that the driver does not keep.
TEST_F(ChangeTest, AnEmptyCacheIsLookedAtAgain)
{
    environment["WPTEST_ICD_UNCACHED"] = "3";
    environment["WARMPIPE_LOG"] = "debug:" + (folder() / "log").string();
    run([&] {
        Program program;
        program.create_compute(0, 3);
        for (int i = 0; i < 10000 && test_icd_calls("vkGetPipelineCacheData") == 0; ++i) {
            usleep(1000);
        }
        program.create_compute(3, 7);
    });
    EXPECT_EQ(run([] { Program().create_compute(0, 7); }).hits(), 4u);
}

TEST_F(ChangeTest, AFailedReadIsTriedAgain)
{
    environment["WPTEST_ICD_FAIL"] = "vkGetPipelineCacheData:1=-1";
    const Outcome outcome = run([&] {
        Program program;
        program.create_compute(0, 5);
        for (int i = 0; i < 10000 && cache_files().empty(); ++i) {
            usleep(1000);
        }
        EXPECT_FALSE(cache_files().empty()) << "not before the end";
    });
    EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "no_file") << "it was saved";
    EXPECT_EQ(run(program).hits(), 5u);
}

TEST_F(ChangeTest, AFailedReadIsTriedAgainAtTheEnd)
{
    environment["WPTEST_ICD_FAIL"] = "vkGetPipelineCacheData:1=-1";
    run([&] {
        Program program;
        program.create_compute(0, 5);
        for (int i = 0; i < 10000 && test_icd_calls("vkGetPipelineCacheData") == 0; ++i) {
            usleep(1000);
        }
    });
    EXPECT_EQ(run(program).hits(), 5u);
}

// The first read of a short program is its last one.
TEST_F(ChangeTest, AFailedReadAtTheEndIsTriedAgain)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000";
    for (const char *call : {"1", "2"}) { // the question for the size, and for the data
        for (const auto &file : cache_files()) {
            std::filesystem::remove(file);
        }
        environment["WPTEST_ICD_FAIL"] = "vkGetPipelineCacheData:" + std::string(call) + "=-1";
        const Outcome outcome = run([] { Program().create_compute(0, 5); });
        EXPECT_GT(outcome.stats_of()["cache"]["saved_bytes"], 0) << call;
        EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "no_file") << call;
    }
}

// Above the limit not a byte is read, however often the size is asked.
TEST_F(ChangeTest, ACacheAboveTheLimitIsNotRead)
{
    environment["WARMPIPE_MAX_SIZE"] = "4K";
    environment["WPTEST_ICD_RECORD_BYTES"] = "1000";
    run([] { Program().create_compute(0, 3); });
    EXPECT_EQ(cache_files().size(), 1u);
    const Outcome outcome = run([&] {
        Program program;
        /* In one call: no look comes before the limit is passed. */
        Batch batch(program, Kind::compute, {0, 1, 2, 3, 4, 5, 6, 7, 8});
        EXPECT_EQ(batch.create(), VK_SUCCESS);
        for (int i = 0; i < 10000 && test_icd_calls("vkGetPipelineCacheData") == 0; ++i) {
            usleep(1000);
        }
        program.create_compute(9, 12);
    });
    for (const json &event : outcome.events("vkGetPipelineCacheData")) {
        EXPECT_EQ(event["query"], true);
    }
    EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "too_large");
    EXPECT_EQ(cache_files().size(), 1u);
}

// A start that needs more than the limit finds each time what the first one had kept; what is no
// longer asked for does not fill the file for good.
TEST_F(ChangeTest, ACacheAboveTheLimitIsBegunAnewOnceAWeek)
{
    environment["WARMPIPE_MAX_SIZE"] = "5K";
    environment["WPTEST_ICD_RECORD_BYTES"] = "1000";
    run([] { Program().create_compute(0, 3); });
    for (int start = 0; start < 3; ++start) {
        const Outcome outcome = run([] { Program().create_compute(0, 9); });
        EXPECT_GE(outcome.hits(), 3u) << start;
        EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "too_large");
    }
    const auto others = [] { Program().create_compute(10, 13); };
    EXPECT_EQ(run(others).hits(), 0u);
    ASSERT_EQ(cache_files().size(), 1u);
    std::filesystem::path lock = cache_files()[0];
    lock.replace_extension(".lock");
    std::filesystem::last_write_time(lock, std::filesystem::file_time_type::clock::now() -
                                               std::chrono::hours(8 * 24));
    EXPECT_EQ(run(others).hits(), 0u);
    EXPECT_TRUE(cache_files().empty());
    run(others);
    EXPECT_EQ(run(others).hits(), 3u);
    run([] { Program().create_compute(0, 9); });
    EXPECT_EQ(cache_files().size(), 1u) << "so soon";
}

// The program compiles without a pause, and ends without a word.
TEST_F(ChangeTest, SavesGoOnUnderSteadyCompiling)
{
    environment["WPTEST_ICD_COMPILE_US"] = "20000";
    run(
        [&] {
            static const std::filesystem::path *root;
            static std::filesystem::path files;
            files = cache_root();
            root = &files;
            auto *program = new Program;
            program->create_compute(0, 31);
            // The last one is never done: it ends when the others are on disk.
            test_icd_on_compile(
                [](void *) {
                    const uintmax_t expected = 960 + 56 + 31 * 64;
                    uintmax_t size = 0;
                    for (int i = 0; i < 10000 && size < expected; ++i) {
                        usleep(1000);
                        for (const auto &file :
                             std::filesystem::recursive_directory_iterator(*root)) {
                            std::error_code gone; // the save gives it another name
                            const uintmax_t now = file.file_size(gone);
                            size = !gone && file.path().extension() == ".wpcache" ? now : size;
                        }
                    }
                    die();
                },
                nullptr);
            program->create_compute(31, 32);
        },
        {Layer::any, true, -SIGKILL});
    EXPECT_EQ(run([] { Program().create_compute(0, 32); }).hits(), 31u);
}

class ExitTest : public ChangeTest {
  protected:
    ExitTest()
    {
        environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000";
        environment["WARMPIPE_POLICY"] = (folder() / "policy").string();
        say("yes");
    }

    void say(const std::string &answer) const
    {
        const std::string text = "[test]\nsnapshot-at-exit = " + answer + "\n";
        write_bytes(folder() / "policy", {text.begin(), text.end()});
    }

    // What a start finds after a program that returns from main right after its last compile.
    size_t hits_after(const std::function<void()> &leak = [] {
        (new Program)->create_compute(0, 5);
    })
    {
        run([&] {
            leak_from_here_on();
            leak();
        });
        return run(program).hits();
    }
};

TEST_F(ExitTest, TheLastCompileIsKept)
{
    EXPECT_EQ(hits_after(), 5u);
}

TEST_F(ExitTest, NotOfADriverThatIsNotKnownToBearIt)
{
    say("no");
    environment["WPTEST_ICD_COMPILE_US"] = "0";
    const Outcome outcome = run([] {
        leak_from_here_on();
        (new Program)->create_compute(0, 1);
        std::cout << test_icd_calls("vkGetPipelineCacheData"); // the worker's, on a busy machine
    });
    EXPECT_EQ(outcome.events("vkGetPipelineCacheData").size(), std::stoul(outcome.output));
    if (outcome.output == "0") {
        EXPECT_EQ(outcome.stats_of()["cache"]["saved_bytes"], 0);
    }
}

TEST_F(ExitTest, NotWithAMessenger)
{
    environment["WPTEST_ICD_COMPILE_US"] = "0"; // a snapshot before the end would cost too much
    const Outcome outcome = run([] {
        leak_from_here_on();
        ProgramOptions options;
        options.instance_extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
        auto *program = new Program(options);
        create_messenger(program->instance);
        program->create_compute(0, 1);
        // On a busy machine the creation may have taken so long that a snapshot was due at once.
        std::cout << test_icd_calls("vkGetPipelineCacheData");
    });
    EXPECT_EQ(outcome.events("vkGetPipelineCacheData").size(), std::stoul(outcome.output));
}

// A thread may be ending the process from inside a creation.
TEST_F(ExitTest, NotInsideACreation)
{
    const Outcome outcome = run([] {
        leak_from_here_on();
        auto *program = new Program;
        program->create_compute(0, 1);
        test_icd_on_compile(
            [](void *) {
                // On a busy machine the worker has had time for one.
                std::cout << test_icd_calls("vkGetPipelineCacheData");
                std::exit(::testing::Test::HasFailure());
            },
            nullptr);
        program->create_compute(1, 2);
    });
    EXPECT_EQ(outcome.events("vkGetPipelineCacheData").size(), std::stoul(outcome.output));
}

// It runs no handlers of atexit, and no destructors.
TEST_F(ExitTest, AQuickOneSavesToo)
{
    const auto leave = [] {
        (new Program)->create_compute(0, 5);
        std::quick_exit(::testing::Test::HasFailure());
    };
    EXPECT_EQ(hits_after(leave), 5u);
}

TEST_F(ExitTest, NotInAForkedChild)
{
    run([&] {
        leak_from_here_on();
        Program program;
        program.create_compute(0, 5);
        fork_and_exit();
        EXPECT_TRUE(cache_files().empty()) << "the child wrote";
    });
}

} // namespace
