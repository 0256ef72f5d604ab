// SPDX-License-Identifier: Apache-2.0
#include "real_drivers.hpp"

#include "paths.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <sys/wait.h>
#include <unistd.h>

namespace {

// What tests/drivers/environment prints: the variables, or on failure why there is no such device.
struct Answer {
    bool found;
    std::string text;
};

Answer ask_for(const std::string &devices)
{
    const std::string command = std::string("\"" DRIVERS_ENVIRONMENT "\" ") + devices + " 2>&1";
    Answer answer = {};
    FILE *pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) {
        return answer;
    }
    char buffer[4096];
    for (size_t size; (size = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
        answer.text.append(buffer, size);
    }
    const int status = pclose(pipe);
    answer.found = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return answer;
}

} // namespace

void RealDriversTest::use_devices(const std::string &devices)
{
    const Answer answer = ask_for(devices);
    if (!answer.found) {
        GTEST_SKIP() << answer.text;
    }
    device_environment = {
        // Their locks cannot be seen, so what they protect would look like races.
        {"TSAN_OPTIONS", "ignore_noninstrumented_modules=1"},
        // A preloaded library comes before the sanitizer's own.
        {"ASAN_OPTIONS", "verify_asan_link_order=0"},
        // Else Mesa's own disk cache answers before the compiler does.
        {"MESA_SHADER_CACHE_DISABLE", "true"},
    };
    std::istringstream lines(answer.text);
    for (std::string line; std::getline(lines, line);) {
        const size_t equals = line.find('=');
        device_environment[line.substr(0, equals)] = line.substr(equals + 1);
    }
}

void RealDriversTest::use_radv(const std::string &family)
{
    use_devices("radv-" + family);
}

void RealDriversTest::use_radv_raytracing()
{
    use_radv("navi21");
    environment["RADV_PERFTEST"] = "rt"; // Mesa 22 offers it on request
}

void RealDriversTest::preload_here()
{
    if (device_environment.count("LD_PRELOAD") == 0 || std::getenv("LD_PRELOAD")) {
        return;
    }
    // The sanitizer's own options stay, and none looks for leaks: what is preloaded has some.
    const std::map<std::string, std::string> whole = whole_environment();
    for (const auto &device_variable : device_environment) {
        const std::string &name = device_variable.first;
        setenv(name.c_str(), whole.at(name).c_str(), 1);
    }
    std::ifstream file("/proc/self/cmdline");
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');) {
        words.push_back(word);
    }
    std::vector<char *> arguments;
    for (std::string &word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    execv("/proc/self/exe", arguments.data());
    FAIL() << "cannot start this process again";
}

void RealDriversTest::use_lavapipe()
{
    use_devices("lavapipe");
}

ClientRun RealDriversTest::client(const std::vector<std::string> &options, Layer layer)
{
    std::vector<std::string> command = {PIPELINES_CLIENT, "--compute", "20", "--graphics", "10"};
    command.insert(command.end(), options.begin(), options.end());
    ClientRun run{execute(command, {layer, true, 0}), {}};
    run.said = json::parse(run.outcome.output, nullptr, false);
    EXPECT_TRUE(run.said.is_object()) << run.outcome.output << run.outcome.errors;
    if (run.said.is_object()) {
        EXPECT_EQ(run.said["failed_calls"], 0);
    }
    return run;
}

ClientRun RealDriversTest::plain_client(const std::vector<std::string> &options)
{
    const std::string enabled = environment["WARMPIPE_ENABLE"];
    environment.erase("WARMPIPE_ENABLE");
    const ClientRun run = client(options, Layer::absent);
    environment["WARMPIPE_ENABLE"] = enabled;
    return run;
}

std::vector<std::string> RealDriversTest::after_prewarm(std::vector<std::string> arguments)
{
    const std::string log = (folder() / "prewarm.log").string();
    remove_caches();
    environment.erase("WARMPIPE_PREWARM");
    environment["WARMPIPE_LOG"] = "info:" + log;
    arguments.insert(arguments.end(), {"--after", log + "=prewarmed "});
    return arguments;
}

void RealDriversTest::expect_warm(const ClientRun &run, unsigned pipelines, unsigned device)
{
    EXPECT_EQ(run.cache(device)["state"], "loaded");
    EXPECT_EQ(run.cache(device)["saved_bytes"], 0);
    EXPECT_EQ(run.pipelines(device)["requested"], pipelines);
    EXPECT_EQ(run.pipelines(device)["driver_hits"], pipelines);
    EXPECT_EQ(run.pipelines(device)["driver_misses"], 0);
}
