// SPDX-License-Identifier: Apache-2.0
// Threads that wait, as the kernel sees them.
#ifndef WARMPIPE_TESTS_ASLEEP_H
#define WARMPIPE_TESTS_ASLEEP_H

#include <fstream>
#include <iterator>
#include <string>

#include <sys/types.h>

// Whether a thread of this process sleeps.
inline bool is_asleep(pid_t thread)
{
    std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    return text.size() > text.rfind(')') + 2 && text[text.rfind(')') + 2] == 'S';
}

#endif
