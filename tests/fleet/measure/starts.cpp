// SPDX-License-Identifier: Apache-2.0
// What a remote adds to the start of a program, in time:
//
//     env $(tests/drivers/environment radv-navi10) build/tests/fleet/fleet_starts redis
//         [--pairs 31] [--scale 1]
//
// --scale: times 240 pipelines.
//
// Each round runs, in turn, `warmpipe run` with a warm folder and no remote, as a fresh machine
// with a warm remote, with a remote that refuses, and with one that never says a word. The figures
// are medians over the rounds, with the 95% interval of order statistics. Without a driver in the
// environment: the test driver, whose compiles take no time.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>

#include <sys/resource.h>

#include "fleet.h"

namespace {

constexpr double wait_ms = 500; // of a run, for the silent one

class Starts {
  public:
    Starts(Place &place, size_t pairs, size_t scale) : place_(place), pairs_(pairs), scale_(scale)
    {
        for (const char *name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES", "RADV_FORCE_FAMILY",
                                 "LD_PRELOAD", "DRM_SHIM_DEBUG"}) {
            if (const char *value = getenv(name)) {
                more_[name] = value;
            }
        }
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        is_real_ = more_.count("VK_DRIVER_FILES") + more_.count("VK_ICD_FILENAMES") > 0;
        more_["MESA_SHADER_CACHE_DISABLE"] = "true";
        more_["XDG_CACHE_HOME"] = drivers_.path; // what a driver keeps of itself
        more_["AWS_ACCESS_KEY_ID"] = more_["AWS_SECRET_ACCESS_KEY"] = "S3RVER";
    }

    json measure();

  private:
    // Milliseconds of a whole run; is_warm: nothing may be compiled.
    double run(const Machine &machine, std::vector<std::string> options, bool is_warm = true)
    {
        std::vector<std::string> words = {"run", "--dir", machine.root, "--app", "demo"};
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {"--", PIPELINES_CLIENT});
        const size_t graphics = is_real_ ? 40 * scale_ : 0;
        const size_t compute = is_real_ ? 200 * scale_ : 50 * scale_;
        words.insert(words.end(), {"--graphics", std::to_string(graphics), "--compute",
                                   std::to_string(compute)});
        Environment environment = machine.environment();
        for (const auto &[name, value] : more_) {
            environment[name] = value;
        }
        const auto start = std::chrono::steady_clock::now();
        const ToolResult result = run_tool(words, environment);
        const std::chrono::duration<double, std::milli> time =
            std::chrono::steady_clock::now() - start;
        EXPECT_EQ(result.exit_status, 0) << result.err;
        EXPECT_EQ(contains(result.err, " 0 misses"), is_warm) << result.err;
        return time.count();
    }

    static std::set<pid_t> children()
    {
        std::ifstream list("/proc/thread-self/children");
        return {std::istream_iterator<pid_t>(list), std::istream_iterator<pid_t>()};
    }

    // The process beside a program may end a little after the tool, and belongs to it all the same.
    void await_orphans()
    {
        bool found = true;
        while (found) {
            found = false;
            for (const pid_t child : children()) {
                if (servers_.count(child) == 0) {
                    found = true;
                    waitpid(child, nullptr, 0);
                }
            }
        }
    }

    // Processor time of all that has been waited for, milliseconds: what a busy machine does not
    // change much.
    double used()
    {
        await_orphans();
        struct rusage usage = {};
        getrusage(RUSAGE_CHILDREN, &usage);
        auto of = [](const timeval &time) {
            return 1e3 * static_cast<double>(time.tv_sec) +
                   1e-3 * static_cast<double>(time.tv_usec);
        };
        return of(usage.ru_utime) + of(usage.ru_stime);
    }

    static json median(std::vector<double> values)
    {
        std::sort(values.begin(), values.end());
        const size_t count = values.size();
        const auto off = static_cast<size_t>(0.98 * std::sqrt(static_cast<double>(count)));
        const size_t low = count / 2 > off ? count / 2 - off : 0;
        return {{"median", values[count / 2]},
                {"interval", {values[low], values[std::min(count - 1, count / 2 + off)]}}};
    }

    Place &place_;
    size_t pairs_;
    size_t scale_;
    Keys keys_;
    TemporaryFolder drivers_;
    Environment more_;
    bool is_real_ = false;
    const std::set<pid_t> servers_ = children();
};

json Starts::measure()
{
    Machine warm;
    const std::vector<std::string> reader = {"--public-key", keys_.open, "--remote"};
    auto with = [&](const std::string &url, const std::string &wait) {
        std::vector<std::string> words = reader;
        words.insert(words.end(), {url, "--remote-wait", wait});
        return words;
    };
    run(warm, {}, false);
    run(warm, {});
    std::vector<std::string> push = {"push",         "--json",     "--remote", place_.url,
                                     "--secret-key", keys_.secret, "--dir",    warm.root};
    if (!place_.swaps_at_all) {
        push.push_back("--single-writer");
    }
    Environment environment = warm.environment();
    environment.insert(more_.begin(), more_.end());
    const ToolResult pushed = run_tool(push, environment);
    EXPECT_EQ(pushed.exit_status, 0) << pushed.err;

    int silent_port;
    const int silent_fd = listen_somewhere(&silent_port);
    const std::string silent = "http://localhost:" + std::to_string(silent_port);
    const std::string refused = "http://localhost:" + std::to_string(free_port());
    std::vector<double> local, ratios, added, itself, refusing, waiting, local_used, added_used;
    for (size_t i = 0; i < pairs_; i++) {
        const Machine fresh;
        const double before = used();
        const double one = run(warm, {});
        const double between = used();
        const double other = run(fresh, with(place_.url, "20s"));
        local_used.push_back(between - before);
        added_used.push_back(used() - between - (between - before));
        const double again = run(warm, {});
        local.push_back(one);
        ratios.push_back(other / one);
        added.push_back(other - one);
        itself.push_back(again / one);
        refusing.push_back(run(warm, with(refused, "2s")) - again);
        waiting.push_back(
            run(warm, with(silent, std::to_string(static_cast<int>(wait_ms)) + "ms")) - again);
    }
    close(silent_fd);
    return {{"pushed_bytes", json::parse(pushed.out)["sent"]},
            {"file_bytes", std::filesystem::file_size(warm.root + "/demo/" + warm.caches().at(0))},
            {"local_ms", median(local)},
            {"local_processor_ms", median(local_used)},
            {"fresh_adds_processor_ms", median(added_used)},
            {"fresh_over_local", median(ratios)},
            {"local_over_itself", median(itself)},
            {"fresh_adds_ms", median(added)},
            {"refused_adds_ms", median(refusing)},
            {"silent_waits_ms", wait_ms},
            {"silent_adds_ms", median(waiting)}};
}

} // namespace

int main(int argc, char **argv)
{
    const std::string engine = argc > 1 ? argv[1] : "file";
    size_t pairs = 31;
    size_t scale = 1;
    for (int i = 2; i + 1 < argc; i += 2) {
        (std::string(argv[i]) == "--scale" ? scale : pairs) = std::stoul(argv[i + 1]);
    }
    testing::InitGoogleTest();
    const std::unique_ptr<Place> place = place_of(engine);
    if (!place) {
        fprintf(stderr, "%s is not installed\n", engine.c_str());
        return 77;
    }
    json answer = Starts(*place, pairs, scale).measure();
    answer["engine"] = engine;
    printf("%s\n", answer.dump(1).c_str());
    return testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed() ? 1 : 0;
}
