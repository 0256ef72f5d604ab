// SPDX-License-Identifier: Apache-2.0
// What each call leaves in the trace, and in whose file.
#include <algorithm>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "recipes.hpp"
#include "test_icd.h"
#include "trace.hpp"

namespace {

class TraceTest : public RecipesTest {
  protected:
    void SetUp() override
    {
        RecipesTest::SetUp();
        environment["WARMPIPE_TRACE"] = path().string();
    }

    std::filesystem::path path() const
    {
        return folder() / "trace.json";
    }

    // That of one run, with a file of its own.
    Trace trace(const std::function<void()> &program)
    {
        std::filesystem::remove(path());
        run(program);
        return Trace(path());
    }

    // Results of the pipelines, in the order of their time.
    static std::vector<std::string> results(const Trace &trace)
    {
        std::vector<std::string> results;
        for (const json &span : trace.of("pipeline")) {
            results.push_back(span["args"]["result"]);
        }
        return results;
    }
};

using Results = std::vector<std::string>;

class TraceOfKind : public TraceTest, public ::testing::WithParamInterface<Kind> {
  protected:
    static std::string span_name()
    {
        return GetParam() == Kind::compute    ? "compute"
               : GetParam() == Kind::graphics ? "graphics"
                                              : "raytracing";
    }
};

INSTANTIATE_TEST_SUITE_P(Of, TraceOfKind, ::testing::ValuesIn(all_kinds),
                         [](const auto &kind) { return std::string(kind_name(kind.param)); });

TEST_P(TraceOfKind, MissedThenHitAndSharedWhenAskedForAgain)
{
    const auto program = [] {
        Program owner;
        owner.create(GetParam(), 1);
        owner.create(GetParam(), 2);
        owner.create(GetParam(), 1);
    };
    const Trace cold = trace(program);
    const Trace warm = trace(program);
    EXPECT_EQ(results(cold), (Results{"miss", "miss", "shared"}));
    EXPECT_EQ(results(warm), (Results{"hit", "hit", "shared"}));
    const std::vector<json> spans = cold.of("pipeline", span_name());
    ASSERT_EQ(spans.size(), 3u);
    EXPECT_EQ(spans[0]["args"]["digest"], spans[2]["args"]["digest"]);
    EXPECT_NE(spans[0]["args"]["digest"], spans[1]["args"]["digest"]);
    EXPECT_EQ(spans[0]["args"]["digest"], warm.of("pipeline")[0]["args"]["digest"]);
    EXPECT_EQ(spans[0]["args"]["dev"], 0);
}

// The elements of a call follow each other, and fill it.
TEST_P(TraceOfKind, ACallOfManyIsDivided)
{
    environment["WPTEST_ICD_COMPILE_US"] = "2000";
    const Trace trace = this->trace([] {
        Program owner;
        Batch batch(owner, GetParam(), {1, 2, 3, 4, 5, 6});
        EXPECT_EQ(batch.create(), VK_SUCCESS);
    });
    const std::vector<json> spans = trace.of("pipeline");
    ASSERT_EQ(spans.size(), 6u);
    EXPECT_EQ(results(trace), Results(6, "miss"));
    for (size_t i = 1; i < 6; ++i) {
        EXPECT_EQ(end_of(spans[i - 1]), start_of(spans[i]));
        EXPECT_GT(end_of(spans[i]) - start_of(spans[i]), 0);
    }
    const json load = trace.of("cache", "load").at(0);
    EXPECT_LE(end_of(load), end_of(spans[0])) << "what comes before the driver is of the first";
}

// It is given the cache, but has no name by which it could be shared or recorded.
TEST_P(TraceOfKind, WhatIsNotUnderstoodHasNoDigest)
{
    const Trace trace = this->trace([] {
        Program owner;
        VkBaseOutStructure unknown = {static_cast<VkStructureType>(1999999001), nullptr};
        Batch batch(owner, GetParam(), {1, 2});
        batch.chain(1, &unknown);
        EXPECT_EQ(batch.create(), VK_SUCCESS);
    });
    EXPECT_EQ(results(trace), (Results{"miss", "unknown"}));
    EXPECT_FALSE(trace.of("pipeline")[1]["args"].contains("digest"));
}

TEST_F(TraceTest, WithoutFeedbackNobodyKnows)
{
    environment["WPTEST_ICD_NO_FEEDBACK"] = "1";
    EXPECT_EQ(results(trace([] { Program().create_compute(0, 2); })),
              (Results{"unknown", "unknown"}));
}

// What the program may not see of a cache that it did not name is seen here.
TEST_F(TraceTest, HitsThatTheProgramIsNotToldOf)
{
    const auto program = [] {
        Program owner;
        Feedback feedback;
        Batch batch(owner, Kind::compute, {1});
        batch.chain(0, &feedback.info);
        EXPECT_EQ(batch.create(), VK_SUCCESS);
        EXPECT_FALSE(feedback.hit());
    };
    EXPECT_EQ(results(trace(program)), Results{"miss"});
    EXPECT_EQ(results(trace(program)), Results{"hit"});
}

TEST_F(TraceTest, CachesOfTheProgramsOwnAreItsOwnBusiness)
{
    EXPECT_EQ(results(trace([] {
                  Program owner;
                  const VkPipelineCache cache = owner.create_cache();
                  owner.create(Kind::compute, 1, cache);
                  owner.destroy_cache(cache);
              })),
              Results{"passed"});
}

TEST_F(TraceTest, OneOfACallThatFails)
{
    environment["WPTEST_ICD_FAIL_ELEMENT"] = "1=-2";
    EXPECT_EQ(results(trace([] {
                  Program owner;
                  Batch batch(owner, Kind::compute, {1, 2, 1});
                  EXPECT_NE(batch.create(), VK_SUCCESS);
              })),
              (Results{"miss", "failed", "shared"}));
}

TEST_F(TraceTest, DeferredOperationsEndLater)
{
    const Trace trace = this->trace([] {
        Program owner;
        Deferred deferred(owner);
        Batch batch(owner, Kind::ray_tracing_khr, {1, 2});
        EXPECT_EQ(batch.create(VK_NULL_HANDLE, nullptr, deferred.operation),
                  VK_OPERATION_DEFERRED_KHR);
        EXPECT_EQ(deferred.join(), VK_SUCCESS);
    });
    EXPECT_EQ(results(trace), (Results{"unknown", "unknown"}));
    const std::vector<json> spans = trace.of("pipeline", "raytracing");
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_NE(spans[0]["args"]["digest"], spans[1]["args"]["digest"]);
}

TEST_F(TraceTest, WhatPipelinesAreMadeOf)
{
    const Trace trace = this->trace([] {
        Program owner;
        owner.module(Kind::compute, 1);
        owner.module(Kind::compute, 2);
        owner.module(Kind::compute, 1);
    });
    const std::vector<json> modules = trace.of("object", "module");
    ASSERT_EQ(modules.size(), 3u);
    EXPECT_EQ(modules[0]["args"]["result"], "created");
    EXPECT_EQ(modules[1]["args"]["result"], "created");
    EXPECT_EQ(modules[2]["args"]["result"], "shared");
    EXPECT_EQ(modules[0]["args"]["digest"], modules[2]["args"]["digest"]);
    EXPECT_EQ(trace.of("object", "pipeline_layout").size(), 1u);
    EXPECT_TRUE(trace.of("device").empty()) << "no pipeline was created";
}

TEST_F(TraceTest, ObjectsWhereNothingIsShared)
{
    environment["WARMPIPE_DEDUP"] = "none";
    environment["WARMPIPE_READONLY"] = "1";
    const Trace trace = this->trace([] { Program().create_compute(0, 1); });
    EXPECT_EQ(trace.count("object", "passed"), trace.of("object").size());
    EXPECT_EQ(results(trace), Results{"miss"});
}

// As the statistics have them.
TEST_F(TraceTest, DevicesAreDescribed)
{
    environment["WPTEST_ICD_DEVICES"] = "2";
    environment["WPTEST_ICD_DEVICE_NAME"] = "a \"GPU\"";
    const Outcome outcome = run([] {
        for (unsigned device = 0; device < 2; ++device) {
            ProgramOptions options;
            options.device = device;
            Program(options).create_compute(0, 1);
        }
    });
    const Trace trace(path());
    const std::vector<json> devices = trace.of("device");
    ASSERT_EQ(devices.size(), 2u);
    for (unsigned i = 0; i < 2; ++i) {
        const json &arguments = devices[i]["args"];
        const json line = outcome.stats_of(i);
        for (const char *member : {"app", "device", "driver", "identity", "dev"}) {
            EXPECT_EQ(arguments[member], line[member]) << member;
        }
        EXPECT_EQ(devices[i]["pid"], line["pid"]);
        EXPECT_EQ(arguments["driver_info"], "1");
        EXPECT_EQ(arguments["cache"], "cold");
    }
    EXPECT_EQ(trace.of("pipeline")[1]["args"]["dev"], 1);
}

TEST_F(TraceTest, LoadsSnapshotsAndSaves)
{
    const auto saved = [](const Outcome &outcome) {
        return outcome.stats_of()["cache"]["saved_bytes"];
    };
    const auto program = [] { Program().create_compute(0, 3); };
    const Outcome cold = run(program);
    const Trace first(path());
    ASSERT_EQ(first.of("cache", "save").size(), 1u);
    EXPECT_EQ(first.of("cache", "save")[0]["args"]["bytes"], saved(cold));
    ASSERT_GE(first.of("cache", "snapshot").size(), 1u);
    EXPECT_EQ(first.of("cache", "snapshot").back()["args"]["bytes"], saved(cold));
    EXPECT_EQ(first.of("cache", "load")[0]["args"]["state"], "cold");
    EXPECT_EQ(first.of("cache", "load")[0]["args"]["reason"], "no_file");

    const json load = trace(program).of("cache", "load").at(0)["args"];
    EXPECT_EQ(load["state"], "loaded");
    EXPECT_EQ(load["bytes"], saved(cold));
    EXPECT_FALSE(load.contains("reason"));

    write_bytes(cache_file(), {1, 2, 3});
    const json bad = trace(program).of("cache", "load").at(0)["args"];
    EXPECT_EQ(bad["state"], "rejected");
    EXPECT_EQ(bad["reason"], "bad_magic");
}

TEST_F(TraceTest, WhatIsCompiledAhead)
{
    run([] { Program().create_compute(0, 5); });
    update_driver();
    environment.erase("WARMPIPE_PREWARM");
    const Trace trace = this->trace([] {
        Program owner;
        wait_until([] { return test_icd_calls("vkDestroyPipeline") >= 5; });
        owner.create_compute(0, 5);
    });
    const std::vector<json> ahead = trace.of("prewarm", "prewarm");
    ASSERT_EQ(ahead.size(), 5u);
    EXPECT_EQ(trace.count("prewarm", "compiled"), 5u);
    EXPECT_EQ(trace.count("pipeline", "hit"), 5u);
    std::vector<std::string> digests[2];
    for (size_t i = 0; i < 5; ++i) {
        digests[0].push_back(ahead[i]["args"]["digest"]);
        digests[1].push_back(trace.of("pipeline")[i]["args"]["digest"]);
        EXPECT_NE(ahead[i]["tid"], ahead[i]["pid"]);
    }
    std::sort(digests[0].begin(), digests[0].end());
    std::sort(digests[1].begin(), digests[1].end());
    EXPECT_EQ(digests[0], digests[1]);
    const std::vector<std::string> names = trace.names("thread_name");
    EXPECT_EQ(std::count(names.begin(), names.end(), "warmpipe prewarm"), 1);
}

TEST_F(TraceTest, ProcessesAtOnceShareAFile)
{
    const Trace trace = this->trace([] {
        std::vector<pid_t> children;
        for (unsigned i = 0; i < 4; ++i) {
            const pid_t child = fork_in_quiet();
            if (child == 0) {
                {
                    Program owner;
                    owner.create_compute(i * 20, i * 20 + 20);
                }
                std::exit(HasFailure());
            }
            children.push_back(child);
        }
        for (const pid_t child : children) {
            int status = 0;
            EXPECT_EQ(waitpid(child, &status, 0), child);
            EXPECT_EQ(status, 0);
        }
    });
    EXPECT_EQ(trace.count("pipeline", "miss"), 80u);
    EXPECT_EQ(trace.of("device").size(), 4u);
}

TEST_F(TraceTest, AProcessThatIsKilledLeavesItWhole)
{
    run(
        [&] {
            auto *owner = new Program;
            owner->create_compute(0, 20);
            wait_until([&] {
                const std::string text = read_text(path());
                size_t spans = 0;
                for (size_t at = 0; (at = text.find("\"miss\"", at)) != std::string::npos; ++at) {
                    ++spans;
                }
                return spans == 20 && text.substr(text.size() - 3) == "\n]\n"; // and is written
            });
            die();
        },
        {Layer::any, true, -SIGKILL});
    EXPECT_EQ(results(Trace(path())), Results(20, "miss"));
    run([] { Program().create_compute(0, 20); });
    EXPECT_EQ(Trace(path()).of("pipeline").size(), 40u);
}

// A device that is never destroyed.
TEST_F(TraceTest, TheEndOfAProcessWritesWhatIsLeft)
{
    const Trace trace = this->trace([] {
        leak_from_here_on();
        auto *owner = new Program;
        owner->create_compute(0, 3);
    });
    EXPECT_EQ(results(trace), Results(3, "miss"));
    EXPECT_EQ(trace.of("cache", "load").size(), 1u);
}

// A child of a fork neither writes its parent's events nor loses them.
TEST_F(TraceTest, AForkedChildWritesNothing)
{
    const Trace trace = this->trace([] {
        leak_from_here_on(); // a thread of ours may be allocating while it forks
        Program owner;
        owner.create_compute(0, 3);
        fork_and_exit();
    });
    EXPECT_EQ(results(trace), Results(3, "miss"));
}

TEST_F(TraceTest, FilesOfOthersStayAsTheyAre)
{
    const auto program = [] { Program().create_compute(0, 2); };
    for (const std::string &content :
         {std::string("a note"), std::string("[\n1,\n2\n]\n"), std::string("[\n]\n"),
          std::string("{\"traceEvents\":[\n]\n}"), std::string(100000, '\n')}) {
        write_bytes(path(), {content.begin(), content.end()});
        const Outcome outcome = run(program);
        EXPECT_EQ(read_text(path()), content);
        ASSERT_EQ(outcome.log().size(), 1u) << outcome.errors;
        EXPECT_NE(outcome.log()[0].find("(not_a_trace)"), std::string::npos) << outcome.errors;
        EXPECT_EQ(outcome.stats_of()["pipelines"]["requested"], 2);
    }
}

TEST_F(TraceTest, LinksAreNotFollowed)
{
    std::filesystem::create_symlink(folder() / "target", path());
    const Outcome outcome = run([] { Program().create_compute(0, 2); });
    EXPECT_FALSE(std::filesystem::exists(folder() / "target"));
    ASSERT_EQ(outcome.log().size(), 1u) << outcome.errors;
    EXPECT_NE(outcome.log()[0].find("(symlink)"), std::string::npos) << outcome.errors;
}

// One line for all devices and batches, and no program notices.
TEST_F(TraceTest, WhereNothingCanBeWritten)
{
    environment["WARMPIPE_TRACE"] = (folder() / "missing" / "trace.json").string();
    const Outcome outcome = run([] {
        for (int i = 0; i < 3; ++i) {
            Program().create_compute(0, 2);
        }
    });
    ASSERT_EQ(outcome.log().size(), 1u) << outcome.errors;
    EXPECT_NE(outcome.log()[0].find("cannot write a trace to"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(folder() / "missing"));
}

TEST_F(TraceTest, ASettingsFileNamesNone)
{
    environment.erase("WARMPIPE_TRACE");
    environment["VK_LAYER_SETTINGS_PATH"] = folder().string();
    const std::string text = "warmpipe_pipeline_cache.trace = " + path().string() + "\n";
    write_bytes(folder() / "vk_layer_settings.txt", {text.begin(), text.end()});
    const Outcome outcome = run([] { Program().create_compute(0, 2); });
    EXPECT_FALSE(std::filesystem::exists(path()));
    ASSERT_EQ(outcome.log().size(), 1u) << outcome.errors;
    EXPECT_NE(outcome.log()[0].find("is ignored"), std::string::npos);
}

// What is written last is a client's event when the file has long been quiet.
TEST_F(TraceTest, ASaveAtTheEndOfTheProcessIsTraced)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000";
    const Trace trace = this->trace([this] {
        leak_from_here_on();
        (new Program)->create_compute(0, 2);
        wait_until([this] { return read_text(path()).find("snapshot") != std::string::npos; });
    });
    EXPECT_EQ(trace.of("cache", "save").size(), 1u);
}

} // namespace
