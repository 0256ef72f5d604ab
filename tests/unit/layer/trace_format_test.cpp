// SPDX-License-Identifier: Apache-2.0
// Events as JSON.
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

extern "C" {
#include "layer/trace/trace.h"
}

namespace {

using nlohmann::json;

constexpr struct trace_source source = {4711, 2};

class TraceFormat : public ::testing::Test {
  protected:
    void TearDown() override
    {
        bytes_free(&out);
    }

    // What was put, which stands behind a comma and a newline.
    json put()
    {
        const std::string text(reinterpret_cast<const char *>(out.data), out.size);
        EXPECT_EQ(text.substr(0, 2), ",\n");
        EXPECT_EQ(text.find('\n', 2), std::string::npos) << "one event a line";
        out.size = 0;
        return json::parse(text.substr(2));
    }

    json event(const struct trace_event &event)
    {
        trace_format_event(&source, &event, &out);
        return put();
    }

    struct bytes out = {};
};

TEST_F(TraceFormat, APipeline)
{
    struct trace_event pipeline = {};
    pipeline.kind = TRACE_PIPELINE;
    pipeline.thread = 4712;
    pipeline.start_ns = 1002003;
    pipeline.end_ns = 1003000;
    pipeline.name = "compute";
    pipeline.result = "miss";
    pipeline.content = {0x23, 0x1};
    EXPECT_EQ(event(pipeline), json::parse(R"({"ph":"X","name":"compute","cat":"pipeline",
        "pid":4711,"tid":4712,"ts":1002.003,"dur":0.997,
        "args":{"digest":"00000000000000010000000000000023","result":"miss","dev":2}})"));
    pipeline.content = {};
    EXPECT_FALSE(event(pipeline)["args"].contains("digest")) << "it is not known";
}

TEST_F(TraceFormat, EachKindHasItsCategory)
{
    const std::pair<enum trace_kind, const char *> kinds[] = {{TRACE_PIPELINE, "pipeline"},
                                                              {TRACE_OBJECT, "object"},
                                                              {TRACE_CACHE, "cache"},
                                                              {TRACE_PREWARM, "prewarm"}};
    for (const auto &[kind, category] : kinds) {
        struct trace_event span = {};
        span.kind = kind;
        span.name = "x";
        EXPECT_EQ(event(span)["cat"], category);
    }
}

TEST_F(TraceFormat, WhatHappensToTheCache)
{
    struct trace_event load = {};
    load.kind = TRACE_CACHE;
    load.name = "load";
    load.amount = UINT64_MAX;
    EXPECT_EQ(event(load)["args"], (json{{"bytes", UINT64_MAX}, {"dev", 2}}));
    load.result = "rejected";
    load.reason = "bad_magic";
    EXPECT_EQ(
        event(load)["args"],
        (json{{"bytes", UINT64_MAX}, {"state", "rejected"}, {"reason", "bad_magic"}, {"dev", 2}}));
}

TEST_F(TraceFormat, TimesKeepTheirThousandths)
{
    struct trace_event span = {};
    span.kind = TRACE_PIPELINE;
    span.name = "x";
    for (const auto &[ns, text] : {std::pair<uint64_t, const char *>{0, "\"ts\":0.000,"},
                                   {7, "\"ts\":0.007,"},
                                   {1000, "\"ts\":1.000,"},
                                   {99999, "\"ts\":99.999,"},
                                   {UINT64_MAX, "\"ts\":18446744073709551.615,"}}) {
        span.start_ns = span.end_ns = ns;
        trace_format_event(&source, &span, &out);
        const std::string line(reinterpret_cast<const char *>(out.data), out.size);
        EXPECT_NE(line.find(text), std::string::npos) << line;
        put();
    }
}

TEST_F(TraceFormat, ThreadsAndProcessesAreNamed)
{
    struct trace_event thread = {};
    thread.kind = TRACE_THREAD;
    thread.thread = 9;
    thread.name = "warmpipe worker";
    EXPECT_EQ(event(thread), json::parse(R"({"ph":"M","name":"thread_name","pid":4711,"tid":9,
        "args":{"name":"warmpipe worker"}})"));
    trace_format_process(&source, "a \"game\"\n\xff\xc3\xa9", &out);
    EXPECT_EQ(put(), (json{{"ph", "M"},
                           {"name", "process_name"},
                           {"pid", 4711},
                           {"tid", 4711},
                           {"args", {{"name", "a \"game\"\n\xef\xbf\xbd\xc3\xa9"}}}}));
}

TEST_F(TraceFormat, WhatWasDroppedIsAnInstant)
{
    struct trace_event dropped = {};
    dropped.kind = TRACE_DROPPED;
    dropped.name = "dropped";
    dropped.amount = 12;
    dropped.thread = 1;
    EXPECT_EQ(event(dropped), json::parse(R"({"ph":"i","name":"dropped","pid":4711,"cat":"trace",
        "tid":1,"s":"p","ts":0.0,"args":{"events":12,"dev":2}})"));
}

TEST_F(TraceFormat, DevicesMayHaveAnyName)
{
    struct stats_line line = {};
    line.app = "app";
    line.device = "\\ \"GPU\" \x01\x1f\x7f\xf0\x9f\x8e\xae \x80";
    line.driver = "";
    line.identity = "00ff";
    line.state = CACHE_STATE_LOADED;
    trace_format_device(&source, 5000, &line, &out);
    EXPECT_EQ(put(), (json{{"ph", "i"},
                           {"name", "device"},
                           {"cat", "device"},
                           {"pid", 4711},
                           {"tid", 4711},
                           {"s", "p"},
                           {"ts", 5.0},
                           {"args",
                            {{"app", "app"},
                             {"device", "\\ \"GPU\" \x01\x1f\x7f\xf0\x9f\x8e\xae \xef\xbf\xbd"},
                             {"driver", ""},
                             {"driver_info", ""},
                             {"identity", "00ff"},
                             {"dev", 2},
                             {"cache", "loaded"}}}}));
}

} // namespace
