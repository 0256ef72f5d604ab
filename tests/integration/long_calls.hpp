// SPDX-License-Identifier: Apache-2.0
// What takes a driver long, and what is remembered of it.
#ifndef WARMPIPE_TESTS_LONG_CALLS_HPP
#define WARMPIPE_TESTS_LONG_CALLS_HPP

#include <functional>
#include <string_view>
#include <unistd.h>

#include "recipes.hpp"
#include "test_icd.h"

constexpr unsigned long_us = 300000; // remembered

class LongCallsTest : public RecipesTest {
  protected:
    LongCallsTest()
    {
        environment["WARMPIPE_PREWARM"] = "off";
    }

    std::filesystem::path log() const
    {
        return folder() / "log";
    }

    bool logged(const char *text) const
    {
        return read_text(log()).find(text) != std::string::npos;
    }

    // The worker has nothing to do any more, or it would not have told the statistics.
    void wait_for_quiet() const
    {
        wait_until([&] {
            for (const auto &file : std::filesystem::directory_iterator(folder())) {
                if (read_text(file.path()).find("\"event\":\"flush\"") != std::string::npos) {
                    return true;
                }
            }
            return false;
        });
    }

    // The driver sleeps at each call of this command.
    static std::function<void(const char *)> sleeping_at(std::string_view command, unsigned us)
    {
        return [command, us](const char *called) {
            if (command == called) {
                usleep(us);
            }
        };
    }
};

#endif
