// SPDX-License-Identifier: Apache-2.0
// A program, what its crash page says of it, and what becomes of its blob.
#ifndef WARMPIPE_TESTS_INTEGRATION_CRASH_GUARD_HPP
#define WARMPIPE_TESTS_INTEGRATION_CRASH_GUARD_HPP

#include <chrono>
#include <functional>

#include <fcntl.h>
#include <linux/seccomp.h>
#include <unistd.h>

#include "harness.hpp"
#include "program.hpp"
#include "sandbox.hpp"
#include "test_icd.h"

extern "C" {
#include "common/blobs/crash_page.h"
}

// The page of the only process that lives; empty: there is none.
inline std::filesystem::path page_path(const std::filesystem::path &root)
{
    std::filesystem::path found;
    std::error_code gone; // a file that a save has just given its last name
    for (const auto &entry : std::filesystem::recursive_directory_iterator(root)) {
        const std::filesystem::path elsewhere =
            "/dev/shm/warmpipe-" + entry.path().filename().string();
        if (!entry.path().has_extension() && entry.is_regular_file(gone) &&
            entry.file_size(gone) == sizeof(crash_page)) {
            found = entry.path();
        } else if (std::filesystem::exists(elsewhere)) {
            found = elsewhere;
        }
    }
    return found;
}

// What it would say of its death.
inline crash_finding find_page(const std::filesystem::path &root)
{
    crash_finding finding = {};
    const std::filesystem::path path = page_path(root);
    if (!path.empty()) {
        crash_page_read(read_bytes(path).data(), &finding);
    }
    return finding;
}

// The same of a page that was opened, for a process that can open nothing any more.
inline crash_finding read_page(int file)
{
    std::vector<uint8_t> content(sizeof(crash_page));
    crash_finding finding = {};
    EXPECT_EQ(pread(file, content.data(), content.size(), 0), ssize_t(content.size()));
    crash_page_read(content.data(), &finding);
    return finding;
}

// Whether it would be a death that counts at once.
inline bool is_short_death(const crash_finding &finding)
{
    return finding.died && !finding.is_long;
}

class CrashGuardTest : public LayerTest {
  protected:
    CrashGuardTest()
    {
        environment["WARMPIPE_APP"] = "program";
        environment["WPTEST_ICD_TRUST"] = "1";
        environment["WARMPIPE_PREWARM"] = "off";
    }

    static constexpr unsigned pipelines = 12;

    static void program()
    {
        Program owner;
        for (unsigned i = 0; i < pipelines; ++i) {
            owner.create(Kind::compute, i);
        }
    }

    void make_good_blob()
    {
        run(program);
        EXPECT_EQ(run(program).hits(), pipelines);
    }

    // Whoever is killed says nothing of what has failed: the next start does.
    template <typename Condition> static void wait_while(const Condition &condition)
    {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (condition() && std::chrono::steady_clock::now() < until) {
            usleep(1000);
        }
    }

    static void shut_in()
    {
        unsetenv("WPTEST_ICD_LOG"); // the test driver's own files are not what is tested
        close_sandbox_at_rest({calls_of_files_and_threads(), SECCOMP_RET_KILL_PROCESS});
    }

    std::string state_of_a_start()
    {
        return run(program).stats_of()["cache"]["state"];
    }

    // Whether the program comes to its end; else the blob has killed it.
    bool lives(const std::function<void()> &start)
    {
        const Outcome outcome = run(start, {Layer::any, true, 0, true});
        EXPECT_TRUE(outcome.status == 0 || outcome.status == -SIGABRT) << outcome.errors;
        return outcome.status == 0;
    }

    bool is_put_away() const
    {
        return std::filesystem::exists(cache_root() / "program" / "quarantine");
    }
};

#endif
