// SPDX-License-Identifier: Apache-2.0
#include "sandbox.hpp"

#include <cstddef>
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

void close_sandbox(const SandboxRule &rule)
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
    ASSERT_EQ(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program),
              0);
}
