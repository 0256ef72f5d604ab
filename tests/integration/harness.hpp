// SPDX-License-Identifier: Apache-2.0
// Runs a program under the layer, in a process of its own, and tells what the layer and the test
// driver say of it.
//
// The program is either an executable or a function of the test, which then runs in a forked child:
// the test's own process never loads Vulkan, so every run begins as fresh as a program does.
// Expectations that fail in the child fail the test.
#ifndef WARMPIPE_TESTS_HARNESS_HPP
#define WARMPIPE_TESTS_HARNESS_HPP

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using nlohmann::json;

// What one process did.
struct Outcome {
    int status = 0;           // exit status, or minus the signal
    std::string output;       // standard output
    std::string errors;       // standard error
    std::vector<json> stats;  // lines of WARMPIPE_STATS
    std::vector<json> driver; // events of the test driver

    // Last line of statistics of a device.
    json stats_of(unsigned device = 0) const;
    // The driver's events of this name, in order.
    std::vector<json> events(const std::string &name) const;
    // Pipelines that the driver was asked for, and those of them that it found in a cache.
    std::vector<json> pipelines() const;
    size_t hits() const;
    // How often a command reached the driver.
    uint64_t calls(const std::string &command) const;
    std::vector<std::string> violations() const;
    // The layer's lines on standard error: "warmpipe: LEVEL: …".
    std::vector<std::string> log() const;
};

// Whether the layer must be at work (it wrote its statistics), or must not be, or either.
enum class Layer { works, absent, any };

// What a run must be, beyond what the test looks at itself.
struct Expected {
    Layer layer = Layer::works;
    bool clean = true; // nothing reached the driver that must not
    int status = 0;
    bool any_status = false;
};

class LayerTest : public ::testing::Test {
  protected:
    LayerTest();
    ~LayerTest() override;

    // The environment of the programs. Nothing else of the test's own reaches them but PATH and
    // what sanitizers and the dynamic loader need.
    std::map<std::string, std::string> environment;

    // What the devices of real drivers ask for besides: wins over `environment`, and is added to
    // LD_PRELOAD and to the options of sanitizers.
    std::map<std::string, std::string> device_environment;

    // Both of these together.
    std::map<std::string, std::string> whole_environment() const;

    // A folder of this test, removed at its end; and WARMPIPE_DIR in it.
    const std::filesystem::path &folder() const
    {
        return folder_;
    }
    std::filesystem::path cache_root() const
    {
        return folder_ / "cache";
    }
    // Every *.wpcache below cache_root, sorted.
    std::vector<std::filesystem::path> cache_files() const;
    // The only one; a failure if there is not exactly one.
    std::filesystem::path cache_file() const;
    // All of them: as after an update of the driver, for which there is none.
    void remove_caches() const;

    // The user's policy file.
    void set_policy(const std::string &text);

    Outcome run(const std::function<void()> &program, const Expected &expected = {});
    Outcome execute(const std::vector<std::string> &command, const Expected &expected = {});

    // From here on the programs run as a user without rights, who owns the folder. False, and
    // nothing changed, where that cannot be: the build tree is not open to others.
    bool become_unprivileged();

  private:
    Outcome start(const std::function<void()> &in_child, const Expected &expected);

    std::filesystem::path folder_;
    unsigned user_ = 0; // 0: the test's own
    unsigned runs_ = 0;
};

// For a program that frees nothing, or that no tracer could look at: a leak sanitizer finds what it
// finds now, and looks no more at the end.
void leak_from_here_on();

// fork(), for a program with threads of the layer. A sanitizer's allocator is not made ready for
// it: what a thread holds at that moment, its child waits for in vain. There, this waits until the
// other threads sleep, ten seconds at most.
pid_t fork_in_quiet();

// Forks like that; the child ends well, with all handlers and destructors.
void fork_and_exit();

std::string read_text(const std::filesystem::path &path);
// Kills this process, which has run as a program's, unless something has failed in it: of that the
// test is told by its status alone.
void die();

std::vector<uint8_t> read_bytes(const std::filesystem::path &path);
void write_bytes(const std::filesystem::path &path, const std::vector<uint8_t> &bytes);

#endif
