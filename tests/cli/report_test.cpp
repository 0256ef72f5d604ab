// SPDX-License-Identifier: Apache-2.0
// warmpipe report: traces made into figures and into a page. What a browser makes of the page is
// tested in tests/report.
#include <algorithm>

#include <sys/stat.h>

#include "report_fixture.h"

namespace {

TEST_F(Report, ComparesTheColdStartWithTheWarmOne)
{
    cold_and_warm();
    const ordered_json program = document({put()})["programs"][0];
    EXPECT_EQ(program["name"], "alpha");
    EXPECT_EQ(program["device"], "Sample device");
    EXPECT_EQ(program["identity"], digest_b);
    EXPECT_EQ(program["cold"]["process"], 10);
    EXPECT_EQ(program["cold"]["reason"], "no_file");
    EXPECT_EQ(program["cold"]["requests"], 3);
    EXPECT_EQ(program["cold"]["miss"], 2);
    EXPECT_EQ(program["cold"]["shared"], 1);
    EXPECT_EQ(program["cold"]["objects"], 2);
    EXPECT_EQ(program["cold"]["objects_shared"], 1);
    EXPECT_EQ(program["cold"]["creation_ns"], 10000000);
    EXPECT_EQ(program["cold"]["clock_time_ns"], 10000000);
    EXPECT_EQ(program["cold"]["saves"], 1);
    EXPECT_EQ(program["warm"]["process"], 20);
    EXPECT_EQ(program["warm"]["hit"], 2);
    EXPECT_EQ(program["warm"]["creation_ns"], 200000);
    EXPECT_EQ(program["warm"]["load_ns"], 300000);
    EXPECT_EQ(program["warm"]["loaded"], 4096);
    EXPECT_EQ(program["ratio"], "50.00");
    EXPECT_EQ(program["runs"].size(), 2u);
}

// The second device of a cold start finds what the first has saved.
TEST_F(Report, AColdStartOfTwoDevicesIsCold)
{
    cold_and_warm();
    device(10, "cold", 25000, "alpha", 1);
    span(10, "cache", "load", 25100, 20, {{"bytes", 4096}, {"state", "loaded"}, {"reason", "ok"}});
    const ordered_json program = document({put()})["programs"][0];
    EXPECT_EQ(program["cold"]["process"], 10);
    EXPECT_EQ(program["cold"]["reason"], "no_file");
    EXPECT_EQ(program["warm"]["process"], 20);
    EXPECT_EQ(program["ratio"], "50.00");
}

TEST_F(Report, TheSlowestPipelineComesFirst)
{
    cold_and_warm();
    const ordered_json program = document({put()})["programs"][0];
    ASSERT_EQ(program["different_pipelines"], 2);
    const ordered_json first = program["dearest_pipelines"][0];
    EXPECT_EQ(first["digest"], digest_a);
    EXPECT_EQ(first["kind"], "graphics");
    EXPECT_EQ(first["cold_ns"], 8000000);
    EXPECT_EQ(first["warm_ns"], 180500);
    EXPECT_EQ(first["requests"], 4);
    EXPECT_EQ(program["dearest_pipelines"][1]["digest"], digest_b);
}

TEST_F(Report, TextAndJsonAgree)
{
    cold_and_warm();
    const std::string trace = put();
    std::vector<std::string> lines = lines_of(tool({trace}).out);
    lines.erase(std::remove(lines.begin(), lines.end(), ""), lines.end());
    const ordered_json program = document({trace})["programs"][0];
    size_t at = 0;
    for (const auto &[key, value] : program.items()) {
        if (value.is_array()) {
            at += 1 + value.size(); // headings, a line each
        } else if (value.is_object()) {
            EXPECT_EQ(lines[at], key);
            at += 1 + value.size();
        } else {
            std::string label = key;
            std::replace(label.begin(), label.end(), '_', ' ');
            EXPECT_EQ(lines[at].rfind(label + " ", 0), 0u) << lines[at];
            at++;
        }
    }
    EXPECT_EQ(at, lines.size());
    const std::string text = tool({trace}).out;
    EXPECT_TRUE(contains(text, "  shared              1 (33.3%)\n"));
    EXPECT_TRUE(contains(text, "\n\nrun  ")) << "an empty line before a table:\n" << text;
    EXPECT_TRUE(contains(text, "\n\ncold\n")) << "and behind it:\n" << text;
    EXPECT_FALSE(contains(text, "\n\n\n")) << text;
    EXPECT_TRUE(contains(tool({trace}).out, digest_a + "  graphics  8.0 ms  180 µs         4\n"))
        << tool({trace}).out;
}

TEST_F(Report, ProcessIdsComeAgain)
{
    for (int start = 0; start < 3; start++) {
        device(1, start ? "loaded" : "cold", 1000 * start);
        pipeline(1, 1000 * start + 10, start ? 1 : 100, digest_a, start ? "hit" : "miss");
    }
    const ordered_json program = document({put()})["programs"][0];
    EXPECT_EQ(program["runs"].size(), 3u);
    EXPECT_EQ(program["ratio"], "100.00");
}

TEST_F(Report, TwoDevicesOfAProcessAreOneRun)
{
    device(1, "cold", 1000, "alpha", 0);
    device(1, "cold", 1100, "alpha", 1);
    pipeline(1, 1200, 100, digest_a, "miss");
    EXPECT_EQ(document({put()})["programs"][0]["runs"].size(), 1u);
}

// Only devices with pipelines are told of, so the first one may have another number than 0.
TEST_F(Report, TheSameDeviceOnceMoreIsAnotherRun)
{
    for (int start = 0; start < 2; start++) {
        device(1, "cold", 1000 * start, "alpha", 1);
        pipeline(1, 1000 * start + 10, 100, digest_a, "miss");
    }
    EXPECT_EQ(document({put()})["programs"][0]["runs"].size(), 2u);
}

TEST_F(Report, SeveralFilesAndProgramsAtOnce)
{
    device(1, "loaded", 5000, "alpha");
    pipeline(1, 5100, 10, digest_a, "hit");
    const std::string later = put("later.json");
    events.clear();
    device(1, "cold", 1000, "alpha");
    pipeline(1, 1100, 40, digest_a, "miss");
    device(2, "cold", 2000, "beta");
    pipeline(2, 2100, 70, digest_b, "miss");
    const std::string first = put("first.json");
    const ordered_json all = document({later, first});
    ASSERT_EQ(all["programs"].size(), 2u);
    EXPECT_EQ(all["programs"][0]["name"], "alpha");
    EXPECT_EQ(all["programs"][0]["ratio"], "4.00");
    EXPECT_FALSE(all["programs"][1].contains("warm"));
    EXPECT_EQ(document({first, "--app", "beta"})["programs"].size(), 1u);
    const ToolResult none = tool({first, "--app", "gamma"});
    EXPECT_EQ(none.exit_status, 2);
    EXPECT_TRUE(contains(none.err, "no program 'gamma' in these traces"));
}

// A process is about to begin it.
TEST_F(Report, AnEmptyTraceHoldsNoProgramEither)
{
    const std::string expected = "report: no program 'alpha' in these traces";
    const std::string trace = put_text("");
    EXPECT_EQ(tool({trace, "--app", "alpha"}).err, "warmpipe: " + expected + "\n");
    EXPECT_EQ(document({trace, "--app", "alpha"}, 2)["error"], expected);
    EXPECT_EQ(tool({trace}).exit_status, 0);
}

TEST_F(Report, ARunIsInOneFile)
{
    for (int number = 0; number < 2; number++) {
        events.clear();
        device(1, "cold", 1000 + number, "alpha", number);
        pipeline(1, 1100, 40, digest_a, "miss");
        put(std::to_string(number));
    }
    EXPECT_EQ(document({"0", "1"})["programs"][0]["runs"].size(), 2u);
}

TEST_F(Report, TheFirstColdStartCounts)
{
    for (int process : {1, 2, 3}) {
        device(process, process < 3 ? "cold" : "loaded", 10000 * process);
        for (int i = 0; i < process; i++) {
            pipeline(process, 10000 * process + 1000 * i, 40, digest_a, "miss");
        }
    }
    const ordered_json program = document({put()})["programs"][0];
    EXPECT_EQ(program["cold"]["process"], 1);
    EXPECT_EQ(program["warm"]["process"], 3);
}

TEST_F(Report, TheClockStartsAnewWithTheMachine)
{
    device(1, "cold", 9000);
    pipeline(1, 9100, 40, digest_a, "miss");
    device(2, "loaded", 9500);
    pipeline(2, 9600, 4, digest_a, "hit");
    device(1, "loaded", 50);
    pipeline(1, 60, 2, digest_a, "hit");
    const ordered_json program = document({put()})["programs"][0];
    EXPECT_EQ(program["ratio"], "20.00");
    EXPECT_EQ(program["runs"][2]["creation_ns"], 2000);
}

TEST_F(Report, WhatWasCompiledAheadIsCounted)
{
    device(1, "cold", 1000);
    for (const char *result : {"compiled", "hit", "missing", "refused"}) {
        span(1, "prewarm", "prewarm", 1000, 500, {{"digest", digest_a}, {"result", result}}, 9);
    }
    pipeline(1, 9100, 40, digest_a, "hit");
    const ordered_json program = document({put()})["programs"][0];
    EXPECT_EQ(program["cold"]["prewarmed"], 2);
    EXPECT_TRUE(contains(page({"trace.json"}), "Compiled ahead"));
}

TEST_F(Report, WithoutAColdStartTheMostMissesAre)
{
    device(1, "loaded", 1000);
    pipeline(1, 1100, 10, digest_a, "hit");
    device(2, "loaded", 2000);
    pipeline(2, 2100, 90, digest_a, "miss");
    device(3, "loaded", 3000);
    pipeline(3, 3100, 30, digest_a, "hit");
    const ordered_json program = document({put()})["programs"][0];
    EXPECT_EQ(program["cold"]["process"], 2);
    EXPECT_EQ(program["warm"]["process"], 3);
}

TEST_F(Report, TheVariableNamesTheTrace)
{
    cold_and_warm();
    environment["WARMPIPE_TRACE"] = put();
    EXPECT_EQ(document({})["programs"][0]["name"], "alpha");
    environment["WARMPIPE_TRACE"] = folder.path + "/none";
    EXPECT_EQ(tool({}).exit_status, 2);
}

TEST_F(Report, WithoutATraceTheStoreIsTold)
{
    const std::string app = folder.path + "/root/alpha";
    std::filesystem::create_directories(app);
    chmod(app.c_str(), 0700);
    write_file(app + "/program.json", R"({"format":1,"since":1700000000,"starts":2,"requests":40,
        "shared":10,"driver_hits":20,"driver_misses":10,"create_ns":10400000000})");
    chmod((app + "/program.json").c_str(), 0600);
    const ToolResult result = tool({"--json"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(lines_of(result.err).size(), 1u);
    EXPECT_TRUE(contains(result.err, "WARMPIPE_TRACE")) << result.err;
    const ordered_json program = ordered_json::parse(result.out)["programs"][0];
    EXPECT_EQ(program["name"], "alpha");
    EXPECT_EQ(program["requests"], 40);
    EXPECT_EQ(program["driver_hits"], 20);
    EXPECT_FALSE(program.contains("runs"));
    EXPECT_EQ(tool({"--app", "gamma"}).exit_status, 2);

    write_file(app + "/program.json", "{");
    const ToolResult damaged = tool({});
    EXPECT_EQ(damaged.exit_status, 1);
    EXPECT_TRUE(contains(damaged.err, "(bad_program_file)")) << damaged.err;
}

TEST_F(Report, ADamagedTraceIsNamedAndTheRestIsTold)
{
    cold_and_warm();
    const std::string whole = put();
    const std::string text = read_file(whole);
    const std::string cut = put_text(text.substr(0, text.size() - 40), "cut.json");
    const ToolResult result = tool({cut, whole, "--json"});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_EQ(lines_of(result.err).size(), 1u);
    EXPECT_TRUE(contains(result.err, "'" + cut + "'")) << result.err;
    EXPECT_TRUE(contains(result.err, "(bad_trace)")) << result.err;
    EXPECT_EQ(ordered_json::parse(result.out)["programs"][0]["runs"].size(), 4u);

    // What makes no sense in one event costs that event only.
    for (const char *bad : {R"("ts":-1)", R"("ts":1e3)", R"("ts":"1")", R"("ts":9999999999999999)",
                            R"("ts":1,"dur":-2)", R"("ts":1,"args":{"digest":"xyz"})",
                            R"("ts":1,"args":[])", R"("ts":1,"pid":-3)"}) {
        std::string event =
            R"({"cat":"pipeline","ph":"X","name":"compute","dur":1,"pid":10,"tid":1,)";
        event += std::string(bad) + "}";
        put_text("[" + event + "," + text.substr(1), "bad.json");
        const ToolResult one = tool({"bad.json", "--json"});
        EXPECT_EQ(one.exit_status, 1) << bad;
        EXPECT_EQ(ordered_json::parse(one.out)["programs"][0]["cold"]["requests"], 3) << bad;
    }
}

TEST_F(Report, WhatIsNoTraceIsRefused)
{
    for (const char *text :
         {" ", "hello", "{}", "[1,2]", "[section]\nkey=value\n", R"([{"ph":"X","cat":"gpu"}])"}) {
        const ToolResult result = tool({put_text(text)});
        EXPECT_EQ(result.exit_status, 2) << text;
        EXPECT_EQ(result.out, "") << text;
        EXPECT_TRUE(contains(result.err, "(not_a_trace)")) << result.err;
    }
    EXPECT_EQ(tool({folder.path}).exit_status, 2);
    EXPECT_EQ(tool({"none.json"}).exit_status, 2);
    cold_and_warm();
    put("good.json");
    put_text("hello", "alien.json");
    const ToolResult both = tool({"alien.json", "good.json"});
    EXPECT_EQ(both.exit_status, 2);
    EXPECT_TRUE(contains(both.out, "ratio"));
}

TEST_F(Report, AnEmptyTraceIsNoFinding)
{
    for (const char *text : {"", "[\n]\n"}) {
        const ToolResult result = tool({put_text(text)});
        EXPECT_EQ(result.exit_status, 0);
        EXPECT_TRUE(contains(result.err, "no pipelines in these traces")) << result.err;
    }
}

TEST_F(Report, AHugeFileIsNotRead)
{
    put_text("[");
    std::filesystem::resize_file(folder.path + "/trace.json", 257u << 20);
    const ToolResult result = tool({"trace.json"});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "larger than 256 MiB (too_large)")) << result.err;
}

// --app is the name that the program was given, and a trace has its folder's.
TEST_F(Report, AnyNameIsAFoldersName)
{
    device(1, "cold", 1000, "hash_e38c288c2ec9886dd262c733a69b840d");
    pipeline(1, 1100, 40, digest_a, "miss");
    EXPECT_EQ(document({put(), "--app", "my.app"})["programs"].size(), 1u);
}

} // namespace
