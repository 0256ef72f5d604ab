// SPDX-License-Identifier: Apache-2.0
// Rules that could once be deleted without any test failing: see tests/mutants/run.
#include <csignal>
#include <filesystem>
#include <set>
#include <thread>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "paths.h"
#include "recipes.hpp"
#include "test_icd.h"

namespace {

class DeletedRules : public RecipesTest {
  protected:
    static uint64_t compiled()
    {
        return test_icd_calls("vkCreateComputePipelines");
    }

    // Two equal pipelines are two of the driver's.
    void expect_unshared(const ProgramOptions &options = {})
    {
        const Outcome outcome = run([&] {
            Program program(options);
            EXPECT_NE(program.create(Kind::compute, 1), program.create(Kind::compute, 1));
        });
        EXPECT_EQ(outcome.stats_of()["pipelines"]["deduplicated"], 0);
        EXPECT_EQ(outcome.stats_of()["modules"]["deduplicated"], 0);
    }

    // Leaves recipes of five pipelines that a newer driver has to compile again.
    void leave_recipes(const ProgramOptions &options = {})
    {
        run([&] { Program(options).create_compute(0, 5); });
        update_driver();
        environment.erase("WARMPIPE_PREWARM");
    }

    // What is compiled ahead in a program that lives long enough for it and asks for nothing.
    uint64_t compiled_ahead(const ProgramOptions &options = {},
                            const std::function<void()> &before = nullptr)
    {
        uint64_t *count = static_cast<uint64_t *>(mmap(
            nullptr, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        run(
            [&] {
                if (before) {
                    before();
                }
                Program program(options);
                for (int i = 0; i < 500 && compiled() < 5; i++) {
                    usleep(1000);
                }
                *count = compiled();
            },
            {Layer::any, true, 0});
        const uint64_t found = *count;
        munmap(count, sizeof *count);
        return found;
    }
};

volatile sig_atomic_t handled_by = 0;

// Threads of ours would run the program's handlers on a stack that is not made for them, at a time
// when the program believes all its signals to be blocked.
TEST_F(DeletedRules, TheProgramsSignalsAreNotHandledOnThreadsOfOurs)
{
    run([] {
        Program program;
        struct sigaction action = {};
        action.sa_handler = [](int) { handled_by = static_cast<int>(syscall(SYS_gettid)); };
        sigaction(SIGUSR1, &action, nullptr);
        program.create_compute(0, 3); // begins the worker, which inherits what is not blocked
        const auto thread_count = [] {
            std::filesystem::directory_iterator tasks("/proc/self/task");
            return std::distance(begin(tasks), end(tasks));
        };
        for (int i = 0; i < 5000 && thread_count() < 2; i++) {
            usleep(1000);
        }
        ASSERT_GE(thread_count(), 2);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &set, nullptr);
        kill(getpid(), SIGUSR1);
        usleep(100000);
        EXPECT_EQ(handled_by, 0) << "by another thread";
        pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
        EXPECT_EQ(handled_by, getpid());
    });
}

TEST_F(DeletedRules, ThePolicyCanForbidSharing)
{
    set_policy("[test]\ndeduplicate = no\n");
    expect_unshared();
    set_policy("[test]\ndeduplicate = yes\n");
    run([] {
        Program program;
        EXPECT_EQ(program.create(Kind::compute, 1), program.create(Kind::compute, 1));
    });
}

// Each device of a group may be given other objects, which no create-info tells.
TEST_F(DeletedRules, NothingIsSharedOnDeviceGroups)
{
    environment["WPTEST_ICD_DEVICES"] = "2";
    ProgramOptions options;
    options.group = true;
    expect_unshared(options);
}

TEST_F(DeletedRules, NothingIsCompiledAheadOnDeviceGroups)
{
    environment["WPTEST_ICD_DEVICES"] = "2";
    leave_recipes();
    ProgramOptions group;
    group.group = true;
    EXPECT_EQ(compiled_ahead(group), 0u);
    EXPECT_EQ(compiled_ahead(), 5u) << "else the test shows nothing";
}

TEST_F(DeletedRules, NothingIsCompiledAheadBesideCaptureTools)
{
    const std::filesystem::path library = folder() / "librenderdoc.so";
    std::filesystem::copy_file(WARMPIPE_LIBRARY, library);
    leave_recipes();
    EXPECT_EQ(compiled_ahead({}, [&] { EXPECT_NE(dlopen(library.c_str(), RTLD_NOW), nullptr); }),
              0u);
    EXPECT_EQ(compiled_ahead(), 5u) << "else the test shows nothing";
}

TEST_F(DeletedRules, NothingIsCompiledAheadOnADriverThatMustBeCalledAlone)
{
    leave_recipes();
    set_policy("[test]\nserialize = yes\n");
    EXPECT_EQ(compiled_ahead(), 0u);
    environment.erase("WARMPIPE_POLICY");
    EXPECT_EQ(compiled_ahead(), 5u) << "else the test shows nothing";
}

// Neither device has merged anything before the first saves; the second then finds a file that it
// does not know, and cannot merge with it.
TEST_F(DeletedRules, AFailedMergeForASaveLosesNobodysEntries)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "100000"; // saves at the end alone
    environment["WPTEST_ICD_FAIL"] = "vkMergePipelineCaches:*=-2";
    const Outcome outcome = run([] {
        Program second;
        Program first;
        second.create_compute(0, 3);
        first.create_compute(3, 6);
        first.destroy_device();
    });
    EXPECT_GT(outcome.calls("vkMergePipelineCaches"), 0u) << "else the test shows nothing";
    environment.erase("WPTEST_ICD_FAIL");
    EXPECT_EQ(run([] { Program().create_compute(3, 6); }).hits(), 3u);
}

// Such a cache is the program's to guard, and only its own threads know when. It lives on while the
// worker saves what was compiled beside it, several times.
TEST_F(DeletedRules, ExternallySynchronizedCachesAreNotReadWhileTheyLive)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "20";
    environment["WARMPIPE_APP_CACHE"] = "harvest";
    environment["WPTEST_ICD_COMPILE_US"] = "3000";
    const Outcome outcome = run([&] {
        Program program;
        VkPipelineCache guarded =
            program.create_cache({}, VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT);
        for (unsigned i = 0; i < 60; i++) {
            program.create_compute(2 * i, 2 * i + 1, guarded);
            program.create_compute(2 * i + 1, 2 * i + 2);
            usleep(3000);
        }
        program.destroy_cache(guarded);
    });
    EXPECT_EQ(outcome.violations(), std::vector<std::string>());
}

} // namespace
