// SPDX-License-Identifier: Apache-2.0
// A driver that has something to say to a messenger at each call, and a callback that takes a lock
// which the program also holds over calls of its own.
#ifndef WARMPIPE_TESTS_CALLBACKS_HPP
#define WARMPIPE_TESTS_CALLBACKS_HPP

#include "during.hpp"
#include "harness.hpp"
#include "program.hpp"

// Calls of the driver come here as they would to the callback of a messenger.
class Messages {
  public:
    explicit Messages(const Program &program)
        : messenger_(create_messenger(program.instance)),
          calls_([this](const char *command) { take(command); })
    {
        leak_from_here_on(); // the loader forgets messengers that go with their instance
    }

    // From now on a call of this command says so before it takes the lock.
    void watch(const char *command)
    {
        watched_ = command;
        watching_ = true;
    }
    // Waits until such a call is in the callback.
    void wait()
    {
        inside_.wait();
    }
    // In this thread the program makes calls.
    void know_this_thread()
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        threads_.push_back(std::this_thread::get_id());
    }
    bool was_called_by_others()
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        return strangers_ > 0;
    }

    std::recursive_mutex lock; // the program's

  private:
    void take(const std::string &command)
    {
        {
            const std::lock_guard<std::mutex> guard(mutex_);
            const auto self = std::this_thread::get_id();
            strangers_ += std::find(threads_.begin(), threads_.end(), self) == threads_.end();
        }
        if (watching_ && command == watched_) {
            watching_ = false;
            inside_.raise();
        }
        // Not try_lock_for: gcc's thread sanitizer does not know the function that it calls.
        bool taken = lock.try_lock();
        for (int i = 0; !taken && i < 20000; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            taken = lock.try_lock();
        }
        EXPECT_TRUE(taken) << command;
        if (taken) {
            lock.unlock();
        }
    }

    std::string watched_;
    std::atomic<bool> watching_{false};
    Signal inside_;
    std::mutex mutex_;
    std::vector<std::thread::id> threads_{std::this_thread::get_id()};
    unsigned strangers_ = 0;
    VkDebugUtilsMessengerEXT messenger_; // the instance's end destroys it
    DuringCalls calls_;
};

#endif
