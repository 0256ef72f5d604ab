// SPDX-License-Identifier: Apache-2.0
// The end of a child process, which must not run what its parent has registered with atexit.
#ifndef WARMPIPE_TESTS_UNIT_COVERAGE_H
#define WARMPIPE_TESTS_UNIT_COVERAGE_H

#include <unistd.h>

// In a build for coverage alone (tests/coverage/run): writes what has run.
extern "C" void __gcov_dump() __attribute__((weak));

[[noreturn]] inline void end_child(int status)
{
    if (__gcov_dump) {
        __gcov_dump();
    }
    _exit(status);
}

#endif
