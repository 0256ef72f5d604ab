// SPDX-License-Identifier: Apache-2.0
// Runs a piece of a test in a process of its own: for state that a process has only once (the log),
// for signals, and for what is written to standard error.
#ifndef WARMPIPE_TESTS_UNIT_CHILD_H
#define WARMPIPE_TESTS_UNIT_CHILD_H

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coverage.h"

struct ChildResult {
    int status = -1; // as waitpid gives it
    std::string standard_error;

    std::vector<std::string> lines() const
    {
        std::vector<std::string> lines;
        size_t start = 0;
        for (size_t end; (end = standard_error.find('\n', start)) != std::string::npos;
             start = end + 1) {
            lines.push_back(standard_error.substr(start, end - start));
        }
        if (start < standard_error.size()) {
            lines.push_back(standard_error.substr(start));
        }
        return lines;
    }
};

// Expectations that fail inside `body` are printed there and fail the caller through the status.
template <typename Body> ChildResult run_in_child(Body body)
{
    ChildResult result;
    int ends[2];
    fflush(nullptr);
    EXPECT_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        body();
        fflush(stdout);
        end_child(testing::Test::HasFailure() ? 1 : 0);
    }
    close(ends[1]);
    char buffer[4096];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
        result.standard_error.append(buffer, static_cast<size_t>(got));
    }
    close(ends[0]);
    EXPECT_EQ(waitpid(child, &result.status, 0), child);
    EXPECT_TRUE(WIFEXITED(result.status) && WEXITSTATUS(result.status) == 0)
        << "wait status " << result.status << ", standard error: " << result.standard_error;
    return result;
}

// Whether the current test has been run in a process that no other test was in, and its verdict
// taken over: then there is nothing left to do. For what a process remembers until its end.
inline bool ran_in_new_process()
{
    static const char mark[] = "WARMPIPE_UNIT_NEW_PROCESS";
    if (getenv(mark)) {
        return false;
    }
    const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
    const std::string filter =
        std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
    run_in_child([&] {
        setenv(mark, "1", 1);
        if (const char *emulator = getenv("WARMPIPE_UNIT_EMULATOR")) {
            // The kernel cannot run a program of another architecture.
            const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
            execlp(emulator, emulator, program.c_str(), filter.c_str(), nullptr);
        }
        execl("/proc/self/exe", "unit_tests", filter.c_str(), nullptr);
        ADD_FAILURE() << "cannot run " << filter;
    });
    return true;
}

#endif
