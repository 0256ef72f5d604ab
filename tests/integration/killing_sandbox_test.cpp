// SPDX-License-Identifier: Apache-2.0
// Programs that shut themselves in with filters that kill, by what those forbid.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/wait.h>
#include <thread>

#include "during.hpp"
#include "sandbox.hpp"
#include "shut_in.hpp"
#include "test_icd.h"

#ifdef __i386__
#define SYS_newfstatat SYS_fstatat64
#endif

namespace {

// What else a program may do that computes on a device that is open, and ends.
const std::vector<unsigned> calls_of_computing = {
    TWIN(SYS_lseek, SYS__llseek),
    TWIN(SYS_newfstatat, SYS_statx),
    TWIN(SYS_fstat, SYS_fstat64),
    TWIN(SYS_mmap, SYS_mmap2),
    TWIN(SYS_futex, SYS_futex_time64),
    TWIN(SYS_clock_nanosleep, SYS_clock_nanosleep_time64),
    TWIN(SYS_clock_gettime, SYS_clock_gettime64),
    SYS_read,
    SYS_pread64,
    SYS_write,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_time,
    SYS_sched_yield,
    SYS_getpid,
    SYS_gettid,
    SYS_tgkill,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
    SYS_getrandom,
    SYS_rseq,
    SYS_set_robust_list,
};

struct Killer {
    const char *name;
    SandboxRule rule;
};
const Killer killers[] = {
    {"threads", {{SYS_clone, SYS_clone3}, SECCOMP_RET_KILL_PROCESS}},
    {"opening", {{SYS_openat, SYS_open, SYS_openat2}, SECCOMP_RET_KILL_PROCESS}},
    {"names",
     {{SYS_mkdirat, SYS_mkdir, SYS_renameat, SYS_rename, SYS_renameat2, SYS_unlinkat, SYS_unlink},
      SECCOMP_RET_KILL_PROCESS}},
    {"locks",
     {{SYS_flock, SYS_fsync, SYS_fdatasync, SYS_sync_file_range,
       TWIN(SYS_ftruncate, SYS_ftruncate64), SYS_fallocate},
      SECCOMP_RET_KILL_PROCESS}},
    {"writing", {{SYS_pwrite64, SYS_writev, SYS_pwritev}, SECCOMP_RET_KILL_PROCESS, false, true}},
    {"asking",
     {{TWIN(SYS_statfs, SYS_statfs64), TWIN(SYS_fstatfs, SYS_fstatfs64), SYS_getdents64, SYS_access,
       SYS_faccessat, SYS_faccessat2, SYS_readlink, SYS_readlinkat, SYS_setpriority, SYS_prctl,
       SYS_fchmod, SYS_fchmodat},
      SECCOMP_RET_KILL_PROCESS}},
    {"clocks", {{TWIN(SYS_clock_gettime, SYS_clock_gettime64)}, SECCOMP_RET_KILL_PROCESS}},
    {"all_else", {calls_of_computing, SECCOMP_RET_KILL_PROCESS, true}},
};
void PrintTo(const Killer &killer, std::ostream *stream)
{
    *stream << killer.name;
}

class KillingSandboxTest : public SandboxTest, public testing::WithParamInterface<Killer> {
  protected:
    void SetUp() override
    {
        SandboxTest::SetUp();
#ifdef __SANITIZE_THREAD__
        if (std::string(GetParam().name) == "clocks") {
            GTEST_SKIP() << "the sanitizer has a thread of its own, which asks for the time";
        }
#endif
    }

    // What is under way when the filter comes nobody can take back, so the layer's threads rest.
    // The test driver's own files are not what is tested.
    static void shut_in()
    {
        unsetenv("WPTEST_ICD_LOG");
        close_sandbox(GetParam().rule);
    }

    // Whether the filter forbids what a sanitizer asks of the kernel where a thread begins or ends.
    static bool forbids_threads()
    {
#ifdef WARMPIPE_SANITIZED
        return GetParam().rule.inverted;
#else
        return false;
#endif
    }

    static void compute_inside(Program &owner)
    {
        owner.create_compute(0, 8);
        VkPipelineCache cache = owner.create_cache();
        owner.create_compute(8, 10, cache);
        EXPECT_FALSE(owner.cache_data(cache).empty());
        owner.destroy_cache(cache);
        usleep(300000); // longer than the worker waits to save
    }

    // The program ends as it would without the layer.
    void expect_survival(const std::function<void()> &program)
    {
        run(
            [&] {
                leak_from_here_on();
                program();
            },
            {Layer::any, false, 0});
    }
};
INSTANTIATE_TEST_SUITE_P(Of, KillingSandboxTest, testing::ValuesIn(killers),
                         [](const auto &test) { return std::string(test.param.name); });

TEST_P(KillingSandboxTest, BeforeTheFirstPipeline)
{
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer has a thread of its own, so that the worker loads meanwhile";
#endif
    EXPECT_EQ(hits(0, 5), 0u); // there is something to load
    expect_survival([] {
        Program owner;
        shut_in();
        compute_inside(owner);
    });
    EXPECT_EQ(hits(0, 5), 5u) << "what was there before is as it was";
}

// What is said of that is said in a file or on standard error, with calls that a filter may forbid.
TEST_P(KillingSandboxTest, BeforeTheFirstPipelineWithoutAFolder)
{
    for (const char *name : {"WARMPIPE_DIR", "XDG_CACHE_HOME", "HOME"}) {
        environment.erase(name);
    }
    for (const std::string &log : {std::string("warn"), "warn:" + (folder() / "log").string()}) {
        environment["WARMPIPE_LOG"] = log;
        expect_survival([] {
            Program owner;
            shut_in();
            compute_inside(owner);
        });
    }
}

// Nor is a driver's failure told, which the program's own thread finds beside a messenger.
TEST_P(KillingSandboxTest, WithDataThatTheDriverDoesNotGiveBesideAMessenger)
{
    environment["WPTEST_ICD_FAIL"] = "vkGetPipelineCacheData:*=-1";
    environment["WPTEST_ICD_COMPILE_US"] = "20000";
    expect_survival([] {
        ProgramOptions options;
        options.messenger = true;
        Program owner(options);
        shut_in();
        owner.create_compute(0, 8);
    });
}

TEST_P(KillingSandboxTest, AfterALoadAheadOfTheFirstPipeline)
{
    EXPECT_EQ(hits(0, 5), 0u);
    expect_survival([] {
        std::thread([] {}).join();
        Program owner; // makes a pipeline layout
        wait_until([] { return test_icd_calls("vkCreatePipelineCache") > 0; });
        wait_for_sleep();
        shut_in();
        compute_inside(owner);
    });
    EXPECT_EQ(hits(0, 5), 5u);
}

TEST_P(KillingSandboxTest, WithAWorkerAtRest)
{
    expect_survival([] {
        Program owner;
        owner.create_compute(0, 5);
        wait_for_rest();
        shut_in();
        owner.create_compute(3, 8);
        usleep(300000);
    });
    EXPECT_EQ(hits(0, 5), 5u);
}

// A daemon may have begun without standard streams, and give them something to lead to: what tells
// of filters is none of them.
TEST_P(KillingSandboxTest, WithStandardStreamsThatWereClosed)
{
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer has a thread of its own, so that the worker loads meanwhile";
#endif
    EXPECT_EQ(hits(0, 5), 0u);
    expect_survival([] {
        close(STDIN_FILENO);
        Program owner;
        EXPECT_EQ(fcntl(STDIN_FILENO, F_GETFD), -1);
        const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        EXPECT_EQ(dup2(nothing, STDIN_FILENO), STDIN_FILENO);
        shut_in();
        compute_inside(owner);
    });
}

// Whoever shuts a program in closes what it does not know first; with it goes what tells of
// filters.
TEST_P(KillingSandboxTest, WithEveryDescriptorClosed)
{
    expect_survival([] {
        Program owner;
        owner.create_compute(0, 5);
        wait_for_rest();
        close_descriptors();
        shut_in();
        owner.create_compute(3, 8);
        usleep(300000);
    });
    EXPECT_EQ(hits(0, 5), 5u);
}

// A thread asks who it is that it would wait for.
TEST_P(KillingSandboxTest, TwoThreadsThatAskForOnePipeline)
{
    if (forbids_threads()) {
        GTEST_SKIP() << "the sanitizer's threads may not begin or end inside";
    }
    expect_survival([] {
        Program owner;
        Batch one(owner, Kind::compute, {1}), other(owner, Kind::compute, {1});
        Signal is_begun, is_answered;
        const DuringCompile compile([&](int nth) {
            if (nth == 1) {
                is_begun.raise();
                is_answered.wait();
            }
        });
        std::thread second([&] {
            is_begun.wait();
            EXPECT_EQ(other.create(), VK_SUCCESS);
            is_answered.raise();
        });
        shut_in();
        EXPECT_EQ(one.create(), VK_SUCCESS);
        second.join();
    });
}

// It waits for a cache that the program loads inside.
TEST_P(KillingSandboxTest, WhatIsToBeCompiledAhead)
{
    EXPECT_EQ(hits(0, 5), 0u);
    remove_caches();
    environment["WARMPIPE_PREWARM"] = "auto";
    environment["WARMPIPE_LOG"] = "debug";
    expect_survival([] {
        Program *owner = nullptr; // glibc opens a file where it gives back what a thread allocated
        std::thread([&] {
            const sched_param none = {};
            EXPECT_EQ(sched_setscheduler(0, SCHED_IDLE, &none), 0); // so is the worker
            owner = new Program;
        }).join();
        wait_until([] {
            return read_text("/proc/self/fd/2").find("not loaded ahead") != std::string::npos;
        });
        shut_in();
        owner->create_compute(5, 6);
        usleep(300000);
    });
}

// Where cores are short, a thread of ours begins long after it was made.
TEST_P(KillingSandboxTest, AThreadThatHasNotBegun)
{
    if (forbids_threads()) {
        GTEST_SKIP() << "the sanitizer's threads may not begin or end inside";
    }
    const auto become_real_time = [] { // and so do the threads that are made
        const sched_param one = {1};
        return sched_setscheduler(0, SCHED_FIFO, &one) == 0;
    };
    bool is_allowed = false;
    std::thread([&] { is_allowed = become_real_time(); }).join();
    if (!is_allowed) {
        GTEST_SKIP() << "no right to it";
    }
    EXPECT_EQ(hits(0, 5), 0u);
    remove_caches();
    environment["WARMPIPE_PREWARM"] = "auto";
    expect_survival([&] {
        cpu_set_t core;
        CPU_ZERO(&core);
        CPU_SET(sched_getcpu(), &core);
        EXPECT_EQ(sched_setaffinity(0, sizeof core, &core), 0);
        EXPECT_TRUE(become_real_time());
        auto *owner = new Program;
        shut_in();
        usleep(300000);
        owner->create_compute(5, 6);
        usleep(300000);
    });
}

// The end of the process is not that of the device.
TEST_P(KillingSandboxTest, ADeviceThatIsNeverDestroyed)
{
    expect_survival([] {
        auto *owner = new Program;
        owner->create_compute(0, 5);
        wait_for_rest();
        shut_in();
        owner->create_compute(3, 8);
    });
    EXPECT_EQ(hits(0, 5), 5u);
}

TEST_P(KillingSandboxTest, ADeviceThatIsMadeInside)
{
    expect_survival([] {
        Program owner;
        shut_in();
        ProgramOptions options;
        options.instance = owner.instance;
        Program inside(options);
        inside.create_compute(0, 5);
    });
}

} // namespace
