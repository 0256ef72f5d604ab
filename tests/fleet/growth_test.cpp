// SPDX-License-Identifier: Apache-2.0
// What is moved: small caches stand in the head, and what has grown is as large as its growth.
#include <zstd.h>

#include "contents.h"

namespace {

class Growth : public testing::Test {
  protected:
    Keys keys;
    Machine first;
    Machine second;
    std::unique_ptr<Place> place = file_place();
    const std::string hex = hex_of(sample_identity());

    void SetUp() override
    {
        for (Machine *machine : {&first, &second}) {
            std::filesystem::create_directories(machine->root + "/demo");
            std::filesystem::permissions(machine->root + "/demo", std::filesystem::perms(0700));
            machine->lose_driver(); // the files are of no device of this machine
            write_file(machine->root + "/demo/" + hex + ".wanted", "");
        }
    }

    std::string cache(const Machine &machine)
    {
        return machine.root + "/demo/" + hex + ".wpcache";
    }

    json tool(const Machine &machine, std::vector<std::string> words)
    {
        words.insert(words.end(), {"--json", "--app", "demo", "--remote", place->url});
        const ToolResult result = machine.tool(words);
        EXPECT_EQ(result.exit_status, 0) << result.err;
        return json::parse(result.out);
    }

    json push(const Machine &machine, const std::string &content)
    {
        write_file(cache(machine),
                   cache_file(sample_identity(), make_blob(content, sample_identity())));
        return tool(machine, {"push", "--secret-key", keys.secret, "--dir", machine.root});
    }

    json pull(const Machine &machine)
    {
        return tool(machine, {"pull", "--public-key", keys.open, "--dir", machine.root});
    }

    json show()
    {
        return tool(first, {"remote", "show", "--public-key", keys.open})["heads"][0];
    }

    // The content of all that a pull has left.
    std::vector<std::string> contents(const Machine &machine)
    {
        std::vector<std::string> found;
        for (const std::string &name : machine.caches()) {
            const std::string file = read_file(machine.root + "/demo/" + name);
            found.push_back(file.substr(file.size() - std::min(file.size(), size_t(40))));
        }
        return found;
    }

    size_t objects()
    {
        size_t count = 0;
        const std::string folder = place->data + "/v1/obj";
        if (std::filesystem::exists(folder)) {
            for (const auto &entry : std::filesystem::directory_iterator(folder)) {
                count += entry.is_regular_file();
            }
        }
        return count;
    }
};

TEST_F(Growth, ASmallCacheStandsInTheHead)
{
    EXPECT_EQ(rows_of(push(first, noise(5000, 1)).dump()), Rows{"demo blob pushed"});
    EXPECT_EQ(objects(), 0u);
    json result = pull(second);
    EXPECT_EQ(result["requests"], 1);
    EXPECT_EQ(read_file(cache(second)).substr(1000), read_file(cache(first)).substr(1000));

    // Others do not push it out, and what does not fit lies beside.
    Machine third;
    std::filesystem::create_directories(third.root + "/demo");
    std::filesystem::permissions(third.root + "/demo", std::filesystem::perms(0700));
    push(third, noise(30000, 2));
    EXPECT_EQ(objects(), 1u);
    std::filesystem::remove(cache(second));
    EXPECT_EQ(pull(second)["requests"], 2);
    EXPECT_EQ(second.caches().size(), 2u);
    EXPECT_EQ(show()["objects"].size(), 2u);
    EXPECT_EQ(tool(first, {"remote", "gc", "--grace", "0s"})["objects"], 1);
}

TEST_F(Growth, WhatHasGrownIsAsLargeAsItsGrowth)
{
    const std::string old = noise(600'000, 1);
    const uint64_t whole = push(first, old)["sent"];
    EXPECT_GE(whole, old.size());
    pull(second);
    EXPECT_EQ(read_file(cache(second)).substr(1000), read_file(cache(first)).substr(1000));

    const std::string grown = old.substr(0, 300'000) + noise(30'000, 2) + old.substr(300'000);
    const json pushed = push(first, grown);
    EXPECT_LE(pushed["sent"], whole * 15 / 100);
    const json pulled = pull(second);
    EXPECT_EQ(pulled["requests"], 2);
    EXPECT_LE(pulled["received"], whole * 15 / 100);
    EXPECT_EQ(contents(second).size(), 2u) << "beside the file, for the next save";

    // A machine that has nothing gets both, and none of the old is left beside it.
    std::filesystem::remove_all(second.root + "/demo");
    SetUp();
    EXPECT_EQ(pull(second)["requests"], 3);
    EXPECT_EQ(read_file(cache(second)).substr(1000), read_file(cache(first)).substr(1000));
    EXPECT_EQ(second.caches().size(), 1u);

    // The base is in use: it is no garbage.
    EXPECT_EQ(objects(), 2u);
    for (int run = 0; run < 2; run++) {
        EXPECT_EQ(tool(first, {"remote", "gc", "--grace", "0s"})["removed"], 0);
    }
    // What has grown again has the same base.
    const json again = push(first, grown + noise(30'000, 3));
    EXPECT_LE(again["sent"], whole * 15 / 100);
    EXPECT_EQ(show()["objects"][0]["base"], show()["bases"][0]["object"]);

    // By more than 30%, it is sent whole, and has none.
    EXPECT_GE(push(first, grown + noise(300'000, 4))["sent"], whole);
    EXPECT_EQ(show()["bases"].size(), 0u);
    EXPECT_EQ(objects(), 4u);
    tool(first, {"remote", "gc", "--grace", "0s"});
    EXPECT_EQ(tool(first, {"remote", "gc", "--grace", "0s"})["removed"], 3);
    std::filesystem::remove_all(second.root + "/demo");
    SetUp();
    EXPECT_EQ(pull(second)["requests"], 2);
    EXPECT_EQ(read_file(cache(second)).substr(1000), read_file(cache(first)).substr(1000));
}

// A base that is damaged, missing or not the one that is meant, and frames that want too much.
TEST_F(Growth, DamagedBasesAreNotTaken)
{
    const std::string old = noise(200'000, 1);
    push(first, old);
    push(first, old + noise(10'000, 2));
    std::string base;
    std::string delta;
    for (const auto &entry : std::filesystem::directory_iterator(place->data + "/v1/obj")) {
        const std::string path = entry.path();
        (contains(path.substr(path.rfind('/')), "-") ? delta : base) = path;
    }
    auto expect = [&](const std::string &reason) {
        const ToolResult result = second.tool({"pull", "--app", "demo", "--remote", place->url,
                                               "--public-key", keys.open, "--dir", second.root});
        EXPECT_EQ(result.exit_status, 1);
        EXPECT_TRUE(contains(result.err, "(" + reason + ")")) << result.err;
        EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
        EXPECT_TRUE(second.caches().empty());
    };
    const std::string whole = read_file(base);
    write_file(base, flipped(whole, whole.size() / 2));
    expect("remote_bad_object");
    std::filesystem::remove(base);
    expect("remote_object_missing");
    write_file(base, whole);
    if (!delta.empty()) { // small ones stand in the head
        write_file(delta, flipped(read_file(delta), 1000));
        expect("remote_bad_object");
        std::filesystem::remove(delta);
        expect("remote_object_missing");
    }

    // Who has it sends it again, without the base that is gone.
    std::filesystem::remove(base);
    const json pushed = tool(first, {"push", "--secret-key", keys.secret, "--dir", first.root});
    EXPECT_EQ(pushed["results"][0]["result"], "pushed");
    pull(second);
    EXPECT_EQ(read_file(cache(second)).substr(1000), read_file(cache(first)).substr(1000));
}

// What this machine has pushed goes out of the head with what holds it as well, or not at all: also
// where a cache is to be blocked, for which the head is written anyway.
TEST_F(Growth, WhereThereIsNoRoomForMoreNothingGoes)
{
    Machine others[4];
    push(first, "to be put away");
    Folder(first, "demo", sample_identity()).put_away();
    std::filesystem::rename(first.root + "/demo/quarantine", first.root + "/quarantine");
    push(first, noise(5000, 1));
    for (uint64_t i = 0; i < 4; i++) {
        std::filesystem::create_directories(others[i].root + "/demo");
        std::filesystem::permissions(others[i].root + "/demo", std::filesystem::perms(0700));
        push(others[i], noise(1'100'000, 10 + i));
    }
    const size_t before = show()["objects"].size();
    std::filesystem::rename(first.root + "/quarantine", first.root + "/demo/quarantine");
    write_file(cache(first),
               cache_file(sample_identity(), make_blob(noise(1'200'000, 2), sample_identity())));
    const ToolResult result = first.tool({"push", "--app", "demo", "--remote", place->url,
                                          "--secret-key", keys.secret, "--dir", first.root});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_head_full)")) << result.err;
    EXPECT_EQ(show()["objects"].size(), before) << show();
    EXPECT_EQ(show()["blocked"].size(), 1u) << show();
}

TEST_F(Growth, AFrameThatWantsALargeWindowIsRefused)
{
    std::string content;
    for (uint64_t i = 0; i < 30000; i++) {
        content += std::to_string(i * i * i);
    }
    push(first, content);
    const std::string path = std::filesystem::directory_iterator(place->data + "/v1/obj")->path();
    const std::string file = read_file(cache(first));
    std::string frame(ZSTD_compressBound(file.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), file.data(), file.size(), 19));
    ASSERT_LT(frame.size() + 1, read_file(path).size());

    // The same frame, which wants a window of 2 GiB instead of one as large as its content.
    std::string greedy = frame;
    ASSERT_TRUE(greedy[4] & 0x20);
    greedy[4] = static_cast<char>(greedy[4] & ~0x20);
    greedy.insert(5, 1, static_cast<char>(21 << 3));
    write_file(path, greedy);
    const ToolResult result = second.tool({"pull", "--app", "demo", "--remote", place->url,
                                           "--public-key", keys.open, "--dir", second.root});
    EXPECT_TRUE(contains(result.err, "(remote_bad_object)")) << result.err;
    EXPECT_TRUE(second.caches().empty());
    write_file(path, frame);
    EXPECT_EQ(rows_of(pull(second).dump()), Rows{"demo blob pulled"});
}

// A cache that was removed to make room, with its lock, is begun anew: the new one holds nothing of
// what was pulled into the old one.
TEST_F(Growth, WhatWasPulledIsNotHeldByACacheThatWasBegunAnew)
{
    const Folder here(first, "demo", sample_identity());
    const Folder there(second, "demo", sample_identity());
    const std::string lock = second.root + "/demo/" + hex + ".lock";
    const std::vector<std::string> send = {"push", "--secret-key", keys.secret, "--dir"};
    auto push_of = [&](const Machine &machine) {
        std::vector<std::string> words = send;
        words.push_back(machine.root);
        tool(machine, words);
    };
    here.write_units({1, 2});
    push_of(first);
    pull(second);
    ASSERT_EQ(there.units(), (std::set<uint64_t>{1, 2}));
    std::filesystem::remove(there.file());
    ASSERT_TRUE(std::filesystem::remove(lock));
    write_file(lock, "");
    there.write_units({7, 8, 9});
    push_of(second);
    Machine third;
    const Folder fresh(third, "demo", sample_identity());
    pull(third);
    EXPECT_EQ(fresh.units(), (std::set<uint64_t>{1, 2, 7, 8, 9}));
    // What it has pushed itself it still knows.
    there.write_units({7, 8, 9, 10});
    push_of(second);
    Machine fourth;
    const Folder last(fourth, "demo", sample_identity());
    pull(fourth);
    EXPECT_EQ(last.units(), (std::set<uint64_t>{1, 2, 7, 8, 9, 10}));
    EXPECT_EQ(fourth.caches().size(), 2u);
}

// As after a rollout, when many machines push at once: however many parts there are, one pull takes
// them.
TEST_F(Growth, OnePullTakesAllParts)
{
    constexpr int count = 24;
    for (int i = 0; i < count; i++) {
        Machine machine;
        const Folder folder(machine, "demo", sample_identity());
        folder.write("word" + std::to_string(i));
        tool(machine, {"push", "--secret-key", keys.secret, "--dir", machine.root});
    }
    ASSERT_EQ(show()["objects"].size(), size_t(count));
    EXPECT_EQ(pull(second)["results"][0]["result"], "pulled");
    EXPECT_EQ(second.caches().size(), size_t(count));
    EXPECT_EQ(pull(second)["results"][0]["result"], "unchanged");
}

// Where a program runs for long, what others have pushed waits for its next save: what has no room
// is not fetched again and again.
TEST_F(Growth, WhatHasNoRoomBesideTheFileIsNotFetched)
{
    for (int i = 0; i < 65; i++) {
        write_file(second.root + "/demo/" + hex + (i ? ".00000000000000" : ".wpcache") +
                       (i ? std::to_string(10 + i) + ".part" : ""),
                   cache_file(sample_identity(), make_blob(noise(100, i), sample_identity())));
    }
    push(first, noise(60000, 100));
    const ToolResult result =
        second.tool({"pull", "--json", "--app", "demo", "--remote", place->url, "--public-key",
                     keys.open, "--dir", second.root});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(too_many_parts)")) << result.err;
    const json answer = json::parse(result.out);
    EXPECT_EQ(answer["results"][0]["reason"], "too_many_parts");
    EXPECT_EQ(answer["requests"], 1);
    EXPECT_LT(answer["received"], 10000);
    // A save takes them up.
    for (const std::string &name : second.caches()) {
        if (contains(name, ".part")) {
            std::filesystem::remove(second.root + "/demo/" + name);
        }
    }
    EXPECT_EQ(pull(second)["results"][0]["result"], "pulled");
}

} // namespace
