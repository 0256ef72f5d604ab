// SPDX-License-Identifier: Apache-2.0
// The page of warmpipe report. What a browser makes of it is tested in tests/report.
#include <sys/stat.h>

#include "report_fixture.h"

namespace {

TEST_F(Report, ThePageNeedsNothingElse)
{
    cold_and_warm();
    const std::string html = page({put()});
    EXPECT_TRUE(contains(html, "default-src 'none'"));
    EXPECT_FALSE(contains(html, "unsafe-"));
    EXPECT_TRUE(contains(html, "name=\"viewport\""));
    for (const char *address : {"http:", "https:", "src=", "url(", "@import", " style=", "{{"}) {
        EXPECT_FALSE(contains(html, address)) << address;
    }
    // The figures stand in it without the script.
    for (const char *figure : {"10.0 ms", "200 µs", "50 times faster", "4.00 KiB",
                               "warmpipe " WARMPIPE_VERSION, "Linux"}) {
        EXPECT_TRUE(contains(html, figure)) << figure;
    }
    EXPECT_TRUE(contains(html, digest_a));
    EXPECT_EQ(html, page({"trace.json"})) << "the same input gives the same page";
}

TEST_F(Report, OfVeryManySpansTheLongestAreShown)
{
    device(1, "cold", 1000);
    for (int i = 0; i < 20010; i++) {
        pipeline(1, 1000 + 10 * i, i % 10 + 0.5, digest_a, "shared");
    }
    pipeline(1, 900000, 9999, digest_b, "miss");
    const std::string html = page({put()});
    EXPECT_TRUE(contains(html, "The longest 20,000 of 20,011 spans are shown."));
    const std::string start = "id=\"timelines\">";
    const size_t at = html.find(start) + start.size();
    const ordered_json timelines =
        ordered_json::parse(html.substr(at, html.find("</script>", at) - at));
    const ordered_json run = timelines["programs"][0]["runs"][0];
    EXPECT_EQ(run["spans"].size(), 7u * 20000);
    EXPECT_EQ(timelines["programs"][0]["digests"], ordered_json({digest_a, digest_b}));
    EXPECT_EQ(document({"trace.json"})["programs"][0]["cold"]["requests"], 20011);
}

TEST_F(Report, SpansInsideOthersAndManyThreadsFindTheirPlaces)
{
    device(1, "cold", 1000);
    for (int thread = 0; thread < 100; thread++) {
        span(1, "pipeline", "compute", 1000, 100, {{"digest", digest_a}, {"result", "miss"}},
             1 + thread);
    }
    span(1, "cache", "load", 1010, 50, {{"state", "cold"}, {"reason", "no_file"}});
    span(1, "object", "module", 1100, 5, {{"digest", digest_a}, {"result", "created"}});
    const std::string html = page({put()});
    const std::string start = "id=\"timelines\">";
    const size_t at = html.find(start) + start.size();
    const ordered_json timelines =
        ordered_json::parse(html.substr(at, html.find("</script>", at) - at));
    const ordered_json run = timelines["programs"][0]["runs"][0];
    EXPECT_EQ(run["lanes"].size(), 48u);
    const ordered_json cold = document({"trace.json"})["programs"][0]["cold"];
    EXPECT_EQ(cold["creation_ns"], 10000000);
    EXPECT_EQ(cold["clock_time_ns"], 100000) << "all at the same time";
    EXPECT_EQ(run["lanes"][0]["rows"], 2) << "the load lies below what waited for it";
    EXPECT_EQ(run["lanes"][47]["name"], "other threads");
    EXPECT_EQ(run["spans"].size(), 7u * 102);
    EXPECT_EQ(run["spans"][7 * 2 + 1], 0) << "what comes after is in the first row again";
}

TEST_F(Report, NamesInTheTraceAreNoMarkup)
{
    const std::string hostile = "</script><b>&\"'\x1b[31m";
    device(1, "cold", 1000, hostile);
    span(1, "object", hostile, 1010, 5, {{"digest", digest_b}, {"result", hostile}});
    pipeline(1, 1100, 100, digest_a, hostile, hostile);
    span(1, "cache", "load", 1000, 20, {{"state", hostile}, {"reason", hostile}});
    const std::string html = page({put()});
    EXPECT_FALSE(contains(html, "</script><b>"));
    EXPECT_FALSE(contains(html, "\x1b"));
    EXPECT_TRUE(contains(html, "&lt;/script&gt;&lt;b&gt;&amp;&quot;&#39;"));
    EXPECT_TRUE(contains(html, "\\u003c/script\\u003e\\u003cb\\u003e\\u0026"));
    const ToolResult text = tool({"trace.json"});
    EXPECT_FALSE(contains(text.out, "\x1b"));
    EXPECT_EQ(document({"trace.json"})["programs"][0]["name"], hostile);
}

TEST_F(Report, ThePageReplacesAFileWholeOrNotAtAll)
{
    cold_and_warm();
    const std::string trace = put();
    const std::string out = folder.path + "/page.html";
    write_file(out, "before");
    std::filesystem::create_symlink("page.html", folder.path + "/link.html");
    ToolResult result = tool({trace, "--html", "link.html"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(result.out + result.err, "");
    EXPECT_EQ(read_file(out), page({trace}));
    EXPECT_TRUE(std::filesystem::is_symlink(folder.path + "/link.html"));

    for (const char *path : {".", "none/page.html", "trace.json/page.html"}) {
        result = tool({trace, "--html", path});
        EXPECT_EQ(result.exit_status, 2) << path;
        EXPECT_TRUE(contains(result.err, "cannot write")) << result.err;
    }
    // What is no file is written to, not replaced.
    const std::string pipe = folder.path + "/pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const ToolResult piped = run_shell(
        "$tool report trace.json --html pipe & timeout 20 cat pipe | wc -c; wait; test -p pipe",
        folder.path);
    EXPECT_EQ(piped.exit_status, 0) << piped.err;
    EXPECT_EQ(std::stoul(piped.out), page({trace}).size());

    EXPECT_EQ(document({trace, "--html", "page.html"})["programs"].size(), 1u);
    EXPECT_EQ(tool({trace, "--html", "-", "--json"}).exit_status, 2);
}

} // namespace
