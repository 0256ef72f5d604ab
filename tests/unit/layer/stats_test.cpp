// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

extern "C" {
#include "layer/trace/stats.h"
}

#include "child.h"
#include "file_fixture.h"
#include "scratch.h"

namespace {

using Json = nlohmann::ordered_json;

struct stats_line example()
{
    struct stats_line line = {};
    line.event = "destroy";
    line.app = "vkcube-12345678";
    line.device_index = 3;
    line.device = "Null hardware (RADV NAVI10)";
    line.driver = "radv";
    line.identity = "0123456789abcdef0123456789abcdef";
    line.state = CACHE_STATE_REJECTED;
    line.reason = STATUS_bad_section_digest;
    line.loaded_bytes = 18446744073709551615u;
    line.saved_bytes = 472288;
    return line;
}

std::string formatted(const struct stats &stats, const struct stats_line &line)
{
    struct bytes out = {};
    stats_format(&stats, &line, &out);
    EXPECT_FALSE(out.failed);
    const std::string text(reinterpret_cast<const char *>(out.data), out.size);
    bytes_free(&out);
    return text;
}

TEST(Stats, TheLineIsExactlyThis)
{
    struct stats stats = {};
    for (int field = 0; field < STATS_FIELD_COUNT; field++) {
        stats_add(&stats, static_cast<enum stats_field>(field), 100 + static_cast<uint64_t>(field));
    }
    EXPECT_EQ(
        formatted(stats, example()),
        "{\"event\":\"destroy\",\"pid\":" + std::to_string(getpid()) +
            ",\"app\":\"vkcube-12345678\",\"dev\":3,\"device\":\"Null hardware (RADV NAVI10)\","
            "\"driver\":\"radv\",\"identity\":\"0123456789abcdef0123456789abcdef\","
            "\"cache\":{\"state\":\"rejected\",\"reason\":\"bad_section_digest\","
            "\"loaded_bytes\":18446744073709551615,\"saved_bytes\":472288},"
            "\"pipelines\":{\"requested\":100,\"deduplicated\":101,\"injected\":102,\"passed\":103,"
            "\"driver_hits\":104,\"driver_misses\":105,\"prewarmed\":106,\"create_ns\":107},"
            "\"app_caches\":{\"created\":108,\"served\":109,\"harvested\":110,\"read_back\":111},"
            "\"modules\":{\"requested\":112,\"deduplicated\":113},"
            "\"set_layouts\":{\"requested\":114,\"deduplicated\":115},"
            "\"pipeline_layouts\":{\"requested\":116,\"deduplicated\":117},"
            "\"templates\":{\"requested\":118,\"deduplicated\":119}}\n");
}

TEST(Stats, ParsesBack)
{
    struct stats stats = {};
    stats_add(&stats, STATS_pipelines_create_ns, UINT64_MAX);
    const Json json = Json::parse(formatted(stats, example()));
    EXPECT_EQ(json["pipelines"]["create_ns"].get<uint64_t>(), UINT64_MAX);
    EXPECT_EQ(json["cache"]["loaded_bytes"].get<uint64_t>(), UINT64_MAX);
    EXPECT_EQ(json["dev"], 3);
    EXPECT_EQ(json["pid"], getpid());
    std::vector<std::string> keys;
    for (const auto &item : json.items()) {
        keys.push_back(item.key());
    }
    EXPECT_EQ(keys,
              (std::vector<std::string>{"event", "pid", "app", "dev", "device", "driver",
                                        "identity", "cache", "pipelines", "app_caches", "modules",
                                        "set_layouts", "pipeline_layouts", "templates"}));
}

TEST(Stats, AppendsToWhatIsThere)
{
    const struct stats stats = {};
    const struct stats_line line = example();
    struct bytes out = {};
    stats_format(&stats, &line, &out);
    const size_t one = out.size;
    stats_format(&stats, &line, &out);
    ASSERT_EQ(out.size, 2 * one);
    EXPECT_EQ(memcmp(out.data, out.data + one, one), 0);
    bytes_free(&out);
}

std::string app_parsed_back(const char *app)
{
    const struct stats stats = {};
    struct stats_line line = example();
    line.app = app;
    const std::string text = formatted(stats, line);
    EXPECT_EQ(text.find('\n'), text.size() - 1);
    return Json::parse(text)["app"];
}

TEST(Stats, StringsAreEscaped)
{
    std::string control;
    for (char c = 1; c < 0x20; c++) {
        control += c;
    }
    for (const std::string &text :
         {std::string("plain"), std::string("\"quoted\" \\ back/slash"), control,
          std::string("\x7f"), std::string("é漢😀"), std::string("\xe2\x80\xa8"),
          std::string("\",\"pid\":0,\"x\":\""), std::string("")}) {
        EXPECT_EQ(app_parsed_back(text.c_str()), text);
    }
    EXPECT_EQ(app_parsed_back(nullptr), "");
}

TEST(Stats, WhatIsNoUtf8BecomesTheReplacementCharacter)
{
    const std::string replacement = "\xef\xbf\xbd";
    EXPECT_EQ(app_parsed_back("a\xff"
                              "b"),
              "a" + replacement + "b");
    EXPECT_EQ(app_parsed_back("\xc3"), replacement);
    EXPECT_EQ(app_parsed_back("\xe2\x82"), replacement + replacement);
    EXPECT_EQ(app_parsed_back("\xed\xa0\x80"), replacement + replacement + replacement);
    EXPECT_EQ(app_parsed_back("\xc0\xaf|\xc3\xa9"), replacement + replacement + "|é");
}

TEST(Stats, EveryString)
{
    const struct stats stats = {};
    struct stats_line line = example();
    line.event = "e\"";
    line.device = "d\\";
    line.driver = "r\n";
    line.identity = "i\xff";
    const Json json = Json::parse(formatted(stats, line));
    EXPECT_EQ(json["event"], "e\"");
    EXPECT_EQ(json["device"], "d\\");
    EXPECT_EQ(json["driver"], "r\n");
    EXPECT_EQ(json["identity"], "i\xef\xbf\xbd");
}

TEST(Stats, StatesAndReasons)
{
    const std::map<enum cache_state, std::string> names = {
        {CACHE_STATE_COLD, "cold"},         {CACHE_STATE_LOADED, "loaded"},
        {CACHE_STATE_REJECTED, "rejected"}, {CACHE_STATE_QUARANTINED, "quarantined"},
        {CACHE_STATE_DENIED, "denied"},     {CACHE_STATE_INEFFECTIVE, "ineffective"},
        {CACHE_STATE_OFF, "off"},
    };
    const struct stats stats = {};
    struct stats_line line = example();
    line.reason = STATUS_ok;
    for (const auto &[state, name] : names) {
        line.state = state;
        const Json cache = Json::parse(formatted(stats, line))["cache"];
        EXPECT_EQ(cache["state"], name);
        EXPECT_EQ(cache["reason"], "");
    }
}

TEST(Stats, AddFromManyThreads)
{
    struct stats stats = {};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&] {
            for (int j = 0; j < 10000; j++) {
                stats_add(&stats, STATS_modules_requested, 2);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(stats_get(&stats, STATS_modules_requested), 80000u);
    EXPECT_EQ(stats_get(&stats, STATS_modules_deduplicated), 0u);
}

TEST(StatsAppend, LinesOfEightProcessesDoNotMix)
{
    constexpr int processes = 8;
    constexpr int lines = 200;
    Scratch scratch;
    std::vector<pid_t> children;
    for (int process = 0; process < processes; process++) {
        const pid_t child = fork();
        if (child == 0) {
            const std::string app(2000, static_cast<char>('a' + process));
            struct stats_line line = example();
            line.app = app.c_str();
            for (int i = 0; i < lines; i++) {
                struct stats stats = {};
                stats_add(&stats, STATS_modules_requested, static_cast<uint64_t>(i));
                stats_append(scratch.path("stats").c_str(), &stats, &line);
            }
            _exit(0);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        EXPECT_EQ(waitpid(child, nullptr, 0), child);
    }

    std::map<pid_t, int> next;
    std::ifstream file(scratch.path("stats"));
    for (std::string text; std::getline(file, text);) {
        const Json json = Json::parse(text);
        const std::string app = json["app"];
        ASSERT_EQ(app, std::string(2000, app[0]));
        ASSERT_EQ(json["modules"]["requested"], next[json["pid"]]++);
    }
    ASSERT_EQ(next.size(), static_cast<size_t>(processes));
    for (const auto &[pid, count] : next) {
        EXPECT_EQ(count, lines) << pid;
    }
}

TEST(StatsAppend, TheFileIsPrivate)
{
    Scratch scratch;
    const Umask none(0);
    const struct stats stats = {};
    const struct stats_line line = example();
    stats_append(scratch.path("stats").c_str(), &stats, &line);
    struct stat status;
    ASSERT_EQ(stat(scratch.path("stats").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST(StatsAppend, AFailureIsToldOnce)
{
    const Scratch scratch;
    const std::string path = scratch.path("none/stats");
    const ChildResult result = run_in_child([&] {
        const struct stats stats = {};
        const struct stats_line line = example();
        stats_append(path.c_str(), &stats, &line);
        stats_append(path.c_str(), &stats, &line);
    });
    EXPECT_EQ(result.lines(),
              (std::vector<std::string>{"warmpipe: warn: cannot write statistics to '" + path +
                                        "': No such file or directory (no_file)"}));
}

TEST(StatsAppend, APipeWithoutAReaderStopsNobody)
{
    Scratch scratch;
    ASSERT_EQ(mkfifo(scratch.path("stats").c_str(), 0600), 0);
    const ChildResult result = run_in_child([&] {
        const struct stats stats = {};
        const struct stats_line line = example();
        stats_append(scratch.path("stats").c_str(), &stats, &line);
    });
    EXPECT_EQ(result.lines().size(), 1u);
}

// `PROGRAM >file`: the shell does not open it to append.
TEST(StatsAppend, TheProgramDoesNotWriteOverThemInItsOwnOutput)
{
    Scratch scratch;
    const ChildResult result = run_in_child([&] {
        const int fd = open(scratch.path("out").c_str(), O_WRONLY | O_CREAT, 0600);
        const struct stats stats = {};
        const struct stats_line line = example();
        ASSERT_EQ(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
        for (const std::string &path : {std::string("/dev/stdout"), "/dev/fd/" + std::to_string(fd),
                                        "/proc/self/fd/" + std::to_string(fd)}) {
            ASSERT_EQ(write(STDOUT_FILENO, "mine\n", 5), 5);
            stats_append(path.c_str(), &stats, &line);
        }
        ASSERT_EQ(write(STDOUT_FILENO, "mine\n", 5), 5);
    });
    EXPECT_EQ(result.standard_error, "");
    std::string starts;
    std::ifstream file(scratch.path("out"));
    for (std::string text; std::getline(file, text);) {
        starts += text[0];
    }
    EXPECT_EQ(starts, "m{m{m{m");
}

TEST(StatsAppend, ALinkIsNotFollowed)
{
    Scratch scratch;
    std::ofstream(scratch.path("victim")) << "mine";
    std::filesystem::create_symlink(scratch.path("victim"), scratch.path("stats"));
    const ChildResult result = run_in_child([&] {
        const struct stats stats = {};
        const struct stats_line line = example();
        stats_append(scratch.path("stats").c_str(), &stats, &line);
        stats_append("/dev/stdout", &stats, &line); // the system's own link
    });
    ASSERT_EQ(result.lines().size(), 1u);
    EXPECT_NE(result.lines()[0].find("(symlink)"), std::string::npos) << result.lines()[0];
    EXPECT_EQ(scratch.read("victim"), "mine");
}

} // namespace
