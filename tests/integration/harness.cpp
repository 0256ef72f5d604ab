// SPDX-License-Identifier: Apache-2.0
#include "harness.hpp"
#include "paths.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/scratch.h"

namespace fs = std::filesystem;

extern "C" void __lsan_do_leak_check() __attribute__((weak));
extern "C" void __sanitizer_set_death_callback(void (*)()) __attribute__((weak));

void leak_from_here_on()
{
    if (__lsan_do_leak_check != nullptr) {
        __lsan_do_leak_check();
    }
}

// Whether a thread other than the caller's is not asleep.
static bool another_thread_runs()
{
    const std::string own = std::to_string(gettid());
    for (const fs::directory_entry &entry : fs::directory_iterator("/proc/self/task")) {
        const std::string stat = read_text(entry.path() / "stat");
        const size_t name_end = stat.rfind(") "); // empty: the thread has just ended
        if (entry.path().filename() != own && name_end != std::string::npos &&
            stat.compare(name_end + 2, 1, "S") != 0) {
            return true;
        }
    }
    return false;
}

pid_t fork_in_quiet()
{
    if (__sanitizer_set_death_callback != nullptr) {
        // A thread that sleeps between two looks may have run between them, so three in a row.
        for (int quiet = 0, looks = 0; quiet < 3 && looks < 10000; looks++) {
            quiet = another_thread_runs() ? 0 : quiet + 1;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    return fork();
}

void fork_and_exit()
{
    const pid_t child = fork_in_quiet();
    if (child == 0) {
        std::exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

std::string read_text(const fs::path &path)
{
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

void die()
{
    if (!::testing::Test::HasFailure()) {
        raise(SIGKILL);
    }
}

std::vector<uint8_t> read_bytes(const fs::path &path)
{
    const std::string text = read_text(path);
    return {text.begin(), text.end()};
}

void write_bytes(const fs::path &path, const std::vector<uint8_t> &bytes)
{
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    stream.write(reinterpret_cast<const char *>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(stream.good()) << path;
}

static std::vector<std::string> lines_of(const std::string &text)
{
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

// A process that is killed may be so within the write of its last line.
static std::vector<json> json_lines(const fs::path &path, bool is_killed)
{
    std::vector<json> objects;
    std::string text = read_text(path);
    if (is_killed) {
        text.erase(text.rfind('\n') + 1);
    }
    for (const std::string &line : lines_of(text)) {
        json object = json::parse(line, nullptr, false);
        EXPECT_FALSE(object.is_discarded()) << path << ": " << line;
        objects.push_back(object);
    }
    return objects;
}

json Outcome::stats_of(unsigned device) const
{
    const auto last = std::find_if(stats.rbegin(), stats.rend(),
                                   [&](const json &line) { return line["dev"] == device; });
    if (last == stats.rend()) {
        ADD_FAILURE() << "no statistics of device " << device;
        return json::parse(R"({"cache":{},"pipelines":{},"app_caches":{}})");
    }
    return *last;
}

std::vector<json> Outcome::events(const std::string &name) const
{
    std::vector<json> found;
    std::copy_if(driver.begin(), driver.end(), std::back_inserter(found),
                 [&](const json &event) { return event["event"] == name; });
    return found;
}

std::vector<json> Outcome::pipelines() const
{
    return events("pipeline");
}

size_t Outcome::hits() const
{
    const std::vector<json> all = pipelines();
    return static_cast<size_t>(std::count_if(
        all.begin(), all.end(), [](const json &event) { return event["hit"] == true; }));
}

uint64_t Outcome::calls(const std::string &command) const
{
    const std::vector<json> counts = events("calls");
    return counts.empty() ? 0 : counts.back().value(command, uint64_t{0});
}

std::vector<std::string> Outcome::violations() const
{
    std::vector<std::string> ids;
    for (const json &event : events("violation")) {
        ids.push_back(event["id"]);
    }
    return ids;
}

std::vector<std::string> Outcome::log() const
{
    std::vector<std::string> lines = lines_of(errors);
    lines.erase(
        std::remove_if(lines.begin(), lines.end(),
                       [](const std::string &line) { return line.rfind("warmpipe: ", 0) != 0; }),
        lines.end());
    return lines;
}

LayerTest::LayerTest()
{
    std::string pattern = scratch_place() + "warmpipe-test-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    fs::create_directory(folder_ / "home");
    environment = {
        {"HOME", folder_ / "home"},
        {"XDG_DATA_HOME", WARMPIPE_SHARE},
        {"VK_DRIVER_FILES", TEST_ICD_MANIFEST},
        {"VK_ICD_FILENAMES", TEST_ICD_MANIFEST},
        {"NODEVICE_SELECT", "1"},
        {"WARMPIPE_ENABLE", "1"},
        {"WARMPIPE_DIR", cache_root()},
        {"WARMPIPE_APP", "test"},
        {"WARMPIPE_PREWARM", "off"}, // a test that takes a cache away wants it to be missed
    };
    for (const char *inherited : {"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "ASAN_OPTIONS",
                                  "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"}) {
        if (const char *value = std::getenv(inherited)) {
            environment[inherited] = value;
        }
    }
    // Executed programs: drivers leak, and some programs leave without destroying.
    environment["ASAN_OPTIONS"] += ":detect_leaks=0";
}

LayerTest::~LayerTest()
{
    std::error_code error;
    fs::remove_all(folder_, error);
}

std::vector<fs::path> LayerTest::cache_files() const
{
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto &entry : fs::recursive_directory_iterator(cache_root(), error)) {
        if (entry.path().extension() == ".wpcache") {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

fs::path LayerTest::cache_file() const
{
    const std::vector<fs::path> files = cache_files();
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? fs::path() : files.front();
}

void LayerTest::remove_caches() const
{
    for (const fs::path &file : cache_files()) {
        fs::remove(file);
    }
}

void LayerTest::set_policy(const std::string &text)
{
    const fs::path path = folder_ / "policy";
    std::ofstream(path) << text;
    environment["WARMPIPE_POLICY"] = path;
}

static void redirect(int fd, const fs::path &path)
{
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0 || dup2(file, fd) < 0) {
        _exit(125);
    }
    close(file);
}

static int wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static bool drop_privileges(unsigned user)
{
    return setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0;
}

bool LayerTest::become_unprivileged()
{
    constexpr unsigned nobody = 65534;
    if (geteuid() != 0) {
        return true;
    }
    const pid_t child = fork();
    if (child == 0) {
        const bool open = drop_privileges(nobody) && access(TEST_ICD_MANIFEST, R_OK) == 0 &&
                          access(WARMPIPE_LIBRARY, R_OK) == 0;
        _exit(open ? 0 : 1);
    }
    if (wait_for(child) != 0) {
        return false;
    }
    user_ = nobody;
    EXPECT_EQ(chown(folder_.c_str(), user_, user_), 0);
    for (const auto &entry : fs::recursive_directory_iterator(folder_)) {
        EXPECT_EQ(lchown(entry.path().c_str(), user_, user_), 0);
    }
    return true;
}

std::map<std::string, std::string> LayerTest::whole_environment() const
{
    std::map<std::string, std::string> whole = environment;
    for (const auto &[name, value] : device_environment) {
        const bool adds = name == "LD_PRELOAD" || name == "ASAN_OPTIONS" || name == "TSAN_OPTIONS";
        std::string &variable = whole[name];
        variable = adds && !variable.empty() ? variable + ":" + value : value;
    }
    return whole;
}

Outcome LayerTest::start(const std::function<void()> &in_child, const Expected &expected)
{
    const fs::path base = folder_ / ("run-" + std::to_string(++runs_));
    const fs::path stats = base.string() + ".stats";
    const fs::path events = base.string() + ".driver";
    const fs::path output = base.string() + ".out";
    const fs::path errors = base.string() + ".err";
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        redirect(STDOUT_FILENO, output);
        redirect(STDERR_FILENO, errors);
        if (user_ != 0 && !drop_privileges(user_)) {
            _exit(126);
        }
        clearenv();
        setenv("WARMPIPE_STATS", stats.c_str(), 1);
        setenv("WPTEST_ICD_LOG", events.c_str(), 1);
        for (const auto &[name, value] : whole_environment()) {
            setenv(name.c_str(), value.c_str(), 1);
        }
        try {
            in_child();
        } catch (const std::exception &error) {
            // GoogleTest would end the test here, in the child, and remove the test's folder.
            ADD_FAILURE() << error.what();
        }
        std::exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    Outcome run;
    run.status = wait_for(child);
    run.output = read_text(output);
    run.errors = read_text(errors);
    const bool is_killed = run.status < 0;
    run.stats = json_lines(stats, is_killed);
    run.driver = json_lines(events, is_killed);

    if (!expected.any_status) {
        EXPECT_EQ(run.status, expected.status) << run.output << run.errors;
    }
    if (expected.layer == Layer::works) {
        EXPECT_FALSE(run.stats.empty()) << "the layer was not in the chain: " << run.errors;
    } else if (expected.layer == Layer::absent) {
        EXPECT_TRUE(run.stats.empty()) << "the layer was at work: " << run.errors;
    }
    if (expected.clean) {
        EXPECT_EQ(run.violations(), std::vector<std::string>()) << run.errors;
    }
    return run;
}

Outcome LayerTest::run(const std::function<void()> &program, const Expected &expected)
{
    return start(program, expected);
}

Outcome LayerTest::execute(const std::vector<std::string> &command, const Expected &expected)
{
    return start(
        [&] {
            std::vector<char *> arguments;
            for (const std::string &argument : command) {
                arguments.push_back(const_cast<char *>(argument.c_str()));
            }
            arguments.push_back(nullptr);
            execvp(arguments[0], arguments.data());
            std::perror(arguments[0]);
            _exit(127);
        },
        expected);
}
