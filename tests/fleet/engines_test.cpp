// SPDX-License-Identifier: Apache-2.0
// What holds on every engine, with the real server of each.
#include "fleet.h"

namespace {

struct Engine {
    const char *name;
    std::unique_ptr<Place> (*make)();
};

class EveryEngine : public testing::TestWithParam<Engine> {
  protected:
    Keys keys;
    std::unique_ptr<Place> place;

    void SetUp() override
    {
        place = GetParam().make();
        if (!place) {
            GTEST_SKIP() << GetParam().name << " is not installed";
        }
    }

    ToolResult push(const Machine &machine, std::vector<std::string> more = {})
    {
        std::vector<std::string> words = {"push",         "--json",    "--remote", place->url,
                                          "--secret-key", keys.secret, "--dir",    machine.root};
        words.insert(words.end(), more.begin(), more.end());
        return machine.tool(words);
    }

    ToolResult pull(const Machine &machine, std::vector<std::string> more = {"--app", "demo"})
    {
        std::vector<std::string> words = {"pull",         "--json",  "--remote", place->url,
                                          "--public-key", keys.open, "--dir",    machine.root};
        words.insert(words.end(), more.begin(), more.end());
        return machine.tool(words);
    }

    json remote(const Machine &machine, std::vector<std::string> words, int status = 0)
    {
        words.insert(words.begin(), "remote");
        words.insert(words.end(), {"--json", "--remote", place->url, "--public-key", keys.open});
        const ToolResult result = machine.tool(words);
        EXPECT_EQ(result.exit_status, status) << result.err;
        return json::parse(result.out);
    }
};

TEST_P(EveryEngine, WhatOneMachineCompiledStartsAnotherWarm)
{
    Machine first;
    Machine second;
    EXPECT_TRUE(contains(first.run(4), " 0 hits, 4 misses"));
    ToolResult result = push(first, {"--recipes"});
    ASSERT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(rows_of(result.out), (Rows{"demo blob pushed", "demo recipes pushed"}));

    result = pull(second);
    ASSERT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pulled"});
    EXPECT_LE(json::parse(result.out)["requests"], 2);
    EXPECT_TRUE(contains(second.run(4), " 4 hits, 0 misses"));

    // Unchanged: one request, and no second push.
    result = pull(second);
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob unchanged"});
    EXPECT_EQ(json::parse(result.out)["requests"], 1);
    EXPECT_EQ(rows_of(push(second).out), Rows{"demo blob unchanged"});

    // What has grown replaces what it was made of.
    const json before = remote(second, {"show", "--app", "demo"})["heads"][0]["serial"];
    const std::string err = second.run(6);
    EXPECT_TRUE(contains(err, " 4 hits, 2 misses")) << err;
    EXPECT_EQ(rows_of(push(second).out), Rows{"demo blob pushed"});
    const json shown = remote(second, {"show", "--app", "demo"})["heads"][0];
    EXPECT_EQ(shown["serial"], before.get<uint64_t>() + 1);
    EXPECT_EQ(shown["objects"].size(), 1u);
    EXPECT_EQ(rows_of(pull(first).out), Rows{"demo blob pulled"});
}

// Writers and a reader start at once, with nothing anywhere: the lease lets one of them compile.
TEST_P(EveryEngine, OneCompilesForAllThatWait)
{
    constexpr int count = 6;
    std::vector<std::unique_ptr<Machine>> machines;
    std::vector<std::thread> threads;
    std::vector<std::string> ends(count);
    for (int i = 0; i < count; i++) {
        machines.push_back(std::make_unique<Machine>());
    }
    for (int i = 0; i < count; i++) {
        threads.emplace_back([&, i] {
            ends[static_cast<size_t>(i)] = machines[static_cast<size_t>(i)]->run(
                4, {"--remote", place->url, "--secret-key", keys.secret, "--remote-wait", "20s",
                    "--lease-wait", "60s"});
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    int cold = 0;
    for (const std::string &end : ends) {
        cold += contains(end, " 0 hits, 4 misses");
        EXPECT_TRUE(contains(end, " 4 hits, 0 misses") || contains(end, " 0 hits, 4 misses"))
            << end;
    }
    EXPECT_EQ(cold, 1);
    // The lease was given back: who comes for something new does not wait for anybody.
    Machine late;
    EXPECT_TRUE(contains(late.run(4, {"--app", "other", "--remote", place->url, "--public-key",
                                      keys.open, "--lease-wait", "60s"}),
                         " 0 hits, 4 misses"));
}

// Each has compiled something else, from nothing; all of it must be there at the end.
TEST_P(EveryEngine, ManyPushersLoseNothing)
{
    constexpr int count = 8;
    std::vector<std::unique_ptr<Machine>> machines;
    std::vector<std::thread> threads;
    std::vector<ToolResult> results(count);
    const std::string hex = hex_of(sample_identity());
    for (int i = 0; i < count; i++) {
        auto machine = std::make_unique<Machine>();
        std::filesystem::create_directories(machine->root + "/demo");
        std::filesystem::permissions(machine->root + "/demo", std::filesystem::perms(0700));
        write_file(machine->root + "/demo/" + hex + ".wpcache",
                   cache_file(sample_identity(),
                              make_blob("word" + std::to_string(i), sample_identity())));
        machines.push_back(std::move(machine));
    }
    for (size_t i = 0; i < count; i++) {
        threads.emplace_back([&, i] { results[i] = push(*machines[i]); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (const ToolResult &result : results) {
        EXPECT_EQ(result.exit_status, 0) << result.err;
    }
    // A server that checks and writes in two steps may still let two win at one moment, however
    // long they look; what was lost is sent with the next push.
    for (const auto &machine : machines) {
        if (!place->swaps_in_one_step) {
            push(*machine);
        }
    }
    const json head = remote(*machines[0], {"show", "--app", "demo"})["heads"][0];
    EXPECT_EQ(head["objects"].size(), static_cast<size_t>(count));
    EXPECT_GE(head["serial"], count);
}

TEST_P(EveryEngine, IsLookedAfter)
{
    Machine first;
    first.run(3);
    ASSERT_EQ(push(first).exit_status, 0);
    first.run(5);
    ASSERT_EQ(push(first).exit_status, 0);
    const json check = remote(first, {"check", "--secret-key", keys.secret});
    for (const json &finding : check["findings"]) {
        EXPECT_EQ(finding["verdict"], "ok") << finding;
    }
    ASSERT_EQ(remote(first, {"ls"})["heads"].size(), 1u);
    EXPECT_EQ(remote(first, {"gc", "--grace", "0s"})["removed"], 0);
    EXPECT_EQ(remote(first, {"gc", "--grace", "0s"})["removed"], 1);
    EXPECT_EQ(remote(first, {"gc", "--grace", "0s"})["objects"], 1);
    EXPECT_EQ(remote(first, {"rm", "--app", "demo"})["removed"].size(), 1u);
    EXPECT_EQ(remote(first, {"ls"})["heads"].size(), 0u);
    // All programs, where no name is given.
    ASSERT_EQ(push(first).exit_status, 0);
    Machine second;
    EXPECT_EQ(rows_of(pull(second, {}).out), Rows{"demo blob pulled"});
}

const Engine engines[] = {
    {"file", file_place},
#ifdef WARMPIPE_HAVE_CURL
    {"apache", [] { return apache_place(); }},
#endif
#ifdef WARMPIPE_HAVE_HIREDIS
    {"redis", [] { return redis_place(); }},
#endif
};

INSTANTIATE_TEST_SUITE_P(, EveryEngine, testing::ValuesIn(engines),
                         [](const auto &named) { return std::string(named.param.name); });

} // namespace
