// SPDX-License-Identifier: Apache-2.0
#include "sandbox.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

std::vector<unsigned> calls_of_files()
{
    return {SYS_openat, SYS_flock, SYS_renameat, SYS_renameat2, SYS_mkdirat, SYS_unlinkat};
}

std::vector<unsigned> calls_of_files_and_threads()
{
    std::vector<unsigned> calls = calls_of_files();
    calls.insert(calls.end(), {SYS_clone, SYS_clone3});
    return calls;
}

static void add_filter(const SandboxRule &rule, unsigned flags)
{
    const unsigned named = rule.inverted ? SECCOMP_RET_ALLOW : rule.answer;
    const unsigned others = rule.inverted ? rule.answer : SECCOMP_RET_ALLOW;
    std::vector<sock_filter> filter;
    if (rule.no_writes) {
        filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 3));
        filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])));
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, STDERR_FILENO, 0, 1));
        filter.push_back(BPF_STMT(BPF_RET | BPF_K, rule.answer));
    }
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    for (unsigned call : rule.calls) {
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
        filter.push_back(BPF_STMT(BPF_RET | BPF_K, named));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, others));
    const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
    ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program), 0);
}

void close_sandbox(const SandboxRule &rule)
{
    add_filter(rule, SECCOMP_FILTER_FLAG_TSYNC);
}

static std::string first_word(const std::filesystem::path &path)
{
    std::string word;
    std::ifstream(path) >> word;
    return word;
}

static bool is_one_of(const std::string &number, const std::vector<unsigned> &calls)
{
    return std::any_of(calls.begin(), calls.end(),
                       [&](unsigned call) { return number == std::to_string(call); });
}

// Whether a thread waits for another, or until it is time: in futex(2). The thread sanitizer's own
// sleeps in others. A task that is gone rests.
static bool is_at_rest(const std::filesystem::path &task)
{
#ifdef __i386__
    const std::vector<unsigned> waits = {SYS_futex, SYS_futex_time64};
#else
    const std::vector<unsigned> waits = {SYS_futex};
#endif
    const std::string number = first_word(task / "syscall");
    const bool is_ours = first_word(task / "comm") == "warmpipe";
    return number.empty() || is_one_of(number, waits) ||
           (!is_ours && is_one_of(number, {SYS_nanosleep, SYS_clock_nanosleep}));
}

static bool is_process_at_rest()
{
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
        if (task.path().filename() != std::to_string(getpid()) && !is_at_rest(task.path())) {
            return false;
        }
    }
    return true;
}

void close_sandbox_at_rest(const SandboxRule &rule)
{
    ASSERT_EQ(getpid(), pid_t(syscall(SYS_gettid)));
    add_filter({{}, SECCOMP_RET_ALLOW}, 0); // forbids nothing: whoever asks sees that there is one
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_process_at_rest() && std::chrono::steady_clock::now() < until) {
        usleep(1000);
    }
    EXPECT_TRUE(is_process_at_rest());
    close_sandbox(rule);
}
