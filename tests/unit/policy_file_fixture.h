// SPDX-License-Identifier: Apache-2.0
// A policy file as a test writes it.
#ifndef WARMPIPE_TESTS_UNIT_POLICY_FILE_FIXTURE_H
#define WARMPIPE_TESTS_UNIT_POLICY_FILE_FIXTURE_H

#include <string>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "common/driver/policy.h"
}

class File {
  public:
    explicit File(const std::string &text)
    {
        // Not terminated, and on the heap: a parser that reads on is found by the sanitizer.
        std::vector<char> bytes(text.begin(), text.end());
        reason_ = policy_file_parse(bytes.data(), bytes.size(), &file_, &error_);
    }
    ~File()
    {
        policy_file_free(&file_);
    }
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    bool is_good() const
    {
        return reason_ == STATUS_ok;
    }
    size_t count() const
    {
        return file_.count;
    }
    const policy_rule &rule(size_t i = 0) const
    {
        static const policy_rule none = {};
        EXPECT_LT(i, file_.count) << error();
        return i < file_.count ? file_.rules[i] : none;
    }
    std::string error() const
    {
        EXPECT_TRUE(is_good() || reason_ == STATUS_bad_policy_file);
        return is_good() ? "" : std::to_string(error_.line) + ": " + error_.text;
    }

  private:
    policy_file file_ = {};
    policy_file_error error_ = {};
    enum status reason_;
};

#endif
