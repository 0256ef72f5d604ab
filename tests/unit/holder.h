// SPDX-License-Identifier: Apache-2.0
// A process that does something and then lives on, with what it holds, until it is killed.
#ifndef WARMPIPE_TESTS_UNIT_HOLDER_H
#define WARMPIPE_TESTS_UNIT_HOLDER_H

#include <csignal>
#include <cstdio>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

class Holder {
  public:
    // Returns when `body` has returned there.
    template <typename Body> explicit Holder(Body body)
    {
        int ends[2];
        fflush(nullptr);
        EXPECT_EQ(pipe(ends), 0);
        child_ = fork();
        if (child_ == 0) {
            close(ends[0]);
            body();
            char ready = testing::Test::HasFailure() ? 0 : 1;
            if (write(ends[1], &ready, 1) == 1) {
                for (;;) {
                    pause();
                }
            }
            _exit(1);
        }
        close(ends[1]);
        char ready = 0;
        EXPECT_EQ(read(ends[0], &ready, 1), 1);
        EXPECT_EQ(ready, 1);
        close(ends[0]);
    }
    ~Holder()
    {
        end();
    }
    Holder(const Holder &) = delete;
    Holder &operator=(const Holder &) = delete;

    // Kills it, and returns when it is gone.
    void end()
    {
        if (child_ > 0) {
            kill(child_, SIGKILL);
            EXPECT_EQ(waitpid(child_, nullptr, 0), child_);
        }
        child_ = -1;
    }

  private:
    pid_t child_;
};

#endif
