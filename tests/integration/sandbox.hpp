// SPDX-License-Identifier: Apache-2.0
// Sandboxes that a program shuts itself in: seccomp filters.
#ifndef WARMPIPE_TESTS_SANDBOX_HPP
#define WARMPIPE_TESTS_SANDBOX_HPP

#include <vector>

// System calls, by number, and how the kernel answers those (SECCOMP_RET_…): all others are
// allowed, or, if `inverted`, the other way round. Writes to descriptors above standard error are
// answered, too, if `no_writes`.
struct SandboxRule {
    std::vector<unsigned> calls;
    unsigned answer;
    bool inverted = false;
    bool no_writes = false;
};

// Of all threads of this process, from now on.
void close_sandbox(const SandboxRule &rule);

// The same once the layer's threads have taken it for closed, so that none of them is on its way
// from that question to a call that would be answered. By the main thread.
void close_sandbox_at_rest(const SandboxRule &rule);

// What touches files, locks and threads; and the same without threads.
std::vector<unsigned> calls_of_files_and_threads();
std::vector<unsigned> calls_of_files();

#endif
