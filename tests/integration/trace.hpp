// SPDX-License-Identifier: Apache-2.0
// The file that WARMPIPE_TRACE names, as a test looks at it.
#ifndef WARMPIPE_TESTS_TRACE_HPP
#define WARMPIPE_TESTS_TRACE_HPP

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness.hpp"

struct Trace {
    // Strict JSON, or the test fails; as it must if spans of a thread overlap.
    explicit Trace(const std::filesystem::path &path);

    std::vector<json> events;

    // Those of a category, in the order of their time; of one name, if it is not empty.
    std::vector<json> of(const std::string &category, const std::string &name = "") const;
    // How many of a category have a result.
    size_t count(const std::string &category, const std::string &result) const;
    // The names of threads or processes ("thread_name", "process_name"), each once, sorted.
    std::vector<std::string> names(const std::string &what) const;
};

// In nanoseconds, exactly.
int64_t start_of(const json &event);
int64_t end_of(const json &event);

#endif
