// SPDX-License-Identifier: Apache-2.0
// What a test does while the test driver is in the middle of something.
#ifndef WARMPIPE_TESTS_DURING_HPP
#define WARMPIPE_TESTS_DURING_HPP

#include "test_icd.h"

#include <atomic>
#include <functional>

#include <unistd.h>

#include <gtest/gtest.h>

// Something that a compile waits for. Should it never come, the test fails and goes on. Who has
// waited may be done with it: whoever raises it touches nothing afterwards.
class Signal {
  public:
    void raise()
    {
        raised_ = true;
    }
    void wait()
    {
        for (int i = 0; i < 20000 && !raised_; ++i) {
            usleep(1000);
        }
        EXPECT_TRUE(raised_);
    }

  private:
    std::atomic<bool> raised_{false};
};

// What the driver does in the middle of a compile.
class DuringCompile {
  public:
    explicit DuringCompile(std::function<void(int nth)> action) : action_(std::move(action))
    {
        test_icd_on_compile(
            [](void *user) {
                auto *self = static_cast<DuringCompile *>(user);
                self->action_(++self->count_);
            },
            this);
    }
    ~DuringCompile()
    {
        test_icd_on_compile(nullptr, nullptr);
    }
    int count() const
    {
        return count_;
    }

  private:
    std::function<void(int nth)> action_;
    std::atomic<int> count_{0};
};

// What the driver does at each call, before anything else: as one does that has something to say to
// a messenger. On the caller's thread, which may be one of the layer's own.
class DuringCalls {
  public:
    explicit DuringCalls(std::function<void(const char *command)> action)
        : action_(std::move(action))
    {
        test_icd_on_call([](const char *command,
                            void *user) { static_cast<DuringCalls *>(user)->action_(command); },
                         this);
    }
    ~DuringCalls()
    {
        test_icd_on_call(nullptr, nullptr);
    }

  private:
    std::function<void(const char *command)> action_;
};

#endif
