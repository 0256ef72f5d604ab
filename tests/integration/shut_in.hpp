// SPDX-License-Identifier: Apache-2.0
// Programs that shut themselves in when they have their device.
#ifndef WARMPIPE_TESTS_SHUT_IN_HPP
#define WARMPIPE_TESTS_SHUT_IN_HPP

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "harness.hpp"
#include "program.hpp"

// On i386 these have twins that take numbers of 64 bits, and C libraries use either.
#ifdef __i386__
#define TWIN(call, twin) call, twin
#else
#define TWIN(call, twin) call
#endif

class SandboxTest : public LayerTest {
  protected:
    void SetUp() override
    {
        environment["WARMPIPE_APP"] = "program";
    }

    template <typename Condition> static void wait_until(const Condition &condition)
    {
        for (int i = 0; i < 60000 && !condition(); ++i) {
            usleep(1000);
        }
        EXPECT_TRUE(condition());
    }

    // Until this process's save is on disk and told.
    static void wait_for_flush()
    {
        const std::string mine = "\"event\":\"flush\",\"pid\":" + std::to_string(getpid());
        const char *stats = std::getenv("WARMPIPE_STATS");
        wait_until([&] { return read_text(stats).find(mine) != std::string::npos; });
    }

    static bool is_futex(const std::string &number)
    {
        const std::vector<int> calls = {TWIN(SYS_futex, SYS_futex_time64)};
        return std::any_of(calls.begin(), calls.end(),
                           [&](int call) { return number == std::to_string(call); });
    }

    // Until the layer's threads sleep with nothing before them: in a futex(2) without a time-out.
    static void wait_for_sleep()
    {
        wait_until([] {
            for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
                std::istringstream call(read_text(task.path() / "syscall"));
                std::string number, address, operation, value, timeout;
                call >> number >> address >> operation >> value >> timeout;
                if (read_text(task.path() / "comm") == "warmpipe\n" &&
                    (!is_futex(number) || timeout != "0x0")) {
                    return false;
                }
            }
            return true;
        });
    }

    static void wait_for_rest()
    {
        wait_for_flush();
        wait_for_sleep();
    }

    static void close_descriptors()
    {
        for (int fd = STDERR_FILENO + 1; fd < 256; ++fd) {
            syscall(SYS_close, fd); // close(2) is a race to the thread sanitizer
        }
    }

    size_t hits(unsigned first, unsigned end)
    {
        return run([&] { Program().create_compute(first, end); }).hits();
    }
};

#endif
