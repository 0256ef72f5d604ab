// SPDX-License-Identifier: Apache-2.0
// What counts as a sandbox, where it comes from, and what the layer leaves alone inside.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <ucontext.h>

#include "during.hpp"
#include "sandbox.hpp"
#include "shut_in.hpp"
#include "test_icd.h"

namespace {

// A container's filter is there from the start.
TEST_F(SandboxTest, AFilterFromBeforeTheDeviceIsNone)
{
    const auto in_a_container = [&] {
        return run([] {
            close_sandbox({{SYS_mount}, SECCOMP_RET_KILL_PROCESS});
            Program().create_compute(0, 5);
        });
    };
    EXPECT_EQ(in_a_container().hits(), 0u);
    EXPECT_EQ(in_a_container().hits(), 5u);
}

// The same in a container: there is a filter already, and one more comes.
TEST_F(SandboxTest, OneMoreFilterIsASandboxInAContainer)
{
    run(
        [] {
            leak_from_here_on();
            close_sandbox({{SYS_mount}, SECCOMP_RET_KILL_PROCESS});
            Program owner;
            unsetenv("WPTEST_ICD_LOG");
            close_sandbox({calls_of_files_and_threads(), SECCOMP_RET_KILL_PROCESS});
            owner.create_compute(0, 5);
        },
        {Layer::any, false, 0});
}

// The child of a fork has a status of its own.
TEST_F(SandboxTest, ASandboxOfTheParentIsNoneOfItsChild)
{
    run(
        [&] {
            leak_from_here_on();
            auto *owner = new Program;
            const pid_t child = fork_in_quiet();
            if (child == 0) {
                Program().create_compute(0, 5);
                std::_Exit(HasFailure());
            }
            int status = 0;
            unsetenv("WPTEST_ICD_LOG");
            EXPECT_EQ(waitpid(child, &status, 0), child);
            EXPECT_EQ(status, 0);
            close_sandbox({calls_of_files_and_threads(), SECCOMP_RET_KILL_PROCESS});
            owner->create_compute(5, 10);
        },
        {Layer::any, false, 0});
    EXPECT_EQ(hits(0, 10), 5u);
}

// The filter comes while a pipeline is compiled ahead.
TEST_F(SandboxTest, PrewarmEnds)
{
    run([] { Program().create_compute(0, 5); });
    environment["WPTEST_ICD_DRIVER_VERSION"] = "0x2000000";
    environment["WPTEST_ICD_UUID"] = "b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7";
    environment.erase("WARMPIPE_PREWARM");
    run(
        [] {
            leak_from_here_on();
            static std::atomic<bool> is_compiling{false};
            static std::atomic<bool> is_shut_in{false};
            test_icd_on_compile(
                [](void *) {
                    is_compiling = true;
                    for (int i = 0; i < 10000 && !is_shut_in; i++) {
                        usleep(1000);
                    }
                },
                nullptr);
            Program owner;
            wait_until([] { return is_compiling.load(); });
            unsetenv("WPTEST_ICD_LOG");
            SandboxRule rule = {calls_of_files_and_threads(), SECCOMP_RET_KILL_PROCESS};
            rule.calls.push_back(SYS_pwrite64);
            rule.calls.push_back(SYS_unlink);
            close_sandbox(rule);
            is_shut_in = true;
            usleep(100000);
            owner.create_compute(5, 6);
        },
        {Layer::any, false, 0});
}

// The register that a system call's result is in.
auto &result_of_call(ucontext_t &context)
{
#if defined __x86_64__
    return context.uc_mcontext.gregs[REG_RAX];
#elif defined __i386__
    return context.uc_mcontext.gregs[REG_EAX];
#else
    return context.uc_mcontext.regs[0];
#endif
}

// A broker in the process: the kernel raises SIGSYS, and a handler answers in the call's place. A
// thread that blocks the signal would be the death of the process. Nothing tells such a sandbox
// from none where it is there before the device, for the broker opens no status file.
TEST_F(SandboxTest, MayAnswerBySignal)
{
    run(
        [&] {
            leak_from_here_on();
            static std::atomic<int> answers_to_worker{0};
            struct sigaction broker = {};
            broker.sa_flags = SA_SIGINFO;
            broker.sa_sigaction = [](int, siginfo_t *, void *context) {
                answers_to_worker += gettid() != getpid();
                result_of_call(*static_cast<ucontext_t *>(context)) = -EACCES;
            };
            ASSERT_EQ(sigaction(SIGSYS, &broker, nullptr), 0);
            ProgramOptions options;
            ASSERT_EQ(try_instance(VK_API_VERSION_1_3, &options.instance), VK_SUCCESS);
            close_sandbox({calls_of_files(), SECCOMP_RET_TRAP});
            Program owner(options);
            owner.create_compute(0, 5);
            wait_until([] { return answers_to_worker > 0; });
        },
        {Layer::any, false, 0});
}

// What it has closed is opened again for its next device.
TEST_F(SandboxTest, AProgramThatClosesEveryDescriptorIsInNoneWithItsNextDevice)
{
    run([] {
        Program();
        close_descriptors();
        Program().create_compute(0, 5);
    });
    EXPECT_EQ(hits(0, 5), 5u);
}

// What is opened again tells how many filters there are now, not how many there were.
TEST_F(SandboxTest, ADeviceThatIsMadeInsideWithEveryDescriptorClosed)
{
    run(
        [] {
            leak_from_here_on();
            auto *owner = new Program;
            unsetenv("WPTEST_ICD_LOG");
            close_descriptors();
            close_sandbox({{SYS_clone, SYS_clone3}, SECCOMP_RET_KILL_PROCESS});
            ProgramOptions options;
            options.instance = owner->instance;
            auto *inside = new Program(options);
            inside->create_compute(0, 5);
        },
        {Layer::any, false, 0});
}

// A sandbox in which nothing can be opened (a filter that answers so, an empty root) is one all the
// same, also for a device that is made in it.
TEST_F(SandboxTest, ADeviceThatIsMadeWhereNothingCanBeOpened)
{
    run(
        [] {
            leak_from_here_on();
            auto *owner = new Program;
            unsetenv("WPTEST_ICD_LOG");
            close_descriptors();
            close_sandbox({{SYS_openat, SYS_open, SYS_openat2}, SECCOMP_RET_ERRNO | EACCES});
            close_sandbox({{SYS_clone, SYS_clone3}, SECCOMP_RET_KILL_PROCESS});
            ProgramOptions options;
            options.instance = owner->instance;
            auto *inside = new Program(options);
            inside->create_compute(0, 5);
            usleep(300000); // longer than the worker waits to save
        },
        {Layer::any, false, 0});
}

// How much memory is free is asked of files, before a large cache is copied; inside nobody asks.
TEST_F(SandboxTest, ALargeCacheThatAThreadOfTheProgramReads)
{
    environment["WPTEST_ICD_RECORD_BYTES"] = std::to_string(1 << 20);
    environment["WPTEST_ICD_COMPILE_US"] = "200000"; // a save of so much is paid for
    run(
        [] {
            leak_from_here_on();
            Program owner(with_messenger());
            owner.create_compute(0, 9);
            wait_for_sleep();
            unsetenv("WPTEST_ICD_LOG");
            close_sandbox({calls_of_files_and_threads(), SECCOMP_RET_KILL_PROCESS});
            const uint64_t reads = test_icd_calls("vkGetPipelineCacheData");
            uint32_t created = 9; // until they have paid for a read, however slow it is
            while (test_icd_calls("vkGetPipelineCacheData") == reads && created < 200) {
                owner.create_compute(created, created + 1);
                created++;
            }
            EXPECT_GT(test_icd_calls("vkGetPipelineCacheData"), reads);
        },
        {Layer::any, false, 0});
}

} // namespace
