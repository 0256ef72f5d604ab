// SPDX-License-Identifier: Apache-2.0
// What a guarded call costs, instruction by instruction: no system call, nothing that locks the
// bus.
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "disk_fixture.h"
#include "scratch.h"

extern "C" {
#include "common/blobs/crash_page.h"
#include "common/files/names.h"
}

namespace {

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

constexpr uint64_t counted_key = 0x1111111111111111;

struct Steps {
    unsigned count = 0;
    unsigned locked = 0;  // read-modify-writes that are atomic
    unsigned entries = 0; // into the system
};

bool is_locked(const uint8_t *code)
{
    while (*code == 0x66 || *code == 0x67 || *code == 0xf2 || *code == 0xf3) {
        code++;
    }
    const bool has_prefix = *code == 0xf0;
    code += (*code & 0xf0) == 0x40; // REX
    const bool is_exchange = (*code == 0x86 || *code == 0x87) && code[1] >> 6 != 3;
    return has_prefix || is_exchange;
}

bool enters_system(const uint8_t *code)
{
    return code[0] == 0x0f && (code[1] == 0x05 || code[1] == 0x34);
}

// What the child does between two illegal instructions, of which it stands at the first.
bool count_steps(pid_t child, Steps *ret_steps)
{
    int status = 0;
    user_regs_struct at = {};
    ptrace(PTRACE_GETREGS, child, nullptr, &at);
    at.rip += 2;
    ptrace(PTRACE_SETREGS, child, nullptr, &at);
    for (;;) {
        if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0 ||
            waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
            return false;
        }
        if (WSTOPSIG(status) != SIGTRAP) {
            return WSTOPSIG(status) == SIGILL;
        }
        user_regs_struct registers;
        ptrace(PTRACE_GETREGS, child, nullptr, &registers);
        uint8_t code[16];
        for (size_t i = 0; i < sizeof code; i += sizeof(long)) {
            const long word = ptrace(PTRACE_PEEKTEXT, child, registers.rip + i, nullptr);
            std::memcpy(code + i, &word, sizeof word);
        }
        ret_steps->count++;
        ret_steps->locked += is_locked(code);
        ret_steps->entries += enters_system(code);
    }
}

TEST(CrashSteps, ACallTakesNoSystemCallAndNothingAtomicToChange)
{
    const Scratch scratch;
    const std::string path = scratch.path("page");
    const uint64_t number = unique_draw();
    const pid_t child = fork();
    if (child == 0) {
        const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        struct bytes record = {};
        crash_keys known = {}; // of a death that is not disproved yet
        known.count = 1;
        known.keys[0] = counted_key + 1;
        auto *guard = new crash_guard();
        const bool is_open = crash_guard_open(guard, fd, number, &record, &known);
        crash_page_remove_elsewhere(number); // its memory stays
        if (!is_open || ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
            _exit(is_open ? 1 : 2);
        }
        const crash_call first =
            crash_guard_raise(guard, counted_key, CRASH_INSIDE); // takes the slot
        crash_guard_lower(guard, &first);
        __asm__ volatile("ud2");
        const crash_call call = crash_guard_raise(guard, counted_key, CRASH_INSIDE);
        crash_guard_lower(guard, &call);
        __asm__ volatile("ud2");
        _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << "no page";
    if (!WIFSTOPPED(status)) {
        GTEST_SKIP() << "no process may be traced here";
    }
    Steps steps;
    EXPECT_TRUE(count_steps(child, &steps));
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    EXPECT_GT(steps.count, 0u);
    EXPECT_EQ(steps.locked, 0u);
    EXPECT_EQ(steps.entries, 0u);
}

#endif

} // namespace
